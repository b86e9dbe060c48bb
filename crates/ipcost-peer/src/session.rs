//! The control protocol from the peer's side: one role, one cell, many batches.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ipcost_model::protocol::{
    Address, Done, FromEngine, FromPeer, Hello, MAX_LATENCY_VALUES, PROTOCOL, PeerRole,
};
use ipcost_model::{Cell, NATIVE, Pattern};
use ipcost_sys::control::{ControlInput, Next};
use ipcost_sys::transport::{self, Connection, Effective, Server};

use crate::crew::Crew;
use crate::error::PeerError;
use crate::roles;
use crate::work::{Kind, Order};

/// Plays the built-in peer on standard input and output until it is told to stop or its input ends.
///
/// `true` where it ended in good order.
pub fn run() -> bool {
    let mut session = Session { input: ControlInput::default(), part: Part::None };
    match session.run() {
        Ok(()) => true,
        Err(error) => {
            // The engine may be gone, and then there is nobody to tell.
            let _ = say(&FromPeer::Error { message: error.to_string() });
            false
        }
    }
}

struct Session {
    input: ControlInput,
    part: Part,
}

/// How far the peer has got.
enum Part {
    None,
    /// A server whose channels are still coming.
    Gathering(Gathering),
    /// Ready for batches.
    Playing(Playing),
}

struct Gathering {
    cell: Cell,
    server: Box<dyn Server>,
    channels: Vec<Connection>,
}

impl Gathering {
    fn complete(&self) -> bool {
        self.channels.len() == self.cell.concurrency as usize
    }
}

struct Playing {
    role: PeerRole,
    cell: Cell,
    crew: Crew,
    /// In `connect`, how many connections the server's workers are to share.
    unclaimed: Option<Arc<AtomicU64>>,
}

impl Session {
    fn run(&mut self) -> Result<(), PeerError> {
        say(&FromPeer::Hello(hello()))?;
        loop {
            self.gather()?;
            let line = self.input.line().map_err(|error| protocol(&error))?;
            let Some(line) = line else { return Ok(()) };
            match serde_json::from_slice(&line).map_err(|error| protocol(&error))? {
                FromEngine::Stop => return Ok(()),
                FromEngine::Prepare { role, cell, address } => self.prepare(role, cell, &address)?,
                FromEngine::Batch { id, ops, latency } => {
                    let kind = if latency { Kind::Latency { most: 0 } } else { Kind::Timed };
                    self.batch(id, ops, kind)?;
                }
                FromEngine::Verify { id, ops } => self.batch(id, ops, Kind::Verify)?,
            }
        }
    }

    /// Accepts channels while no control line is there; then sets the workers up.
    fn gather(&mut self) -> Result<(), PeerError> {
        let Part::Gathering(gathering) = &mut self.part else { return Ok(()) };
        while !gathering.complete() {
            if let Some(channel) = gathering.server.try_accept()? {
                gathering.channels.push(channel);
                continue;
            }
            if self.input.wait_beside(&*gathering.server).map_err(|error| protocol(&error))? == Next::Control
            {
                return Ok(());
            }
        }
        let Part::Gathering(gathering) = std::mem::replace(&mut self.part, Part::None) else {
            unreachable!("just looked at")
        };
        let crew = roles::server_on_channels(&gathering.cell, gathering.channels)?;
        self.part =
            Part::Playing(Playing { role: PeerRole::Server, cell: gathering.cell, crew, unclaimed: None });
        Ok(())
    }

    fn prepare(&mut self, role: PeerRole, cell: Cell, address: &Address) -> Result<(), PeerError> {
        if !matches!(self.part, Part::None) {
            return Err(PeerError::Protocol("prepared twice".to_owned()));
        }
        let transport = transport::find(&cell.transport)
            .ok_or_else(|| PeerError::Protocol(format!("there is no transport {}", cell.transport)))?;
        if !transport.capabilities().does(cell.pattern) {
            let (pattern, name) = (cell.pattern, &cell.transport);
            return Err(PeerError::Protocol(format!("there is no pattern {pattern} over {name}")));
        }
        match role {
            PeerRole::Client => {
                let (crew, effective) = roles::client(transport, &cell, address)?;
                self.part = Part::Playing(Playing { role, cell, crew, unclaimed: None });
                ready(Address::new(), &effective)
            }
            PeerRole::Server => {
                let server = transport.serve(address, &cell)?;
                let (address, effective) = (server.address(), server.effective());
                self.part = if cell.pattern == Pattern::Connect {
                    let (crew, unclaimed) = roles::server_on_listener(&cell, server)?;
                    Part::Playing(Playing { role, cell, crew, unclaimed: Some(unclaimed) })
                } else {
                    Part::Gathering(Gathering { cell, server, channels: Vec::new() })
                };
                ready(address, &effective)
            }
        }
    }

