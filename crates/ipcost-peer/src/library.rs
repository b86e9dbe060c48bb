//! Peers that talk through a library, over its wire format.

use ipcost_model::pace::{ARRIVALS, CPU_DMA_LATENCY, PACER, POLLUTE, RATE, THINK, TIMER_SLACK};
use ipcost_model::protocol::{Address, Hello, PROTOCOL, PeerRole};
use ipcost_model::{Cell, OptionValue, Pattern};
use ipcost_sys::transport::Transport;

use crate::error::PeerError;
use crate::native;
use crate::session::{Peer, Prepared};

/// A library: it opens channels and moves messages; the loops are the built-in peer's.
pub struct Library {
    pub name: &'static str,
    /// The library and its version.
    pub runtime: String,
    /// Its transports, under the names that the engine expects.
    pub transports: &'static [&'static dyn Transport],
    /// The patterns it supports.
    pub patterns: &'static [Pattern],
}

/// Options that the loops implement.
const OPTIONS: [&str; 12] = [
    "clock", "extra_work", "send_offset", "recv_offset", "touch", THINK, RATE, ARRIVALS, PACER, POLLUTE,
    CPU_DMA_LATENCY, TIMER_SLACK,
];
/// The option that libraries set themselves.
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
            options: OPTIONS.map(str::to_owned).to_vec(),
            pushes: false,
        }
    }

    fn prepare(&self, role: PeerRole, cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
        let transport = self.transports.iter().find(|known| known.capabilities().name == cell.transport);
        let transport = transport.filter(|_| self.patterns.contains(&cell.pattern)).ok_or_else(|| {
            PeerError::Protocol(format!("there is no {} over {} here", cell.pattern, cell.transport))
        })?;
        let sets_nodelay = cell.options.tcp_nodelay() == Some(true);
        let unknown = cell.options.iter().map(|(name, _)| name.spec().name);
        let mut unknown =
            unknown.filter(|name| !(OPTIONS.contains(name) || sets_nodelay && *name == NODELAY));
        match unknown.next() {
            None => {
                // The workers use descriptors that the library's threads open.
                let mut cell = cell.clone();
                let shared = OptionValue::Text("shared".to_owned());
                cell.options.set("descriptor_table", shared)?;
                native::over(*transport, role, &cell, address)
            }
            Some(name) => {
                let own = self.name;
                Err(PeerError::Program(format!(
                    "{own} does not support this value of option {name}; leave it out"
                )))
            }
        }
    }
}
