//! Which descriptors lead where: who has a socket, and what goes over pipes and shared memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ipcost_sys::observed::{Held, Program};

use super::{Conversation, Medium};

/// What two programs talk over, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Way {
    pub client: Option<u32>,
    /// The name of a client that ended before any look met it.
    pub ended: Option<String>,
    pub server: Option<u32>,
    pub medium: Medium,
    pub address: String,
}

impl Conversation {
    /// What the client waits for an answer, nanoseconds, in the median; `None` where nothing told that while the programs ran as they do.
    pub fn waits_ns(&self) -> Option<f64> {
        self.round_trip_us.filter(|_| !self.slowed).map(|spread| spread.median * 1e3)
    }

    /// Whether another look's is the same: between the same programs, over the same address.
    pub fn is_same(&self, other: &Self) -> bool {
        self.way() == other.way()
    }

    pub(super) fn way(&self) -> Way {
        let Self { client, server, medium, address, .. } = self;
        let ended = client.pid.is_none() && !client.name.is_empty();
        Way {
            client: client.pid,
            ended: ended.then(|| client.name.clone()),
            server: server.pid,
            medium: *medium,
            address: address.clone(),
        }
    }
}

/// Where descriptors lead at a look.
#[derive(Debug, Clone, Default)]
pub(super) struct Leads {
    /// What each process holds.
    pub held: HashMap<u32, HashMap<i32, Held>>,
    /// By a socket's number: its conversation, and whether it is the client's end.
    pub sockets: HashMap<u32, (Way, bool)>,
    /// By a pipe's number: the conversations over it.
    pub pipes: HashMap<u64, Vec<Way>>,
}

impl Leads {
    pub fn of(&self, process: u32, held: &Held) -> Vec<(Way, bool)> {
        match held {
            Held::Socket(inode) => self.sockets.get(inode).cloned().into_iter().collect(),
            Held::Pipe { inode, .. } => {
                let ways = self.pipes.get(inode).into_iter().flatten();
                let of_process =
                    ways.filter(|way| way.client == Some(process) || way.server == Some(process));
                of_process.map(|way| (way.clone(), way.client == Some(process))).collect()
            }
        }
    }
}

/// Which process has a socket: of several that have it, the one that was started last, since servers hand theirs on.
pub(super) struct Owners(HashMap<u32, u32>);

impl Owners {
    pub fn of(programs: &BTreeMap<u32, Program>) -> Self {
        let mut found: HashMap<u32, u32> = HashMap::new();
        let mut all: Vec<&Program> = programs.values().collect();
        all.sort_by_key(|program| (program.started, program.id));
        for program in all {
            for (_, held) in program.held.iter().flatten() {
                if let Held::Socket(inode) = held {
                    found.insert(*inode, program.id);
                }
            }
        }
        Self(found)
    }

    pub fn of_socket(&self, inode: u32) -> Option<u32> {
        self.0.get(&inode).copied().filter(|_| inode != 0)
    }
}

/// Pipes between two processes, each with its number.
pub(super) fn pipes(programs: &BTreeMap<u32, Program>) -> Vec<(u64, Way)> {
    #[derive(Default)]
    struct Ends<'a> {
        writers: BTreeSet<u32>,
        readers: BTreeSet<u32>,
        path: Option<&'a str>,
    }
    let mut all: BTreeMap<u64, Ends<'_>> = BTreeMap::new();
    for program in programs.values() {
        for (_, held) in program.held.iter().flatten() {
            let Held::Pipe { inode, writes, reads, path } = held else { continue };
            let ends = all.entry(*inode).or_default();
            ends.path = path.as_deref().or(ends.path);
            if *writes {
                ends.writers.insert(program.id);
            }
            if *reads {
                ends.readers.insert(program.id);
            }
        }
    }
    let mut found = Vec::new();
    for (inode, Ends { writers, readers, path }) in &all {
        // A shell may still have both ends of what it has started.
        let both: Vec<u32> = writers.intersection(readers).copied().collect();
        let only = |ends: &BTreeSet<u32>| {
            let without: Vec<u32> = ends.iter().copied().filter(|id| !both.contains(id)).collect();
            if without.is_empty() { ends.iter().copied().collect() } else { without }
        };
        let address = path.map_or_else(|| format!("pipe {inode}"), str::to_owned);
        let medium = if path.is_some() { Medium::Fifo } else { Medium::Pipe };
        for writer in only(writers) {
            for reader in only(readers).into_iter().filter(|reader| *reader != writer) {
                let way = Way {
                    client: Some(writer),
                    ended: None,
                    server: Some(reader),
                    medium,
                    address: address.clone(),
                };
                found.push((*inode, way));
            }
        }
    }
    found
}

/// Memory that two processes share.
pub(super) fn shared(programs: &BTreeMap<u32, Program>) -> Vec<Way> {
    let mut all: BTreeMap<(u64, u64), (Vec<&Program>, &str)> = BTreeMap::new();
    for program in programs.values() {
        for memory in &program.shared {
            all.entry(memory.file).or_insert((Vec::new(), &memory.path)).0.push(program);
        }
    }
    let mut found = Vec::new();
    for (mut sharers, path) in all.into_values() {
        sharers.sort_by_key(|program| (program.started, program.id));
        sharers.dedup_by_key(|program| program.id);
        if let Some((first, others)) = sharers.split_first() {
            let of = |other: &&Program| {
                let (client, server) = (Some(first.id), Some(other.id));
                Way { client, ended: None, server, medium: Medium::Shm, address: path.to_owned() }
            };
            found.extend(others.iter().map(of));
        }
    }
    found
}
