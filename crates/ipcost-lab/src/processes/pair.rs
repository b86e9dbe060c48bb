//! The two processes of a cell, and their messages in turn.

use std::collections::BTreeSet;

use ipcost_model::protocol::{Address, Done, FromEngine, FromPeer, PeerRole};
use ipcost_model::{BufferLayout, Cell};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::process_tree;
use serde_json::{Map, Value, json};

use super::needs::check_version;
use crate::error::EngineError;
use crate::peer_control::{
    Failure, Patience, RunningPeer, await_message, expect_silence, fault, out_of_turn,
};

pub(super) const SERVER: usize = 0;
pub(super) const CLIENT: usize = 1;

/// The two processes of a cell.
pub(super) struct PeerPair {
    pub(super) server: RunningPeer,
    pub(super) client: RunningPeer,
    pub(super) trouble_counters: &'static [&'static str],
    pub(super) effective: Map<String, Value>,
    /// Where their buffers begin.
    pub(super) layout: Option<BufferLayout>,
    /// The processors that both are pinned to.
    pub(super) pinned: Option<BTreeSet<usize>>,
    /// The processes that serve instead of the server peer, if it only accounts for them.
    pub(super) served_by: Vec<u32>,
    /// The thread of such a server that answers this pair's client, once that is known.
    pub(super) answering: Option<u32>,
}

impl PeerPair {
    pub(super) fn ids(&self) -> [u32; 2] {
        [self.server.id(), self.client.id()]
    }

    /// The processes that do the work of either side.
    pub(super) fn workers(&self) -> [Vec<u32>; 2] {
        let [server, client] = self.ids();
        match self.served_by.is_empty() {
            true => [vec![server], vec![client]],
            false => [self.served_by.iter().flat_map(|root| process_tree::of(*root)).collect(), vec![client]],
        }
    }

    pub(super) fn peer(&mut self, index: usize) -> &mut RunningPeer {
        if index == SERVER { &mut self.server } else { &mut self.client }
    }

    pub(super) fn say(
        &mut self,
        to: usize,
        message: &FromEngine,
        patience: &Patience,
    ) -> Result<(), EngineError> {
        let peer = self.peer(to);
        peer.say(message, patience.deadline).map_err(|fault| peer.failed(fault))
    }

    pub(super) fn await_message(
        &mut self,
        from: usize,
        patience: &mut Patience,
        interrupt: &Interrupt,
    ) -> Result<FromPeer, EngineError> {
        let result = await_message(&mut [&mut self.server, &mut self.client], from, patience, interrupt);
        result.map_err(|failure| self.error(failure))
    }

    /// Checks that neither sends anything unasked.
    pub(super) fn expect_silence(&mut self) -> Result<(), EngineError> {
        let result = expect_silence(&mut [&mut self.server, &mut self.client]);
        result.map_err(|failure| self.error(failure))
    }

    fn error(&mut self, failure: Failure) -> EngineError {
        match failure {
            Failure::Interrupted => EngineError::Interrupted,
            Failure::Peer(guilty, fault) => self.peer(guilty).failed(fault),
        }
    }

    pub(super) fn prepare(
        &mut self,
        to: usize,
        cell: &Cell,
        address: Address,
        patience: &Patience,
    ) -> Result<(), EngineError> {
        let role = if to == SERVER { PeerRole::Server } else { PeerRole::Client };
        let offsets = match role {
            PeerRole::Server => self.layout.and_then(|layout| layout.server),
            PeerRole::Client => self.layout.and_then(|layout| layout.client),
        };
        let mut options = cell.options.for_peers();
        if let Some(offsets) = offsets {
            offsets.add_to(&mut options);
        }
        let cell = Cell { options, ..cell.clone() };
        self.say(to, &FromEngine::Prepare { role, cell, address }, patience)
    }

    pub(super) fn expect_hello(
        &mut self,
        from: usize,
        patience: &mut Patience,
        interrupt: &Interrupt,
    ) -> Result<(), EngineError> {
        match self.await_message(from, patience, interrupt)? {
            FromPeer::Hello(hello) => {
                // It was checked before measuring; it must still be the same peer.
                check_version(&hello).map_err(|reason| self.peer(from).failed(fault(&reason)))
            }
            other => Err(self.out_of_turn(from, "hello", &other)),
        }
    }

    pub(super) fn expect_ready(
        &mut self,
        from: usize,
        patience: &mut Patience,
        interrupt: &Interrupt,
    ) -> Result<Address, EngineError> {
        match self.await_message(from, patience, interrupt)? {
            FromPeer::Ready { address, effective } => {
                if !effective.is_empty() {
                    let role = if from == SERVER { PeerRole::Server } else { PeerRole::Client };
                    self.effective.insert(role.to_string(), json!(effective));
                }
                Ok(address)
            }
            other => Err(self.out_of_turn(from, "ready", &other)),
        }
    }

    pub(super) fn expect_done(
        &mut self,
        from: usize,
        patience: &mut Patience,
        interrupt: &Interrupt,
    ) -> Result<Done, EngineError> {
        match self.await_message(from, patience, interrupt)? {
            FromPeer::Done(done) => Ok(done),
            other => Err(self.out_of_turn(from, "done", &other)),
        }
    }

    pub(super) fn out_of_turn(&mut self, from: usize, expected: &str, message: &FromPeer) -> EngineError {
        out_of_turn(self.peer(from), expected, message)
    }
}
