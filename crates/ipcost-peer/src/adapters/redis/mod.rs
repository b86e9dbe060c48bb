//! Drives a real redis-server: the server side starts one, or uses a given one; the client sends `INCR`.

mod client;
mod control;
mod counts;
mod existing;
mod key;
mod private;
pub mod resp;
mod server;

pub(in crate::adapters) use self::control::{ControlConnection, USER, WELCOME};
pub(in crate::adapters) use self::private::access;

use ipcost_model::protocol::{Address, Hello, PeerRole};
use ipcost_model::{Cell, Pattern, SpeaksFirst, choices};
use ipcost_sys::programs;

use crate::adapters::server_address::ServerAddress;
use crate::adapters::{Adapter, allow_options, hello, refused};
use crate::{Peer, PeerError, Prepared};

/// The program that is driven.
const PROGRAM: &str = "redis-server";
const PACKAGE: &str = "redis-server";
const PATTERNS: &[Pattern] = &[Pattern::Rr, Pattern::Connect];
/// Options that can be followed, or are refused below with a reason.
const OPTIONS: &[&str] = &["framing", "workers", "tcp_nodelay", "backlog", "closes_first", "spread_sources"];

pub(crate) const ADAPTER: Adapter = Adapter {
    name: "redis",
    peers: &[
        ("redis", "a real redis-server that is sent INCR; takes --sizes 64 --replies 13", &[]),
        ("redis-resolve", "the same; the client looks up localhost before it connects", &["--resolve"]),
    ],
    programs: &[(PROGRAM, PACKAGE)],
    packages: &[PACKAGE],
    own_wire: &["redis", "redis-resolve"],
    only: Some((64, key::REPLY_BYTES as u64)),
    new: |arguments| Ok(Box::new(Redis::new(arguments)?)),
};

struct Redis {
    /// Whether the client looks up localhost before every connection.
    resolves: bool,
    /// The given server's addresses, by transport.
    given: Vec<ServerAddress>,
    version: String,
}

impl Redis {
    fn new(arguments: &[String]) -> Result<Self, PeerError> {
        let (mut resolves, mut given) = (false, Vec::new());
        let mut arguments = arguments.iter();
        while let Some(name) = arguments.next() {
            let mut value = || {
                let needed = || refused(format!("{name} needs a value; give --unix PATH or --tcp HOST:PORT"));
                arguments.next().ok_or_else(needed)
            };
            match name.as_str() {
                "--resolve" => resolves = true,
                "--unix" => given.push(ServerAddress::of_path(value()?)?),
                "--tcp" => given.push(ServerAddress::of_host_and_port(value()?, false)?),
                _ => {
                    return Err(refused(format!(
                        "there is no argument {name}; give --unix PATH, --tcp HOST:PORT, --resolve or none"
                    )));
                }
            }
        }
        let version = match given.first() {
            // A given server may have another version than the installed one, if any.
            Some(at) => existing::version(at)?,
            None => installed_version()?,
        };
        Ok(Self { resolves, given, version })
    }

    /// The transports of a cell for which a server is given: over any other it would be a different one.
    fn transports(&self) -> Vec<&'static str> {
        let has = |name: &str| {
            self.given.is_empty() || self.given.iter().any(|at| at.transport.trim_end_matches('6') == name)
        };
        ["unix", "tcp"].into_iter().filter(|name| has(name)).collect()
    }

    fn check(&self, cell: &Cell) -> Result<(), PeerError> {
        let refuse = |message: String| Err(refused(message));
        if !self.transports().contains(&cell.transport.as_str()) {
            return refuse(format!("this peer has no redis server for transport {}", cell.transport));
        }
        if !PATTERNS.contains(&cell.pattern) {
            return refuse(format!("redis has no pattern {}; give --patterns rr,connect", cell.pattern));
        }
        if cell.speaks_first == SpeaksFirst::Server {
            return refuse("redis does not speak first; give --speaks-first client".to_owned());
        }
        if cell.reply != key::REPLY_BYTES as u64 {
            return refuse(format!("INCR answers {0} bytes: give --replies {0}", key::REPLY_BYTES));
        }
        allow_options("redis", cell, OPTIONS)?;
        if cell.options.framing() == Some(choices::Framing::Newline) {
            return refuse("redis knows by itself where a request ends; leave option framing out".to_owned());
        }
        if cell.options.tcp_nodelay() == Some(false) {
            return refuse("redis-server sets TCP_NODELAY itself; leave option tcp_nodelay out".to_owned());
        }
        match cell.options.closes_first() {
            None | Some(choices::ClosesFirst::Client) => Ok(()),
            Some(_) => refuse(
                "redis does not close first; leave option closes_first out, or give closes_first=client"
                    .to_owned(),
            ),
        }
    }
}

impl Peer for Redis {
    fn hello(&self) -> Hello {
        let name = if self.resolves { "redis-resolve" } else { "redis" };
        hello(name, format!("{PROGRAM} {}", self.version), &self.transports(), PATTERNS, OPTIONS)
    }

    fn prepare(&self, role: PeerRole, cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
        self.check(cell)?;
        // Before anything is started.
        key::length(cell.size as usize)?;
        match role {
            PeerRole::Client => client::prepare(self.resolves, cell, address),
            PeerRole::Server => server::prepare(&self.given, cell, address),
        }
    }
}

fn installed_version() -> Result<String, PeerError> {
    let output = programs::output(PROGRAM, &["--version"], &[], None)
        .map_err(|_| refused(format!("{PROGRAM} was not found; install Debian's package {}", PACKAGE)))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
    version.map(str::to_owned).ok_or_else(|| {
        refused(format!("{PROGRAM} --version does not tell a version; is it the program of that name?"))
    })
}
