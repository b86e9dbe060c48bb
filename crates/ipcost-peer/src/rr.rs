//! Pattern `rr`: request and reply on an open connection.

use std::io;

use ipcost_model::{Cell, choices};
use ipcost_sys::clock::now_ns;
use ipcost_sys::transport::{Channel, Connection};

use crate::buffer::{Buffer, offsets_of};
use crate::error::{PeerError, ended};
use crate::meter::{Meter, Metering, Unmetered};
use crate::metered;
use crate::moving::{receive_all, send_all};
use crate::pace::Pacing;
use crate::payload::{CheckedPayload, Payload, PlainPayload, Touched, touches};
use crate::roles::bytes;
use crate::work::{Computation, Order, Report, Work, WorkKind};

/// The server's buffer with `framing=newline`, unless the cell sets it.
const SERVER_BUFFER_BYTES: u64 = 65_537;

/// Whether a request ends with a newline; otherwise both sides know the sizes.
fn has_newline(cell: &Cell) -> bool {
    cell.options.framing() == Some(choices::Framing::Newline)
}

/// The client: sends a request, waits for the reply.
pub struct RrClient {
    channel: Connection,
    request: Buffer,
    size: usize,
    reply: Buffer,
    has_newline: bool,
    /// Whether the clock is read around every operation (option `clock`).
    is_clocked: bool,
    /// Whether every byte is written and read (option `touch`).
    touches: bool,
    pacing: Option<Pacing>,
}

impl RrClient {
    /// A client on an open channel, at its pace.
    pub fn new(channel: Connection, cell: &Cell, pacing: Option<Pacing>) -> Self {
        let (size, has_newline, at) = (bytes(cell.size), has_newline(cell), offsets_of(cell));
        let request = Buffer::filled(b'a', size, at.send_offset);
        let request = if has_newline { request.with_last(b'\n') } else { request };
        let reply = Buffer::filled(0, bytes(cell.reply), at.recv_offset);
        let is_clocked = cell.options.clock() == Some(choices::Clock::Each);
        Self { channel, request, size, reply, has_newline, is_clocked, touches: touches(cell), pacing }
    }

    fn measure<M: Meter>(&mut self, ops: u64, meter: &mut M) -> Result<(), PeerError> {
        if self.touches {
            self.exchange(ops, meter, &Touched)
        } else {
            self.exchange(ops, meter, &PlainPayload)
        }
    }

    fn exchange<M: Meter, P: Payload>(
        &mut self,
        ops: u64,
        meter: &mut M,
        payload: &P,
    ) -> Result<(), PeerError> {
        let channel = &mut self.channel;
        for operation in 0..ops {
            meter.begin();
            match self.has_newline {
                false => payload.fill(operation, &mut self.request),
                true => payload.fill_line(operation, &mut self.request[..self.size]),
            }
            send_all(channel, &self.request)
                .and_then(|()| receive_all(channel, &mut self.reply))
                .map_err(|source| PeerError::Moving { operation, ops, source })?;
            payload.check(operation, 0, &self.reply)?;
            meter.end();
        }
        Ok(())
    }
}

impl Work for RrClient {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        let mut metering = Metering::of(order, self.pacing.as_ref(), self.is_clocked)?;
        self.channel.expect_checks(order.kind == WorkKind::Verify);
        let began_ns = now_ns();
        if order.kind == WorkKind::Verify {
            self.exchange(order.ops, &mut Unmetered, &CheckedPayload)?;
            self.request[..self.size].fill(b'a');
        } else {
            metered!(&mut metering, |meter| self.measure(order.ops, meter))?;
        }
        let mut report = Report { began_ns, ended_ns: now_ns(), ..Report::default() };
        metering.tell(&mut report);
        Ok(report)
    }
}

/// The server: waits for a request, sends the reply.
pub struct RrServer {
    channel: Connection,
    size: u64,
    request: Buffer,
    reply: Buffer,
    has_newline: bool,
    touches: bool,
    work: Computation,
}

impl RrServer {
    /// A server on an open channel.
    pub fn new(channel: Connection, cell: &Cell) -> Self {
        let (has_newline, at) = (has_newline(cell), offsets_of(cell));
        let read_bytes = match has_newline {
            true => bytes(cell.options.server_buffer().unwrap_or(SERVER_BUFFER_BYTES)),
            false => bytes(cell.size),
        };
        Self {
            channel,
            size: cell.size,
            request: Buffer::filled(0, read_bytes, at.recv_offset),
            reply: Buffer::filled(b'b', bytes(cell.reply), at.send_offset),
            has_newline,
            touches: touches(cell),
            work: Computation::of(cell),
        }
    }

    fn answer<P: Payload>(&mut self, ops: u64, payload: &P) -> Result<(), PeerError> {
        for operation in 0..ops {
            let at = |source| PeerError::Moving { operation, ops, source };
            match self.has_newline {
                false => {
                    receive_all(&mut self.channel, &mut self.request).map_err(at)?;
                    payload.check(operation, 0, &self.request)?;
                }
                true => self.receive_line(operation, payload).map_err(|error| match error {
                    LineError::Moving(source) => at(source),
                    LineError::Payload(error) => error,
                })?,
            }
            self.work.compute();
            payload.fill(operation, &mut self.reply);
            send_all(&mut self.channel, &self.reply).map_err(at)?;
        }
        Ok(())
    }

    /// Reads until the last byte read is a newline.
    #[inline]
    fn receive_line<P: Payload>(&mut self, message: u64, payload: &P) -> Result<(), LineError> {
        let mut offset = 0;
        loop {
            let count = self.channel.receive(&mut self.request).map_err(LineError::Moving)?;
            let Some((last, before)) = self.request[..count].split_last() else {
                return Err(LineError::Moving(ended()));
            };
            let ended = *last == b'\n';
            let bytes = if ended { before } else { &self.request[..count] };
            payload.check_line(message, offset, bytes).map_err(LineError::Payload)?;
            offset += bytes.len() as u64;
            if ended {
                return payload.check_length(message, offset, self.size).map_err(LineError::Payload);
            }
        }
    }
}

enum LineError {
    Moving(io::Error),
    Payload(PeerError),
}

impl Work for RrServer {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        self.channel.expect_checks(order.kind == WorkKind::Verify);
        let began_ns = now_ns();
        match order.kind {
            WorkKind::Verify => {
                self.answer(order.ops, &CheckedPayload)?;
                self.reply.fill(b'b');
            }
            WorkKind::Timed | WorkKind::Latency if self.touches => self.answer(order.ops, &Touched)?,
            WorkKind::Timed | WorkKind::Latency => self.answer(order.ops, &PlainPayload)?,
        }
        Ok(Report { began_ns, ended_ns: now_ns(), ..Report::default() })
    }
}
