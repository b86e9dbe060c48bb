//! Pattern `floor`: a part of a hop on its own.
//!
//! One operation is one system call, one copy (or two, by the option `copies`), or one hand-over: half of a word's
//! way there and back. After an odd number of hand-overs the word comes back once more.

use ipcost_model::{Cell, FloorKind};
use ipcost_sys::clock::now_ns;
use ipcost_sys::transport::{Channel, Connection};

use crate::error::PeerError;
use crate::pages::PageBuffer;
use crate::payload::{Checked, Payload};
use crate::work::{Kind, Order, Report, Work};

/// The client of a floor in which both sides take part: hands the word over, and waits for it.
pub struct HandingClient(Hands);

/// Its server: waits for the word, and hands it back.
pub struct HandingServer(Hands);

/// A channel that carries numbers, and the last one it carried; every hand-over raises it by one.
struct Hands {
    channel: Connection,
    number: u32,
}

impl Hands {
    #[inline]
    fn give(&mut self) -> std::io::Result<()> {
        self.number = self.number.wrapping_add(1);
        self.channel.send(&self.number.to_ne_bytes()).map(drop)
    }

    /// Waits for the next number; what it is, if it is not that one. To compare costs next to nothing, so that
    /// order is checked in every batch.
    #[inline]
    fn take(&mut self) -> std::io::Result<Option<u32>> {
        self.number = self.number.wrapping_add(1);
        let mut number = [0; 4];
        self.channel.receive(&mut number)?;
        let found = u32::from_ne_bytes(number);
        Ok((found != self.number).then_some(found))
    }

    fn run(
        &mut self,
        order: Order,
        turn: impl Fn(&mut Self) -> std::io::Result<Option<u32>>,
    ) -> Result<Report, PeerError> {
        let began_ns = now_ns();
        for round_trip in 0..order.ops.div_ceil(2) {
            let operation = 2 * round_trip;
            match turn(self) {
                Ok(None) => {}
                Ok(Some(found)) => {
                    return Err(PeerError::OutOfOrder { operation, found, expected: self.number });
                }
                Err(source) => return Err(PeerError::Moving { operation, ops: order.ops, source }),
            }
        }
        Ok(Report { began_ns, ended_ns: now_ns(), ..Report::default() })
    }
}

impl HandingClient {
    /// The side that begins.
    pub fn new(channel: Connection) -> Self {
        Self(Hands { channel, number: 0 })
    }
}

impl Work for HandingClient {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        self.0.run(order, |hands| {
            hands.give()?;
            hands.take()
        })
    }
}

impl HandingServer {
    /// The side that answers.
    pub fn new(channel: Connection) -> Self {
        Self(Hands { channel, number: 0 })
    }
}

impl Work for HandingServer {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        self.0.run(order, |hands| match hands.take()? {
            None => hands.give().map(|()| None),
            wrong => Ok(wrong),
        })
    }
}

/// The client of a floor in which it does everything: the same again and again.
pub struct LoneClient {
    channel: Connection,
    kind: FloorKind,
    /// Messages one after the other, each of `size` bytes; one that is empty where there is no size.
    messages: PageBuffer,
    size: usize,
    next: usize,
}

impl LoneClient {
    /// One that goes through as many messages as the cell's working set holds.
    pub fn new(channel: Connection, kind: FloorKind, cell: &Cell) -> Self {
        let size = cell.size as usize;
        let most = cell.options.int("working_set").unwrap_or(cell.size) as usize;
        let bytes = most.checked_div(size).unwrap_or(0) * size;
        Self { channel, kind, messages: PageBuffer::filled(b'a', bytes), size, next: 0 }
    }

    #[inline]
    fn once(&mut self) -> std::io::Result<()> {
        self.channel.send(&self.messages[self.next..self.next + self.size])?;
        self.next += self.size;
        if self.next == self.messages.len() {
            self.next = 0;
        }
        Ok(())
    }

    fn verify(&mut self, message: u64) -> Result<std::io::Result<()>, PeerError> {
        let place = self.next..self.next + self.size;
        Checked.fill(message, &mut self.messages[place.clone()]);
        let mut copied = vec![0; self.size];
        let moved = self.once().and_then(|()| self.channel.receive(&mut copied));
        self.messages[place].fill(b'a');
        Checked.check(message, 0, &copied)?;
        Ok(moved.map(drop))
    }
}

impl Work for LoneClient {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        let began_ns = now_ns();
        let verified = order.kind == Kind::Verify && self.kind.has_size();
        for operation in 0..order.ops {
            let moved = if verified { self.verify(operation)? } else { self.once() };
            moved.map_err(|source| PeerError::Moving { operation, ops: order.ops, source })?;
        }
        Ok(Report { began_ns, ended_ns: now_ns(), ..Report::default() })
    }
}

/// The server of a floor in which the client does everything.
pub struct IdleServer;

impl Work for IdleServer {
    fn run(&mut self, _order: Order) -> Result<Report, PeerError> {
        let now = now_ns();
        Ok(Report { began_ns: now, ended_ns: now, ..Report::default() })
    }
}
