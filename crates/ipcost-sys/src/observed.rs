//! What is seen of the programs that run: their sockets, pipes and shared memory, never what goes through them.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// The state of a TCP socket, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TcpState {
    /// It waits for connections.
    Listening,
    /// It is connected, or was and is closing.
    Connected,
    /// No program has it any more, and its port is kept for a minute.
    TimeWait,
}

/// A TCP socket (`sock_diag(7)`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpSocket {
    /// The network namespace that it is in, by number; 0 in this program's own.
    pub network: u64,
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub state: TcpState,
    /// Its number; 0 if no process has it open.
    pub inode: u32,
    /// What no other socket has had since the machine started: addresses and numbers come again.
    pub cookie: u64,
    /// Bytes that wait for the program; of one that listens, connections that do.
    pub waiting: u32,
    /// Bytes that are not acknowledged; of one that listens, how many connections may wait.
    pub outstanding: u32,
    /// How it shares the network, such as `cubic`.
    pub congestion: Option<String>,
    /// What it has counted; none of one that listens.
    pub counts: Option<TcpCounts>,
}

/// What a TCP socket has counted since it was connected (`struct tcp_info` of `linux/tcp.h`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Bytes that the other end has acknowledged.
    pub acknowledged_bytes: u64,
    /// Bytes that have come; the end of a connection counts as one.
    pub received_bytes: u64,
    /// Bytes that the program has sent, each once; `None` of kernels before 4.19.
    pub sent_bytes: Option<u64>,
    /// Segments with data that were sent.
    pub data_segments_out: u32,
    /// Segments with data that have come.
    pub data_segments_in: u32,
    /// Segments that were sent again.
    pub retransmitted: u32,
    /// The smoothed round trip, microseconds, with what the other end waits before it acknowledges.
    pub rtt_us: u32,
    /// Segments that congestion control lets be outstanding.
    pub window: u32,
    /// The most that a segment holds, bytes.
    pub segment_bytes: u32,
    /// Segments that are sent and not acknowledged.
    pub unacknowledged: u32,
    /// Bytes that the program has written and that are not sent.
    pub unsent_bytes: u32,
    /// Bytes a second that the kernel saw delivered lately.
    pub delivery_bytes_per_s: u64,
    /// How long anything was outstanding, microseconds.
    pub busy_us: u64,
    /// How much of that the receiver's full buffer held it up.
    pub receiver_limited_us: u64,
    /// How much of that its own full buffer did.
    pub buffer_limited_us: u64,
    /// Milliseconds since it last sent data.
    pub since_sent_ms: u32,
    /// Milliseconds since data last came.
    pub since_received_ms: u32,
}

/// The local ports that clients of a network namespace may be given (`ip-sysctl`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalPorts {
    pub count: u32,
    /// Whether those in TIME_WAIT are given again (`net.ipv4.tcp_tw_reuse`): 0 never, 1 always, 2 over loopback.
    pub reuse: u32,
}

impl LocalPorts {
    /// Whether one in TIME_WAIT is given again for a connection to this address.
    pub fn are_reused(self, to: IpAddr) -> bool {
        self.reuse == 1 || (self.reuse == 2 && to.is_loopback())
    }
}

/// A UDP socket (`sock_diag(7)`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UdpSocket {
    /// The network namespace that it is in, by number; 0 in this program's own.
    pub network: u64,
    pub local: SocketAddr,
    /// The only one that it talks to, if it is connected.
    pub remote: Option<SocketAddr>,
    pub inode: u32,
    /// Bytes that wait for the program, with what the kernel needs to keep them.
    pub waiting: u32,
    /// Datagrams that were dropped, since there was no room for them.
    pub dropped: u32,
}

/// The kind of a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnixKind {
    Stream,
    Datagram,
    Packet,
}

