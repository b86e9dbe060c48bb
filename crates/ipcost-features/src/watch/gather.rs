//! Looking: one look at all sockets and programs, at no cost to them.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use ipcost_sys::observed::{Program, TcpSocket, UnixSocket};
use ipcost_sys::running::{Depth, program_of, programs};
use ipcost_sys::sockets::{Closing, Sockets};
use ipcost_sys::usage;

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
    /// Every Unix socket.
    pub unix: Vec<UnixSocket>,
    /// Those that have closed since the last look.
    pub closed: Vec<TcpSocket>,
    /// Whether the kernel had no room for some of them.
    pub lost: bool,
    /// Every process.
    pub programs: BTreeMap<u32, Program>,
}

/// Looks again and again.
#[derive(Debug)]
pub struct Eyes {
    sockets: Sockets,
    closing: Option<Closing>,
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
        let own_ns = own_ns();
        Ok(Self { sockets, closing: Closing::listen().ok(), began: Instant::now(), own_ns, known: BTreeMap::new() })
    }

    /// Whether connections are seen that open and close between two looks.
    pub fn sees_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// The processor time that looking took so far, as a share of one processor.
    pub fn own_cpu(&self) -> f64 {
        (own_ns() - self.own_ns) as f64 / self.began.elapsed().as_nanos().max(1) as f64
    }

    /// One look.
    ///
    /// # Errors
    /// If the kernel shows no sockets, or the system no processes.
    pub fn look(&mut self) -> Result<Look, WatchError> {
        // What closed before this look is no longer in the tables, and what closes after it is told at the next one.
        let tcp = self.sockets.tcp().map_err(WatchError::NoSockets)?;
        let (closed, lost) = match &mut self.closing {
            Some(closing) => closing.take().unwrap_or_default(),
            None => Default::default(),
        };
        let unix = self.sockets.unix().map_err(WatchError::NoSockets)?;
        let at = self.began.elapsed();
        let known = &self.known;
        let is_new = |id: u32| !known.range((id, 0)..=(id, u64::MAX)).any(|_| true);
        let mut seen: Vec<Program> = programs(|id| if is_new(id) { Depth::All } else { Depth::Counts });
        if seen.is_empty() {
            return Err(WatchError::NoProcesses);
        }
        for program in &mut seen {
            let key = (program.id, program.started);
            match self.known.get(&key) {
                // One that has started another program since is another one.
                Some(known) if known.name != program.name => {
                    if let Some(new) = program_of(program.id, Depth::All) {
                        *program = new;
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
        let programs = seen.into_iter().map(|program| (program.id, program)).collect();
        Ok(Look { at, tcp, unix, closed, lost, programs })
    }
}

fn own_ns() -> u64 {
    let usage = usage::own();
    usage.user_ns + usage.sys_ns
}
