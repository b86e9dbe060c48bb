//! Every option, with its values, in the order of the documentation. To add one is to add it here, and to read it where it acts.

use super::{OptionKind, OptionSpec, OptionValue, Options};
use crate::capabilities::OptionGroup;
use crate::cell::Pattern;

/// The patterns that move messages.
const ALL: &[Pattern] = &[Pattern::Connect, Pattern::Rr, Pattern::Stream];
/// The most pieces of a message.
pub const MOST_PIECES: u64 = 16;

/// A line is `name: kind, what happens without it, the family of transports it acts on, the patterns it acts on, its line in help`. A choice has an
/// enum in [`choices`], and each option a method of [`Options`] that reads it.
macro_rules! options {
    ($($name:ident: $kind:ident $(($bound:expr))? $($choice:ident { $($variant:ident = $word:literal),+ })?,
        $default:literal, $group:ident, $patterns:expr, $summary:literal;)+) => {
        pub const CATALOGUE: &[OptionSpec] = &[$(OptionSpec {
            name: stringify!($name),
            kind: OptionKind::$kind $(($bound))? $((&[$($word),+]))?,
            default: $default,
            group: OptionGroup::$group,
            patterns: $patterns,
            summary: $summary,
        }),+];

        /// The values of options that take one of a few words.
        pub mod choices {
            $($($crate::typed! { $choice, "value of an option" { $($variant = $word,)+ } })?)+
        }

        impl Options {
            $(getter!($name, $summary, $kind $($choice)?);)+
        }
    };
}

macro_rules! getter {
    ($name:ident, $summary:literal, Bool) => {
        #[doc = $summary]
        pub fn $name(&self) -> Option<bool> {
            match self.get(stringify!($name))? {
                OptionValue::Bool(value) => Some(*value),
                _ => None,
            }
        }
    };
    ($name:ident, $summary:literal, Choice $choice:ident) => {
        #[doc = $summary]
        pub fn $name(&self) -> Option<choices::$choice> {
            match self.get(stringify!($name))? {
                OptionValue::Text(word) => word.parse().ok(),
                _ => None,
            }
        }
    };
    ($name:ident, $summary:literal, Name) => {
        #[doc = $summary]
        pub fn $name(&self) -> Option<&str> {
            match self.get(stringify!($name))? {
                OptionValue::Text(name) => Some(name),
                _ => None,
            }
        }
    };
    ($name:ident, $summary:literal, $number:ident) => {
        #[doc = $summary]
        pub fn $name(&self) -> Option<u64> {
            self.number(stringify!($name))
        }
    };
}

