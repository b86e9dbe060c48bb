//! What only Linux has, or this program uses on Linux alone.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ipcost_model::Usage;

use super::{none, unsupported};
use crate::system::channel::SocketChannel;
use crate::system::descriptor::Descriptor;
use crate::system::socket::{Endpoint, UnixAddress};
use crate::transport::Channel;
use crate::{Context, SysError};

/// Unix socket names outside the file system.
pub mod abstract_address {
    use super::*;

    const REASON: &str = "names of sockets outside the file system exist on Linux only";
    pub const LACKS: Option<&'static str> = Some(REASON);

    stubs! { Err(unsupported(REASON));
        fn abstract_address(_: &str) -> io::Result<UnixAddress>;
        fn unguessable() -> io::Result<String>;
    }
}

/// Counts of other programs' system calls.
pub mod call_counts {
    use super::*;
    pub use crate::observed::{CallDirection, CalledOn, CountedCalls, SampleError};

    /// For so long calls are counted after the last reading.
    pub const LASTS: Duration = Duration::from_secs(15);

    #[derive(Debug)]
    pub enum CallCounter {}

    impl CallCounter {
        pub fn open() -> Result<Self, SampleError> {
            Err(SampleError::Absent(unsupported(
                "only Linux counts the system calls of other programs (bpf)",
            )))
        }

        stubs! { match *self {};
            fn read(&mut self) -> io::Result<Vec<CountedCalls>>;
            fn lost(&self) -> io::Result<u64>;
            fn forget(&mut self, _: u32, _: i32, _: CalledOn);
        }
    }
}

/// Requests between other programs.
pub mod request_trace {
    use super::*;
    use crate::observed::{Followed, RequestTally, SampleError, SlowRequest, Taken};

    /// So many connections are followed at once.
    pub const MOST_CONNECTIONS: usize = 0;
    /// So many conversations have a tally.
    pub const MOST_CONVERSATIONS: usize = 0;

    pub fn call_name(number: u32) -> String {
        format!("call {number}")
    }

    stubs! { ();
        fn give_way(_: bool);
    }

    #[derive(Debug)]
    pub enum RequestTrace {}

    impl RequestTrace {
        pub fn open() -> Result<Self, SampleError> {
            Err(SampleError::Absent(unsupported(
                "only Linux lets requests between other programs be followed (bpf)",
            )))
        }

        stubs! { match *self {};
            fn follow(&mut self, _: &[Followed]) -> io::Result<usize>;
            fn pause(&mut self);
            fn resume(&mut self) -> io::Result<()>;
            fn set_limit(&self, _: u32, _: u64) -> io::Result<()>;
            fn tally(&self, _: u32) -> io::Result<RequestTally>;
            fn take(&mut self, _: &mut dyn FnMut(SlowRequest)) -> io::Result<Taken>;
            fn run_time(&self) -> Option<(Duration, u64)>;
        }
    }
}

/// Views of other programs' system calls.
pub mod call_samples {
    use super::*;
    pub use crate::observed::{CallDirection, MovedCall, MovingCall, SampleError, Taken};

    stubs! { None;
        fn of_name(_: &str) -> Option<&'static MovingCall>;
        fn error_number(_: &str) -> Option<i32>;
    }

    #[derive(Debug)]
    pub enum CallSampler {}

    impl CallSampler {
        pub fn open(_threads: Option<&[u32]>) -> Result<Self, SampleError> {
            Err(SampleError::Absent(unsupported(
                "only Linux shows the system calls of other programs (perf)",
            )))
        }

        stubs! { match *self {};
            fn enable(&mut self);
            fn disable(&mut self);
            fn take(&mut self, _: &mut dyn FnMut(MovedCall)) -> Taken;
        }
    }
}

/// Ways of calling other than to block.
pub mod calling {
    use ipcost_model::choices::Io;

    use super::*;

    pub fn probe(io: Io) -> Result<(), SysError> {
        match io {
            Io::Blocking => Ok(()),
            _ => Err(SysError::LinuxAlone { option: "io", value: io.name() }),
        }
    }