    fn batch(&mut self, id: u64, ops: u64, kind: Kind) -> Result<(), PeerError> {
        // The engine has seen the client connected, so what is missing is on its way.
        while let Part::Gathering(gathering) = &mut self.part {
            match gathering.server.try_accept()? {
                Some(channel) => gathering.channels.push(channel),
                None => std::thread::yield_now(),
            }
            if gathering.complete() {
                self.gather()?;
            }
        }
        let Part::Playing(playing) = &mut self.part else {
            return Err(PeerError::Protocol("a batch before prepare".to_owned()));
        };
        let workers = u64::from(playing.cell.concurrency);
        if ops == 0 || !ops.is_multiple_of(workers) {
            return Err(PeerError::Protocol(format!(
                "{ops} operations cannot be shared by {workers} workers"
            )));
        }
        let each = playing.cell.work_for(ops / workers);
        if let Some(unclaimed) = &playing.unclaimed {
            unclaimed.store(each * workers, Ordering::SeqCst);
        }
        if playing.role == PeerRole::Server {
            say(&FromPeer::Armed { id })?;
        }
        let kind = match kind {
            Kind::Latency { .. } => Kind::Latency { most: MAX_LATENCY_VALUES.div_ceil(workers as usize) },
            kind => kind,
        };
        let together = playing.crew.run(Order { ops: each, kind })?;
        let latency_ns = thinned(together.latency_ns);
        say(&FromPeer::Done(Done {
            id,
            ops,
            wall_ns: together.wall_ns,
            sent_ns: together.sent_ns,
            usage: together.usage,
            latency_ns,
            retries: together.retries,
            measures: together
                .cycles
                .map(|cycles| (format!("{}_cycles", playing.role), cycles as f64))
                .into_iter()
                .collect(),
        }))
    }
}

fn hello() -> Hello {
    let usable = transport::states().into_iter().filter(|state| state.unavailable.is_none());
    Hello {
        protocol: PROTOCOL,
        peer: NATIVE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        runtime: env!("IPCOST_RUNTIME").to_owned(),
        roles: PeerRole::ALL.to_vec(),
        transports: usable.map(|state| state.capabilities.name.to_owned()).collect(),
        patterns: Pattern::ALL.to_vec(),
    }
}

fn ready(address: Address, effective: &[Effective]) -> Result<(), PeerError> {
    // One value an option: where channels differ, the least, which is what limits.
    let mut least: BTreeMap<&str, u64> = BTreeMap::new();
    for Effective { name, became, .. } in effective {
        least.entry(name).and_modify(|known| *known = (*known).min(*became)).or_insert(*became);
    }
    let effective = least.into_iter().map(|(name, became)| (name.to_owned(), became.into())).collect();
    say(&FromPeer::Ready { address, effective })
}

/// At most as many values as a message may have, as evenly spaced ranks, the largest among them.
fn thinned(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    let (count, most) = (values.len(), MAX_LATENCY_VALUES);
    if count <= most {
        return values;
    }
    (1..=most).map(|rank| values[(rank * count).div_ceil(most) - 1]).collect()
}

fn protocol(error: &dyn std::fmt::Display) -> PeerError {
    PeerError::Protocol(error.to_string())
}

fn say(message: &FromPeer) -> Result<(), PeerError> {
    let mut line = serde_json::to_vec(message).map_err(|error| protocol(&error))?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line).and_then(|()| output.flush()).map_err(|error| protocol(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_latencies_are_put_in_order_and_the_largest_is_kept() {
        assert_eq!(thinned(vec![3, 1, 2]), [1, 2, 3]);
        let many = thinned((0..25_000).rev().collect());
        assert_eq!((many.len(), many[0], many[MAX_LATENCY_VALUES - 1]), (MAX_LATENCY_VALUES, 2, 24_999));
    }
}
