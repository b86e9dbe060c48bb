//! Pattern `floor`: a part of a hop on its own.
//!
//! One operation is one system call, one copy (or two, with the option `copies`), or one hand-over: half of a word's
//! round trip. After an odd number of hand-overs the word comes back once more.

use std::io;

use ipcost_model::Cell;
use ipcost_sys::SysError;
use ipcost_sys::clock::now_ns;
use ipcost_sys::transport::{Connection, Copier, FloorPartLoop, HandOver};

use crate::buffer::{Buffer, offsets_of};
use crate::error::PeerError;
use crate::payload::{CheckedPayload, Payload};
use crate::work::{Order, Report, Work, WorkKind};

pub fn client(connection: Connection, cell: &Cell) -> Result<Box<dyn Work>, PeerError> {
    Ok(match part(connection)? {
        FloorPartLoop::Call(call) => Box::new(Calling(call)),
        FloorPartLoop::Copy(copier) => Box::new(Copying::new(copier, cell)),
        FloorPartLoop::HandOver(word) => Box::new(Beginning(Word::new(word))),
        FloorPartLoop::Nothing => Box::new(Idle),
    })
}

pub fn server(connection: Connection, cell: &Cell) -> Result<Box<dyn Work>, PeerError> {
    match part(connection)? {
        FloorPartLoop::HandOver(word) => Ok(Box::new(Answering(Word::new(word)))),
        part => client(part.into(), cell),
    }
}

fn part(connection: Connection) -> Result<FloorPartLoop, PeerError> {
    match connection {
        Connection::FloorPart(part) => Ok(part),
        _ => Err(SysError::Invalid("pattern floor takes a floor, and this is a transport").into()),
    }
}

fn repeat(ops: u64, mut once: impl FnMut(u64) -> Result<(), PeerError>) -> Result<Report, PeerError> {
    let began_ns = now_ns();
    for operation in 0..ops {
        once(operation)?;
    }
    Ok(Report { began_ns, ended_ns: now_ns(), ..Report::default() })
}

struct Idle;

impl Work for Idle {
    fn run(&mut self, _order: Order) -> Result<Report, PeerError> {
        repeat(0, |_| Ok(()))
    }
}

/// Makes one system call per operation.
struct Calling(fn());

impl Work for Calling {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        repeat(order.ops, |_| {
            (self.0)();
            Ok(())
        })
    }
}

/// Copies messages that lie one after another, enough of them to fill the cell's working set.
struct Copying {
    copier: Copier,
    messages: Buffer,
    size: usize,
    next: usize,
}

impl Copying {
    fn new(copier: Copier, cell: &Cell) -> Self {
        let size = cell.size as usize;
        let most = cell.options.working_set().unwrap_or(cell.size) as usize;
        let bytes = most.checked_div(size).unwrap_or(0) * size;
        Self { copier, messages: Buffer::filled(b'a', bytes, offsets_of(cell).send_offset), size, next: 0 }
    }

    #[inline]
    fn once(&mut self) {
        self.copier.copy(&self.messages[self.next..self.next + self.size]);
        self.next += self.size;
        if self.next == self.messages.len() {
            self.next = 0;
        }
    }

    fn verify(&mut self, message: u64) -> Result<(), PeerError> {
        let place = self.next..self.next + self.size;
        CheckedPayload.fill(message, &mut self.messages[place.clone()]);
        self.once();
        self.messages[place].fill(b'a');
        CheckedPayload.check(message, 0, self.copier.copied())
    }
}

impl Work for Copying {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        if order.kind == WorkKind::Verify {
            return repeat(order.ops, |message| self.verify(message));
        }
        repeat(order.ops, |_| {
            self.once();
            Ok(())
        })
    }
}

/// A word that two sides hand back and forth, and its number; every hand-over increments it.
struct Word {
    word: Box<dyn HandOver>,
    number: u32,
}

impl Word {
    fn new(word: Box<dyn HandOver>) -> Self {
        Self { word, number: 0 }
    }

    #[inline]
    fn give(&mut self) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        self.word.give(self.number)
    }

    /// Waits for the next number; returns the value if it is a different one. The comparison costs next to nothing, so
    /// every batch checks the order.
    #[inline]
    fn take(&mut self) -> io::Result<Option<u32>> {
        self.number = self.number.wrapping_add(1);
        let found = self.word.take()?;
        Ok((found != self.number).then_some(found))
    }

    fn run(
        &mut self,
        order: Order,
        turn: impl Fn(&mut Self) -> io::Result<Option<u32>>,
    ) -> Result<Report, PeerError> {
        repeat(order.ops.div_ceil(2), |round_trip| {
            let operation = 2 * round_trip;
            match turn(self) {
                Ok(None) => Ok(()),
                Ok(Some(found)) => Err(PeerError::OutOfOrder { operation, found, expected: self.number }),
                Err(source) => Err(PeerError::Moving { operation, ops: order.ops, source }),
            }
        })
    }
}

/// The client of a hand-over: hands the word over first.
struct Beginning(Word);

impl Work for Beginning {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        self.0.run(order, |word| {
            word.give()?;
            word.take()
        })
    }
}

/// Its server: hands the word back.
struct Answering(Word);

impl Work for Answering {
    fn run(&mut self, order: Order) -> Result<Report, PeerError> {
        self.0.run(order, |word| match word.take()? {
            None => word.give().map(|()| None),
            wrong => Ok(wrong),
        })
    }
}
