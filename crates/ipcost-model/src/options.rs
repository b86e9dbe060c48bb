//! The options of cells: one catalogue drives validation, help and documentation.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::capabilities::{Capabilities, OptionGroup};
use crate::cell::Pattern;
use crate::layout::PAGE_BYTES;
use crate::pace;
use crate::suggest::unknown;
use crate::units::{MAX_SIZE_BYTES, parse_rate, parse_size, parse_time_ns, size_text};

/// The kind of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKind {
    /// `true` or `false`.
    Bool,
    /// Bytes, from 1 to [`MAX_SIZE_BYTES`].
    Size,
    /// A whole number from 1 to the bound.
    Count(u64),
    /// A time from so many nanoseconds, 0 or 1, to a minute; in a job also text such as `50us`.
    Time(u64),
    /// Operations a second, a whole number from 1; in a job also text such as `5k/s`.
    Rate,
    /// The number of a logical processor, from 0.
    Processor,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A name that only the system knows: lower-case letters, digits, `_` and `-`, up to this many.
    Name(usize),
    /// Bytes from the begin of a page, or `random`: the engine draws it for every epoch. A multiple of the number.
    Offset(u64),
}

/// One option of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    pub name: &'static str,
    /// The kind of its value.
    pub kind: OptionKind,
    /// The behaviour if it is not set.
    pub default: &'static str,
    /// The family of transports it acts on.
    pub group: OptionGroup,
    /// The patterns it acts on.
    pub patterns: &'static [Pattern],
    /// One line for help texts.
    pub summary: &'static str,
}

/// The largest number of a logical processor.
pub(crate) const MAX_PROCESSOR: u64 = 8191;

/// The longest time, nanoseconds.
pub(crate) const LONGEST_NS: u64 = 60_000_000_000;

/// A time in whole nanoseconds; a number alone counts them.
fn whole_ns(text: &str) -> Option<u64> {
    let ns = text.parse().ok().or_else(|| parse_time_ns(text).ok().map(f64::round))?;
    (0.0..=LONGEST_NS as f64).contains(&ns).then_some(ns as u64)
}

/// The highest rate, operations a second.
pub(crate) const MAX_RATE: u64 = 1_000_000_000;

/// A rate in whole operations a second.
fn whole_rate(text: &str) -> Option<u64> {
    let per_s = parse_rate(text).ok()?.round();
    (1.0..=MAX_RATE as f64).contains(&per_s).then_some(per_s as u64)
}

/// Whether a text is a name of at most `most` characters.
fn is_name(text: &str, most: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    (1..=most).contains(&text.len()) && text.bytes().all(allowed)
}

/// The patterns that move messages.
const ALL: &[Pattern] = &[Pattern::Connect, Pattern::Rr, Pattern::Stream];

/// The patterns with buffers: those that move messages, and floors that copy.
const BUFFERED: &[Pattern] = Pattern::ALL;
/// The congestion control of a cell's connections.
pub const TCP_CONGESTION: &str = "tcp_congestion";
/// The congestion control that most systems use.
pub const COMMON_CONGESTION: &str = "cubic";
/// Whether a stream is measured as one long transfer.
pub const STEADY: &str = "steady";
/// Whether a congestion control paces what it sends: then one long transfer costs otherwise than bursts.
pub fn paces(congestion: &str) -> bool {
    // Of bbr there are versions: bbr1, bbr2, bbr3.
    congestion.starts_with("bbr")
}

/// The most pieces of a message.
pub const MOST_PIECES: u64 = 16;
/// The value of any option that leaves it as it is without: for lists that compare it with others.
pub const DEFAULT: &str = "default";
/// The value of an offset that the engine draws.
const RANDOM: &str = "random";

