//! The server: a redis-server, with its counters and usage.

use ipcost_model::Cell;
use ipcost_model::protocol::Address;
use ipcost_sys::clock::now_ns;
use ipcost_sys::worker::Keeper;

use super::control::ControlConnection;
use super::counts::RedisCounts;
use super::existing;
use super::key::RedisKey;
use super::private::{PATIENCE, PrivateRedis};
use crate::adapters::refused;
use crate::adapters::server_address::ServerAddress;
use crate::adapters::side_channel::{self, Words};
use crate::{Gathering, JoinedReports, Order, PeerError, Prepared, Role, RoleState};

/// The member of the address with the key's name.
pub const KEY: &str = "key";

/// The server's owner. A given server's key is removed at the end, once the control connection is closed.
enum Whose {
    Private(PrivateRedis),
    Given(#[allow(dead_code, reason = "it works once it is dropped")] Keeper),
}

struct RedisServer {
    words: Words,
    control: ControlConnection,
    key: RedisKey,
    process: Option<u32>,
    whose: Whose,
    before: RedisCounts,
}

/// Starts a server, or uses the given one.
pub fn prepare(given: &[ServerAddress], cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
    let size = cell.size as usize;
    let (mut control, process, at, private) = if given.is_empty() {
        let (private, at) = PrivateRedis::start(cell, address)?;
        (ControlConnection::open(&at, PATIENCE)?, Some(private.id()), at, Some(private))
    } else {
        if cell.options.backlog().is_some() {
            return Err(refused(
                "a redis server that is there already keeps its queue; leave option backlog out",
            ));
        }
        // A peer without a server for a transport has not listed it in hello.
        let at = given.iter().find(|at| at.transport.trim_end_matches('6') == cell.transport);
        let at = at.ok_or_else(|| refused("this peer has no redis server there"))?.clone();
        let mut control = existing::open(&at)?;
        let process = existing::process(&mut control)?;
        (control, process, at, None)
    };
    let key = RedisKey::make(&mut control, size)?;
    let whose = match private {
        Some(private) => Whose::Private(private),
        None => Whose::Given(existing::keep_clean(&at, &key)?),
    };
    let mut address = at.address;
    address.insert(KEY.to_owned(), key.name.clone().into());
    let server = side_channel::offer(cell, &mut address)?;
    let part = RoleState::Gathering(Gathering::new(server, 1, move |channels| {
        let words = Words::of_client(channels)?;
        Ok(Box::new(RedisServer { words, control, key, process, whose, before: RedisCounts::default() }))
    }));
    Ok(Prepared { address, effective: Vec::new(), part })
}

impl Role for RedisServer {
    fn arm(&mut self, _order: Order) -> Result<(), PeerError> {
        self.before = RedisCounts::at_begin(&mut self.control, &self.key, self.process)?;
        Ok(())
    }

    /// Waits for the client's message that it has finished: redis-server gets no requests within a batch.
    fn run(&mut self, order: Order) -> Result<JoinedReports, PeerError> {
        let began_ns = now_ns();
        if !self.words.hear() {
            return Err(self.without_client());
        }
        let wall_ns = now_ns() - began_ns;
        let after = RedisCounts::at_end(&mut self.control, &self.key, self.process)?;
        let counted = after.value.wrapping_sub(self.before.value);
        if counted != order.ops {
            return Err(refused(format!("INCR counted {} of {} requests", counted.cast_signed(), order.ops)));
        }
        let mut together =
            JoinedReports { wall_ns, usage: after.used_since(&self.before), ..JoinedReports::default() };
        let usec_per_call = after.usec_per_call_since(&self.before);
        together.measures.extend(usec_per_call.map(|usec| ("incr_usec_per_call".to_owned(), usec)));
        Ok(together)
    }
}

impl RedisServer {
    /// The client knows best why it is gone, and so does a redis-server that is the cause: let them report first.
    fn without_client(&mut self) -> PeerError {
        side_channel::let_others_speak();
        let alive = match &mut self.whose {
            Whose::Private(server) => server.check_alive("in the middle of a batch"),
            Whose::Given(_) => Ok(()),
        };
        alive.err().unwrap_or_else(|| refused("the client ended before the batch did"))
    }
}
