//! Where sockets, pipes and shared memory lead: to which conversations, and to which of their ends.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ipcost_sys::observed::{CallDirection, Held};

use super::WatchedTransport;
use super::conversation_state::{ConversationKey, Holders, Side};
use super::proc_table::{ProcId, ProcTable};

/// A pipe with more writers or readers is one conversation of all of them: which of them talks to which is not in the kernel.
const MOST_HOLDERS: usize = 3;

/// Where descriptors led at an observation.
#[derive(Debug, Clone, Default)]
pub(super) struct Leads {
    /// By a socket's number: its conversation, and whether it is the client's end.
    pub sockets: HashMap<u32, (ConversationKey, bool)>,
    /// By a pipe's number: the conversations over it.
    pub pipes: HashMap<u64, Vec<ConversationKey>>,
}

impl Leads {
    /// The ends of conversations that a call of a process leads to.
    pub fn of(&self, process: ProcId, held: &Held, direction: CallDirection) -> Vec<(ConversationKey, bool)> {
        match held {
            Held::Socket(inode) => self.sockets.get(inode).cloned().into_iter().collect(),
            Held::Pipe { inode, .. } => {
                // What goes in is written, also by a process that holds both ends.
                let is_client = direction == CallDirection::Out;
                let is_its = |side: &Side| *side == Side::Holders || *side == Side::Proc(process);
                let keys = self.pipes.get(inode).into_iter().flatten();
                keys.filter(|key| is_its(key.side(is_client))).map(|key| (key.clone(), is_client)).collect()
            }
        }
    }

    /// Whether anything is known of it.
    pub fn know(&self, held: &Held) -> bool {
        match held {
            Held::Socket(inode) => self.sockets.contains_key(inode),
            Held::Pipe { inode, .. } => self.pipes.contains_key(inode),
        }
    }
}

const STANDARD_ERROR: i32 = 2;

/// A pipe between processes: its number, its conversation, and who they are where they are many.
pub(super) struct PipeLead {
    pub inode: u64,
    pub key: ConversationKey,
    /// Whether all that write to it have it as their standard error alone, which most of them never use.
    pub is_for_errors: bool,
    pub holders: Option<Holders>,
}

pub(super) fn pipes(procs: &ProcTable) -> Vec<PipeLead> {
    #[derive(Default)]
    struct Ends<'a> {
        writers: BTreeSet<ProcId>,
        readers: BTreeSet<ProcId>,
        path: Option<&'a str>,
        is_for_more: bool,
    }
    let mut all: BTreeMap<u64, Ends<'_>> = BTreeMap::new();
    for (id, program) in procs.live() {
        for (descriptor, held) in program.held.iter().flatten() {
            let Held::Pipe { inode, writes, reads, path } = held else { continue };
            let ends = all.entry(*inode).or_default();
            ends.path = path.as_deref().or(ends.path);
            if *writes {
                ends.writers.insert(id);
                ends.is_for_more |= *descriptor != STANDARD_ERROR;
            }
            if *reads {
                ends.readers.insert(id);
            }
        }
    }
    let mut found = Vec::new();
    for (inode, Ends { writers, readers, path, is_for_more }) in &all {
        let is_for_errors = !is_for_more;
        // A shell may still have both ends of what it has started.
        let only = |ends: &BTreeSet<ProcId>, others: &BTreeSet<ProcId>| {
            let without: Vec<ProcId> = ends.difference(others).copied().collect();
            if without.is_empty() { ends.iter().copied().collect() } else { without }
        };
        let (writing, reading) = (only(writers, readers), only(readers, writers));
        let address: Arc<str> = path.map_or_else(|| format!("pipe {inode}").into(), Arc::from);
        let medium = if path.is_some() { WatchedTransport::Fifo } else { WatchedTransport::Pipe };
        let key =
            |client, server| ConversationKey { network: 0, client, server, medium, address: address.clone() };
        let is_shared =
            !writing.is_empty() && !reading.is_empty() && (writing.len(), reading.len()) != (1, 1);
        if is_shared && writing.len().max(reading.len()) > MOST_HOLDERS {
            let holders = Some([holders(&writing, procs), holders(&reading, procs)]);
            found.push(PipeLead {
                inode: *inode,
                key: key(Side::Holders, Side::Holders),
                is_for_errors,
                holders,
            });
            continue;
        }
        for writer in &writing {
            for reader in reading.iter().filter(|reader| *reader != writer) {
                let key = key(Side::Proc(*writer), Side::Proc(*reader));
                found.push(PipeLead { inode: *inode, key, is_for_errors, holders: None });
            }
        }
    }
    found
}

/// What several processes are called, and how many they are.
fn holders(all: &[ProcId], procs: &ProcTable) -> (String, u32) {
    let name = |id: &ProcId| procs.get(*id).map(|known| known.program.name.as_str()).unwrap_or_default();
    let names: BTreeSet<&str> = all.iter().map(name).collect();
    let several = if names.len() > 1 { " and others" } else { "" };
    let first = names.first().copied().unwrap_or_default();
    (format!("{first}{several}"), all.len() as u32)
}

/// Memory that processes share: each with the one that was started first, or all of them if they are many.
pub(super) fn shared(procs: &ProcTable) -> Vec<(ConversationKey, Option<Holders>)> {
    let mut all: BTreeMap<(u64, u64), (Vec<ProcId>, &str)> = BTreeMap::new();
    for (id, program) in procs.live() {
        for memory in &program.shared {
            all.entry(memory.file).or_insert((Vec::new(), &memory.path)).0.push(id);
        }
    }
    let mut found = Vec::new();
    for (mut sharers, path) in all.into_values() {
        sharers.sort_by_key(|id| (id.started, id.pid));
        sharers.dedup();
        let key = |client, server| ConversationKey {
            network: 0,
            client,
            server,
            medium: WatchedTransport::Shm,
            address: path.into(),
        };
        let Some((first, others)) = sharers.split_first() else { continue };
        if others.len() > MOST_HOLDERS {
            let names = [holders(&[*first], procs), holders(others, procs)];
            found.push((key(Side::Proc(*first), Side::Holders), Some(names)));
            continue;
        }
        found.extend(others.iter().map(|other| (key(Side::Proc(*first), Side::Proc(*other)), None)));
    }
    found
}
