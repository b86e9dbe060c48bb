//! Many clients that connect at the same moment and wait for nothing, as those with an event loop do.

use std::io;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use ipcost_model::{Cell, Pattern};
use ipcost_sys::driven_program::{connect_at_once, limit_waits};
use ipcost_sys::{Listens, programs};
use serde::{Deserialize, Serialize};

use super::client::{Asker, Trouble};
use super::kind::{Login, ServerKind};
use crate::PeerError;
use crate::adapters::server_address::ServerAddress;
use crate::adapters::{refused, system};

/// How long a client usually waits for its connection, and for its reply.
pub const BURST_PATIENCE: Duration = Duration::from_secs(10);
/// A reply that takes longer has been waited for by trying again: TCP's first timeout is a second (RFC 6298).
const LATE: Duration = Duration::from_millis(950);
/// What a thread needs; most of it for the reply is elsewhere.
const STACK_BYTES: usize = 128 * 1024;

/// What clients that came at once met.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstOutcome {
    /// Connections that may wait until the server accepts them, if the system tells.
    pub backlog: Option<u32>,
    /// Clients that were answered within a second.
    pub answered: u64,
    /// Clients that were answered later: TCP tries again after a second.
    pub late: u64,
    /// Clients that were refused.
    pub refused: u64,
    /// Clients that got no reply within their patience, or an error.
    pub failed: u64,
}

impl BurstOutcome {
    pub fn all(&self) -> u64 {
        self.answered + self.late + self.refused + self.failed
    }

    /// The same with the clients of another burst.
    pub fn and(self, other: Self) -> Self {
        Self {
            backlog: self.backlog,
            answered: self.answered + other.answered,
            late: self.late + other.late,
            refused: self.refused + other.refused,
            failed: self.failed + other.failed,
        }
    }
}

/// Lets so many clients ask a server at the same moment, each on a connection of its own, and waits for all of them.
pub fn burst(
    kind: &ServerKind,
    login: &Login,
    at: &ServerAddress,
    request: &str,
    clients: u32,
    patience: Duration,
) -> Result<BurstOutcome, PeerError> {
    let to = at.path().map(Listens::Path).or_else(|| at.socket().map(Listens::Port));
    let to = to.ok_or_else(|| refused("the server has told no address"))?;
    let cell = Cell { request: Some(request.to_owned()), ..Cell::new(Pattern::Connect, at.transport, 1) };
    let askers = (0..clients).map(|_| Asker::new(kind, login, &cell, (at, at.client(None, 0)?)));
    let askers = askers.collect::<Result<Vec<_>, _>>()?;
    let start = Barrier::new(clients as usize);
    thread::scope(|scope| {
        let client = |mut asker: Asker| {
            let start = &start;
            thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
                start.wait();
                one(&mut asker, to, patience)
            })
        };
        let started = askers.into_iter().map(client).collect::<io::Result<Vec<_>>>();
        let started = started.map_err(system("cannot start a thread for each client"))?;
        Ok(started
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .fold(BurstOutcome::default(), BurstOutcome::and))
    })
}

/// What became of one.
fn one(asker: &mut Asker, to: Listens<'_>, patience: Duration) -> BurstOutcome {
    let began = Instant::now();
    let refused = BurstOutcome { refused: 1, ..BurstOutcome::default() };
    let failed = BurstOutcome { failed: 1, ..BurstOutcome::default() };
    let mut connection = match connect_at_once(to, patience) {
        Ok(connection) => connection,
        Err(error) if error.kind() == io::ErrorKind::TimedOut => return failed,
        Err(_) => return refused,
    };
    if limit_waits(&connection, patience).is_err() || asker.greet(&mut connection).is_err() {
        return failed;
    }
    match asker.ask(&mut connection, 1) {
        Ok(_) if began.elapsed() < LATE => BurstOutcome { answered: 1, ..BurstOutcome::default() },
        Ok(_) => BurstOutcome { late: 1, ..BurstOutcome::default() },
        Err(Trouble::Moving(_) | Trouble::Refused(_)) => failed,
    }
}

/// How many connections may wait at a server's socket until it accepts them, as `ss` of iproute2 tells; `None` if it does not.
pub fn backlog(at: &ServerAddress) -> Option<u32> {
    let port = at.port().map(|port| port.to_string());
    let words: Vec<&str> = match (at.path(), &port) {
        (Some(path), _) => vec!["-Hlx", "src", path],
        (None, Some(port)) => vec!["-Hltn", "sport", "=", port],
        _ => return None,
    };
    let output = programs::output("ss", &words, &[], None).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The type where there are several, the state, what waits, and how much may.
    let line = text.lines().next()?;
    let numbers = line.split_whitespace().skip_while(|word| *word != "LISTEN").skip(1);
    numbers.take(2).last()?.parse().ok()
}