/// A Unix socket (`sock_diag(7)`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSocket {
    /// What goes through it.
    pub kind: UnixKind,
    pub is_listening: bool,
    pub inode: u32,
    /// What no other socket has had since the machine started: numbers come again.
    pub cookie: u64,
    /// The number of the other end, if it is connected.
    pub peer: Option<u32>,
    /// Where it is bound; an abstract name begins with `@`.
    pub name: Option<String>,
    /// Bytes that wait for the program; of one that listens, connections that do.
    pub waiting: u32,
    /// Bytes that it has sent and that the other end has not read; of one that listens, how many connections may wait.
    pub outstanding: u32,
}

/// What a descriptor is, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Held {
    /// A socket, by number.
    Socket(u32),
    /// A pipe's end, by the pipe's number.
    Pipe {
        inode: u64,
        /// Whether the process writes to it.
        writes: bool,
        /// Whether the process reads from it.
        reads: bool,
        /// The name of a FIFO.
        path: Option<String>,
    },
}

/// Memory that a process shares with others, by its file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SharedMemory {
    /// The device and the number of its file.
    pub file: (u64, u64),
    /// Its path, such as `/dev/shm/ring` or `/memfd:ring (deleted)`.
    pub path: String,
    /// How long it is, bytes.
    pub bytes: u64,
}

/// A process at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    pub id: u32,
    /// The tick of its start, which with the number is unique.
    pub started: u64,
    /// The process that has started it.
    pub parent: u32,
    /// Its name, of at most 15 letters.
    pub name: String,
    pub command: Vec<String>,
    /// The user whose it is, by number.
    pub user: u32,
    /// Processor time so far, ticks.
    pub ticks: u64,
    /// Bytes that its calls have read and written so far, whatever from; unknown of other users' processes.
    pub moved: Option<(u64, u64)>,
    /// Sockets and pipes with their descriptors; `None` if this user may not look.
    pub held: Option<Vec<(i32, Held)>>,
    pub shared: BTreeSet<SharedMemory>,
    /// Its control group, such as `/system.slice/redis.service`.
    pub group: String,
    /// Its network namespace, by number; 0 if this user may not look.
    pub network: u64,
}

impl Program {
    /// The systemd unit that it belongs to, such as `redis-server.service`.
    pub fn unit(&self) -> Option<&str> {
        self.group.rsplit('/').find(|part| part.ends_with(".service") || part.ends_with(".scope"))
    }

    /// The container that it runs in, by the first letters of its number.
    pub fn container(&self) -> Option<&str> {
        const SHOWN: usize = 12;
        const NUMBER: usize = 64;
        let is_number =
            |part: &&str| part.len() == NUMBER && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let parts = self.group.split(['/', '-', '.', ':']);
        parts.into_iter().find(is_number).map(|number| &number[..SHOWN])
    }
}

/// What a process's threads have waited for since they began, as any user may see of the own processes (`proc(5)`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessWaits {
    /// Ready, while no processor was free, nanoseconds.
    pub ready_ns: u64,
    /// Page faults that had to read.
    pub faults: u64,
}

/// Where a call moves data, seen from the program that makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallDirection {
    /// To the program, such as `read`.
    In,
    /// From it, such as `write`.
    Out,
    /// Nowhere: it waits until data can move, such as `poll`.
    Wait,
    /// Nowhere: it begins or ends a connection, such as `connect`.
    Other,
}

/// A system call that moves data or waits for it, and which of its arguments matter. No argument with an address does.
#[derive(Debug, PartialEq, Eq)]
pub struct MovingCall {
    /// Its number on this architecture.
    pub number: i64,
    pub name: &'static str,
    pub direction: CallDirection,
    /// Which argument is the descriptor, if one is, from 0 on.
    pub descriptor: Option<usize>,
    /// Which argument says how many bytes are asked for, if one does, from 0 on.
    pub asked: Option<usize>,
}

