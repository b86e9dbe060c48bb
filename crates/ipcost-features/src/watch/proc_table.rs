//! The processes that live, and those that conversations are still told of: each by its number and its start, since numbers come again.

use std::collections::{BTreeMap, HashMap, HashSet};

use ipcost_sys::observed::{Held, Program};

use super::history::History;
use super::sampled::SampledProcess;

/// A process: its number, and the tick of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ProcId {
    pub pid: u32,
    pub started: u64,
}

/// What a process had counted at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ProcTotals {
    pub ticks: u64,
    /// Bytes that its calls have read and written; unknown of other users' processes.
    pub moved: Option<(u64, u64)>,
    /// The same, as far as calls were sampled.
    pub sampled: (f64, f64),
}

/// All that is known of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct ProcState {
    pub program: Program,
    pub sampled: SampledProcess,
    /// Calls for name resolution while it was traced.
    pub lookups: u64,
    /// What it had counted at the first observation; nothing if it came later.
    first: ProcTotals,
    history: History<ProcTotals>,
}

impl ProcState {
    fn totals(&self) -> ProcTotals {
        let Program { ticks, moved, .. } = self.program;
        ProcTotals { ticks, moved, sampled: (self.sampled.read, self.sampled.written) }
    }

    /// What it has counted since an earlier observation.
    pub fn since(&self, observation: u32) -> ProcTotals {
        let (now, before) = (self.totals(), self.history.at(observation).unwrap_or(self.first));
        let moved = now.moved.zip(before.moved);
        let less = |(now, before): ((u64, u64), (u64, u64))| {
            Some((now.0.checked_sub(before.0)?, now.1.checked_sub(before.1)?))
        };
        ProcTotals {
            ticks: now.ticks.saturating_sub(before.ticks),
            moved: moved.and_then(less),
            sampled: (now.sampled.0 - before.sampled.0, now.sampled.1 - before.sampled.1),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct ProcTable {
    all: BTreeMap<ProcId, ProcState>,
    /// Those that live, by number, and those that did at the observation before.
    live: HashMap<u32, ProcId>,
    before: HashMap<u32, ProcId>,
    /// Which process has a socket: of several that have it, the one that was started last, since servers hand theirs on.
    owners: HashMap<u32, ProcId>,
    /// What descriptors of each process were at the observation before, in their order.
    held_before: HashMap<ProcId, Vec<(i32, Held)>>,
}

impl ProcTable {
    /// Takes in the processes of an observation. If it is the first since a pause, what they have counted so far is not of this watch.
    pub fn observe(&mut self, programs: BTreeMap<u32, Program>, is_baseline: bool) {
        self.before = std::mem::take(&mut self.live);
        self.held_before.clear();
        self.owners.clear();
        let mut found: Vec<Program> = programs.into_values().collect();
        found.sort_by_key(|program| (program.started, program.id));
        for mut program in found {
            let id = ProcId { pid: program.id, started: program.started };
            self.live.insert(program.id, id);
            for (_, held) in program.held.iter().flatten() {
                if let Held::Socket(inode) = held {
                    self.owners.insert(*inode, id);
                }
            }
            if let Some(held) = &mut program.held {
                held.sort_unstable();
            }
            let known = self.all.entry(id).or_insert_with(|| ProcState {
                // One that came since has counted nothing before.
                first: ProcTotals { moved: program.moved.map(|_| (0, 0)), ..ProcTotals::default() },
                ..ProcState::default()
            });
            if is_baseline {
                // What it did while no one looked is left out of what it did.
                let (before, now) = (known.program.ticks, program.ticks);
                let missed = |now: u64, before: u64| now.saturating_sub(before);
                let shift = |totals: &mut ProcTotals| {
                    totals.ticks += missed(now, before);
                    let moved = known.program.moved.unwrap_or_default();
                    if let (Some(at), Some(now)) = (&mut totals.moved, program.moved) {
                        at.0 += missed(now.0, moved.0);
                        at.1 += missed(now.1, moved.1);
                    }
                };
                let all = known.history.all_mut().chain([&mut known.first]);
                all.for_each(shift);
            }
            if let Some(held) = known.program.held.take() {
                self.held_before.insert(id, held);
            }
            known.program = program;
        }
    }

    /// Keeps what was counted until this observation.
    pub fn remember(&mut self, observation: u32) {
        for known in self.all.values_mut() {
            known.history.remember(observation, known.totals());
        }
    }

    /// Forgets the processes that have ended, but for these.
    pub fn forget(&mut self, named: &HashSet<ProcId>) {
        let Self { all, live, .. } = self;
        all.retain(|id, _| live.get(&id.pid) == Some(id) || named.contains(id));
        // What one that has ended held is of no more use.
        let ended = all.iter_mut().filter(|(id, _)| live.get(&id.pid) != Some(id));
        ended.for_each(|(_, known)| known.program.held = known.program.held.as_ref().map(|_| Vec::new()));
    }

    /// Which process had this number lately.
    pub fn named(&self, pid: u32) -> Option<ProcId> {
        self.live.get(&pid).or_else(|| self.before.get(&pid)).copied()
    }

    pub fn get(&self, id: ProcId) -> Option<&ProcState> {
        self.all.get(&id)
    }

    pub fn get_mut(&mut self, id: ProcId) -> Option<&mut ProcState> {
        self.all.get_mut(&id)
    }

    pub fn live(&self) -> impl Iterator<Item = (ProcId, &Program)> {
        let is_live = |(id, _): &(&ProcId, &ProcState)| self.is_live(**id);
        self.all.iter().filter(is_live).map(|(id, known)| (*id, &known.program))
    }

    pub fn is_live(&self, id: ProcId) -> bool {
        self.live.get(&id.pid) == Some(&id)
    }

    pub fn owner_of(&self, inode: u32) -> Option<ProcId> {
        self.owners.get(&inode).copied().filter(|_| inode != 0)
    }

    /// What a descriptor of a process is, and was at the observation before.
    pub fn held_at(&self, id: ProcId, descriptor: i32) -> (Option<&Held>, Option<&Held>) {
        let at = |held: &[(i32, Held)]| held.binary_search_by_key(&descriptor, |(number, _)| *number).ok();
        let now = self.get(id).and_then(|known| known.program.held.as_deref());
        let before = self.held_before.get(&id).map(Vec::as_slice);
        (
            now.and_then(|held| at(held).map(|place| &held[place].1)),
            before.and_then(|held| at(held).map(|place| &held[place].1)),
        )
    }

    /// A process by its name and its number.
    pub fn name(&self, pid: u32) -> String {
        let known = self.named(pid).and_then(|id| self.get(id));
        known.map_or_else(|| format!("process {pid}"), |known| format!("{} ({pid})", known.program.name))
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.all.len()
    }
}
