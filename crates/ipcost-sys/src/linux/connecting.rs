//! Who opens TCP connections, as the kernel's tracepoint `sock:inet_sock_set_state` sees it (`perf_event_open(2)`).
//!
//! A connection that opens and closes between two looks at the sockets has no owner there; this names it.

use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::perf_event::NAMES;
use super::processor_rings::{DELAY_NS, ProcessorRings, layout};
use super::sample_records::{RecordKind, SampledRecord, bytes, field, in_order, number, parse};
use crate::clock::now_ns;
pub use crate::observed::{Connected, SampleError, Taken};

/// A ring's size, bytes: room for the two steps of 1 200 connections.
const RING_BYTES: usize = 256 << 10;
const ESTABLISHED: i32 = 1;
const SYN_SENT: i32 = 2;
const TCP: u32 = 6;
/// A process that has executed a program so long before, nanoseconds, is seen by other means, and its number may be another one's.
const JUST_NS: u64 = 10_000_000_000;
/// So many attempts are remembered that have neither succeeded nor failed. Far fewer wait at once, unless records were lost.
const MOST_ASKED: usize = 1 << 16;

/// A view of who opens TCP connections, over IPv4 and IPv6, in every network namespace.
///
/// As long as it is open, every connection that is opened takes a little longer. Processors that come online later are
/// not sampled.
#[derive(Debug)]
pub struct Connecting {
    rings: ProcessorRings,
    layout: StateTracepoint,
    /// Steps that are not in order yet.
    steps: Vec<ConnectStep>,
    pairing: Pairing,
}

impl Connecting {
    /// Opens it; connections that are begun from now on are seen, those of this program too.
    ///
    /// # Errors
    /// If this user lacks permission (root, or `CAP_PERFMON` and a tracefs that it may read), or the kernel lacks the
    /// tracepoint (it is there from Linux 4.16 on), or a system call fails.
    pub fn open() -> Result<Self, SampleError> {
        let layout = layout("sock", ["inet_sock_set_state"], |[format]| StateTracepoint::parse(format))?;
        // Attempts that fail are sampled as well, so that they are not remembered for ever.
        let filter = format!("protocol=={TCP}&&(newstate=={SYN_SENT}||oldstate=={SYN_SENT})");
        let filter = CString::new(filter).map_err(|error| SampleError::Failed(error.into()))?;
        let rings = ProcessorRings::open(&[layout.point], &filter, RING_BYTES, NAMES)?;
        rings.enable();
        Ok(Self { rings, layout, steps: Vec::new(), pairing: Pairing::default() })
    }

    /// Takes the connections that were established since the last time, in that order.
    ///
    /// Those of the last millisecond are left for the next time: processors may write them in another order. Processes of
    /// other namespaces, which have no number here, are left out. The kernel tells of some losses only with the next record,
    /// and of some never: now and then it writes nothing of a connection that a listener's full queue has held up.
    pub fn take(&mut self, found: &mut dyn FnMut(Connected)) -> Taken {
        let until_ns = now_ns().saturating_sub(DELAY_NS);
        let (steps, layout) = (&mut self.steps, &self.layout);
        let taken = self.rings.take(&mut |sample| steps.extend(layout.step(sample)));
        for step in in_order(steps, until_ns, |step| step.at_ns) {
            if let Some(connected) = self.pairing.take(step) {
                found(connected);
            }
        }
        taken
    }
}

/// Where the fields of the tracepoint are, in bytes from the start of its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StateTracepoint {
    /// The number of the tracepoint.
    point: u16,
    kind_at: usize,
    socket_at: usize,
    old_at: usize,
    new_at: usize,
    family_at: usize,
    /// Those of the own end, then of the other one.
    ends_at: [EndLayout; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EndLayout {
    port: usize,
    v4: usize,
    v6: usize,
}

impl StateTracepoint {
    /// Reads the `format` file; `None` if it is not as on a system of 64 bits.
    fn parse(format: &str) -> Option<Self> {
        let end = |[port, v4, v6]: [&str; 3]| {
            Some(EndLayout {
                port: field(format, port, 2)?,
                v4: field(format, v4, 4)?,
                v6: field(format, v6, 16)?,
            })
        };
        Some(Self {
            point: number(format)?,
            kind_at: field(format, "common_type", 2)?,
            socket_at: field(format, "skaddr", 8)?,
            old_at: field(format, "oldstate", 4)?,
            new_at: field(format, "newstate", 4)?,
            family_at: field(format, "family", 2)?,
            ends_at: [end(["sport", "saddr", "saddr_v6"])?, end(["dport", "daddr", "daddr_v6"])?],
        })
    }

    /// What a sample tells of an attempt to connect; `None` if it is something else.
    fn step(&self, sample: SampledRecord<'_>) -> Option<ConnectStep> {
        let step = |socket, what| {
            Some(ConnectStep {
                at_ns: sample.at_ns,
                process: sample.process,
                thread: sample.thread,
                socket,
                what,
            })
        };
        let data = match sample.kind {
            RecordKind::Fields(data) => data,
            RecordKind::Lost(_) => return step(SocketPointer(0), ConnectEvent::Missed),
            RecordKind::Named(name) => {
                return step(
                    SocketPointer(0),
                    ConnectEvent::Named(String::from_utf8_lossy(name).into_owned()),
                );
            }
        };
        if bytes(data, self.kind_at).map(u16::from_ne_bytes)? != self.point {
            return None;
        }
        let state = |at: usize| bytes(data, at).map(i32::from_ne_bytes);
        let what = match (state(self.old_at)?, state(self.new_at)?) {
            (_, SYN_SENT) => ConnectEvent::Asked,
            (SYN_SENT, ESTABLISHED) => {
                let [local, remote] = self.ends_at.map(|end| self.end(data, end));
                ConnectEvent::Established { local: local?, remote: remote? }
            }
            (SYN_SENT, _) => ConnectEvent::Failed,
            _ => return None,
        };
        step(SocketPointer(bytes(data, self.socket_at).map(u64::from_ne_bytes)?), what)
    }

    fn end(&self, data: &[u8], at: EndLayout) -> Option<SocketAddr> {
        // The tracepoint has the port in this machine's order, and the addresses as packets have them.
        let port = bytes(data, at.port).map(u16::from_ne_bytes)?;
        let address: IpAddr = match i32::from(bytes(data, self.family_at).map(u16::from_ne_bytes)?) {
            libc::AF_INET => Ipv4Addr::from(bytes::<4>(data, at.v4)?).into(),
            libc::AF_INET6 => Ipv6Addr::from(bytes::<16>(data, at.v6)?).into(),
            _ => return None,
        };
        // A socket for both protocols has the other's address in its own.
        Some(SocketAddr::new(address.to_canonical(), port))
    }
}

/// Where a socket is in the kernel. It tells sockets apart, is used for nothing else, and never shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SocketPointer(u64);

impl SocketPointer {
    /// Some kernels write zeros for who may not know.
    fn is_known(self) -> bool {
        self.0 != 0
    }
}

impl fmt::Debug for SocketPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place")
    }
}

