//! Pattern `stream`: messages one way, and one byte back when all have arrived.

use ipcost_model::Cell;
use ipcost_model::pace::STAMP_BYTES;
use ipcost_model::protocol::{LatencyKind, OPERATIONS, OPERATIONS_NS, RECEIVES};
use ipcost_sys::clock::now_ns;
use ipcost_sys::transport::{Channel, Connection};

use crate::buffer::{Buffer, offsets_of};
use crate::error::{PeerError, ended};
use crate::meter::{LatencyTally, Meter, Metering, Unmetered};
use crate::metered;
use crate::moving::{receive_all, send_all};
use crate::pace::Pacing;
use crate::payload::{CheckedPayload, Payload, PlainPayload, Touched, touches};
use crate::roles::bytes;
use crate::work::{Computation, Order, Report, Work, WorkKind};

/// The least a server reads at once, unless the cell says otherwise.
const RECV_BUFFER_BYTES: u64 = 65_536;

pub struct StreamClient {
    channel: Connection,
    memory: Buffer,
    size: usize,
    /// How many messages the memory holds (option `send_memory`).
    messages: u64,
    touches: bool,
    pacing: Option<Pacing>,
}

impl StreamClient {
    /// A client on an open channel, at its pace.
    pub fn new(channel: Connection, cell: &Cell, pacing: Option<Pacing>) -> Self {
        let messages = (cell.options.send_memory().unwrap_or(0) / cell.size.max(1)).max(1);
        let memory = Buffer::filled(b'a', bytes(cell.size * messages), offsets_of(cell).send_offset);
        Self { channel, memory, size: bytes(cell.size), messages, touches: touches(cell), pacing }
    }

    fn measure<M: Meter>(&mut self, ops: u64, meter: &mut M) -> Result<(), PeerError> {
        if self.touches { self.send(ops, meter, &Touched) } else { self.send(ops, meter, &PlainPayload) }
    }

    fn send<M: Meter, P: Payload>(&mut self, ops: u64, meter: &mut M, payload: &P) -> Result<(), PeerError> {
        for operation in 0..ops {
            meter.begin();
            // A division is not part of the cost of those that have one message.
            let place = if self.messages == 1 { 0 } else { (operation % self.messages) as usize };
            let message = &mut self.memory[place * self.size..][..self.size];
            payload.fill(operation, message);
            if M::STAMPS {
                stamp(message, meter.counts_from());
            }
            send_all(&mut self.channel, message).map_err(|source| PeerError::Moving {
                operation,
                ops,
                source,
            })?;
            meter.end();
        }
        Ok(())
    }
}

impl Work for StreamClient {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        self.channel.expect_checks(order.kind == WorkKind::Verify);
        // At full speed the sender does not see when a message arrives, so it has no latency to sample.
        let sampled = Order { kind: WorkKind::Timed, ..order };
        let mut metering = Metering::of(sampled, self.pacing.as_ref(), false)?;
        let began_ns = now_ns();
        if order.kind == WorkKind::Verify {
            self.send(order.ops, &mut Unmetered, &CheckedPayload)?;
            self.memory.fill(b'a');
        } else {
            metered!(&mut metering, |meter| self.measure(order.ops, meter))?;
        }
        let sent_at_ns = Some(now_ns());
        let pushed = if order.push { self.channel.push() } else { Ok(()) };
        pushed
            .and_then(|()| receive_all(&mut self.channel, &mut [0]))
            .map_err(|source| PeerError::Moving { operation: order.ops, ops: order.ops, source })?;
        let mut report = Report { began_ns, ended_ns: now_ns(), sent_at_ns, ..Report::default() };
        metering.tell(&mut report);
        Ok(report)
    }
}

/// Writes into a message when it was sent.
fn stamp(message: &mut [u8], sent_ns: u64) {
    if let Some(place) = message.first_chunk_mut() {
        *place = sent_ns.to_ne_bytes();
    }
}

/// The server: receives, and answers one byte at the end.
pub struct StreamServer {
    channel: Connection,
    size: u64,
    buffer: Buffer,
    touches: bool,
    work: Computation,
    is_open: bool,
}

impl StreamServer {
    /// A server on an open channel; reads at most the option `recv_buffer` at once.
    pub fn new(channel: Connection, cell: &Cell) -> Self {
        let most = cell.options.recv_buffer().unwrap_or(cell.size.max(RECV_BUFFER_BYTES));
        let buffer = Buffer::filled(0, bytes(most), offsets_of(cell).recv_offset);
        let (work, is_open) = (Computation::of(cell), cell.pace().is_open());
        Self { channel, size: cell.size, buffer, touches: touches(cell), work, is_open }
    }

    /// Receives so many messages; returns in how many calls.
    fn receive<P: StreamPayload>(&mut self, ops: u64, payload: &mut P) -> Result<u64, PeerError> {
        let total = ops * self.size;
        let (mut received, mut calls) = (0, 0);
        while received < total {
            let most = (total - received).min(self.buffer.len() as u64) as usize;
            let at = |source| PeerError::Moving { operation: received / self.size, ops, source };
            let count = match self.channel.receive(&mut self.buffer[..most]) {
                Ok(0) => return Err(at(ended())),
                result => result.map_err(at)?,
            };
            payload.check_stream(self.size, received, &self.buffer[..count])?;
            let before = received / self.size;
            received += count as u64;
            calls += 1;
            (before..received / self.size).for_each(|_| self.work.compute());
        }
        Ok(calls)
    }
}

/// How long messages took that carry when they were sent.
struct Arriving {
    stamp: [u8; STAMP_BYTES as usize],
    took: LatencyTally,
    touches: bool,
}

