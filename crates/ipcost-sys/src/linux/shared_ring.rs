//! Memory that two processes share: four words, each in its own cache lines, then a ring of bytes.

use std::hint::black_box;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::io::{pread, pwrite};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::copying::copy;
use crate::{Context, SysError};

/// Bytes before the ring: a page.
const HEAD_BYTES: usize = 4096;
/// Where the head says how many bytes lie between it and the ring: behind the words.
const OFFSET_AT: usize = 4 * WORD_BYTES;
/// A ring may begin with a word, as slots do.
const ALIGNMENT: u64 = 16;
/// The distance between words, bytes: two cache lines, as processors fetch them in pairs.
const WORD_BYTES: usize = 128;

/// Why this system lacks such memory.
pub const LACKS: Option<&'static str> = None;

/// Creates memory for a ring of `ring_bytes` bytes that begins `offset` bytes after a page (`memfd_create(2)`).
pub fn create(ring_bytes: usize, offset: u64) -> Result<OwnedFd, SysError> {
    let action = || "cannot make shared memory".to_owned();
    let memory = memfd_create("ipcost-ring", MemfdFlags::CLOEXEC).context(action)?;
    ftruncate(&memory, (HEAD_BYTES + ring_bytes) as u64 + offset).context(action)?;
    pwrite(&memory, &offset.to_ne_bytes(), OFFSET_AT as u64).context(action)?;
    Ok(memory)
}

/// A ring, mapped into this process. Its size is a power of two; positions count bytes and wrap around.
#[derive(Debug)]
pub struct SharedRing {
    memory: NonNull<u8>,
    /// Where the ring begins in the mapping.
    start: usize,
    bytes: usize,
}

// SAFETY: the words are atomic, bytes are only reached through raw copies, and the mapping lives as long as this does.
unsafe impl Send for SharedRing {}
// SAFETY: as above; writing bytes takes the ring exclusively.
unsafe impl Sync for SharedRing {}

impl SharedRing {
    /// Maps memory created by [`create`], and touches every page, so that no page fault falls into the measurement.
    pub fn map(memory: impl AsFd) -> Result<Self, SysError> {
        let action = || "cannot map shared memory".to_owned();
        let total = usize::try_from(fstat(&memory).context(action)?.st_size).unwrap_or(0);
        let mut offset = [0; 8];
        let known = pread(&memory, &mut offset, OFFSET_AT as u64).context(action)? == offset.len();
        let offset = if known { u64::from_ne_bytes(offset) } else { 0 };
        // Both sides place words by it, so it may not come from something else.
        let offset = if offset < HEAD_BYTES as u64 && offset.is_multiple_of(ALIGNMENT) {
            offset as usize
        } else {
            total
        };
        let start = HEAD_BYTES.saturating_add(offset);
        let bytes = total.saturating_sub(start);
        if !bytes.is_power_of_two() {
            let wrong = io::Error::other(format!("{total} bytes do not make a ring"));
            return Err(wrong).context(action);
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address that the kernel chooses, of a file of this size.
        let place = unsafe { mmap(ptr::null_mut(), total, access, flags, memory, 0) };
        let memory = NonNull::new(place.context(action)?.cast()).expect("mappings are not at address 0");
        Ok(Self { memory, start, bytes })
    }

    /// Its size, bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// One of the four words.
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < 4);
        // SAFETY: within the mapped page, aligned, and only used atomically by every process that maps it.
        unsafe { self.memory.add(index * WORD_BYTES).cast().as_ref() }
    }

    /// The first four bytes of the ring as a word; its users put nothing else there.
    #[inline]
    pub fn first_word(&self) -> &AtomicU32 {
        // SAFETY: within the mapping, whose ring is at least as large, aligned, and only used atomically.
        unsafe { self.memory.add(self.start).cast().as_ref() }
    }

    /// The pieces of the ring from a position on: up to its end, then from its start.
    #[inline]
    fn pieces(&self, position: u32, count: usize) -> [(*mut u8, usize); 2] {
        assert!(count <= self.bytes);
        let offset = position as usize & (self.bytes - 1);
        let first = count.min(self.bytes - offset);
        // SAFETY: both are within the mapping, as the offset is below the ring's size and counts stop at its end.
        unsafe {
            let ring = self.memory.as_ptr().add(self.start);
            [(ring.add(offset), first), (ring, count - first)]
        }
    }

    /// Copies bytes into the ring. Positions give this side exclusive use of these places.
    #[inline]
    pub fn write(&mut self, position: u32, bytes: &[u8]) {
        let [(place, first), (begin, _)] = self.pieces(position, bytes.len());
        let (one, other) = bytes.split_at(first);
        // SAFETY: the pieces have as many bytes; the slice is this process's own memory.
        unsafe {
            copy(one.as_ptr(), place, one.len());
            copy(other.as_ptr(), begin, other.len());
        }
    }

    /// Copies bytes out of the ring, the counterpart of [`SharedRing::write`].
    #[inline]
    pub fn read(&self, position: u32, buffer: &mut [u8]) {
        let [(place, first), (begin, _)] = self.pieces(position, buffer.len());
        let (one, other) = buffer.split_at_mut(first);
        // SAFETY: as for writing.
        unsafe {
            copy(place, one.as_mut_ptr(), one.len());
            copy(begin, other.as_mut_ptr(), other.len());
        }
    }

    /// Writes bytes of one value in place.
    #[inline]
    pub fn fill(&mut self, position: u32, value: u8, count: usize) {
        for (place, count) in self.pieces(position, count) {
            // SAFETY: the pieces have as many bytes.
            unsafe { ptr::write_bytes(place, value, count) };
        }
    }

    /// Reads every byte in place.
    #[inline]
    pub fn look_at(&self, position: u32, count: usize) {
        for (place, count) in self.pieces(position, count) {
            // SAFETY: the piece has as many bytes, and none is written while positions assign them to this side.
            let bytes = unsafe { std::slice::from_raw_parts(place, count) };
            let (words, rest) = bytes.as_chunks::<8>();
            let sum = words.iter().fold(0_u64, |sum, word| sum ^ u64::from_ne_bytes(*word));
            black_box(rest.iter().fold(sum, |sum, byte| sum ^ u64::from(*byte)));
        }
    }
}

impl Drop for SharedRing {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; no longer referred to.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.start + self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn what_goes_over_the_end_is_read_from_the_begin() {
        let memory = create(4096, 4080).unwrap();
        let (mut one, other) = (SharedRing::map(&memory).unwrap(), SharedRing::map(&memory).unwrap());
        drop(memory);
        assert_eq!(std::ptr::from_ref(one.first_word()).addr() % 4096, 4080);
        assert_eq!(other.bytes(), 4096);
        let (bytes, mut found) = ([1, 2, 3, 4, 5, 6, 7, 8, 9], [0; 9]);
        one.write(u32::MAX - 3, &bytes);
        other.read(u32::MAX - 3, &mut found);
        assert_eq!(found, bytes);
        one.fill(4090, 7, 9);
        other.look_at(4090, 9);
        other.read(4090, &mut found);
        assert_eq!(found, [7; 9]);
        one.word(3).store(5, Ordering::Release);
        assert_eq!(other.word(3).load(Ordering::Acquire), 5);
    }

    #[test]
    fn other_files_are_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(SharedRing::map(&file).unwrap_err().to_string().contains("not make a ring"));
    }
}