/// A step of an attempt to connect.
#[derive(Debug, Clone)]
struct ConnectStep {
    at_ns: u64,
    process: u32,
    thread: u32,
    socket: SocketPointer,
    what: ConnectEvent,
}

#[derive(Debug, Clone)]
enum ConnectEvent {
    /// The thread that runs has called `connect`. The own port is not chosen yet.
    Asked,
    /// The other end has answered. Whichever thread runs just then did not need to do anything for it.
    Established {
        local: SocketAddr,
        remote: SocketAddr,
    },
    /// It did not come to that.
    Failed,
    Missed,
    /// The process has executed a program of this name.
    Named(String),
}

/// Who has asked for connections that are not established yet: the process and the thread, by socket.
#[derive(Debug, Default)]
struct Pairing {
    asked: HashMap<SocketPointer, (u32, u32)>,
    /// What processes have executed, and when.
    named: HashMap<u32, (u64, String)>,
}

impl Pairing {
    /// Takes the next step in order of time; the connection, if that has established it.
    fn take(&mut self, step: ConnectStep) -> Option<Connected> {
        match step.what {
            ConnectEvent::Asked if step.socket.is_known() => {
                if self.asked.len() >= MOST_ASKED {
                    self.asked.clear();
                }
                self.asked.insert(step.socket, (step.process, step.thread));
                None
            }
            ConnectEvent::Asked => None,
            ConnectEvent::Failed => {
                self.asked.remove(&step.socket);
                None
            }
            ConnectEvent::Named(name) => {
                if self.named.len() >= MOST_ASKED {
                    self.named.clear();
                }
                self.named.insert(step.process, (step.at_ns, name));
                None
            }
            // Another socket may be in the same place by now.
            ConnectEvent::Missed => {
                self.asked.clear();
                None
            }
            ConnectEvent::Established { local, remote } => {
                // Without a pair, the thread that runs is the best guess, and only within this machine: there the caller
                // itself carries the answer. From a network, it interrupts any thread.
                let guess = is_within(local.ip(), remote.ip()).then_some((step.process, step.thread));
                let (process, thread) = self.asked.remove(&step.socket).or(guess)?;
                let just = |(at_ns, _): &&(u64, String)| step.at_ns.saturating_sub(*at_ns) <= JUST_NS;
                let name = self.named.get(&process).filter(just).map(|(_, name)| name.clone());
                (process != 0).then_some(Connected { process, thread, name, local, remote })
            }
        }
    }
}

/// Whether both ends are surely on this machine.
fn is_within(local: IpAddr, remote: IpAddr) -> bool {
    local == remote || (local.is_loopback() && remote.is_loopback())
}

/// Reads a text as such a format.
pub(crate) fn read_text(text: &str) {
    let _ = StateTracepoint::parse(text);
}

/// Reads bytes as such a ring.
pub(crate) fn read_bytes(bytes: &[u8]) {
    let layout = StateTracepoint {
        point: 1,
        kind_at: 0,
        socket_at: 8,
        old_at: 16,
        new_at: 20,
        family_at: 28,
        ends_at: [EndLayout { port: 24, v4: 32, v6: 40 }, EndLayout { port: 26, v4: 36, v6: 56 }],
    };
    let mut pairing = Pairing::default();
    parse(bytes, &mut |sample| {
        let _ = layout.step(sample).and_then(|step| pairing.take(step));
    });
}

#[cfg(test)]
mod tests;
