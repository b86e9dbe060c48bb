//! Buffers that begin at a given place within a page.

use std::ops::{Deref, DerefMut};

use ipcost_model::{Cell, Offsets, PAGE_BYTES};

/// Bytes that begin a given number of bytes after a page. What a copy costs depends on where source and destination
/// begin within a page, by a few per cent or by factors, and a program's allocator decides it; so the engine draws it.
pub struct Buffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

/// Where a cell's buffers begin in this process; if the engine did not say, as `malloc` places large ones.
pub fn offsets_of(cell: &Cell) -> Offsets {
    Offsets { send_offset: 16, recv_offset: 16 }.fixed_by(&cell.options)
}

impl Buffer {
    /// `length` bytes of one value that begin `offset` bytes after a page; each is written, so that no page fault falls
    /// into the measurement.
    pub fn filled(value: u8, length: usize, offset: u16) -> Self {
        let page = PAGE_BYTES as usize;
        let memory = vec![value; length + 2 * page];
        let to_page = memory.as_ptr().align_offset(page);
        // The standard library may fail to compute it; any place will do then.
        let start = if to_page < page { to_page + usize::from(offset) % page } else { 0 };
        let mut buffer = Self { memory, start, length };
        buffer.fill(value);
        buffer
    }

    /// The same with another last byte.
    pub fn with_last(mut self, value: u8) -> Self {
        self.length += 1;
        if let Some(last) = self.last_mut() {
            *last = value;
        }
        self
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_where_they_were_asked_to_and_hold_what_was_asked_for() {
        for length in [1, 64, 4096, 65_536] {
            for offset in [0, 16, 5, 4095] {
                let buffer = Buffer::filled(b'a', length, offset).with_last(b'\n');
                assert_eq!(buffer.as_ptr().addr() % 4096, usize::from(offset));
                assert_eq!((buffer.len(), buffer.last()), (length + 1, Some(&b'\n')));
                assert!(buffer[..length].iter().all(|byte| *byte == b'a'));
            }
        }
    }
}