/// Every option, in the order of the documentation.
pub const CATALOGUE: &[OptionSpec] = &[
    OptionSpec {
        name: "framing",
        kind: OptionKind::Choice(&["length", "newline"]),
        default: "length",
        group: OptionGroup::Loop,
        patterns: &[Pattern::Rr],
        summary: "how the server knows that a request has ended: both sides know the sizes, or it ends with a newline",
    },
    OptionSpec {
        name: "server_buffer",
        kind: OptionKind::Size,
        default: "65537",
        group: OptionGroup::Loop,
        patterns: &[Pattern::Rr],
        summary: "bytes the server reads at once while it looks for the newline (framing = newline)",
    },
    OptionSpec {
        name: "recv_buffer",
        kind: OptionKind::Size,
        default: "the message size, at least 65536",
        group: OptionGroup::Loop,
        patterns: &[Pattern::Stream],
        summary: "bytes the server reads at once",
    },
    OptionSpec {
        name: "send_offset",
        kind: OptionKind::Offset(1),
        default: "random",
        group: OptionGroup::Buffers,
        patterns: BUFFERED,
        summary: "where buffers that either side sends from begin within a page of 4096 bytes: 0 to 4095, or random: drawn for every epoch in multiples of 16, as malloc places them, and the same for all cells",
    },
    OptionSpec {
        name: "recv_offset",
        kind: OptionKind::Offset(1),
        default: "random",
        group: OptionGroup::Buffers,
        patterns: BUFFERED,
        summary: "the same for buffers that either side receives into",
    },
    OptionSpec {
        name: "touch",
        kind: OptionKind::Choice(&["none", "every-byte"]),
        default: "none",
        group: OptionGroup::Loop,
        patterns: ALL,
        summary: "whether the sender writes and the receiver reads every byte of a message as part of an operation, as a program does that makes and uses its messages",
    },
    OptionSpec {
        name: "send_memory",
        kind: OptionKind::Size,
        default: "one message",
        group: OptionGroup::Memory,
        patterns: &[Pattern::Stream],
        summary: "the memory that messages come from, one after the other; if it is larger than the caches, no message is in one (peers native and c)",
    },
    OptionSpec {
        name: "clock",
        kind: OptionKind::Choice(&["batch", "each"]),
        default: "batch",
        group: OptionGroup::Loop,
        patterns: &[Pattern::Rr],
        summary: "how often the client reads the clock: around a batch, or also around every operation, as programs do that time each (native peer and C)",
    },
    OptionSpec {
        name: "workers",
        kind: OptionKind::Choice(&["threads", "processes"]),
        default: "threads",
        group: OptionGroup::Loop,
        patterns: ALL,
        summary: "what the client's workers are",
    },
    OptionSpec {
        name: "descriptor_table",
        kind: OptionKind::Choice(&["private", "shared"]),
        default: "private, up to a concurrency of 1000",
        group: OptionGroup::Loop,
        patterns: ALL,
        summary: "whether each worker has its descriptors to itself or shares them with another thread, as in a server with threads; sharing adds to the cost of every call on one (peers native and c, Linux)",
    },
    OptionSpec {
        name: "extra_work",
        kind: OptionKind::Count(100),
        default: "none",
        group: OptionGroup::Loop,
        patterns: ALL,
        summary: "do this percentage of operations twice and count them once: a slowdown of known size (native peer)",
    },
    OptionSpec {
        name: pace::THINK,
        kind: OptionKind::Time(0),
        default: "back to back, and only the whole batch is timed",
        group: OptionGroup::Pace,
        patterns: ALL,
        summary: "how long a worker sleeps before every operation, as programs pause between calls; each operation is timed by itself and the cost is of operations alone; with 0 each is timed without a pause (native, C, Go and Python peers)",
    },
    OptionSpec {
        name: pace::RATE,
        kind: OptionKind::Rate,
        default: "a closed loop",
        group: OptionGroup::Pace,
        patterns: ALL,
        summary: "operations offered every second over all connections, whether or not the one before was answered (an open loop): latency counts from when each was due; 5000 or 5k/s (native, C, Go and Python peers)",
    },
    OptionSpec {
        name: pace::ARRIVALS,
        kind: OptionKind::Choice(&["poisson", "exponential", "constant", "in-step"]),
        default: "poisson with rate, constant with think",
        group: OptionGroup::Pace,
        patterns: ALL,
        summary: "how arrivals or pauses are spread: at random (poisson and exponential are two words for it), drawn from the seed and the same for all cells of a round, or evenly; connections share random arrivals and take turns at even ones, or with in-step all send at once",
    },
    OptionSpec {
        name: pace::PACER,
        kind: OptionKind::Choice(&["spin", "sleep"]),
        default: "spin where the client has a core of its own (placement apart), else sleep",
        group: OptionGroup::Pace,
        patterns: ALL,
        summary: "how the sender waits for an arrival (rate): it sleeps until shortly before and then spins, which keeps its core busy and is counted apart, or only sleeps and so is late by its own wake-up (native and C peers)",
    },
    OptionSpec {
        name: pace::POLLUTE,
        kind: OptionKind::Size,
        default: "nothing",
        group: OptionGroup::Pace,
        patterns: ALL,
        summary: "memory that the client goes through between operations (think), so that its caches are cold as after other work; with think=0 it shows what they alone cost (native and C peers)",
    },
    OptionSpec {
        name: pace::CPU_DMA_LATENCY,
        kind: OptionKind::Time(0),
        default: "what the system does",
        group: OptionGroup::Pace,
        patterns: ALL,
        summary: "limit the time that processors take to leave an idle state, in batches with pauses (think; /dev/cpu_dma_latency): 0 keeps all of them awake and shows the cost of waking them (native peer, Linux, as root)",
    },
    OptionSpec {
        name: pace::TIMER_SLACK,
        kind: OptionKind::Time(1),
        default: "1ns",
        group: OptionGroup::Pace,
        patterns: ALL,
        summary: "how late the kernel may wake a sleeping client to save wake-ups (PR_SET_TIMERSLACK): programs that set nothing have 50us (native and C peers, Linux)",
    },
    OptionSpec {
        name: "pipeline",
        kind: OptionKind::Count(10_000),
        default: "1",
        group: OptionGroup::Loop,
        patterns: &[Pattern::Rr],
        summary: "requests that a client of a real server sends before it reads the first reply (ipcost app)",
    },
    OptionSpec {
        name: "server_work",
        kind: OptionKind::Time(1),
        default: "none",
        group: OptionGroup::Loop,
        patterns: ALL,
        summary: "how long the server computes before it answers, or after each message of a stream, as a program does that has something to do (native peer)",
    },
    OptionSpec {
        name: "client_cpu",
        kind: OptionKind::Processor,
        default: "that of the placement",
        group: OptionGroup::Place,
        patterns: Pattern::ALL,
        summary: "the logical processor that the client is bound to",
    },
    OptionSpec {
        name: "server_cpu",
        kind: OptionKind::Processor,
        default: "that of the placement",
        group: OptionGroup::Place,
        patterns: Pattern::ALL,
        summary: "the logical processor that the server is bound to",
    },
    OptionSpec {
        name: "session",
        kind: OptionKind::Choice(&["shared", "own"]),
        default: "shared",
        group: OptionGroup::Place,
        patterns: Pattern::ALL,
        summary: "whether both processes stay in one session, as programs started from one shell, or each leads its own, as services do; Linux may schedule sessions as groups (autogroup)",
    },
    OptionSpec {
        name: "tcp_nodelay",
        kind: OptionKind::Bool,
        default: "true; false in pattern stream",
        group: OptionGroup::Tcp,
        patterns: ALL,
        summary: "send at once (TCP_NODELAY) instead of waiting to fill a segment (Nagle's algorithm, the system's default)",
    },
    OptionSpec {
        name: TCP_CONGESTION,
        kind: OptionKind::Name(15),
        default: "the system's (net.ipv4.tcp_congestion_control)",
        group: OptionGroup::Tcp,
        patterns: ALL,
        summary: "congestion control of both sides (TCP_CONGESTION): cubic, bbr, reno, or what else the kernel allows; it decides how fast TCP streams, over loopback too (native, C, Go and socat peers; Linux)",
    },
    OptionSpec {
        name: STEADY,
        kind: OptionKind::Bool,
        default: "false; a run from flags measures both where the congestion control paces, and else tries whether they differ",
        group: OptionGroup::Lasting,
        patterns: &[Pattern::Stream],
        summary: "one long transfer instead of bursts: batches of 300 ms after a lead-in of 100 ms, long enough for what a connection learns over time (windows, pacing)",
    },
    OptionSpec {
        name: "so_sndbuf",
        kind: OptionKind::Size,
        default: "the system's",
        group: OptionGroup::Socket,
        patterns: ALL,
        summary: "send buffer of both sides (SO_SNDBUF), as requested; Linux caps it, then doubles it",
    },
    OptionSpec {
        name: "so_rcvbuf",
        kind: OptionKind::Size,
        default: "the system's",
        group: OptionGroup::Socket,
        patterns: ALL,
        summary: "receive buffer of both sides (SO_RCVBUF), as requested; Linux caps it, then doubles it",
    },
    OptionSpec {
        name: "io",
        kind: OptionKind::Choice(&["blocking", "send", "spin", "poll", "epoll", "uring", "uring-sqpoll"]),
        default: "blocking",
        group: OptionGroup::Calling,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "how both sides call the system: they wait in read and write, or in recv and send (send), call read and write again and again and so keep a core busy (spin), wait for readiness and then read (poll, epoll), or hand the kernel what is to be done (uring), which a thread of the kernel fetches by itself and so keeps a core busy (uring-sqpoll) (native peer on Linux; the C peer has blocking and send)",
    },
    OptionSpec {
        name: "writes",
        kind: OptionKind::Count(MOST_PIECES),
        default: "1",
        group: OptionGroup::Writing,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "calls that send each message, as programs make that write a header and then a body: all but the last send 16 bytes, or an equal share of a shorter message (native peer, Linux)",
    },
    OptionSpec {
        name: "writes_by",
        kind: OptionKind::Choice(&["both", "client", "server"]),
        default: "both",
        group: OptionGroup::Writing,
        patterns: &[Pattern::Rr],
        summary: "the side that sends in several calls (writes)",
    },
    OptionSpec {
        name: "join",
        kind: OptionKind::Choice(&["none", "writev", "more", "cork"]),
        default: "none",
        group: OptionGroup::Writing,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "what joins the pieces of a message again: one writev, MSG_MORE in all calls but the last, or TCP_CORK around them (writes)",
    },
    OptionSpec {
        name: "pipe_size",
        kind: OptionKind::Size,
        default: "the system's (65536)",
        group: OptionGroup::PipeBuffer,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "capacity of each pipe (F_SETPIPE_SZ)",
    },
    OptionSpec {
        name: "pipe_send",
        kind: OptionKind::Choice(&["write", "vmsplice", "splice"]),
        default: "write",
        group: OptionGroup::PipeBuffer,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "how a message gets into a pipe: copied, or as the sender's own pages, of memory (vmsplice) or of a file in memory (splice); the receiver copies it out either way (native peer, Linux)",
    },
    OptionSpec {
        name: "pipe_calls",
        kind: OptionKind::Choice(&["system", "stdio", "stdio-signals"]),
        default: "system",
        group: OptionGroup::PipeBuffer,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "how both sides call the system for a pipe: read and write, or through C's buffers, with fread, fwrite and fflush; with stdio-signals (rr) a signal each way says that there is something, and the reply is no more than the signal (C peer)",
    },
    OptionSpec {
        name: "wait",
        kind: OptionKind::Choice(&["block", "spin", "hybrid"]),
        default: "block",
        group: OptionGroup::Waiting,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "how a side waits for the other: it sleeps until it is woken, looks again and again and so keeps a core busy, or looks for tens of microseconds and then sleeps",
    },
    OptionSpec {
        name: "payload",
        kind: OptionKind::Choice(&["copied", "in-place"]),
        default: "copied",
        group: OptionGroup::Ring,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "whether both sides copy every message in and out, or the writer fills and the reader reads it in the ring; every byte is written and read either way",
    },
    OptionSpec {
        name: "ring_size",
        kind: OptionKind::Size,
        default: "262144, or two messages if they are more",
        group: OptionGroup::Ring,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "bytes of the ring of each direction; a power of two holds at least as many",
    },
    OptionSpec {
        name: "ring_offset",
        kind: OptionKind::Offset(16),
        default: "random",
        group: OptionGroup::SharedMemory,
        patterns: &[Pattern::Rr, Pattern::Stream],
        summary: "where a ring or a slot begins within a page of the shared memory: a multiple of 16 up to 4080, or random: a multiple of 64, drawn for every epoch",
    },
    OptionSpec {
        name: "backlog",
        kind: OptionKind::Count(65_535),
        default: "4096, or the concurrency if that is more",
        group: OptionGroup::Listener,
        patterns: ALL,
        summary: "connections that may wait to be accepted (listen)",
    },
    OptionSpec {
        name: "closes_first",
        kind: OptionKind::Choice(&["server", "client", "any"]),
        default: "server",
        group: OptionGroup::Listener,
        patterns: &[Pattern::Connect],
        summary: "who closes a connection first (server, client), and so keeps the TIME_WAIT state; the other waits for its end. With any, neither waits",
    },
    OptionSpec {
        name: "tls_resumption",
        kind: OptionKind::Bool,
        default: "true",
        group: OptionGroup::Tls,
        patterns: &[Pattern::Connect],
        summary: "resume an earlier session instead of doing a full handshake",
    },
    OptionSpec {
        name: "spread_sources",
        kind: OptionKind::Bool,
        default: "true",
        group: OptionGroup::SourceAddresses,
        patterns: &[Pattern::Connect],
        summary: "connect from addresses all over 127.0.0.0/8, so that ports never run out",
    },
    OptionSpec {
        name: "copies",
        kind: OptionKind::Count(2),
        default: "1",
        group: OptionGroup::Copying,
        patterns: &[Pattern::Floor],
        summary: "copies in one operation; the second takes what the first has written, as out of the kernel after into it",
    },
    OptionSpec {
        name: "working_set",
        kind: OptionKind::Size,
        default: "the size",
        group: OptionGroup::Copying,
        patterns: &[Pattern::Floor],
        summary: "bytes that the copies go through from one operation to the next, on each side; more than the caches hold is out of cache",
    },
];

