//! Peers that drive real programs: each is a directory here and a line in [`ADAPTERS`].
//!
//! They use the built-in peer's control-protocol session, workers and meters. Their own part is how the program is
//! started, what it is sent, and how its usage is measured.

pub mod app;
mod port;
pub mod redis;
mod server_address;
mod side_channel;
mod socat;

use ipcost_model::protocol::{Hello, PROTOCOL, PeerRole};
use ipcost_model::{Cell, Pattern};

use crate::{Peer, PeerError};

/// A peer that drives a real program.
#[derive(Debug, Clone, Copy)]
pub struct Adapter {
    pub name: &'static str,
    /// Its peers, each with a one-line summary and the arguments that select it.
    pub peers: &'static [(&'static str, &'static str, &'static [&'static str])],
    /// The programs that it drives, each with its package.
    pub programs: &'static [(&'static str, &'static str)],
    /// The packages it needs on this machine.
    pub packages: &'static [&'static str],
    /// The peers whose two sides understand only each other.
    pub own_wire: &'static [&'static str],
    /// The only size and reply it can carry, if it is limited to one.
    pub only: Option<(u64, u64)>,
    /// Makes the peer from arguments.
    new: fn(&[String]) -> Made,
}

type Made = Result<Box<dyn Peer>, PeerError>;

/// Every adapter, in the order of help texts.
pub const ADAPTERS: &[Adapter] = &[app::ADAPTER, redis::ADAPTER, socat::ADAPTER];

/// Runs an adapter on standard input and output; `true` if it ended normally.
pub fn run(name: &str, arguments: &[String]) -> bool {
    let found = ADAPTERS.iter().find(|adapter| adapter.name == name);
    let refuse = || {
        let known: Vec<&str> = ADAPTERS.iter().map(|adapter| adapter.name).collect();
        refused(format!("there is no peer {name} in this program; give {}, or none", known.join(", ")))
    };
    crate::run(found.ok_or_else(refuse).and_then(|adapter| (adapter.new)(arguments)))
}

fn hello(peer: &str, runtime: String, transports: &[&str], patterns: &[Pattern], options: &[&str]) -> Hello {
    Hello {
        protocol: PROTOCOL,
        peer: peer.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        runtime,
        roles: PeerRole::ALL.to_vec(),
        transports: transports.iter().map(|name| (*name).to_owned()).collect(),
        patterns: patterns.to_vec(),
        options: options.iter().map(|name| (*name).to_owned()).collect(),
        pushes: false,
    }
}

/// Refuses options that an adapter cannot follow; options for other transports pass, since the engine sends none.
fn allow_options(program: &str, cell: &Cell, known: &[&str]) -> Result<(), PeerError> {
    match cell.options.iter().find(|(name, _)| !known.contains(&name.spec().name)) {
        None => Ok(()),
        Some((name, _)) => {
            Err(refused(format!("{program} has no option {0}; leave option {0} out", name.spec().name)))
        }
    }
}

fn refused(message: impl Into<String>) -> PeerError {
    PeerError::Program(message.into())
}

/// Adds the attempted action to a system call's error.
fn system(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> PeerError {
    let action = action.into();
    move |source| ipcost_sys::SysError::Call { action, source }.into()
}
