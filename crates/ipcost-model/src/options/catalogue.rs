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
        "how the server knows that a request has ended: both sides know the sizes, or it ends with a newline";
    server_buffer: Size,
        "65537", Loop, &[Pattern::Rr],
        "bytes the server reads at once while it looks for the newline (framing = newline)";
    recv_buffer: Size,
        "the message size, at least 65536", Loop, &[Pattern::Stream],
        "bytes the server reads at once";
    send_offset: Offset(1),
        "random", Buffers, Pattern::ALL,
        "where buffers that either side sends from begin within a page of 4096 bytes: 0 to 4095, or random: drawn for every epoch in multiples of 16, as malloc places them, and the same for all cells";
    recv_offset: Offset(1),
        "random", Buffers, Pattern::ALL,
        "the same for buffers that either side receives into";
    touch: Choice Touch { None = "none", EveryByte = "every-byte" },
        "none", Loop, ALL,
        "whether the sender writes and the receiver reads every byte of a message as part of an operation, as a program does that makes and uses its messages";
    send_memory: Size,
        "one message", Memory, &[Pattern::Stream],
        "the memory that messages come from, one after the other; if it is larger than the caches, no message is in one (peers native and c)";
    clock: Choice Clock { Batch = "batch", Each = "each" },
        "batch", Loop, &[Pattern::Rr],
        "how often the client reads the clock: around a batch, or also around every operation, as programs do that time each (native peer and C)";
    workers: Choice WorkersAs { Threads = "threads", Processes = "processes" },
        "threads", Loop, ALL,
        "what the client's workers are";
    descriptor_table: Choice DescriptorTable { Private = "private", Shared = "shared" },
        "private, up to a concurrency of 1000", Loop, ALL,
        "whether each worker has its descriptors to itself or shares them with another thread, as in a server with threads; sharing adds to the cost of every call on one (peers native and c, Linux)";
    extra_work: Count(100),
        "none", Loop, ALL,
        "do this percentage of operations twice and count them once: a slowdown of known size (native peer)";
    think: Time(0),
        "back to back, and only the whole batch is timed", Pace, ALL,
        "how long a worker sleeps before every operation, as programs pause between calls; each operation is timed by itself and the cost is of operations alone; with 0 each is timed without a pause (native, C, Go and Python peers)";
    rate: Rate,
        "a closed loop", Pace, ALL,
        "operations offered every second over all connections, whether or not the one before was answered (an open loop): latency counts from when each was due; 5000 or 5k/s (native, C, Go and Python peers)";
    arrivals: Choice Arrivals { Poisson = "poisson", Exponential = "exponential", Constant = "constant", InStep = "in-step" },
        "poisson with rate, constant with think", Pace, ALL,
        "how arrivals or pauses are spread: at random (poisson and exponential are two words for it), drawn from the seed and the same for all cells of a round, or evenly; connections share random arrivals and take turns at even ones, or with in-step all send at once";
    pacer: Choice Pacer { Spin = "spin", Sleep = "sleep" },
        "spin where the client has a core of its own (placement two-cores), else sleep", Pace, ALL,
        "how the sender waits for an arrival (rate): it sleeps until shortly before and then spins, which keeps its core busy and is counted apart, or only sleeps and so is late by its own wake-up (native and C peers)";
    pollute: Size,
        "nothing", Pace, ALL,
        "memory that the client goes through between operations (think), so that its caches are cold as after other work; with think=0 it shows what they alone cost (native and C peers)";
    cpu_dma_latency: Time(0),
        "what the system does", Pace, ALL,
        "limit the time that processors take to leave an idle state, in batches with pauses (think; /dev/cpu_dma_latency): 0 keeps all of them awake and shows the cost of waking them (native peer, Linux, as root)";
    timer_slack: Time(1),
        "1ns", Pace, ALL,
        "how late the kernel may wake a sleeping client to save wake-ups (PR_SET_TIMERSLACK): programs that set nothing have 50us (native and C peers, Linux)";
    pipeline: Count(10_000),
        "1", Loop, &[Pattern::Rr],
        "requests that a client of a real server sends before it reads the first reply (ipcost app)";
    server_work: Time(1),
        "none", Loop, ALL,
        "how long the server computes before it answers, or after each message of a stream, as a program does that has something to do (native peer)";
    client_cpu: Processor,
        "that of the placement", Place, Pattern::ALL,
        "the logical processor that the client is bound to";
    server_cpu: Processor,
        "that of the placement", Place, Pattern::ALL,
        "the logical processor that the server is bound to";
    session: Choice Session { Shared = "shared", Own = "own" },
        "shared", Place, Pattern::ALL,
        "whether both processes stay in one session, as programs started from one shell, or each leads its own, as services do; Linux may schedule sessions as groups (autogroup)";
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
        "how both sides call the system: they wait in read and write, or in recv and send (send), call read and write again and again and so keep a core busy (spin), wait for readiness and then read (poll, epoll), or hand the kernel what is to be done (uring), which a thread of the kernel fetches by itself and so keeps a core busy (uring-sqpoll) (native peer on Linux; the C peer has blocking and send)";
    writes: Count(MOST_PIECES),
        "1", Writing, &[Pattern::Rr, Pattern::Stream],
        "calls that send each message, as programs make that write a header and then a body: all but the last send 16 bytes, or an equal share of a shorter message (native peer, Linux)";
    writes_by: Choice WritesBy { Both = "both", Client = "client", Server = "server" },
        "both", Writing, &[Pattern::Rr],
        "the side that sends in several calls (writes)";
    join: Choice Join { None = "none", Writev = "writev", More = "more", Cork = "cork" },
        "none", Writing, &[Pattern::Rr, Pattern::Stream],
        "what joins the pieces of a message again: one writev, MSG_MORE in all calls but the last, or TCP_CORK around them (writes)";
    pipe_size: Size,
        "the system's (65536)", PipeBuffer, &[Pattern::Rr, Pattern::Stream],
        "capacity of each pipe (F_SETPIPE_SZ)";
    pipe_send: Choice PipeSend { Write = "write", Vmsplice = "vmsplice", Splice = "splice" },
        "write", PipeBuffer, &[Pattern::Rr, Pattern::Stream],
        "how a message gets into a pipe: copied, or as the sender's own pages, of memory (vmsplice) or of a file in memory (splice); the receiver copies it out either way (native peer, Linux)";
    pipe_calls: Choice PipeCalls { System = "system", Stdio = "stdio", StdioSignals = "stdio-signals" },
        "system", PipeBuffer, &[Pattern::Rr, Pattern::Stream],
        "how both sides call the system for a pipe: read and write, or through C's buffers, with fread, fwrite and fflush; with stdio-signals (rr) a signal each way says that there is something, and the reply is no more than the signal (C peer)";
    wait: Choice Wait { Block = "block", Spin = "spin", Hybrid = "hybrid" },
        "block", Waiting, &[Pattern::Rr, Pattern::Stream],
        "how a side waits for the other: it sleeps until it is woken, looks again and again and so keeps a core busy, or looks for tens of microseconds and then sleeps";
    payload: Choice Payload { Copied = "copied", InPlace = "in-place" },
        "copied", Ring, &[Pattern::Rr, Pattern::Stream],
        "whether both sides copy every message in and out, or the writer fills and the reader reads it in the ring; every byte is written and read either way";
    ring_size: Size,
        "262144, or two messages if they are more", Ring, &[Pattern::Rr, Pattern::Stream],
        "bytes of the ring of each direction; a power of two holds at least as many";
    ring_offset: Offset(16),
        "random", SharedMemory, &[Pattern::Rr, Pattern::Stream],
        "where a ring or a slot begins within a page of the shared memory: a multiple of 16 up to 4080, or random: a multiple of 64, drawn for every epoch";
    backlog: Count(65_535),
        "4096, or the concurrency if that is more", Listener, ALL,
        "connections that may wait to be accepted (listen)";
    closes_first: Choice ClosesFirst { Server = "server", Client = "client", Any = "any" },
        "server", Listener, &[Pattern::Connect],
        "who closes a connection first (server, client), and so keeps the TIME_WAIT state; the other waits for its end. With any, neither waits";
    tls_resumption: Bool,
        "true", Tls, &[Pattern::Connect],
        "resume an earlier session instead of doing a full handshake";
    spread_sources: Bool,
        "true", SourceAddresses, &[Pattern::Connect],
        "connect from addresses all over 127.0.0.0/8, so that ports never run out";
    copies: Count(2),
        "1", Copying, &[Pattern::Floor],
        "copies in one operation; the second takes what the first has written, as out of the kernel after into it";
    working_set: Size,
        "the size", Copying, &[Pattern::Floor],
        "bytes that the copies go through from one operation to the next, on each side; more than the caches hold is out of cache";
}