/// The name of an option of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OptionName(&'static str);

impl OptionName {
    pub fn find(name: &str) -> Result<Self, String> {
        CATALOGUE
            .iter()
            .find(|spec| spec.name == name)
            .map(|spec| Self(spec.name))
            .ok_or_else(|| unknown("option", name, CATALOGUE.iter().map(|spec| spec.name)))
    }

    /// Its entry in the catalogue.
    pub fn spec(self) -> &'static OptionSpec {
        CATALOGUE.iter().find(|spec| spec.name == self.0).expect("only find() makes names")
    }
}

impl fmt::Display for OptionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl Serialize for OptionName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for OptionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::find(&text).map_err(de::Error::custom)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    Bool(bool),
    /// A number, or a size in bytes.
    Int(u64),
    Text(String),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl OptionSpec {
    /// Whether it acts on cells of a pattern over a transport.
    pub fn acts_on(&self, transport: &Capabilities, pattern: Pattern) -> bool {
        let on_transport = match self.group {
            OptionGroup::Loop | OptionGroup::Place => true,
            OptionGroup::Pace => transport.floor.is_none(),
            OptionGroup::Buffers | OptionGroup::Memory => transport.has_buffers,
            _ => transport.option_groups.contains(&self.group),
        };
        // A client to which nothing arrives waits for no work.
        let is_waited_for = transport.carries_payload || self.name != "server_work";
        on_transport && is_waited_for && self.patterns.contains(&pattern)
    }

    /// Parses a value as typed in a flag.
    pub fn parse(&self, text: &str) -> Result<OptionValue, String> {
        if text == DEFAULT {
            return Ok(OptionValue::Text(DEFAULT.to_owned()));
        }
        let value = match self.kind {
            OptionKind::Bool => text.parse().map(OptionValue::Bool).ok(),
            OptionKind::Size => parse_size(text).map(OptionValue::Int).ok(),
            OptionKind::Time(_) => whole_ns(text).map(OptionValue::Int),
            OptionKind::Rate => whole_rate(text).map(OptionValue::Int),
            OptionKind::Count(_) | OptionKind::Processor => text.parse().map(OptionValue::Int).ok(),
            OptionKind::Choice(_) | OptionKind::Name(_) => Some(OptionValue::Text(text.to_owned())),
            OptionKind::Offset(_) => text.parse().map(OptionValue::Int).ok(),
        };
        self.check(value.unwrap_or_else(|| OptionValue::Text(text.to_owned())))
    }

    /// Accepts a value if it is valid for the option; a size may be text (`"64KiB"`).
    pub fn check(&self, value: OptionValue) -> Result<OptionValue, String> {
        let name = self.name;
        if matches!(&value, OptionValue::Text(text) if text == DEFAULT) {
            return Ok(value);
        }
        match (self.kind, value) {
            (OptionKind::Bool, value @ OptionValue::Bool(_)) => Ok(value),
            (OptionKind::Bool, value) => Err(format!("option {name} takes true or false, not \"{value}\"")),
            (OptionKind::Size, OptionValue::Int(bytes)) if (1..=MAX_SIZE_BYTES).contains(&bytes) => {
                Ok(OptionValue::Int(bytes))
            }
            (OptionKind::Size, OptionValue::Text(text)) if parse_size(&text).is_ok() => {
                self.check(OptionValue::Int(parse_size(&text).expect("just parsed")))
            }
            (OptionKind::Size, value) => Err(format!(
                "option {name} takes a size from 1 B to {}, not \"{value}\"",
                size_text(MAX_SIZE_BYTES)
            )),
            (OptionKind::Time(least), OptionValue::Int(ns)) if (least..=LONGEST_NS).contains(&ns) => {
                Ok(OptionValue::Int(ns))
            }
            (OptionKind::Time(least), OptionValue::Text(text))
                if whole_ns(&text).is_some_and(|ns| ns >= least) =>
            {
                self.check(OptionValue::Int(whole_ns(&text).expect("just parsed")))
            }
            (OptionKind::Time(least), value) => {
                let least = if least == 0 { "0" } else { "1ns" };
                Err(format!("option {name} takes a time from {least} to 60s, such as 50us, not \"{value}\""))
            }
            (OptionKind::Rate, OptionValue::Int(per_s)) if (1..=MAX_RATE).contains(&per_s) => {
                Ok(OptionValue::Int(per_s))
            }
            (OptionKind::Rate, OptionValue::Text(text)) if whole_rate(&text).is_some() => {
                self.check(OptionValue::Int(whole_rate(&text).expect("just parsed")))
            }
            (OptionKind::Rate, value) => Err(format!(
                "option {name} takes operations a second from 1, such as 5000 or 5k/s, not \"{value}\""
            )),
            (OptionKind::Count(most), OptionValue::Int(count)) if (1..=most).contains(&count) => {
                Ok(OptionValue::Int(count))
            }
            (OptionKind::Count(most), value) => {
                Err(format!("option {name} takes a whole number from 1 to {most}, not \"{value}\""))
            }
            (OptionKind::Processor, OptionValue::Int(cpu)) if cpu <= MAX_PROCESSOR => {
                Ok(OptionValue::Int(cpu))
            }
            (OptionKind::Processor, value) => {
                Err(format!("option {name} takes the number of a processor (see lscpu), not \"{value}\""))
            }
            (OptionKind::Choice(words), OptionValue::Text(word)) if words.contains(&word.as_str()) => {
                Ok(OptionValue::Text(word))
            }
            (OptionKind::Choice(words), value) => {
                Err(unknown(&format!("value of option {name}"), &value.to_string(), words.iter().copied()))
            }
            (OptionKind::Name(most), OptionValue::Text(name)) if is_name(&name, most) => {
                Ok(OptionValue::Text(name))
            }
            (OptionKind::Name(most), value) => Err(format!(
                "option {name} takes a name of up to {most} lower-case letters, digits, _ and -, not \"{value}\""
            )),
            (OptionKind::Offset(_), OptionValue::Text(word)) if word == RANDOM => Ok(OptionValue::Text(word)),
            (OptionKind::Offset(step), OptionValue::Int(bytes)) if bytes < PAGE_BYTES => {
                if bytes.is_multiple_of(step) {
                    return Ok(OptionValue::Int(bytes));
                }
                Err(format!(
                    "option {name} takes a multiple of {step}, not {bytes}: what begins there must be aligned"
                ))
            }
            (OptionKind::Offset(_), value) => Err(format!(
                "option {name} takes {RANDOM} or a number from 0 to {}, the bytes from the begin of a page, not \"{value}\"",
                PAGE_BYTES - 1
            )),
        }
    }
}