    stubs! { Err(unsupported("only Linux has other ways of calling"));
        fn over(_: SocketChannel, _: Io) -> io::Result<Box<dyn Channel>>;
    }
}

/// TCP's congestion control.
pub mod congestion {
    use super::*;

    stubs! { Err(unsupported("this system does not let a program choose TCP's congestion control"));
        fn set_congestion(_: &Endpoint, _: &str) -> io::Result<()>;
        fn congestion(_: &Endpoint) -> io::Result<String>;
    }
}

/// Who opens connections.
pub mod connecting {
    use super::*;
    pub use crate::observed::{Connected, SampleError, Taken};

    #[derive(Debug)]
    pub enum Connecting {}

    impl Connecting {
        pub fn open() -> Result<Self, SampleError> {
            Err(SampleError::Absent(unsupported("only Linux shows who opens connections (perf)")))
        }

        stubs! { match *self {}; fn take(&mut self, _: &mut dyn FnMut(Connected)) -> Taken; }
    }
}

/// Kernel counters.
pub mod counter {
    use super::*;

    stubs! { Err(unsupported("eventfd is Linux's")); fn create() -> io::Result<Descriptor>; }
}

/// The process at the other end of a socket.
pub mod credentials {
    use super::*;

    /// No peer is identified, so none is refused.
    pub const KNOWS_PEER: bool = false;

    stubs! { none(); fn is_of_this_user(_: &Endpoint) -> io::Result<bool>; }
}

/// Sharing of descriptor tables: here all threads of a process share one, and a lookup costs the same either way.
pub mod descriptor_table {
    use super::*;

    stubs! { Ok(()); fn separate() -> io::Result<()>; }
    stubs! { None; fn sharers(_: u32) -> Option<u32>; }
}

/// Programs that a peer drives: other systems do not report enough about them.
pub mod driven_program {
    use std::fs::File;
    use std::io::PipeReader;
    use std::net::Ipv4Addr;
    use std::path::Path;

    use super::*;
    use crate::contract::{Launch, ListenerOwner, Listens, User, Woken};
    use crate::transport::Connection;

    #[derive(Debug)]
    pub struct DrivenProgram(Infallible);

