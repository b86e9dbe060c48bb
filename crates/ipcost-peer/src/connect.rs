//! Pattern `connect`: every operation opens a connection, exchanges one message each way and closes it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ipcost_model::choices::ClosesFirst;
use ipcost_model::{Cell, SpeaksFirst};
use ipcost_sys::clock::now_ns;
use ipcost_sys::transport::{Client, Server};

use crate::buffer::{Buffer, offsets_of};
use crate::error::PeerError;
use crate::meter::{Meter, Metering, Unmetered};
use crate::metered;
use crate::moving::{receive_all, receive_end, send_all};
use crate::pace::Pacing;
use crate::payload::{CheckedPayload, Payload, PlainPayload, Touched, touches};
use crate::roles::bytes;
use crate::work::{Computation, Order, Report, Work, WorkKind};

/// How a connection runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AcceptTurns {
    speaks_first: SpeaksFirst,
    closes_first: ClosesFirst,
}

impl AcceptTurns {
    fn of(cell: &Cell) -> Self {
        let closes_first = cell.options.closes_first().unwrap_or(ClosesFirst::Server);
        Self { speaks_first: cell.speaks_first, closes_first }
    }
}

/// The client: connects, speaks, closes.
pub struct ConnectClient {
    client: Box<dyn Client>,
    turns: AcceptTurns,
    request: Buffer,
    reply: Buffer,
    touches: bool,
    pacing: Option<Pacing>,
}

impl ConnectClient {
    /// One worker of a client, at its pace.
    pub fn new(client: Box<dyn Client>, cell: &Cell, pacing: Option<Pacing>) -> Self {
        let at = offsets_of(cell);
        Self {
            client,
            turns: AcceptTurns::of(cell),
            request: Buffer::filled(b'a', bytes(cell.size), at.send_offset),
            reply: Buffer::filled(0, bytes(cell.reply), at.recv_offset),
            touches: touches(cell),
            pacing,
        }
    }

    fn measure<M: Meter>(&mut self, ops: u64, meter: &mut M) -> Result<(), PeerError> {
        if self.touches { self.visit(ops, meter, &Touched) } else { self.visit(ops, meter, &PlainPayload) }
    }

    /// `ipcost-model/src/floor.rs` counts these calls too; a test compares.
    fn visit<M: Meter, P: Payload>(&mut self, ops: u64, meter: &mut M, payload: &P) -> Result<(), PeerError> {
        let turns = self.turns;
        for operation in 0..ops {
            let at = |source| PeerError::Moving { operation, ops, source: with_hint(source) };
            meter.begin();
            let mut connection = self.client.connect()?;
            let channel = &mut connection;
            if turns.speaks_first == SpeaksFirst::Client {
                // Each connection numbers its own messages, so this is number 0.
                payload.fill(0, &mut self.request);
                send_all(channel, &self.request).map_err(at)?;
            }
            receive_all(channel, &mut self.reply).map_err(at)?;
            payload.check(0, 0, &self.reply)?;
            if turns.closes_first == ClosesFirst::Server {
                receive_end(channel).map_err(at)?;
            }
            drop(connection);
            meter.end();
        }
        Ok(())
    }
}

impl Work for ConnectClient {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        let retries = self.client.retries();
        let mut metering = Metering::of(order, self.pacing.as_ref(), false)?;
        let began_ns = now_ns();
        if order.kind == WorkKind::Verify {
            self.visit(order.ops, &mut Unmetered, &CheckedPayload)?;
            self.request.fill(b'a');
        } else {
            metered!(&mut metering, |meter| self.measure(order.ops, meter))?;
        }
        let ended_ns = now_ns();
        let retries = self.client.retries() - retries;
        let mut report = Report { began_ns, ended_ns, retries, ..Report::default() };
        metering.tell(&mut report);
        Ok(report)
    }
}

/// A listener whose queue overflows may answer with SYN cookies, then reset connections it has no room for.
fn with_hint(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::ConnectionReset {
        return error;
    }
    let hint = "if the listener's queue overflowed, raise the option backlog or net.core.somaxconn";
    io::Error::new(error.kind(), format!("{error}; {hint}"))
}

/// The server: accepts, answers, closes. Workers share the listener and take turns as connections come.
pub struct ConnectServer {
    server: Arc<dyn Server>,
    /// Connections of this batch that no worker has claimed yet.
    unclaimed: Arc<AtomicU64>,
    turns: AcceptTurns,
    request: Buffer,
    reply: Buffer,
    touches: bool,
    work: Computation,
}

impl ConnectServer {
    /// One worker of a server.
    pub fn new(server: Arc<dyn Server>, unclaimed: Arc<AtomicU64>, cell: &Cell) -> Self {
        let at = offsets_of(cell);
        Self {
            server,
            unclaimed,
            turns: AcceptTurns::of(cell),
            request: Buffer::filled(0, bytes(cell.size), at.recv_offset),
            reply: Buffer::filled(b'b', bytes(cell.reply), at.send_offset),
            touches: touches(cell),
            work: Computation::of(cell),
        }
    }

    fn receive_visitors<P: Payload>(&mut self, ops: u64, payload: &P) -> Result<(), PeerError> {
        let turns = self.turns;
        let mut operation = 0;
        while self.claim() {
            let at = |source| PeerError::Moving { operation, ops, source };
            let accepted = if P::CHECKED { self.server.accept_known() } else { self.server.accept() };
            let mut connection = accepted.map_err(at)?;
            let channel = &mut connection;
            if turns.speaks_first == SpeaksFirst::Client {
                receive_all(channel, &mut self.request).map_err(at)?;
                payload.check(0, 0, &self.request)?;
            }
            self.work.compute();
            payload.fill(0, &mut self.reply);
            send_all(channel, &self.reply).map_err(at)?;
            if turns.closes_first == ClosesFirst::Client {
                receive_end(channel).map_err(at)?;
            }
            drop(connection);
            operation += 1;
        }
        Ok(())
    }

    fn claim(&self) -> bool {
        let take = |unclaimed: u64| unclaimed.checked_sub(1);
        self.unclaimed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

impl Work for ConnectServer {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        let began_ns = now_ns();
        match order.kind {
            WorkKind::Verify => {
                self.receive_visitors(order.ops, &CheckedPayload)?;
                self.reply.fill(b'b');
            }
            WorkKind::Timed | WorkKind::Latency if self.touches => {
                self.receive_visitors(order.ops, &Touched)?
            }
            WorkKind::Timed | WorkKind::Latency => self.receive_visitors(order.ops, &PlainPayload)?,
        }
        Ok(Report { began_ns, ended_ns: now_ns(), ..Report::default() })
    }
}
