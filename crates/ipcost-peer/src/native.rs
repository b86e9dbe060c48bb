//! The built-in peer: every transport of this system, with nothing but its system calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ipcost_model::protocol::{Address, Hello, PROTOCOL, PeerRole};
use ipcost_model::{CATALOGUE, Cell, NATIVE, OptionGroup, Pattern, choices};
use ipcost_sys::transport::{self, Transport};

use crate::error::PeerError;
use crate::roles;
use crate::session::{Gathering, Peer, Prepared, Role, RoleState};
use crate::work::Order;
use crate::workers::{JoinedReports, Workers};

pub struct Native;

impl Peer for Native {
    fn hello(&self) -> Hello {
        let options = CATALOGUE.iter().filter(|spec| spec.group != OptionGroup::Place);
        let usable = transport::states().into_iter().filter(|state| state.unavailable.is_none());
        Hello {
            protocol: PROTOCOL,
            peer: NATIVE.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            runtime: env!("IPCOST_RUNTIME").to_owned(),
            roles: PeerRole::ALL.to_vec(),
            transports: usable.map(|state| state.capabilities.name.to_owned()).collect(),
            patterns: Pattern::ALL.to_vec(),
            options: options.map(|spec| spec.name.to_owned()).collect(),
            pushes: cfg!(unix),
        }
    }

    fn prepare(&self, role: PeerRole, cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
        let transport = transport::find(&cell.transport)
            .ok_or_else(|| PeerError::Protocol(format!("there is no transport {}", cell.transport)))?;
        if !transport.capabilities().does(cell.pattern) {
            let (pattern, name) = (cell.pattern, &cell.transport);
            return Err(PeerError::Protocol(format!("there is no pattern {pattern} over {name}")));
        }
        if cell.options.pipe_calls().is_some_and(|calls| calls != choices::PipeCalls::System) {
            let text = "C's stdio is the C peer's: give --client c --server c, or leave pipe_calls out";
            return Err(PeerError::Program(text.to_owned()));
        }
        over(transport, role, cell, address)
    }
}

/// The built-in loops over a transport.
pub fn over(
    transport: &dyn Transport,
    role: PeerRole,
    cell: &Cell,
    address: &Address,
) -> Result<Prepared, PeerError> {
    match role {
        PeerRole::Client => {
            let (workers, effective) = roles::client(transport, cell, address)?;
            Ok(Prepared { address: Address::new(), effective, part: part(role, cell, workers, None) })
        }
        PeerRole::Server => serve(transport, cell, address),
    }
}

fn serve(transport: &dyn Transport, cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
    let server = transport.serve(address, cell)?;
    let (address, effective) = (server.address(), server.effective());
    let part = if cell.pattern == Pattern::Connect {
        let (workers, unclaimed) = roles::server_on_listener(cell, server)?;
        part(PeerRole::Server, cell, workers, Some(unclaimed))
    } else {
        let played = cell.clone();
        RoleState::Gathering(Gathering::new(server, cell.concurrency as usize, move |channels| {
            let workers = roles::server_on_channels(&played, channels)?;
            Ok(Box::new(Playing { role: PeerRole::Server, cell: played, workers, unclaimed: None }))
        }))
    };
    Ok(Prepared { address, effective, part })
}

fn part(role: PeerRole, cell: &Cell, workers: Workers, unclaimed: Option<Arc<AtomicU64>>) -> RoleState {
    RoleState::Playing(Box::new(Playing { role, cell: cell.clone(), workers, unclaimed }))
}

struct Playing {
    role: PeerRole,
    cell: Cell,
    workers: Workers,
    /// In `connect`, how many connections remain for the server's workers to share.
    unclaimed: Option<Arc<AtomicU64>>,
}

impl Playing {
    fn each(&self, order: Order) -> u64 {
        self.cell.work_for(order.ops / u64::from(self.cell.concurrency))
    }
}

impl Role for Playing {
    fn arm(&mut self, order: Order) -> Result<(), PeerError> {
        if let Some(unclaimed) = &self.unclaimed {
            unclaimed.store(self.each(order) * u64::from(self.cell.concurrency), Ordering::SeqCst);
        }
        Ok(())
    }

    fn run(&mut self, order: Order) -> Result<JoinedReports, PeerError> {
        let (mut together, cycles) = self.workers.run(Order { ops: self.each(order), ..order })?;
        together.measures.extend(cycles.map(|cycles| (format!("{}_cycles", self.role), cycles as f64)));
        Ok(together)
    }
}