    impl DrivenProgram {
        stubs! { none();
            fn start(_: Launch<'_>) -> io::Result<Self>;
            fn start_held(_: Launch<'_>) -> io::Result<Self>;
        }
        stubs! { match self.0 {};
            fn release(&self) -> io::Result<()>;
            fn id(&self) -> u32;
            fn has_ended(&self) -> bool;
            fn await_end(&self, _: Option<&Connection>) -> io::Result<Woken>;
            fn finish(&mut self) -> Result<Usage, SysError>;
        }
    }

    #[derive(Debug)]
    pub struct EndsAt(());

    stubs! { none();
        fn make_link(_: &Path, _: &Path) -> io::Result<()>;
        fn make_directory(_: &Path, _: Option<User>) -> io::Result<()>;
        fn give_directory(_: &Path, _: Option<User>) -> io::Result<()>;
        fn make_file(_: &Path, _: &[u8], _: Option<User>) -> io::Result<()>;
        fn ask_to_end(_: &DrivenProgram, _: bool, _: Duration) -> io::Result<()>;
        fn connect_at_once(_: Listens<'_>, _: Duration) -> io::Result<Connection>;
        fn await_reply(_: &Connection) -> io::Result<()>;
        fn path_listens(_: &str) -> io::Result<bool>;
        fn port_listens(_: u64) -> io::Result<bool>;
        fn await_input(_: &PipeReader, _: Option<&Connection>) -> io::Result<Woken>;
        fn ends(_: &Connection) -> io::Result<Option<(File, File)>>;
        fn is_a_strangers(_: &Connection) -> io::Result<bool>;
        fn limit_waits(_: &Connection, _: Duration) -> io::Result<()>;
        fn end_after(_: &Connection, _: Duration) -> io::Result<EndsAt>;
        fn let_wait(_: &Connection) -> io::Result<()>;
        fn hold_port(_: SocketAddr) -> io::Result<(Descriptor, u16)>;
    }
    stubs! { None;
        fn instead_of_root(_: &[&str]) -> Option<User>;
        fn used_by(_: u32) -> Option<(u64, Usage)>;
        fn bytes_read(_: u32) -> Option<u64>;
        fn name_and_sleep(_: u32) -> Option<(String, bool)>;
        fn listener(_: &Connection) -> Option<u32>;
        fn user_number(_: &str) -> Option<u32>;
        fn address_of_localhost() -> Option<Ipv4Addr>;
    }
    stubs! { Ok(ListenerOwner::Unknown);
        fn listener_owner(_: &Connection) -> io::Result<ListenerOwner>;
        fn owner_at(_: SocketAddr) -> io::Result<ListenerOwner>;
    }
    stubs! { Default::default();
        fn name_of(_: Option<User>) -> String;
        fn is_root() -> bool;
        fn own_user() -> u32;
        fn is_unix(_: &Connection) -> bool;
        fn shut(_: &Connection);
    }
}

/// Sleeping until a word of shared memory changes.
pub mod futex {
    use std::sync::atomic::AtomicU32;

    use super::*;

    const REASON: &str = "sleeping on a word that another process changes needs Linux's futex";
    pub const LACKS: Option<&'static str> = Some(REASON);

    stubs! { Err(unsupported(REASON));
        fn wake(_: &AtomicU32) -> io::Result<()>;
        fn wait(_: &AtomicU32, _: u32) -> io::Result<u32>;
        fn sleep(_: &AtomicU32, _: u32) -> io::Result<()>;
    }
}

/// Parsers of Linux-only texts.
pub mod kernel_texts {
    stubs! { ();
        fn read_text(_: &str);
        fn read_bytes(_: &[u8]);
    }
}

/// The loopback interface.
pub mod loopback {
    pub use crate::contract::Interface;

    stubs! { None; fn loopback() -> Option<Interface>; }
}

/// Other processes of this program that measure.
pub mod measuring {
    pub use crate::contract::Neighbour;

    stubs! { Default::default();
        fn mark();
        fn mark_as_waiting();
        fn unmark();
        fn others() -> Vec<Neighbour>;
        fn ahead() -> Vec<Neighbour>;
        fn is_known() -> bool;
    }

    /// The name of the user, if the environment has it.
    pub fn own_user() -> String {
        ["USER", "USERNAME"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default()
    }
}

/// POSIX message queues: missing here, or not descriptors.
pub mod message_queue {
    use super::*;

    #[derive(Debug)]
    pub struct MessageQueue(pub Descriptor);

    impl MessageQueue {
        stubs! { { let Self(_never) = self; Err(unsupported("they are measured on Linux only")) };
            fn send(&self, _: &[u8]) -> io::Result<usize>;
            fn receive(&self, _: &mut [u8]) -> io::Result<usize>;
        }
    }

    stubs! { Err(unsupported("they are measured on Linux only")); fn create(_: usize) -> io::Result<Descriptor>; }
}

/// Stream sockets that only Linux has, or whose kind elsewhere this program does not know.
pub mod more_sockets {
    use super::*;

    pub const ANY_VSOCK_PORT: u32 = u32::MAX;

    stubs! { Err(unsupported("only Linux's is known to this program"));
        fn mptcp_socket() -> io::Result<Endpoint>;
        fn sctp_socket() -> io::Result<Endpoint>;
    }
    stubs! { Err(unsupported("only Linux has them"));
        fn vsock_socket() -> io::Result<Endpoint>;
        fn vsock_address(_: u32) -> io::Result<UnixAddress>;
        fn vsock_port(_: &Endpoint) -> io::Result<u32>;
    }
}

/// A private network.
pub mod net_namespace {
    use super::*;

    #[derive(Debug)]
    pub enum NetNamespace {}

    /// The namespaces that a process enters before it starts.
    #[derive(Debug, Clone, Copy)]
    pub enum Entrance {}

    impl NetNamespace {
        stubs! { absent(); fn start(_: &[String]) -> Result<Self, SysError>; }
        stubs! { match *self {};
            fn process(&self) -> u32;
            fn lost(&self) -> &[String];
            fn entrance(&self) -> Entrance;
        }
    }

    impl Entrance {
        #[cfg(unix)]
        pub(crate) fn enter(self) -> io::Result<()> {
            match self {}
        }
    }

    stubs! { absent();
        fn enter() -> Result<Vec<String>, SysError>;
        fn hold() -> Result<(), SysError>;
    }

    fn absent<T>() -> Result<T, SysError> {
        Err::<T, _>(unsupported("a private network needs Linux's namespaces"))
            .context(|| "a network namespace".to_owned())
    }
}

/// Reading another process's memory.
pub mod other_memory {
    use super::*;

    stubs! { Err(SysError::Unsupported("this program can read another process's memory on Linux only"));
        fn probe() -> Result<(), SysError>;
    }
    stubs! { (); fn allow(); }
    stubs! { Err(unsupported("other processes' memory cannot be read"));
        fn read(_: u32, _: u64, _: &mut [u8]) -> io::Result<usize>;
    }
}

/// Passing memory to another process.
pub mod passed_memory {
    use super::*;

    pub const LACKS: Option<&'static str> = Some("only Linux has anonymous memory that sockets pass on");

    #[derive(Debug)]
    pub enum PassedMemory {}

    impl PassedMemory {
        stubs! { match *self {};
            fn read(&mut self, _: &mut [u8]) -> usize;
            fn is_over(&self) -> bool;
        }
    }

    stubs! { Err(unsupported("memory cannot be passed on"));
        fn pass(_: &Endpoint, _: &[u8]) -> io::Result<()>;
        fn take(_: &Endpoint) -> io::Result<Option<PassedMemory>>;
    }
}

/// Waiting for a moment, as precisely as the standard library can.
pub mod pausing {
    use super::*;
    use crate::clock::now_ns;

    /// Sleeps until a moment on the monotonic clock, nanoseconds; returns at once if it has passed.
    pub fn sleep_until(at_ns: u64) {
        let now = now_ns();
        if now < at_ns {
            std::thread::sleep(Duration::from_nanos(at_ns - now));
        }
    }

    #[derive(Debug)]
    pub struct IdleStateLimit {}

    stubs! { Ok(()); fn set_timer_slack(_: u64) -> io::Result<()>; }
    stubs! { none(); fn keep_awake(_: u64) -> io::Result<IdleStateLimit>; }
    stubs! { false; fn may_keep_awake() -> bool; }
}

/// Event counts of processes.
pub mod perf {
    use std::collections::BTreeMap;

    pub use crate::contract::Refusal;

    /// The events that other systems count.
    const EVENTS: [&str; 4] = ["instructions_user", "instructions_kernel", "page_faults", "migrations"];

    #[derive(Debug, Default)]
    pub struct Counters {
        refused: BTreeMap<String, Refusal>,
    }

    impl Counters {
        pub fn of_group(group: u32) -> Self {
            Self::of_calls(group, EVENTS)
        }

        pub fn of_calls<'a>(_group: u32, names: impl IntoIterator<Item = &'a str>) -> Self {
            Self { refused: names.into_iter().map(|name| (name.to_owned(), Refusal::Absent)).collect() }
        }

        pub fn refused(&self) -> &BTreeMap<String, Refusal> {
            &self.refused
        }

        stubs! { Default::default();
            fn enable(&self);
            fn read(&self) -> BTreeMap<String, f64>;
        }
    }

    stubs! { Vec::new(); fn processes(_: u32) -> Vec<u32>; }
}

/// This user's permissions.
pub mod permissions {
    use ipcost_model::facts::PermissionFacts;

    stubs! { PermissionFacts::default(); fn permissions() -> PermissionFacts; }
}

/// Sending in pieces.
pub mod pieces {
    use super::*;
    use crate::contract::Pieces;

    pub const LACKS: Option<&'static str> = Some("writes exists on Linux alone");

    stubs! { Err(unsupported("only Linux sends in pieces"));
        fn over(_: SocketChannel, _: Pieces) -> io::Result<Box<dyn Channel>>;
    }
}

/// Servers as the kernel sees them.
pub mod process_tree {
    use super::*;

    pub fn of(root: u32) -> Vec<u32> {
        vec![root]
    }

    #[derive(Debug, Clone, Default)]
    pub struct UsedByTree;

    impl UsedByTree {
        /// Unknown here, but of none.
        pub fn now(roots: &[u32], _known: &Self) -> Option<Self> {
            roots.is_empty().then_some(Self)
        }

        stubs! { Usage::default(); fn since(&self, _: &Self) -> Usage; }
    }

    stubs! { none();
        fn place_here(_: &[u32]) -> io::Result<()>;
        fn pin(_: u32, _: usize) -> io::Result<()>;
        fn run_before_others() -> io::Result<()>;
    }
    stubs! { None; fn listener_at(_: u16) -> Option<u32>; }
    stubs! { Vec::new(); fn of_this() -> Vec<u32>; }
}

/// What other programs hold.
pub mod running {
    use super::*;
    pub use crate::observed::{Held, ProcessWaits, Program, SharedMemory};

    /// Which parts of a process are looked at.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Depth {
        Counts,
        All,
    }

    #[derive(Debug, Default)]
    pub struct RunningPrograms {
        pub all: Vec<Program>,
        pub left_out: u64,
        pub left_out_descriptors: u64,
    }

    impl RunningPrograms {
        stubs! { Err(unsupported("only Linux shows what programs hold (proc)"));
            fn read(_: impl Fn(u32) -> Depth) -> io::Result<Self>;
        }
    }

    stubs! { Default::default();
        fn program_of(_: u32, _: Depth) -> Option<Program>;
        fn held_at(_: u32, _: i32) -> Option<Held>;
        fn waits_in(_: u32) -> Vec<String>;
        fn threads_of(_: u32) -> Vec<u32>;
        fn process_of(_: u32) -> Option<u32>;
        fn process_waits(_: u32) -> Option<ProcessWaits>;
        fn thread_name(_: u32, _: u32) -> Option<String>;
        fn own_network() -> u64;
        fn pipe_bytes(_: u32, _: i32) -> Option<u64>;
        fn new_pipe_bytes() -> Option<u64>;
        fn pipe_pages() -> Vec<(String, u64)>;
    }
}

/// A shared ring of bytes.
pub mod shared_ring {
    use std::sync::atomic::AtomicU32;