/// A call that moves data, as the kernel saw it begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedCall {
    /// The process that made it.
    pub process: u32,
    /// The thread that made it.
    pub thread: u32,
    /// Its name, such as `read` or `sendto`.
    pub call: &'static str,
    /// The descriptor that it was made on; -1 for calls on several or none, such as `poll`.
    ///
    /// Of `splice`, `tee` and `sendfile` it is the one that data go to.
    pub descriptor: i32,
    pub direction: CallDirection,
    /// Bytes asked for, where an argument says it, as for `read` and `sendto`; otherwise 0.
    pub asked: u64,
    /// What the call returned: bytes, or a negative error number (`errno(3)`).
    ///
    /// For `sendmmsg` and `recvmmsg` these are messages, and for calls that wait, descriptors. From -512 to -516 a signal
    /// interrupted the call; the kernel may make it again.
    pub result: i64,
    /// When it began, nanoseconds on the monotonic clock, as [`clock::now_ns`](crate::clock::now_ns).
    pub began_ns: u64,
    /// When it ended, on the same clock.
    pub ended_ns: u64,
    /// Whether nothing was missed in between. If not, the begin may be that of an earlier call, and `asked` too.
    pub is_whole: bool,
}

/// A TCP connection that a program has opened, as the kernel saw it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Connected {
    /// The process that opened it.
    pub process: u32,
    /// The thread that called `connect`.
    pub thread: u32,
    /// The program's name, if the process has executed it a moment before: it may have ended by now.
    pub name: Option<String>,
    /// Its own address, in the network namespace that it is in.
    pub local: SocketAddr,
    pub remote: SocketAddr,
}

/// What a descriptor was when a call on it was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CalledOn {
    /// A socket, by number, as [`Held::Socket`].
    Socket(u32),
    /// A pipe or a FIFO, by number, as [`Held::Pipe`].
    Pipe(u64),
}

/// What the calls of a process on a descriptor have moved, one way, while it was the same socket or pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CountedCalls {
    pub process: u32,
    /// The descriptor. One that was closed and is another socket by now has counts of its own for each.
    pub descriptor: i32,
    pub on: CalledOn,
    /// [`CallDirection::In`] or [`CallDirection::Out`].
    pub direction: CallDirection,
    /// Bytes moved, without those of `unsized_calls`.
    pub bytes: u64,
    /// Calls that moved something. The end of a stream, an empty datagram, and what was only looked at
    /// (`MSG_PEEK`) are not among them.
    pub calls: u64,
    /// Calls that would have had to wait (`EAGAIN`).
    pub empty: u64,
    /// Those of `calls` that tell messages and not bytes: `recvmmsg` and `sendmmsg`.
    pub unsized_calls: u64,
}

/// A connection whose requests are followed: what calls of its ends are on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Followed {
    /// The conversation that it belongs to, by a number below `MOST_CONVERSATIONS`.
    pub conversation: u32,
    /// The processes that have either end.
    pub processes: Vec<u32>,
    /// What the client writes to, and reads from.
    pub client_out: CalledOn,
    pub client_in: CalledOn,
    /// What the server reads from, and writes to.
    pub server_in: CalledOn,
    pub server_out: CalledOn,
}

/// Requests of a conversation, since its limit was set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestTally {
    /// Those that did not overlap with another one on their connection.
    pub requests: u64,
    /// Those of them that took longer than the limit.
    pub slow: u64,
    pub slowest_ns: u64,
    pub overlapping: u64,
    /// The longest time between sending and the server's first read.
    pub oldest_unread_ns: u64,
    /// How many took about so long: eight counts for each doubling, from 1 ns on.
    pub times: Vec<u64>,
}