/// Options by name: only names from the catalogue, only valid values.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Options(BTreeMap<OptionName, OptionValue>);

impl Options {
    /// Sets an option.
    ///
    /// # Errors
    /// One line, if the name is unknown or the value invalid.
    pub fn set(&mut self, name: &str, value: OptionValue) -> Result<(), String> {
        let name = OptionName::find(name)?;
        let value = name.spec().check(value)?;
        self.insert(name, value);
        Ok(())
    }

    /// The options that are set, by name.
    pub fn iter(&self) -> impl Iterator<Item = (OptionName, &OptionValue)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A switch, if set.
    pub fn bool(&self, name: &str) -> Option<bool> {
        match self.get(name, |kind| matches!(kind, OptionKind::Bool))? {
            OptionValue::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// A number or a size in bytes, if set.
    pub fn int(&self, name: &str) -> Option<u64> {
        let number = |kind| {
            matches!(
                kind,
                OptionKind::Size
                    | OptionKind::Count(_)
                    | OptionKind::Time(_)
                    | OptionKind::Rate
                    | OptionKind::Processor
            )
        };
        match self.get(name, number)? {
            OptionValue::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// A word, if set.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name, |kind| matches!(kind, OptionKind::Choice(_) | OptionKind::Name(_)))? {
            OptionValue::Text(value) => Some(value),
            _ => None,
        }
    }

    /// Where buffers begin within a page, bytes, if it is fixed.
    pub fn offset(&self, name: &str) -> Option<u64> {
        match self.get(name, |kind| matches!(kind, OptionKind::Offset(_)))? {
            OptionValue::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether TCP sockets set `TCP_NODELAY`: as the option says, otherwise where a side waits for each message. A
    /// stream keeps Nagle's algorithm, the system's default.
    pub fn sets_nodelay(&self, pattern: Pattern) -> bool {
        let usual = match pattern {
            Pattern::Connect | Pattern::Rr => true,
            Pattern::Stream | Pattern::Floor => false,
        };
        self.bool("tcp_nodelay").unwrap_or(usual)
    }

    /// Those of a family.
    pub fn only(&self, group: OptionGroup) -> Self {
        self.filtered(|spec| spec.group == group)
    }

    /// All but those of a family.
    pub fn without(&self, group: OptionGroup) -> Self {
        self.filtered(|spec| spec.group != group)
    }

    pub fn except(&self, name: &str) -> Self {
        self.filtered(|spec| spec.name != name)
    }

    /// The options sent to every peer: all but where its process runs, how long its batches last, and where buffers begin, which is drawn.
    pub fn for_peers(&self) -> Self {
        const OWN: [OptionGroup; 4] =
            [OptionGroup::Place, OptionGroup::Buffers, OptionGroup::SharedMemory, OptionGroup::Lasting];
        self.filtered(|spec| !OWN.contains(&spec.group))
    }

    /// Those that go to a peer whose hello lists these: of the pace, none that it does not list.
    pub fn for_peer_that_lists(&self, listed: &[String]) -> Self {
        self.filtered(|spec| spec.group != OptionGroup::Pace || listed.iter().any(|known| known == spec.name))
    }

    fn filtered(&self, keep: impl Fn(&OptionSpec) -> bool) -> Self {
        let kept = self.iter().filter(|(name, _)| keep(name.spec()));
        Self(kept.map(|(name, value)| (name, value.clone())).collect())
    }

    /// The value of an option of the catalogue.
    ///
    /// A getter of the wrong kind would silently find nothing, set or not: a bug of the caller, caught in debug
    /// builds.
    fn get(&self, name: &str, is_kind: impl Fn(OptionKind) -> bool) -> Option<&OptionValue> {
        if cfg!(debug_assertions) {
            let kind = OptionName::find(name).expect("a name of the catalogue").spec().kind;
            assert!(is_kind(kind), "option {name} is {kind:?}; read it with the getter of that kind");
        }
        self.0.iter().find(|(known, _)| known.0 == name).map(|(_, value)| value)
    }

    /// Sets an option, whatever it was; its default takes it away.
    pub fn insert(&mut self, name: OptionName, value: OptionValue) {
        match value {
            OptionValue::Text(text) if text == DEFAULT => self.0.remove(&name),
            // Bursts are what every stream is without the option: one name for one thing.
            OptionValue::Bool(false) if name.spec().name == STEADY => self.0.remove(&name),
            value => self.0.insert(name, value),
        };
    }
}

/// Reads one value for a known option, so that an error is reported at its position.
pub(crate) struct ValueSeed(pub OptionName);

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = OptionValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<OptionValue, D::Error> {
        let value = OptionValue::deserialize(deserializer).map_err(|_| {
            de::Error::custom(format!("option {} takes a word, a number or true/false", self.0))
        })?;
        self.0.spec().check(value).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Options;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("options by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
                let mut options = Options::default();
                while let Some(name) = map.next_key::<OptionName>()? {
                    let value = map.next_value_seed(ValueSeed(name))?;
                    if options.0.contains_key(&name) {
                        return Err(de::Error::custom(format!("option {name} is given twice")));
                    }
                    options.insert(name, value);
                }
                Ok(options)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_takes_an_option_away_wherever_it_comes_from() {
        let mut options = Options::default();
        for (name, value) in [("so_sndbuf", "65536"), ("tcp_nodelay", "true"), ("io", "poll")] {
            let spec = OptionName::find(name).unwrap().spec();
            options.set(name, spec.parse(value).unwrap()).unwrap();
            assert_eq!(options.iter().count(), 1, "{name}");
            options.set(name, spec.parse(DEFAULT).unwrap()).unwrap();
            assert_eq!(options, Options::default(), "{name}");
        }
        let read = |text: &str| serde_json::from_str::<Options>(text);
        assert_eq!(read(r#"{"so_sndbuf": "default"}"#).unwrap(), Options::default());
        assert!(read(r#"{"so_sndbuf": "defaults"}"#).is_err());
    }

    #[test]
    fn the_catalogue_has_each_name_once_and_says_what_it_is_for() {
        for (index, spec) in CATALOGUE.iter().enumerate() {
            assert!(!CATALOGUE[..index].iter().any(|other| other.name == spec.name), "{}", spec.name);
            assert!(!spec.summary.is_empty() && !spec.patterns.is_empty(), "{}", spec.name);
        }
    }

    #[test]
    fn values_are_checked_by_kind() {
        let mut options = Options::default();
        options.set("so_sndbuf", OptionValue::Text("64KiB".into())).unwrap();
        assert_eq!(options.int("so_sndbuf"), Some(65_536));
        assert!(options.set("so_sndbuf", OptionValue::Int(0)).is_err());
        assert!(options.set("tcp_nodelay", OptionValue::Text("maybe".into())).is_err());
        assert!(options.set("backlog", OptionValue::Int(70_000)).is_err());
        let error = options.set("framing", OptionValue::Text("newlin".into())).unwrap_err();
        assert!(error.contains("did you mean \"newline\""), "{error}");
        let error = options.set("so_sendbuf", OptionValue::Int(1)).unwrap_err();
        assert!(error.contains("did you mean \"so_sndbuf\""), "{error}");
    }

    #[test]
    fn an_offset_is_within_a_page_and_aligned_or_random() {
        let mut options = Options::default();
        for value in [OptionValue::Int(0), OptionValue::Int(4095), OptionValue::Text("random".into())] {
            options.set("recv_offset", value.clone()).unwrap();
            assert_eq!(
                options.offset("recv_offset"),
                if let OptionValue::Int(at) = value { Some(at) } else { None }
            );
        }
        options.set("ring_offset", OptionValue::Int(4080)).unwrap();
        for (name, value, says) in [
            ("send_offset", OptionValue::Int(4096), "a number from 0 to 4095"),
            ("send_offset", OptionValue::Text("page".into()), "takes random or a number"),
            ("ring_offset", OptionValue::Int(8), "a multiple of 16, not 8"),
        ] {
            let error = options.set(name, value).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(options.for_peers().is_empty());
    }

    #[test]
    fn a_congestion_control_is_a_name_that_the_kernel_decides_on() {
        let mut options = Options::default();
        let text = |name: &str| OptionValue::Text(name.to_owned());
        for name in ["cubic", "bbr", "bpf_cubic", "some-15-letters"] {
            options.set(TCP_CONGESTION, text(name)).unwrap();
            assert_eq!(options.text(TCP_CONGESTION), Some(name));
        }
        for wrong in [text(""), text("16-letters-long-"), text("BBR"), text("a b"), OptionValue::Int(3)] {
            let error = options.set(TCP_CONGESTION, wrong).unwrap_err();
            assert!(error.contains("a name of up to 15"), "{error}");
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    fn a_getter_of_another_kind_is_a_bug_that_is_told() {
        let options = Options::default();
        let panics = |get: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(get)).is_err();
        for spec in CATALOGUE {
            let right = match spec.kind {
                OptionKind::Bool => "bool",
                OptionKind::Size
                | OptionKind::Count(_)
                | OptionKind::Time(_)
                | OptionKind::Rate
                | OptionKind::Processor => "int",
                OptionKind::Choice(_) | OptionKind::Name(_) => "text",
                OptionKind::Offset(_) => "offset",
            };
            let panics = [
                ("bool", panics(&|| _ = options.bool(spec.name))),
                ("int", panics(&|| _ = options.int(spec.name))),
                ("text", panics(&|| _ = options.text(spec.name))),
                ("offset", panics(&|| _ = options.offset(spec.name))),
            ];
            for (kind, panicked) in panics {
                assert_eq!(panicked, kind != right, "{} read as {kind}", spec.name);
            }
        }
    }

    #[test]
    fn streams_alone_leave_nagles_algorithm_on() {
        let mut options = Options::default();
        let sets = |options: &Options| {
            [Pattern::Connect, Pattern::Rr, Pattern::Stream].map(|pattern| options.sets_nodelay(pattern))
        };
        assert_eq!(sets(&options), [true, true, false]);
        for value in [true, false] {
            options.set("tcp_nodelay", OptionValue::Bool(value)).unwrap();
            assert_eq!(sets(&options), [value; 3]);
        }
    }

    #[test]
    fn unknown_options_are_an_error_in_the_protocol_too() {
        let error = serde_json::from_str::<Options>(r#"{"tcp_nodelya":true}"#).unwrap_err();
        assert!(error.to_string().contains("did you mean \"tcp_nodelay\""), "{error}");
    }
}
