//! Many clients that connect at the same moment and wait for nothing, as those with an event loop do.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use ipcost_model::{Cell, Pattern};
use ipcost_sys::Listens;
use ipcost_sys::driven::{connect_at_once, limit_waits};

use super::client::{Asker, Trouble};
use super::kind::{Kind, Login};
use crate::PeerError;
use crate::adapters::at::At;
use crate::adapters::{refused, system};

/// How long a client waits for its connection, and for its reply.
const PATIENCE: Duration = Duration::from_secs(10);
/// A reply that takes longer has been waited for by trying again: TCP's first timeout is a second (RFC 6298).
const LATE: Duration = Duration::from_millis(950);
/// What a thread needs; most of it for the reply is elsewhere.
const STACK_BYTES: usize = 128 * 1024;

/// What became of clients that came at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Burst {
    /// Those that were answered within a second.
    pub answered: u64,
    /// Those that were answered later.
    pub late: u64,
    /// Those whose connection was refused.
    pub refused: u64,
    /// Those that got no reply, or an error in its place.
    pub failed: u64,
}

impl Burst {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.answered + self.late + self.refused + self.failed
    }

    fn and(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            late: self.late + other.late,
            refused: self.refused + other.refused,
            failed: self.failed + other.failed,
        }
    }
}

/// Lets so many clients ask a server at the same moment, each on a connection of its own, and waits for all of them.
///
/// # Errors
/// One line: the request, or threads that cannot be started.
pub fn burst(kind: &Kind, login: &Login, at: &At, request: &str, clients: u32) -> Result<Burst, PeerError> {
    let to = match (at.path(), at.host().and_then(|host| host.parse::<IpAddr>().ok()), at.port()) {
        (Some(path), ..) => Listens::Path(path),
        (None, Some(host), Some(port)) => Listens::Port(SocketAddr::new(host, port)),
        _ => return Err(refused("the server has told no address")),
    };
    let cell = Cell { request: Some(request.to_owned()), ..Cell::new(Pattern::Connect, at.transport, 1) };
    let askers = (0..clients).map(|_| Asker::new(kind, login, &cell, at.client(None, 0)?));
    let askers = askers.collect::<Result<Vec<_>, _>>()?;
    let start = Barrier::new(clients as usize);
    thread::scope(|scope| {
        let client = |mut asker: Asker| {
            let start = &start;
            thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
                start.wait();
                one(&mut asker, to)
            })
        };
        let started = askers.into_iter().map(client).collect::<io::Result<Vec<_>>>();
        let started = started.map_err(system("cannot start a thread for each client"))?;
        Ok(started.into_iter().filter_map(|thread| thread.join().ok()).fold(Burst::default(), Burst::and))
    })
}

/// What became of one.
fn one(asker: &mut Asker, to: Listens<'_>) -> Burst {
    let began = Instant::now();
    let refused = Burst { refused: 1, ..Burst::default() };
    let failed = Burst { failed: 1, ..Burst::default() };
    let mut connection = match connect_at_once(to, PATIENCE) {
        Ok(connection) => connection,
        Err(error) if error.kind() == io::ErrorKind::TimedOut => return failed,
        Err(_) => return refused,
    };
    if limit_waits(&connection, PATIENCE).is_err() || asker.greet(&mut connection).is_err() {
        return failed;
    }
    match asker.ask(&mut connection, 1) {
        Ok(_) if began.elapsed() < LATE => Burst { answered: 1, ..Burst::default() },
        Ok(_) => Burst { late: 1, ..Burst::default() },
        Err(Trouble::Moving(_) | Trouble::Refused(_)) => failed,
    }
}

/// How many connections may wait at a server's socket until it accepts them, as `ss` of iproute2 tells; `None` if it does not.
pub fn backlog(at: &At) -> Option<u32> {
    let port = at.port().map(|port| port.to_string());
    let words: Vec<&str> = match (at.path(), &port) {
        (Some(path), _) => vec!["-Hlx", "src", path],
        (None, Some(port)) => vec!["-Hltn", "sport", "=", port],
        _ => return None,
    };
    let output = Command::new("ss").args(words).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The type where there are several, the state, what waits, and how much may.
    let line = text.lines().next()?;
    let numbers = line.split_whitespace().skip_while(|word| *word != "LISTEN").skip(1);
    numbers.take(2).last()?.parse().ok()
}
