//! Pattern `stream`: messages one way, and one byte back when all have arrived.

use ipcost_model::Cell;
use ipcost_sys::clock::now_ns;
use ipcost_sys::transport::{Channel, Connection};

use crate::buffer::{Buffer, offsets_of};
use crate::error::{PeerError, ended};
use crate::moving::{receive_all, send_all};
use crate::payload::{Checked, Payload, Plain, Touched, touches};
use crate::roles::bytes;
use crate::work::{Order, Report, Work, WorkKind};

/// The least a server reads at once, unless the cell says otherwise.
const RECV_BUFFER_BYTES: u64 = 65_536;

/// The client: sends.
pub struct StreamClient {
    channel: Connection,
    memory: Buffer,
    size: usize,
    /// How many messages the memory holds (option `send_memory`).
    messages: u64,
    touches: bool,
}

impl StreamClient {
    /// A client on an open channel.
    pub fn new(channel: Connection, cell: &Cell) -> Self {
        let messages = (cell.options.int("send_memory").unwrap_or(0) / cell.size.max(1)).max(1);
        let memory = Buffer::filled(b'a', bytes(cell.size * messages), offsets_of(cell).send_offset);
        Self { channel, memory, size: bytes(cell.size), messages, touches: touches(cell) }
    }

    fn send<P: Payload>(&mut self, ops: u64, payload: &P) -> Result<(), PeerError> {
        for operation in 0..ops {
            // A division is not part of the cost of those that have one message.
            let place = if self.messages == 1 { 0 } else { (operation % self.messages) as usize };
            let message = &mut self.memory[place * self.size..][..self.size];
            payload.fill(operation, message);
            send_all(&mut self.channel, message).map_err(|source| PeerError::Moving {
                operation,
                ops,
                source,
            })?;
        }
        Ok(())
    }
}

impl Work for StreamClient {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        self.channel.expect_checks(order.kind == WorkKind::Verify);
        let began_ns = now_ns();
        match order.kind {
            WorkKind::Verify => {
                self.send(order.ops, &Checked)?;
                self.memory.fill(b'a');
            }
            // The sender does not see when a message arrives, so it has no latency to sample.
            WorkKind::Timed | WorkKind::Latency { .. } if self.touches => self.send(order.ops, &Touched)?,
            WorkKind::Timed | WorkKind::Latency { .. } => self.send(order.ops, &Plain)?,
        }
        let sent_at_ns = Some(now_ns());
        let pushed = if order.push { self.channel.push() } else { Ok(()) };
        pushed
            .and_then(|()| receive_all(&mut self.channel, &mut [0]))
            .map_err(|source| PeerError::Moving { operation: order.ops, ops: order.ops, source })?;
        Ok(Report { began_ns, ended_ns: now_ns(), sent_at_ns, ..Report::default() })
    }
}

/// The server: receives, and answers one byte at the end.
pub struct StreamServer {
    channel: Connection,
    size: u64,
    buffer: Buffer,
    touches: bool,
}

impl StreamServer {
    /// A server on an open channel; reads at most the option `recv_buffer` at once.
    pub fn new(channel: Connection, cell: &Cell) -> Self {
        let most = cell.options.int("recv_buffer").unwrap_or(cell.size.max(RECV_BUFFER_BYTES));
        let buffer = Buffer::filled(0, bytes(most), offsets_of(cell).recv_offset);
        Self { channel, size: cell.size, buffer, touches: touches(cell) }
    }

    /// Receives so many messages; returns in how many calls.
    fn receive<P: StreamPayload>(&mut self, ops: u64, payload: &P) -> Result<u64, PeerError> {
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
            received += count as u64;
            calls += 1;
        }
        Ok(calls)
    }
}

/// Checks bytes that may begin and end anywhere in a sequence of messages.
trait StreamPayload {
    fn check_stream(&self, size: u64, offset: u64, bytes: &[u8]) -> Result<(), PeerError>;
}

impl StreamPayload for Plain {
    #[inline]
    fn check_stream(&self, _size: u64, _offset: u64, _bytes: &[u8]) -> Result<(), PeerError> {
        Ok(())
    }
}

impl StreamPayload for Touched {
    #[inline]
    fn check_stream(&self, _size: u64, _offset: u64, bytes: &[u8]) -> Result<(), PeerError> {
        self.check(0, 0, bytes)
    }
}

impl StreamPayload for Checked {
    fn check_stream(&self, size: u64, mut offset: u64, mut bytes: &[u8]) -> Result<(), PeerError> {
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
        let receives = match order.kind {
            WorkKind::Verify => self.receive(order.ops, &Checked)?,
            WorkKind::Timed | WorkKind::Latency { .. } if self.touches => {
                self.receive(order.ops, &Touched)?
            }
            WorkKind::Timed | WorkKind::Latency { .. } => self.receive(order.ops, &Plain)?,
        };
        send_all(&mut self.channel, b"b").map_err(|source| PeerError::Moving {
            operation: order.ops,
            ops: order.ops,
            source,
        })?;
        Ok(Report { began_ns, ended_ns: now_ns(), receives, ..Report::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_checked_across_messages() {
        let payload = Checked;
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
