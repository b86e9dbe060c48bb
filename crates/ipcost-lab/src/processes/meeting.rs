//! Every peer introduces itself before a run: what it can do, and whether that is what its cells need.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use ipcost_model::pace::PACER;
use ipcost_model::protocol::{FromPeer, PeerRole};
use ipcost_model::{ArmName, Cell, OptionGroup, Pattern};
use ipcost_sys::process::Spawn;

use super::needs::{Need, check_hello};
use super::{FAREWELL, ProcessBench};
use crate::error::EngineError;
use crate::peer_control::{Failure, Patience, RunningPeer, await_message, in_short};

impl ProcessBench {
    /// What the cells need of every peer.
    fn needs(&self) -> BTreeMap<(Option<ArmName>, String), BTreeSet<Need>> {
        let mut needs: BTreeMap<_, BTreeSet<Need>> = BTreeMap::new();
        for cell in self.cells.iter().filter(|cell| cell.unavailable.is_none()) {
            for (name, role) in [(&cell.server, PeerRole::Server), (&cell.client, PeerRole::Client)] {
                let fixed = |name: &&str| cell.cell.options.number(name).is_some();
                let offsets = ["send_offset", "recv_offset"].into_iter().filter(fixed);
                let Cell { pattern, ref transport, .. } = cell.cell;
                // The server of a stream tells how long its messages took.
                let keeps = role == PeerRole::Client || pattern == Pattern::Stream;
                let pace = cell.cell.options.only(OptionGroup::Pace);
                let pace = pace.iter().map(|(name, _)| name.spec().name).filter(|_| keeps);
                let need = Need {
                    role,
                    transport: transport.clone(),
                    pattern,
                    options: offsets.chain(pace).collect(),
                };
                needs.entry((cell.arm, name.clone())).or_default().insert(need);
            }
        }
        needs
    }

    /// Starts every peer once to learn its capabilities.
    pub(super) fn meet_peers(&mut self) -> Result<(), EngineError> {
        for (peer, needs) in self.needs() {
            let program = &self.programs[&peer];
            let (_, name) = peer;
            let mut peer = self.guard.watch(|guard| {
                RunningPeer::start(program, format!("peer {name}"), Spawn { guard, ..Spawn::default() })
            })?;
            let mut patience = Patience::of(self.timeout, &self.interrupt);
            let hello = match await_message(&mut [&mut peer], 0, &mut patience, &self.interrupt) {
                Ok(FromPeer::Hello(hello)) => {
                    let able = [
                        (&mut self.placing, hello.places_buffers()),
                        (&mut self.pushing, hello.pushes),
                        (&mut self.spinning, hello.knows(PACER)),
                    ];
                    for (peers, _) in able.into_iter().filter(|(_, is_able)| *is_able) {
                        peers.insert(name.clone());
                    }
                    let fits = check_hello(&hello, &needs).map_err(|fault| fault.to_string());
                    self.listed.insert(name.clone(), hello.options);
                    fits
                }
                Ok(other) => {
                    Err(format!("sent {} instead of hello, which a peer sends first", in_short(&other)))
                }
                Err(Failure::Interrupted) => return Err(EngineError::Interrupted),
                Err(Failure::Peer(_, fault)) => Err(fault.reason),
            };
            let unfit =
                |reason| EngineError::PeerUnfit { name: name.clone(), reason, complaint: peer.complaint() };
            hello.map_err(unfit)?;
            peer.dismiss(patience.deadline);
            peer.see_off(Instant::now() + FAREWELL);
            self.guard.forget(&[peer.id()]);
        }
        Ok(())
    }
}
