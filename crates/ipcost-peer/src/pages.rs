//! Page-aligned buffers.

use std::ops::{Deref, DerefMut};

/// The page size of every supported machine, or a divisor of it, bytes.
const PAGE_BYTES: usize = 4096;

/// Page-aligned bytes. The kernel copies 64 KiB several per cent more slowly if unaligned, and where the allocator puts
/// a buffer would then be part of the measurement.
pub struct PageBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// `length` bytes of one value; each is written, so that no page fault falls into the measurement.
    pub fn filled(value: u8, length: usize) -> Self {
        let memory = vec![value; length + PAGE_BYTES];
        let offset = memory.as_ptr().align_offset(PAGE_BYTES);
        // The standard library may fail to compute it; any place will do then.
        let start = if offset < PAGE_BYTES { offset } else { 0 };
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

impl Deref for PageBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl DerefMut for PageBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_on_a_page_and_hold_what_was_asked_for() {
        for length in [1, 64, 4096, 65_536] {
            let buffer = PageBuffer::filled(b'a', length).with_last(b'\n');
            assert_eq!(buffer.as_ptr().align_offset(PAGE_BYTES), 0);
            assert_eq!((buffer.len(), buffer.last()), (length + 1, Some(&b'\n')));
            assert!(buffer[..length].iter().all(|byte| *byte == b'a'));
        }
    }
}
