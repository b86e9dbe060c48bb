//! Pattern `rr`: request and reply on an open connection.

use std::io;

use ipcost_sys::clock::now_ns;
use ipcost_sys::transport::{Channel, Connection};

use crate::error::{PeerError, ended};
use crate::meter::{Clocked, Meter, Metered, Unmetered};
use crate::moving::{receive_all, send_all};
use crate::pages::PageBuffer;
use crate::payload::{Checked, Payload, Plain};
use crate::work::{Kind, Order, Report, Work};

/// How the server knows that a request has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Both sides know the sizes.
    Length,
    /// A newline ends the request; the server reads at most `server_buffer_bytes` at once.
    Newline {
        /// The option `server_buffer`.
        server_buffer_bytes: usize,
    },
}

/// The client: sends a request, waits for the reply.
pub struct RrClient {
    channel: Connection,
    request: PageBuffer,
    size: usize,
    reply: PageBuffer,
    framing: Framing,
    /// Whether the clock is read around every operation (option `clock`).
    is_clocked: bool,
}

impl RrClient {
    /// A client on an open channel.
    pub fn new(channel: Connection, size: usize, reply: usize, framing: Framing, is_clocked: bool) -> Self {
        let request = PageBuffer::filled(b'a', size);
        let request = if framing == Framing::Length { request } else { request.with_last(b'\n') };
        Self { channel, request, size, reply: PageBuffer::filled(0, reply), framing, is_clocked }
    }

    fn exchange<M: Meter, P: Payload>(
        &mut self,
        ops: u64,
        meter: &mut M,
        payload: &P,
    ) -> Result<(), PeerError> {
        let channel = &mut self.channel;
        for operation in 0..ops {
            match self.framing {
                Framing::Length => payload.fill(operation, &mut self.request),
                Framing::Newline { .. } => payload.fill_line(operation, &mut self.request[..self.size]),
            }
            meter.begin();
            send_all(channel, &self.request)
                .and_then(|()| receive_all(channel, &mut self.reply))
                .map_err(|source| PeerError::Moving { operation, ops, source })?;
            meter.end();
            payload.check(operation, 0, &self.reply)?;
        }
        Ok(())
    }
}

impl Work for RrClient {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        let mut meter = matches!(order.kind, Kind::Latency { .. }).then(|| Metered::of(order.ops));
        self.channel.expect_checks(order.kind == Kind::Verify);
        let began_ns = now_ns();
        match (order.kind, &mut meter) {
            (Kind::Verify, _) => {
                self.exchange(order.ops, &mut Unmetered, &Checked)?;
                self.request[..self.size].fill(b'a');
            }
            (_, Some(meter)) => self.exchange(order.ops, meter, &Plain)?,
            (_, None) if self.is_clocked => self.exchange(order.ops, &mut Clocked::default(), &Plain)?,
            (_, None) => self.exchange(order.ops, &mut Unmetered, &Plain)?,
        }
        let ended_ns = now_ns();
        let latency_ns = match (order.kind, meter) {
            (Kind::Latency { most }, Some(meter)) => meter.values(most),
            _ => Vec::new(),
        };
        Ok(Report { began_ns, ended_ns, latency_ns, ..Report::default() })
    }
}

/// The server: waits for a request, sends the reply.
pub struct RrServer {
    channel: Connection,
    size: u64,
    request: PageBuffer,
    reply: PageBuffer,
    framing: Framing,
}

impl RrServer {
    /// A server on an open channel.
    pub fn new(channel: Connection, size: usize, reply: usize, framing: Framing) -> Self {
        let read_bytes = match framing {
            Framing::Length => size,
            Framing::Newline { server_buffer_bytes } => server_buffer_bytes,
        };
        Self {
            channel,
            size: size as u64,
            request: PageBuffer::filled(0, read_bytes),
            reply: PageBuffer::filled(b'b', reply),
            framing,
        }
    }

    fn answer<P: Payload>(&mut self, ops: u64, payload: &P) -> Result<(), PeerError> {
        for operation in 0..ops {
            let at = |source| PeerError::Moving { operation, ops, source };
            match self.framing {
                Framing::Length => {
                    receive_all(&mut self.channel, &mut self.request).map_err(at)?;
                    payload.check(operation, 0, &self.request)?;
                }
                Framing::Newline { .. } => {
                    self.receive_line(operation, payload).map_err(|error| match error {
                        LineError::Moving(source) => at(source),
                        LineError::Payload(error) => error,
                    })?
                }
            }
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
        self.channel.expect_checks(order.kind == Kind::Verify);
        let began_ns = now_ns();
        match order.kind {
            Kind::Verify => {
                self.answer(order.ops, &Checked)?;
                self.reply.fill(b'b');
            }
            Kind::Timed | Kind::Latency { .. } => self.answer(order.ops, &Plain)?,
        }
        Ok(Report { began_ns, ended_ns: now_ns(), ..Report::default() })
    }
}
