//! The common setup of all cases: the peers, the subject's capabilities, and a place for sockets.

use std::cell::Cell as Counter;
use std::path::Path;

use ipcost_model::protocol::{Hello, PROTOCOL, PeerRole};
use ipcost_model::{Cell, Pattern};
use ipcost_sys::Descriptor;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::private_dir::PrivateDir;
use ipcost_sys::transport::{self, Provision, Rendezvous};
use serde_json::json;

use super::process::ExaminedProcess;
use super::transcript::Leaving;
use super::{CheckError, ExaminedPeer, SuiteError};

/// Distinct sizes, so that one is not mistaken for the other.
const SIZES: (u64, u64) = (1009, 64);

/// Shared by all cases.
pub struct Setup<'a> {
    pub subject: &'a ExaminedPeer,
    pub hello: Hello,
    native: &'a [String],
    interrupt: &'a Interrupt,
    dir: PrivateDir,
    count: Counter<u32>,
}

/// The player of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Subject,
    Native,
}

impl<'a> Setup<'a> {
    /// Starts the subject to learn its capabilities; the inner error is a fault in its introduction.
    pub fn meet(
        subject: &'a ExaminedPeer,
        native: &'a [String],
        interrupt: &'a Interrupt,
    ) -> Result<Result<Self, CheckError>, SuiteError> {
        let dir = PrivateDir::create()?;
        let meet = || {
            let mut process = ExaminedProcess::start(&subject.command, 0, Vec::new(), interrupt)?;
            let hello = process.hello()?;
            check_hello(&hello)?;
            process.say(&json!({"type": "stop"}))?;
            process.gone(Leaving::Success)?;
            Ok(hello)
        };
        Ok(meet().map(|hello| Self { subject, hello, native, interrupt, dir, count: Counter::new(0) }))
    }

    pub fn start(&self, who: Who, inherit: Vec<Descriptor>) -> Result<ExaminedProcess, CheckError> {
        let command = match who {
            Who::Subject => &self.subject.command,
            Who::Native => self.native,
        };
        ExaminedProcess::start(command, self.fresh(), inherit, self.interrupt)
    }

    /// Whether this machine has room for a cell, such as for messages of its size.
    pub fn fits(&self, cell: &Cell) -> bool {
        transport::find(&cell.transport).is_some_and(|known| known.fits(cell).is_ok())
    }

    /// Creates what a cell needs before its peers start.
    pub fn provision(&self, cell: &Cell) -> Result<Provision, CheckError> {
        let transport = transport::find(&cell.transport).ok_or("there is no such transport")?;
        let name = format!("s{}", self.fresh());
        let place = Rendezvous { dir: self.dir.path(), name: &name, cell };
        Ok(transport.provision(&place)?)
    }

    /// A place for the suite's own sockets.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn fresh(&self) -> u32 {
        self.count.set(self.count.get() + 1);
        self.count.get()
    }

    /// A cell that the subject should support.
    pub fn cell(&self, pattern: Pattern, transport: &str, concurrency: u32) -> Cell {
        let (size, reply) = self.subject.only.unwrap_or(SIZES);
        let reply = if pattern == Pattern::Stream { 0 } else { reply };
        Cell { reply, concurrency, ..Cell::new(pattern, transport, size) }
    }

    /// Whether the subject can play a part.
    pub fn can_be(&self, role: PeerRole) -> bool {
        self.hello.roles.contains(&role)
    }

    /// The transports that the subject and this machine support in a pattern, the usual ones first.
    pub fn transports(&self, pattern: Pattern) -> Vec<&'static str> {
        let usable = transport::states().into_iter().filter(|state| state.unavailable.is_none());
        let known = usable.map(|state| state.capabilities).filter(|known| {
            known.carries_payload
                && known.does(pattern)
                && self.hello.transports.iter().any(|name| name == known.name)
        });
        let mut names: Vec<_> = known.map(|known| known.name).collect();
        names.sort_by_key(|name| !matches!(*name, "unix" | "tcp"));
        names
    }
}

fn check_hello(hello: &Hello) -> Result<(), CheckError> {
    let lacks = |what| Err(CheckError::Incomplete(what));
    if hello.protocol != PROTOCOL {
        return Err(CheckError::Version(hello.protocol));
    }
    match hello {
        _ if hello.peer.trim().is_empty() => lacks("peer"),
        _ if hello.version.trim().is_empty() => lacks("version"),
        _ if hello.runtime.trim().is_empty() => lacks("runtime"),
        _ if hello.roles.is_empty() => lacks("roles"),
        _ if hello.transports.is_empty() => lacks("transports"),
        _ if hello.patterns.is_empty() => lacks("patterns"),
        _ => Ok(()),
    }
}
