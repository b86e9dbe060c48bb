//! Buffers that begin on a page.

use std::ops::{Deref, DerefMut};

/// A page of every machine that is measured, or a part of one, bytes.
const PAGE_BYTES: usize = 4096;

/// Bytes that begin on a page. The kernel copies 64 KiB that do not several per cent more slowly, and where the
/// allocator puts a buffer would then be part of what is measured.
pub struct PageBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// So many bytes, all with this value; each is written, so that no page is missing once it is measured.
    pub fn filled(value: u8, length: usize) -> Self {
        let memory = vec![value; length + PAGE_BYTES];
        let offset = memory.as_ptr().align_offset(PAGE_BYTES);
        // The standard library may say that it cannot tell; any place will do then.
        let start = if offset < PAGE_BYTES { offset } else { 0 };
        let mut buffer = Self { memory, start, length };
        buffer.fill(value);
        buffer
    }

    /// The same with a byte at the end.
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
