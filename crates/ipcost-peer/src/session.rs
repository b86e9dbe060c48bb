//! The control protocol from the peer's side: one role, one cell, many batches.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ipcost_model::Cell;
use ipcost_model::protocol::{Address, Done, FromEngine, FromPeer, Hello, PeerRole};
use ipcost_sys::control::{ControlInput, Next};
use ipcost_sys::transport::{Connection, Effective, Server};

use crate::error::PeerError;
use crate::work::{Order, WorkKind};
use crate::workers::JoinedReports;

/// A program that can play both roles of a cell: the built-in peer, or one that drives real programs.
pub trait Peer {
    /// How it introduces itself.
    fn hello(&self) -> Hello;

    /// Sets up one role of one cell; returns its address and the options' effective values.
    fn prepare(&self, role: PeerRole, cell: &Cell, address: &Address) -> Result<Prepared, PeerError>;
}

/// A role after setup.
pub struct Prepared {
    /// The server's address; a client has none.
    pub address: Address,
    /// Effective options; if one option has several values, the least counts.
    pub effective: Vec<Effective>,
    pub part: RoleState,
}

/// How far a role has got.
pub enum RoleState {
    /// A server that still waits for its channels.
    Gathering(Gathering),
    Playing(Box<dyn Role>),
}

/// Channels that a server accepts while it also listens to the engine.
pub struct Gathering {
    server: Box<dyn Server>,
    wanted: usize,
    channels: Vec<Connection>,
    make_role: MakeRole,
}

/// Builds a role from the channels.
type MakeRole = Box<dyn FnOnce(Vec<Connection>) -> Result<Box<dyn Role>, PeerError>>;

impl Gathering {
    /// Waits for `wanted` channels of a server, then plays on them.
    pub fn new(
        server: Box<dyn Server>,
        wanted: usize,
        make_role: impl FnOnce(Vec<Connection>) -> Result<Box<dyn Role>, PeerError> + 'static,
    ) -> Self {
        Self { server, wanted, channels: Vec::new(), make_role: Box::new(make_role) }
    }

    fn complete(&self) -> bool {
        self.channels.len() == self.wanted
    }
}

/// One role of one cell, ready for batches.
pub trait Role {
    /// Does what must happen before the other side may begin; the order covers all workers together.
    fn arm(&mut self, _order: Order) -> Result<(), PeerError> {
        Ok(())
    }

    fn run(&mut self, order: Order) -> Result<JoinedReports, PeerError>;
}

/// Runs a peer on standard input and output until told to stop or its input ends.
///
/// `true` if it ended normally.
pub fn run(peer: Result<Box<dyn Peer>, PeerError>) -> bool {
    let played = peer.and_then(|peer| {
        Session { peer, input: ControlInput::default(), workers: 1, role: PeerRole::Client, part: None }.run()
    });
    match played {
        Ok(()) => true,
        Err(error) => {
            // The engine may be gone; then no one reads this.
            let _ = say(&FromPeer::Error { message: error.to_string() });
            false
        }
    }
}

struct Session {
    peer: Box<dyn Peer>,
    input: ControlInput,
    workers: u64,
    role: PeerRole,
    part: Option<RoleState>,
}

impl Session {
    fn run(&mut self) -> Result<(), PeerError> {
        say(&FromPeer::Hello(self.peer.hello()))?;
        loop {
            self.gather()?;
            let line = self.input.line().map_err(|error| protocol(&error))?;
            let Some(line) = line else { return Ok(()) };
            match serde_json::from_slice(&line).map_err(|error| protocol(&error))? {
                FromEngine::Stop => return Ok(()),
                FromEngine::Prepare { role, cell, address } => self.prepare(role, &cell, &address)?,
                FromEngine::Batch { id, ops, latency, push, seed } => {
                    let kind = if latency { WorkKind::Latency } else { WorkKind::Timed };
                    self.batch(id, Order { ops, kind, push, seed })?;
                }
                FromEngine::Verify { id, ops } => {
                    // Only what arrives is of interest, and it need not wait.
                    self.batch(id, Order { kind: WorkKind::Verify, push: true, ..Order::timed(ops) })?;
                }
            }
        }
    }

    /// Accepts channels until a control line arrives; then sets up the role on them.
    fn gather(&mut self) -> Result<(), PeerError> {
        let Some(RoleState::Gathering(gathering)) = &mut self.part else { return Ok(()) };
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
        let Some(RoleState::Gathering(gathering)) = self.part.take() else { unreachable!("just looked at") };
        self.part = Some(RoleState::Playing((gathering.make_role)(gathering.channels)?));
        Ok(())
    }

    fn prepare(&mut self, role: PeerRole, cell: &Cell, address: &Address) -> Result<(), PeerError> {
        if self.part.is_some() {
            return Err(PeerError::Protocol("prepared twice".to_owned()));
        }
        let Prepared { address, effective, part } = self.peer.prepare(role, cell, address)?;
        (self.role, self.workers) = (role, cell.concurrency.into());
        self.part = Some(part);
        ready(address, &effective)
    }

    fn batch(&mut self, id: u64, order: Order) -> Result<(), PeerError> {
        let ops = order.ops;
        // The engine has seen the client connect, so the missing channels are on their way.
        while let Some(RoleState::Gathering(gathering)) = &mut self.part {
            match gathering.server.try_accept()? {
                Some(channel) => gathering.channels.push(channel),
                None => std::thread::yield_now(),
            }
            if gathering.complete() {
                self.gather()?;
            }
        }
        let Some(RoleState::Playing(playing)) = &mut self.part else {
            return Err(PeerError::Protocol("a batch before prepare".to_owned()));
        };
        let workers = self.workers;
        if ops == 0 || !ops.is_multiple_of(workers) {
            return Err(PeerError::Protocol(format!(
                "{ops} operations cannot be shared by {workers} workers"
            )));
        }
        playing.arm(order)?;
        if self.role == PeerRole::Server {
            say(&FromPeer::Armed { id })?;
        }
        let JoinedReports { wall_ns, sent_ns, usage, latencies, retries, measures } = playing.run(order)?;
        let mut done = Done { id, ops, wall_ns, sent_ns, usage, retries, measures, ..Done::default() };
        latencies.iter().for_each(|(kind, values)| values.write_to(*kind, &mut done));
        say(&FromPeer::Done(done))
    }
}

fn ready(address: Address, effective: &[Effective]) -> Result<(), PeerError> {
    // One value per option: where channels differ, the least, which is the limit.
    let mut least: BTreeMap<&str, u64> = BTreeMap::new();
    for Effective { name, became, .. } in effective {
        least.entry(name).and_modify(|known| *known = (*known).min(*became)).or_insert(*became);
    }
    let effective = least.into_iter().map(|(name, became)| (name.to_owned(), became.into())).collect();
    say(&FromPeer::Ready { address, effective })
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
