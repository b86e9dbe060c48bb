//! Looking: one look at all sockets and programs, at no cost to them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::time::{Duration, Instant};

use ipcost_model::escaped;
use ipcost_sys::call_counts::{CallCounter, CalledOn, CountedCalls};
use ipcost_sys::connecting::Connecting;
use ipcost_sys::observed::{Connected, Held, Program, TcpSocket, UdpSocket, UnixSocket};
use ipcost_sys::running::{Depth, own_network, program_of, programs, waits_in};
use ipcost_sys::sockets::{Closing, Sockets, open_at};
use ipcost_sys::{counters, usage};

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel shows no sockets.
    #[error("the sockets of other programs cannot be seen here: {0}")]
    NoSockets(#[source] io::Error),
    /// The system lists no processes.
    #[error("the system lists no processes (/proc is not mounted, or hides them)")]
    NoProcesses,
    /// A process that was asked for is not there.
    #[error("there is no process {0}; ipcost watch without --pid shows those that talk to each other")]
    NoProcess(u32),
    /// A process of another user was asked for.
    #[error("process {0} is another user's; run as root to see what it says")]
    NotYours(u32),
}

/// All that is seen at a moment.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Since the first.
    pub at: Duration,
    /// Every TCP socket.
    pub tcp: Vec<TcpSocket>,
    /// Every UDP socket.
    pub udp: Vec<UdpSocket>,
    /// Every Unix socket.
    pub unix: Vec<UnixSocket>,
    /// Those that have closed since the last look.
    pub closed: Vec<TcpSocket>,
    /// Who opened connections since the last look, by the client's own and its server's address.
    pub connected: Vec<Connected>,
    /// What calls have moved over each socket and pipe so far, where that is counted.
    pub counted: Option<Vec<CountedCalls>>,
    /// Connections that no listener had room for since the system began, in this program's network.
    pub overflows: Option<u64>,
    /// Whether the kernel had no room for some of them.
    pub lost: bool,
    /// Every process.
    pub programs: BTreeMap<u32, Program>,
}

/// Looks again and again.
#[derive(Debug)]
pub struct Eyes {
    /// By network namespace, this program's own as 0; the others that may be entered.
    networks: BTreeMap<u64, (Sockets, Option<Closing>)>,
    /// Those that may not.
    closed_networks: BTreeSet<u64>,
    own_network: u64,
    /// Names the programs whose connections open and close between two looks.
    connecting: Option<Connecting>,
    /// Counts what goes over what the kernel itself does not count.
    counter: Option<CallCounter>,
    /// What was counted of sockets and pipes that had gone at the last look: that is told once, and then makes room.
    gone: Vec<CountedCalls>,
    began: Instant,
    own_ns: u64,
    /// What does not change of a process, by its number and its start.
    known: BTreeMap<(u32, u64), Program>,
}

impl Eyes {
    /// Opens what is looked through.
    ///
    /// # Errors
    /// If the kernel shows no sockets.
    pub fn open() -> Result<Self, WatchError> {
        let sockets = Sockets::open().map_err(WatchError::NoSockets)?;
        Ok(Self {
            networks: [(0, (sockets, Closing::listen().ok()))].into(),
            closed_networks: BTreeSet::new(),
            own_network: own_network(),
            connecting: Connecting::open().ok(),
            counter: CallCounter::open().ok(),
            gone: Vec::new(),
            began: Instant::now(),
            own_ns: own_ns(),
            known: BTreeMap::new(),
        })
    }

    /// Whether connections are seen that open and close between two looks.
    pub fn sees_closing(&self) -> bool {
        self.networks.values().any(|(_, closing)| closing.is_some())
    }

    /// The processor time that looking took so far, as a share of one processor.
    pub fn own_cpu(&self) -> f64 {
        (own_ns() - self.own_ns) as f64 / self.began.elapsed().as_nanos().max(1) as f64
    }

    /// The processor time of this program.
    pub fn own_time(&self) -> Duration {
        Duration::from_nanos(own_ns())
    }

    /// One look.
    ///
    /// # Errors
    /// If the kernel shows no sockets, or the system no processes.
    pub fn look(&mut self) -> Result<Look, WatchError> {
        let mut look = Look::default();
        let mut gone = Vec::new();
        for (network, (sockets, closing)) in &mut self.networks {
            // What closed before this look is no longer in the tables, and what closes after it is told at the next one.
            match sockets.tcp() {
                Ok(tcp) => look.tcp.extend(tcp),
                Err(error) if *network == 0 => return Err(WatchError::NoSockets(error)),
                Err(_) => gone.push(*network),
            }
            let (closed, lost) = closing.as_mut().and_then(|closing| closing.take().ok()).unwrap_or_default();
            look.closed.extend(closed);
            look.lost |= lost;
            // Some kernels tell of TCP alone.
            look.udp.extend(sockets.udp().unwrap_or_default());
            look.unix.extend(sockets.unix().unwrap_or_default());
        }
        gone.iter().for_each(|network| drop(self.networks.remove(network)));
        look.overflows = counters::network(std::process::id()).get("listen_overflows").copied();
        look.at = self.began.elapsed();
        let known = &self.known;
        let is_new = |id: u32| !known.range((id, 0)..=(id, u64::MAX)).any(|_| true);
        let mut seen: Vec<Program> = programs(|id| if is_new(id) { Depth::All } else { Depth::Counts });
        if seen.is_empty() {
            return Err(WatchError::NoProcesses);
        }
        // Others choose the names of their programs and sockets: none is to speak to this terminal.
        for socket in &mut look.unix {
            socket.name = socket.name.take().map(|name| escaped(&name));
        }
        for program in &mut seen {
            plain(program);
            let key = (program.id, program.started);
            match self.known.get(&key) {
                // One that has started another program since is another one.
                Some(known) if known.name != program.name => {
                    if let Some(new) = program_of(program.id, Depth::All) {
                        *program = new;
                        plain(program);
                    }
                    self.known.insert(key, Program { held: None, ..program.clone() });
                }
                Some(known) => {
                    program.command.clone_from(&known.command);
                    program.shared.clone_from(&known.shared);
                    program.group.clone_from(&known.group);
                    program.network = known.network;
                }
                None => {
                    self.known.insert(key, Program { held: None, ..program.clone() });
                }
            }
        }
        let seen_keys: HashSet<(u32, u64)> =
            seen.iter().map(|program| (program.id, program.started)).collect();
        self.known.retain(|key, _| seen_keys.contains(key));
        self.enter_networks(&seen);
        look.programs = seen.into_iter().map(|program| (program.id, program)).collect();
        // What is gone is told by what programs hold.
        self.count(&mut look);
        // Last, since it tells of a connection a millisecond late: the others are to be known when their messages on closing are.
        if let Some(connecting) = &mut self.connecting {
            connecting.take(&mut |connected| {
                let name = connected.name.as_deref().map(escaped);
                look.connected.push(Connected { name, ..connected });
            });
        }
        Ok(look)
    }