    use super::*;

    const REASON: &str = "sharing a ring between processes needs Linux's memfd and futex so far";
    pub const LACKS: Option<&'static str> = Some(REASON);

    #[derive(Debug)]
    pub struct SharedRing(Infallible);

    impl SharedRing {
        pub fn map<T>(_memory: T) -> Result<Self, SysError> {
            Err::<_, io::Error>(unsupported(REASON)).context(|| "cannot map shared memory".to_owned())
        }

        stubs! { match self.0 {};
            fn bytes(&self) -> usize;
            fn word(&self, _: usize) -> &AtomicU32;
            fn first_word(&self) -> &AtomicU32;
            fn write(&mut self, _: u32, _: &[u8]);
            fn read(&self, _: u32, _: &mut [u8]);
            fn fill(&mut self, _: u32, _: u8, _: usize);
            fn look_at(&self, _: u32, _: usize);
        }
    }

    stubs! { Err::<_, io::Error>(unsupported(REASON)).context(|| "cannot make shared memory".to_owned());
        fn create(_: usize, _: u64) -> Result<Descriptor, SysError>;
    }
}

/// Other programs' sockets.
pub mod sockets {
    use super::*;
    pub use crate::observed::{LocalPorts, TcpCounts, TcpSocket, TcpState, UdpSocket, UnixKind, UnixSocket};