options! {
    framing: Choice Framing { Length = "length", Newline = "newline" },
        "length", Loop, &[Pattern::Rr],
        "how the server finds the end of a request: from its known size, or from a newline";
    server_buffer: Size,
        "65537", Loop, &[Pattern::Rr],
        "size of the server's reads while it looks for the newline (with framing=newline)";
    recv_buffer: Size,
        "the message size, at least 65536", Loop, &[Pattern::Stream],
        "size of the server's reads";
    send_offset: Offset(1),
        "random", Buffers, Pattern::ALL,
        "offset of send buffers within a page of 4096 bytes: 0 to 4095, or random: drawn for every epoch in multiples of 16, as malloc places them, and the same for all cells";
    recv_offset: Offset(1),
        "random", Buffers, Pattern::ALL,
        "offset of receive buffers within a page, as send_offset";
    touch: Choice Touch { None = "none", EveryByte = "every-byte" },
        "none", Loop, ALL,
        "none, or the sender writes and the receiver reads every byte of a message in each operation, as programs do that make and use their messages";
    send_memory: Size,
        "one message", Memory, &[Pattern::Stream],
        "memory from which messages are sent in turn; if it is larger than the caches, messages are not cached (peers native and c)";
    clock: Choice Clock { Batch = "batch", Each = "each" },
        "batch", Loop, &[Pattern::Rr],
        "the client reads the clock around a batch, or also around every operation (peers native and c)";
    workers: Choice WorkersAs { Threads = "threads", Processes = "processes" },
        "threads", Loop, ALL,
        "the client's workers: threads or processes";
    descriptor_table: Choice DescriptorTable { Private = "private", Shared = "shared" },
        "private, up to a concurrency of 1000", Loop, ALL,
        "each worker has a descriptor table of its own, or shares it with another thread, as in a threaded server; sharing makes every call on a descriptor cost more (peers native and c, Linux)";
    extra_work: Count(100),
        "none", Loop, ALL,
        "do this percentage of operations twice and count them once: a slowdown of known size (native peer)";
    think: Time(0),
        "no pause, and only whole batches are timed", Pace, ALL,
        "pause of a worker before every operation; each operation is timed by itself, and the cost excludes the pauses; with 0 operations are timed one by one without a pause (native, C, Go and Python peers)";
    rate: Rate,
        "a closed loop", Pace, ALL,
        "offered operations a second over all connections, sent without waiting for replies (an open loop); latency counts from the time at which each was due (native, C, Go and Python peers)";
    arrivals: Choice Arrivals { Poisson = "poisson", Exponential = "exponential", Constant = "constant", InStep = "in-step" },
        "poisson with rate, constant with think", Pace, ALL,
        "distribution of arrivals or pauses: random (poisson, also called exponential), drawn from the seed and the same for all cells of a round; constant: evenly spaced, and connections take turns; in-step: evenly spaced, and all connections send at once";
    pacer: Choice Pacer { Spin = "spin", Sleep = "sleep" },
        "spin where the client has a core of its own (placement two-cores), else sleep", Pace, ALL,
        "how the sender waits for an arrival (with rate): sleep until shortly before and then spin, which keeps its core busy and is counted separately; or only sleep, and start late by its own wake-up (native and C peers)";
    pollute: Size,
        "nothing", Pace, ALL,
        "the client reads this much memory between operations (with think), so that its caches are cold as after other work; with think=0 it shows the cost of cold caches alone (native and C peers)";
    cpu_dma_latency: Time(0),
        "what the system does", Pace, ALL,
        "longest time that processors may take to leave an idle state, in batches with pauses (with think; /dev/cpu_dma_latency): 0 keeps all of them awake and shows the cost of waking them (native peer, Linux, as root)";
    timer_slack: Time(1),
        "1ns", Pace, ALL,
        "longest delay with which the kernel may wake a sleeping client (PR_SET_TIMERSLACK); the system's default is 50us (native and C peers, Linux)";
    pipeline: Count(10_000),
        "1", Loop, &[Pattern::Rr],
        "requests sent to a real server before the first reply is read (ipcost app)";
    server_work: Time(1),
        "none", Loop, ALL,
        "time that the server computes before it answers, or after each message of a stream (native peer)";
    client_cpu: Processor,
        "that of the placement", Place, Pattern::ALL,
        "the logical processor that the client is bound to";
    server_cpu: Processor,
        "that of the placement", Place, Pattern::ALL,
        "the logical processor that the server is bound to";
    session: Choice Session { Shared = "shared", Own = "own" },
        "shared", Place, Pattern::ALL,
        "both processes share a session, as programs started from one shell, or each has its own, as services do; Linux may schedule sessions as groups (autogroup)";
    tcp_nodelay: Bool,
        "true; false in pattern stream", Tcp, ALL,
        "send at once (TCP_NODELAY) instead of waiting to fill a segment (Nagle's algorithm, the system's default)";
    tcp_congestion: Name(15),
        "the system's (net.ipv4.tcp_congestion_control)", Tcp, ALL,
        "congestion control of both sides (TCP_CONGESTION): cubic, bbr, reno, or what else the kernel allows; it decides how fast TCP streams, over loopback too (native, C, Go and socat peers; Linux)";
    steady: Bool,
        "false; a run from flags measures both where the congestion control paces, and else tries whether they differ", Lasting, &[Pattern::Stream],
        "one long transfer instead of bursts: batches of 300 ms after a lead-in of 100 ms, long enough for what a connection learns over time (windows, pacing)";
    so_sndbuf: Size,
        "the system's", Socket, ALL,
        "send buffer of both sides (SO_SNDBUF), as requested; Linux caps it, then doubles it";
    so_rcvbuf: Size,
        "the system's", Socket, ALL,
        "receive buffer of both sides (SO_RCVBUF), as requested; Linux caps it, then doubles it";
    io: Choice Io { Blocking = "blocking", Send = "send", Spin = "spin", Poll = "poll", Epoll = "epoll", Uring = "uring", UringSqpoll = "uring-sqpoll" },
        "blocking", Calling, &[Pattern::Rr, Pattern::Stream],
        "system calls of both sides: blocking read and write; blocking recv and send (send); non-blocking calls that busy-poll a core (spin); poll or epoll and then read; io_uring (uring), or io_uring with a kernel thread that busy-polls a core (uring-sqpoll) (native peer on Linux; the C peer has blocking and send)";
    writes: Count(MOST_PIECES),
        "1", Writing, &[Pattern::Rr, Pattern::Stream],
        "calls that send each message, as of a header and then a body: all but the last send 16 bytes, or an equal share of a shorter message (native peer, Linux)";
    writes_by: Choice WritesBy { Both = "both", Client = "client", Server = "server" },
        "both", Writing, &[Pattern::Rr],
        "the side that sends in several calls (with writes)";
    join: Choice Join { None = "none", Writev = "writev", More = "more", Cork = "cork" },
        "none", Writing, &[Pattern::Rr, Pattern::Stream],
        "how the pieces of a message are joined (with writes): one writev, MSG_MORE in all calls but the last, or TCP_CORK around them";
    pipe_size: Size,
        "the system's (65536)", PipeBuffer, &[Pattern::Rr, Pattern::Stream],
        "capacity of each pipe (F_SETPIPE_SZ)";
    pipe_send: Choice PipeSend { Write = "write", Vmsplice = "vmsplice", Splice = "splice" },
        "write", PipeBuffer, &[Pattern::Rr, Pattern::Stream],
        "how a message enters a pipe: copied (write), or as the sender's own pages, of memory (vmsplice) or of a file in memory (splice); the receiver always copies it out (native peer, Linux)";
    pipe_calls: Choice PipeCalls { System = "system", Stdio = "stdio", StdioSignals = "stdio-signals" },
        "system", PipeBuffer, &[Pattern::Rr, Pattern::Stream],
        "calls of both sides on a pipe: read and write (system); fread, fwrite and fflush through C's buffers (stdio); or the latter with a signal each way that announces data, and the signal itself as the reply (stdio-signals, rr) (C peer)";
    wait: Choice Wait { Block = "block", Spin = "spin", Hybrid = "hybrid" },
        "block", Waiting, &[Pattern::Rr, Pattern::Stream],
        "how a side waits for the other: sleep until woken (block); busy-poll, which keeps a core busy (spin); or busy-poll for tens of microseconds and then sleep (hybrid)";
    payload: Choice Payload { Copied = "copied", InPlace = "in-place" },
        "copied", Ring, &[Pattern::Rr, Pattern::Stream],
        "both sides copy every message in and out, or write and read it in the ring (in-place); every byte is written and read either way";
    ring_size: Size,
        "262144, or two messages if they are more", Ring, &[Pattern::Rr, Pattern::Stream],
        "bytes of the ring of each direction; a power of two holds at least as many";
    ring_offset: Offset(16),
        "random", SharedMemory, &[Pattern::Rr, Pattern::Stream],
        "offset of a ring or slot within a page of the shared memory: a multiple of 16 up to 4080, or random: a multiple of 64, drawn for every epoch";
    backlog: Count(65_535),
        "4096, or the concurrency if that is more", Listener, ALL,
        "connections that may wait to be accepted (listen)";
    closes_first: Choice ClosesFirst { Server = "server", Client = "client", Any = "any" },
        "server", Listener, &[Pattern::Connect],
        "the side that closes a connection first and so keeps it in TIME_WAIT; the other side waits for that. With any, neither waits";
    tls_resumption: Bool,
        "true", Tls, &[Pattern::Connect],
        "resume an earlier session instead of doing a full handshake";
    spread_sources: Bool,
        "true", SourceAddresses, &[Pattern::Connect],
        "connect from addresses all over 127.0.0.0/8, so that ports never run out";
    copies: Count(2),
        "1", Copying, &[Pattern::Floor],
        "copies in one operation; the second copies what the first has written, as into the kernel and out again";
    working_set: Size,
        "the size", Copying, &[Pattern::Floor],
        "memory that successive copies use in turn, on each side; more than the caches hold makes every copy uncached";
}
