//! Real servers that peers talk to: started before the processes of an epoch, and ended after them, or after the run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use ipcost_model::protocol::{Address, FromEngine, FromPeer, PeerRole, RUNS_AS};
use ipcost_model::{Cell, Lasts, Pattern, ServiceCommand};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::net_namespace::Entrance;
use ipcost_sys::process::Spawn;
use serde_json::{Value, json};

use crate::error::EngineError;
use crate::guard::Guard;
use crate::peer_control::{Failure, Patience, PeerProgram, RunningPeer, await_message, out_of_turn};

/// How long a server may take to start: some make a database first.
const TIME_TO_START: Duration = Duration::from_secs(60);

/// The servers of a run, by the peers that talk to them.
#[derive(Default)]
pub(super) struct Services {
    commands: BTreeMap<String, ServiceCommand>,
    running: BTreeMap<String, RunningService>,
    /// How many were started, so that each has a directory of its own.
    started: u32,
}

struct RunningService {
    peer: RunningPeer,
    address: Address,
}

impl Services {
    pub(super) fn new(commands: BTreeMap<String, ServiceCommand>) -> Self {
        Self { commands, running: BTreeMap::new(), started: 0 }
    }

    /// Sets how long all of them last.
    pub(super) fn set_lasts(&mut self, lasts: Lasts) {
        self.commands.values_mut().for_each(|service| service.lasts = lasts);
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Starts those of the peers that are not running, in a network of their own if one is given; as which user each runs.
    pub(super) fn start(
        &mut self,
        peers: &BTreeSet<&str>,
        (dir, network): (&Path, Option<Entrance>),
        guard: &mut Guard,
        interrupt: &Interrupt,
    ) -> Result<BTreeMap<String, String>, EngineError> {
        let mut users = BTreeMap::new();
        let wanted: Vec<(String, Vec<String>)> = self
            .commands
            .iter()
            .filter(|(name, _)| peers.contains(name.as_str()) && !self.running.contains_key(*name))
            .map(|(name, service)| (name.clone(), service.command.clone()))
            .collect();
        for (name, command) in wanted {
            self.started += 1;
            // What takes long to make, such as an empty database, is made once in a run.
            let kept = dir.join(format!("k-{name}"));
            let dir = dir.join(format!("s{}", self.started));
            let program = PeerProgram::new(&name, command);
            let mut peer = guard.watch(|guard| {
                RunningPeer::start(
                    &program,
                    format!("the server of {name}"),
                    Spawn { guard, network, ..Spawn::default() },
                )
            })?;
            let mut patience = Patience::of(TIME_TO_START, interrupt);
            let provision = json!({ "dir": dir, "kept": kept });
            let address = introduced(&mut peer, provision, &mut patience, interrupt)?;
            users.extend(user_in(&address).map(|user| (name.clone(), user)));
            self.running.insert(name, RunningService { peer, address });
        }
        Ok(users)
    }

    /// Where a peer's server listens over a transport; `None` if it has none.
    pub(super) fn address(&self, peer: &str, transport: &str) -> Option<Address> {
        self.running.get(peer)?.address.get(transport)?.as_object().cloned()
    }

    /// The process group of a peer's server.
    pub(super) fn group(&self, peer: &str) -> Option<u32> {
        Some(self.running.get(peer)?.peer.id())
    }

    /// How long a peer's server took until it answered, once everything it needs was there; `None` if it does not tell.
    pub(super) fn took(&self, peer: &str) -> Option<Duration> {
        self.running.get(peer)?.address.get("start_ns")?.as_u64().map(Duration::from_nanos)
    }

    /// Ends those that last no longer than an epoch, or all; the groups that are gone.
    pub(super) fn end(&mut self, all: bool, deadline: Instant) -> Vec<u32> {
        let commands = &self.commands;
        let ends = |name: &str| all || commands.get(name).is_none_or(|known| known.lasts == Lasts::Epoch);
        for (_, running) in self.running.iter_mut().filter(|(name, _)| ends(name)) {
            running.peer.dismiss(deadline);
        }
        let names: Vec<String> = self.running.keys().filter(|name| ends(name)).cloned().collect();
        let gone = names.into_iter().filter_map(|name| self.running.remove(&name)).map(|mut running| {
            running.peer.see_off(deadline);
            running.peer.id()
        });
        gone.collect()
    }
}

/// As whom a program runs that a peer has started, as it tells.
pub(super) fn user_in(address: &Address) -> Option<String> {
    /// No name of a user is longer (`useradd(8)`).
    const LONGEST: usize = 256;
    address.get(RUNS_AS)?.as_str().filter(|user| user.len() <= LONGEST).map(str::to_owned)
}

/// Its hello, then where it listens.
fn introduced(
    peer: &mut RunningPeer,
    provision: Value,
    patience: &mut Patience,
    interrupt: &Interrupt,
) -> Result<Address, EngineError> {
    match next(peer, patience, interrupt)? {
        FromPeer::Hello(_) => {}
        other => return Err(out_of_turn(peer, "hello", &other)),
    }
    let address = provision.as_object().cloned().unwrap_or_default();
    let cell = Cell::new(Pattern::Rr, "unix", 1);
    let prepare = FromEngine::Prepare { role: PeerRole::Server, cell, address };
    peer.say(&prepare, patience.deadline).map_err(|fault| peer.failed(fault))?;
    match next(peer, patience, interrupt)? {
        FromPeer::Ready { address, .. } => Ok(address),
        other => Err(out_of_turn(peer, "ready", &other)),
    }
}

fn next(
    peer: &mut RunningPeer,
    patience: &mut Patience,
    interrupt: &Interrupt,
) -> Result<FromPeer, EngineError> {
    await_message(&mut [peer], 0, patience, interrupt).map_err(|failure| match failure {
        Failure::Interrupted => EngineError::Interrupted,
        Failure::Peer(_, fault) => peer.failed(fault),
    })
}
