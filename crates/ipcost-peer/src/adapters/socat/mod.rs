//! Drives two real socats, one that sends and one that receives.

mod command;
mod receiver;
mod sender;

use ipcost_model::protocol::{Address, Hello, PeerRole};
use ipcost_model::{Cell, Pattern};
use ipcost_sys::programs;

use self::command::{Route, STARTED};
use crate::adapters::{Adapter, allow_options, hello, refused};
use crate::{Peer, PeerError, Prepared};

/// The program that is driven.
const PROGRAM: &str = "socat";
const PACKAGE: &str = "socat";
const TRANSPORTS: &[&str] = &["pipe", "fifo", "unix", "tcp"];
/// Options that can be followed, or are refused below with a reason.
const OPTIONS: &[&str] = &[
    "recv_buffer", "workers", "tcp_nodelay", "tcp_congestion", "so_sndbuf", "so_rcvbuf", "pipe_size",
    "backlog",
];

pub(crate) const ADAPTER: Adapter = Adapter {
    name: "socat",
    peers: &[
        ("socat", "two real socats, timed with their start; for pattern stream", &[]),
        ("socat-started", "the same, timed once both have started", &[STARTED]),
    ],
    programs: &[(PROGRAM, PACKAGE)],
    packages: &[PACKAGE],
    own_wire: &["socat", "socat-started"],
    only: None,
    new: |arguments| Ok(Box::new(Socat::new(arguments)?)),
};

struct Socat {
    started: bool,
    version: String,
}

impl Socat {
    fn new(arguments: &[String]) -> Result<Self, PeerError> {
        if let Some(unknown) = arguments.iter().find(|argument| *argument != STARTED) {
            return Err(refused(format!("there is no argument {unknown}; give {STARTED} or none")));
        }
        let missing = |_| refused(format!("{PROGRAM} was not found; install Debian's package {}", PACKAGE));
        let output = programs::output(PROGRAM, &["-V"], &[], None).map_err(missing)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.split_once("socat version ").and_then(|(_, rest)| rest.split_whitespace().next());
        let unknown = || refused("socat -V does not tell a version; is it the program of that name?");
        Ok(Self { started: !arguments.is_empty(), version: version.ok_or_else(unknown)?.to_owned() })
    }
}

fn check(cell: &Cell) -> Result<(), PeerError> {
    let refuse = |message: String| Err(refused(message));
    if !TRANSPORTS.contains(&cell.transport.as_str()) {
        return refuse(format!(
            "socat has no transport {} here; give --transports {}",
            cell.transport,
            TRANSPORTS.join(",")
        ));
    }
    if cell.pattern != Pattern::Stream {
        return refuse(format!("socat has no pattern {}; give --patterns stream", cell.pattern));
    }
    if cell.concurrency != 1 {
        return refuse("socat sends over one channel; give --concurrency 1".to_owned());
    }
    if cell.reply != 0 {
        return Err(PeerError::Protocol("\"reply\" must be 0 in pattern stream".to_owned()));
    }
    allow_options(PROGRAM, cell, OPTIONS)?;
    match cell.options.recv_buffer() {
        Some(bytes) if bytes != cell.size => refuse(format!(
            "socat receives with the block size that it sends with; give recv_buffer={}, or leave it out",
            cell.size
        )),
        _ => Ok(()),
    }
}

impl Peer for Socat {
    fn hello(&self) -> Hello {
        let name = if self.started { "socat-started" } else { "socat" };
        hello(name, format!("{PROGRAM} {}", self.version), TRANSPORTS, &[Pattern::Stream], OPTIONS)
    }

    fn prepare(&self, role: PeerRole, cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
        check(cell)?;
        let route = Route { cell: cell.clone(), started: self.started, address: address.clone() };
        route.check()?;
        match role {
            PeerRole::Client => sender::prepare(route),
            PeerRole::Server => receiver::prepare(route),
        }
    }
}
