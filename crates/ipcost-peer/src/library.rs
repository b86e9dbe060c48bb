//! Peers that talk through a library, over its own wire.

use ipcost_model::protocol::{Address, Hello, PROTOCOL, PeerRole};
use ipcost_model::{Cell, OptionValue, Pattern};
use ipcost_sys::transport::Transport;

use crate::error::PeerError;
use crate::native;
use crate::session::{Peer, Prepared};

/// A library: the loops are the built-in peer's, and what opens channels and moves messages is the library's.
pub struct Library {
    /// What the peer is called.
    pub name: &'static str,
    /// The library and its version.
    pub runtime: String,
    /// What it talks over, under the names that the engine provides for.
    pub transports: &'static [&'static dyn Transport],
    /// The patterns that it has.
    pub patterns: &'static [Pattern],
}

/// What the loops do by themselves.
const OPTIONS: [&str; 2] = ["clock", "extra_work"];
/// What libraries set by themselves.
const NODELAY: &str = "tcp_nodelay";

impl Peer for Library {
    fn hello(&self) -> Hello {
        Hello {
            protocol: PROTOCOL,
            peer: self.name.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            runtime: self.runtime.clone(),
            roles: PeerRole::ALL.to_vec(),
            transports: self.transports.iter().map(|known| known.capabilities().name.to_owned()).collect(),
            patterns: self.patterns.to_vec(),
        }
    }

    fn prepare(&self, role: PeerRole, cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
        let transport = self.transports.iter().find(|known| known.capabilities().name == cell.transport);
        let transport = transport.filter(|_| self.patterns.contains(&cell.pattern)).ok_or_else(|| {
            PeerError::Protocol(format!("there is no {} over {} here", cell.pattern, cell.transport))
        })?;
        let sets_nodelay = cell.options.bool("tcp_nodelay") == Some(true);
        let unknown = cell.options.iter().map(|(name, _)| name.spec().name);
        let mut unknown =
            unknown.filter(|name| !(OPTIONS.contains(name) || sets_nodelay && *name == NODELAY));
        match unknown.next() {
            None => {
                // The library's threads open descriptors that the workers use.
                let mut cell = cell.clone();
                let shared = OptionValue::Text("shared".to_owned());
                cell.options.set("descriptor_table", shared).map_err(PeerError::Program)?;
                native::over(*transport, role, &cell, address)
            }
            Some(name) => {
                let own = self.name;
                Err(PeerError::Program(format!(
                    "{own} does not follow {name} as it is set; leave option {name} out"
                )))
            }
        }
    }
}
