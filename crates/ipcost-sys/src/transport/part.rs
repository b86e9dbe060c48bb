//! Parts of a hop: what a floor repeats instead of moving messages.

use std::io;

use super::memcpy::Copier;

/// What pattern `floor` repeats on one side of a cell.
pub enum FloorPartLoop {
    Call(fn()),
    /// A copy of a message.
    Copy(Copier),
    /// Half of a word's round trip.
    HandOver(Box<dyn HandOver>),
    /// Nothing: the other side does everything.
    Nothing,
}

/// One side of a word in shared memory. The two take turns.
pub trait HandOver: Send + Sync {
    /// Sets the word to this number and hands it over.
    fn give(&mut self, number: u32) -> io::Result<()>;

    /// Waits until the other side has handed the word over; returns its number.
    fn take(&mut self) -> io::Result<u32>;
}
