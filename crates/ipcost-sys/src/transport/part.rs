//! Parts of a hop: what a floor does again and again, in the place of moving messages.

use std::io;

use super::memcpy::Copier;

/// What pattern `floor` repeats on one side of a cell.
pub enum Part {
    /// A call of the system.
    Call(fn()),
    /// A copy of a message.
    Copy(Copier),
    /// Half of a word's way there and back.
    HandOver(Box<dyn HandOver>),
    /// Nothing: the other side does it all.
    Nothing,
}

/// One side of a word of shared memory. The two take turns.
pub trait HandOver: Send + Sync {
    /// Makes the word this number and hands it over.
    ///
    /// # Errors
    /// The system's answer.
    fn give(&mut self, number: u32) -> io::Result<()>;

    /// Waits until the other side has handed the word over; what number it is.
    ///
    /// # Errors
    /// The system's answer, or that the engine is gone.
    fn take(&mut self) -> io::Result<u32>;
}
