//! A ring of bytes that the kernel fills with samples (`perf_event_open(2)`, "MMAP layout").

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// Where the head page (`struct perf_event_mmap_page`) says how far the kernel has written.
const HEAD_AT: usize = 1024;
/// Where it is told how far this program has read.
const TAIL_AT: usize = 1032;
/// A record for which there was no room left less than that: the longest, and one that tells of lost ones.
const NO_ROOM: usize = 256;

/// A ring, mapped into this process. Its size is a power of two; positions count bytes and never wrap around.
#[derive(Debug)]
pub struct SampleRing {
    memory: NonNull<u8>,
    /// Where the ring begins in the mapping: after a page.
    start: usize,
    bytes: usize,
}

// SAFETY: the two words are atomic, and the mapping lives as long as this does, in whichever thread.
unsafe impl Send for SampleRing {}

impl SampleRing {
    /// Makes the ring of an event. Its size is a power of two, and at least a page.
    ///
    /// # Errors
    /// If the system refuses: users without `CAP_IPC_LOCK` may have `kernel.perf_event_mlock_kb` for each processor.
    pub fn of(event: &OwnedFd, bytes: usize) -> io::Result<Self> {
        let start = page_size();
        // The kernel keeps what is not read yet only where it may be told what is: in a page that can be written.
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let place = unsafe { mmap(ptr::null_mut(), start + bytes, access, MapFlags::SHARED, event, 0) }?;
        let memory = NonNull::new(place.cast()).expect("mappings are not at address 0");
        Ok(Self { memory, start, bytes })
    }

    /// Appends all that the kernel has written since the last time, and makes room for more. Whether it was full.
    pub fn drain(&mut self, into: &mut Vec<u8>) -> bool {
        let tail = self.word(TAIL_AT).load(Ordering::Relaxed);
        // What the kernel wrote before it moved this is visible from here on.
        let head = self.word(HEAD_AT).load(Ordering::Acquire);
        let count = (head.wrapping_sub(tail) as usize).min(self.bytes);
        let offset = tail as usize & (self.bytes - 1);
        let first = count.min(self.bytes - offset);
        into.reserve(count);
        // SAFETY: both pieces are within the ring, and the kernel leaves them alone until the tail moves. The vector has
        // room for both, and is as long as both once they are copied.
        unsafe {
            let ring = self.memory.as_ptr().add(self.start);
            let end = into.as_mut_ptr().add(into.len());
            ptr::copy_nonoverlapping(ring.add(offset), end, first);
            ptr::copy_nonoverlapping(ring, end.add(first), count - first);
            into.set_len(into.len() + count);
        }
        // The kernel writes there only once the copies are made.
        self.word(TAIL_AT).store(head, Ordering::Release);
        self.bytes - count < NO_ROOM
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: within the mapped page, aligned, and only used atomically.
        unsafe { self.memory.add(at).cast().as_ref() }
    }
}

impl Drop for SampleRing {
    fn drop(&mut self) {
        // SAFETY: mapped by `of` with this length; no longer referred to.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.start + self.bytes) };
    }
}