    const WHY: &str = "only Linux shows the sockets of other programs (sock_diag)";

    #[derive(Debug)]
    pub struct Sockets;

    impl Sockets {
        stubs! { Err(unsupported(WHY));
            fn open() -> io::Result<Self>;
            fn open_at(_: u32, _: u64) -> io::Result<Self>;
            fn tcp(&mut self) -> io::Result<Vec<TcpSocket>>;
            fn udp(&mut self) -> io::Result<Vec<UdpSocket>>;
            fn unix(&mut self) -> io::Result<Vec<UnixSocket>>;
        }
    }

    /// Messages on TCP sockets that close.
    #[derive(Debug)]
    pub struct Closing;

    impl Closing {
        stubs! { Err(unsupported(WHY));
            fn listen() -> io::Result<Self>;
            fn listen_at(_: u32, _: u64) -> io::Result<Self>;
            fn take(&mut self) -> io::Result<(Vec<TcpSocket>, bool)>;
        }
    }

    impl LocalPorts {
        stubs! { Err(unsupported(WHY)); fn of(_: Option<u32>) -> io::Result<Self>; }
    }
}

/// Whether the machine was suspended: no clock here shows it.
pub mod suspension {
    stubs! { 0; fn suspended_ns() -> u64; }
}

/// TCP connections.
pub mod tcp_ends {
    use super::*;
    pub use crate::contract::TcpEnd;