impl Arriving {
    /// For so many messages; in an open loop without the first tenth, as their sender leaves it out.
    fn of(ops: u64, is_open: bool, touches: bool) -> Self {
        Self {
            stamp: [0; STAMP_BYTES as usize],
            took: LatencyTally::of(if is_open { ops } else { 0 }),
            touches,
        }
    }

    fn add_to(self, report: &mut Report) {
        let all = [(OPERATIONS, self.took.count()), (OPERATIONS_NS, self.took.sum())];
        report.measures.extend(all.map(|(name, value)| (name.to_owned(), value as f64)));
        report.latencies.insert(LatencyKind::Latency, self.took.into());
    }
}

impl StreamPayload for Arriving {
    fn check_stream(&mut self, size: u64, mut offset: u64, mut bytes: &[u8]) -> Result<(), PeerError> {
        let now = now_ns();
        if self.touches {
            Touched.check(0, 0, bytes)?;
        }
        while !bytes.is_empty() {
            let index = offset % size;
            let (part, later) = bytes.split_at(bytes.len().min((size - index) as usize));
            if index < STAMP_BYTES {
                let place = &mut self.stamp[index as usize..];
                let count = place.len().min(part.len());
                place[..count].copy_from_slice(&part[..count]);
            }
            offset += part.len() as u64;
            if offset.is_multiple_of(size) {
                let sent_ns = u64::from_ne_bytes(self.stamp);
                let took_ns = now.checked_sub(sent_ns).ok_or_else(|| {
                    PeerError::Program(format!(
                        "message {} arrived {} ns before it was sent: the two processes have different clocks, so how long it took is not known",
                        offset / size,
                        sent_ns - now
                    ))
                })?;
                self.took.record(took_ns);
            }
            bytes = later;
        }
        Ok(())
    }
}

/// Checks bytes that may begin and end anywhere in a sequence of messages.
trait StreamPayload {
    fn check_stream(&mut self, size: u64, offset: u64, bytes: &[u8]) -> Result<(), PeerError>;
}

impl StreamPayload for PlainPayload {
    #[inline]
    fn check_stream(&mut self, _size: u64, _offset: u64, _bytes: &[u8]) -> Result<(), PeerError> {
        Ok(())
    }
}

impl StreamPayload for Touched {
    #[inline]
    fn check_stream(&mut self, _size: u64, _offset: u64, bytes: &[u8]) -> Result<(), PeerError> {
        self.check(0, 0, bytes)
    }
}

impl StreamPayload for CheckedPayload {
    fn check_stream(&mut self, size: u64, mut offset: u64, mut bytes: &[u8]) -> Result<(), PeerError> {
        while !bytes.is_empty() {
            let (message, index) = (offset / size, offset % size);
            let (now, later) = bytes.split_at(bytes.len().min((size - index) as usize));
            self.check(message, index, now)?;
            offset += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }
}

impl Work for StreamServer {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        self.channel.expect_checks(order.kind == WorkKind::Verify);
        let began_ns = now_ns();
        let mut arriving = order.seed.map(|_| Arriving::of(order.ops, self.is_open, self.touches));
        let receives = match (order.kind, &mut arriving) {
            (WorkKind::Verify, _) => self.receive(order.ops, &mut CheckedPayload)?,
            (_, Some(arriving)) => self.receive(order.ops, arriving)?,
            (WorkKind::Timed | WorkKind::Latency, None) if self.touches => {
                self.receive(order.ops, &mut Touched)?
            }
            (WorkKind::Timed | WorkKind::Latency, None) => self.receive(order.ops, &mut PlainPayload)?,
        };
        send_all(&mut self.channel, b"b").map_err(|source| PeerError::Moving {
            operation: order.ops,
            ops: order.ops,
            source,
        })?;
        let measures = [(RECEIVES.to_owned(), receives as f64)].into();
        let mut report = Report { began_ns, ended_ns: now_ns(), measures, ..Report::default() };
        if let Some(arriving) = arriving {
            arriving.add_to(&mut report);
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_read_wherever_messages_are_cut() {
        let sent = [now_ns() - 3_000, now_ns() - 2_000];
        let mut bytes = vec![7; 20];
        bytes.chunks_mut(10).zip(sent).for_each(|(message, sent_ns)| stamp(message, sent_ns));
        for cut in 1..bytes.len() {
            let mut arriving = Arriving::of(2, false, true);
            arriving.check_stream(10, 0, &bytes[..cut]).unwrap();
            arriving.check_stream(10, cut as u64, &bytes[cut..]).unwrap();
            assert!(arriving.took.count() == 2 && arriving.took.sum() >= 5_000, "{cut}");
        }
        stamp(&mut bytes, now_ns() + 60_000_000_000);
        let error = Arriving::of(1, false, false).check_stream(10, 0, &bytes[..10]).unwrap_err();
        assert!(error.to_string().contains("different clocks"), "{error}");
    }

    #[test]
    fn a_stream_is_checked_across_messages() {
        let mut payload = CheckedPayload;
        let mut bytes = vec![0; 30];
        for (message, chunk) in bytes.chunks_mut(10).enumerate() {
            payload.fill(message as u64, chunk);
        }
        payload.check_stream(10, 0, &bytes).unwrap();
        payload.check_stream(10, 7, &bytes[7..26]).unwrap();
        bytes[25] ^= 1;
        let error = payload.check_stream(10, 7, &bytes[7..26]).unwrap_err();
        assert!(matches!(error, PeerError::Mismatch { message: 2, index: 5, .. }), "{error}");
    }
}