    /// Opens the network namespaces of programs that are not known yet, and lets those go that no program is in: a namespace stays as long
    /// as a socket in it does.
    fn enter_networks(&mut self, programs: &[Program]) {
        let used: BTreeSet<u64> = programs.iter().map(|program| program.network).collect();
        self.networks.retain(|network, _| *network == 0 || used.contains(network));
        self.closed_networks.retain(|network| used.contains(network));
        let is_new = |program: &&Program| {
            let network = program.network;
            network != 0
                && network != self.own_network
                && !self.networks.contains_key(&network)
                && !self.closed_networks.contains(&network)
        };
        let new: BTreeMap<u64, u32> =
            programs.iter().filter(is_new).map(|program| (program.network, program.id)).collect();
        for (network, process) in new {
            match open_at(process, network) {
                Ok(opened) => drop(self.networks.insert(network, opened)),
                Err(_) => drop(self.closed_networks.insert(network)),
            }
        }
    }

    /// Reads what was counted, and makes room for others.
    fn count(&mut self, look: &mut Look) {
        let Some(counter) = &mut self.counter else { return };
        let Ok(counted) = counter.read() else { return };
        for one in std::mem::take(&mut self.gone) {
            counter.forget(one.process, one.descriptor, one.on);
        }
        self.gone = gone(&counted, look);
        look.counted = Some(counted);
    }

    /// Whether what goes over Unix sockets and pipes is counted.
    pub fn counts_calls(&self) -> bool {
        self.counter.is_some()
    }

    /// How many network namespaces may not be entered.
    pub fn closed_networks(&self) -> usize {
        self.closed_networks.len()
    }
}

/// What was counted of sockets and pipes that a look does not show any more.
fn gone(counted: &[CountedCalls], look: &Look) -> Vec<CountedCalls> {
    let inet = look.tcp.iter().map(|socket| socket.inode).chain(look.udp.iter().map(|socket| socket.inode));
    let sockets: HashSet<u32> = inet.chain(look.unix.iter().map(|socket| socket.inode)).collect();
    let held = look.programs.values().flat_map(|program| program.held.iter().flatten());
    let pipe =
        |(_, held): &(i32, Held)| if let Held::Pipe { inode, .. } = held { Some(*inode) } else { None };
    let pipes: HashSet<u64> = held.filter_map(pipe).collect();
    let is_gone = |one: &&CountedCalls| match one.on {
        CalledOn::Socket(inode) => !sockets.contains(&inode),
        CalledOn::Pipe(inode) => !pipes.contains(&inode),
    };
    counted.iter().filter(is_gone).copied().collect()
}

/// Takes out of its words what would do something on a terminal.
fn plain(program: &mut Program) {
    program.name = escaped(&program.name);
    program.command.iter_mut().for_each(|word| *word = escaped(word));
}

/// Where threads of these processes wait in the kernel, by process.
pub fn waits(processes: impl IntoIterator<Item = u32>) -> BTreeMap<u32, Vec<String>> {
    processes.into_iter().map(|process| (process, waits_in(process))).collect()
}

fn own_ns() -> u64 {
    let usage = usage::own();
    usage.user_ns + usage.sys_ns
}

#[cfg(test)]
mod tests {
    use ipcost_sys::observed::CallDirection;

    use super::*;

    #[test]
    fn what_a_program_holds_is_not_gone() {
        let counted = |on| CountedCalls {
            process: 1,
            descriptor: 0,
            on,
            direction: CallDirection::In,
            bytes: 1,
            calls: 1,
            empty: 0,
            unsized_calls: 0,
        };
        let all = [7, 8].map(|inode| counted(CalledOn::Pipe(inode)));
        let pipe = Held::Pipe { inode: 7, writes: false, reads: true, path: None };
        let program = Program { id: 1, held: Some(vec![(0, pipe)]), ..Program::default() };
        let look = Look { programs: [(1, program)].into(), ..Look::default() };
        assert_eq!(gone(&all, &look), all[1..]);
        assert_eq!(
            gone(&[counted(CalledOn::Socket(7))], &look).len(),
            1,
            "a pipe of that number is no socket"
        );
    }
}