    #[derive(Debug)]
    pub struct TcpEnds;

    impl TcpEnds {
        stubs! { Err(unsupported("only Linux shows the state of other programs' connections (sock_diag)"));
            fn open() -> io::Result<Self>;
            fn open_at(_: u32) -> io::Result<Self>;
            fn all(&mut self) -> io::Result<Vec<TcpEnd>>;
            fn of(&mut self, _: impl IntoIterator<Item = (SocketAddr, SocketAddr)>) -> io::Result<Vec<TcpEnd>>;
            fn listener(&mut self, _: SocketAddr) -> io::Result<Option<TcpEnd>>;
        }
    }

    stubs! { Default::default();
        fn sockets_of(_: u32) -> Vec<(u32, i32)>;
        fn owner_of(_: u32) -> Option<(u32, i32)>;
        fn nodelay_of(_: u32, _: i32) -> Option<bool>;
    }
}

/// Ways to send to a pipe other than `write`.
pub mod vmsplice {
    use ipcost_model::choices::PipeSend;

    use super::*;
    use crate::system::channel::PipePair;

    pub const EXISTS: bool = false;

    stubs! { Err(unsupported("only Linux has other ways to send to a pipe"));
        fn over(_: PipePair, _: PipeSend) -> io::Result<Box<dyn Channel>>;
    }
}

/// How long a processor takes to wake from idle: no thread can be kept on a processor here to find out.
pub mod wake {
    use super::*;

    stubs! { none(); fn after_rest(_: (usize, usize), _: Duration, _: u32) -> io::Result<Duration>; }
}

/// Shell commands: here they may leave processes of another session running.
pub mod whole_command {
    use std::fs::File;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::shell::shell_command;
    use crate::system::process::{GuardLine, PeerProcess, Spawn};

    /// Starts such a command; `own` starts this program in that role.
    pub fn start(
        own: &[String],
        line: &str,
        _lock: Option<&File>,
        guard: Option<GuardLine<'_>>,
    ) -> io::Result<PeerProcess> {
        let command = [own, &["--".to_owned(), line.to_owned()]].concat();
        PeerProcess::spawn(Spawn { command: &command, guard, ..Spawn::default() })
    }

    /// Runs a shell command and gives its exit status. Its job or process group is ended by the process that started this one.
    pub fn run(line: &str, _lock: Option<i32>) -> io::Result<u8> {
        let words = shell_command(line);
        let status =
            Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
    }
}