impl RequestTally {
    /// The time that a share of the requests does not exceed, nanoseconds, to a twelfth; `None` without any.
    pub fn quantile_ns(&self, share: f64) -> Option<f64> {
        const OF_DOUBLING: usize = 8;
        let count: u64 = self.times.iter().sum();
        let wanted = (share * count as f64).ceil().max(1.0) as u64;
        let mut met = 0;
        let bucket = self.times.iter().position(|count| {
            met += count;
            met >= wanted
        })?;
        let (power, part) = (bucket / OF_DOUBLING, bucket % OF_DOUBLING);
        Some(2_f64.powi(power as i32) * (1.0 + (part as f64 + 0.5) / OF_DOUBLING as f64))
    }
}

/// A request that took long. Times are nanoseconds on the monotonic clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlowRequest {
    pub conversation: u32,
    /// What the client read the reply from.
    pub client_in: Option<CalledOn>,
    /// When the client began to send it.
    pub sent_ns: u64,
    /// When the server had read of it.
    pub read_ns: u64,
    /// When it began to send the last of the reply so far.
    pub replied_ns: u64,
    /// When the client had read of that.
    pub returned_ns: u64,
    /// The threads: the client's that read the reply, the server's that read, and its that replied.
    pub client: u32,
    pub reader: u32,
    pub replier: u32,
    /// What these threads did lately.
    pub logs: Vec<ThreadLog>,
}

/// What a thread did last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadLog {
    pub process: u32,
    pub thread: u32,
    /// Since when the log is whole; `u64::MAX` if there is nothing in it.
    pub since_ns: u64,
    /// Calls, and times in which it did not run, by their ends. Calls contain the times in which they waited.
    pub spans: Vec<ThreadSpan>,
}

/// A call, or a time in which a thread did not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSpan {
    pub began_ns: u64,
    /// When it ended; `u64::MAX` if it had not yet.
    pub ended_ns: u64,
    pub state: ThreadState,
    /// The system call that it is, or is in, by number.
    pub call: Option<u32>,
    pub processor: u32,
}

/// What a thread did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreadState {
    /// It called.
    Called {
        /// What the call was on, if that is a socket or a pipe.
        on: Option<CalledOn>,
        is_out: bool,
        result: i64,
    },
    /// It did not run.
    Away {
        why: AwayReason,
        /// Since when it could have run, and the thread that woke it, or was interrupted by what did; `None` if it could all the time, or
        /// nothing had woken it yet.
        woken: Option<(u64, u32)>,
        /// The thread that ran there until it ran again, with its name, and since when; number 0 is none.
        before: Option<(u32, String, u64)>,
    },
}

/// Why a thread left its processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwayReason {
    /// Another one was let run.
    Ready,
    /// It waited for something.
    Waits,
    /// A signal stopped it, or who traces it.
    Stopped,
}

/// What was taken from samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Records for which the rings had no room, at least: begins and ends of calls, or steps of connections.
    pub lost: u64,
}

/// Why the kernel cannot be sampled.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// This user lacks permission.
    #[error("this user may not sample the kernel's tracepoints: {0}")]
    Forbidden(#[source] io::Error),
    /// The kernel or the processor does not offer it, or the system is another one.
    #[error("the kernel's tracepoints cannot be sampled here: {0}")]
    Absent(#[source] io::Error),
    /// A system call failed otherwise, such as for too many open files.
    #[error("sampling the kernel's tracepoints failed: {0}")]
    Failed(#[source] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_containers_are_read_from_the_group() {
        let of = |group: &str| Program { group: group.to_owned(), ..Program::default() };
        let number = "3f4a".repeat(16);
        let docker = of(&format!("/system.slice/docker-{number}.scope"));
        assert_eq!(docker.container(), Some("3f4a3f4a3f4a"));
        let pod = of(&format!("/kubepods/besteffort/pod1/{number}"));
        assert_eq!((pod.container(), pod.unit()), (Some("3f4a3f4a3f4a"), None));
        let unit = of("/system.slice/redis-server.service");
        assert_eq!((unit.unit(), unit.container()), (Some("redis-server.service"), None));
        assert_eq!((of("/").unit(), of("/").container()), (None, None));
    }
}
