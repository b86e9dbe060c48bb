//! A word of memory that two processes share.

use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::{Context, SysError};

/// Bytes to map: a page, so that the word has its cache line to itself.
const BYTES: usize = 4096;

/// Why this system lacks such memory.
pub const LACKS: Option<&'static str> = None;

/// The word, mapped into this process; it disappears with its last descriptor and mapping.
#[derive(Debug)]
pub struct SharedWord(NonNull<AtomicU32>);

// SAFETY: the word is atomic, and its mapping lives as long as this does, whichever thread uses it.
unsafe impl Send for SharedWord {}
// SAFETY: as above.
unsafe impl Sync for SharedWord {}

/// Creates memory for a word with the value 0 (`memfd_create(2)`).
pub fn create() -> Result<OwnedFd, SysError> {
    let action = || "cannot make shared memory".to_owned();
    let memory = memfd_create("ipcost-word", MemfdFlags::CLOEXEC).context(action)?;
    ftruncate(&memory, BYTES as u64).context(action)?;
    Ok(memory)
}

impl SharedWord {
    /// Maps memory created by [`create`].
    pub fn map(memory: impl AsFd) -> Result<Self, SysError> {
        let action = || "cannot map shared memory".to_owned();
        let bytes = fstat(&memory).context(action)?.st_size;
        if bytes != BYTES as i64 {
            let wrong = std::io::Error::other(format!("it has {bytes} bytes, not {BYTES}"));
            return Err(wrong).context(action);
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses, of a file of this size.
        let place = unsafe { mmap(ptr::null_mut(), BYTES, access, MapFlags::SHARED, memory, 0) };
        Ok(Self(NonNull::new(place.context(action)?.cast()).expect("mappings are not at address 0")))
    }
}

impl Deref for SharedWord {
    type Target = AtomicU32;

    #[inline]
    fn deref(&self) -> &AtomicU32 {
        // SAFETY: the mapping lives until this is dropped, is page-aligned, and only used atomically by every process
        // that maps it; any bits are a valid u32.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for SharedWord {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; no longer referred to.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn what_one_mapping_writes_another_reads() {
        let memory = create().unwrap();
        let (one, other) = (SharedWord::map(&memory).unwrap(), SharedWord::map(&memory).unwrap());
        drop(memory);
        assert_eq!(other.load(Ordering::Acquire), 0);
        one.store(7, Ordering::Release);
        assert_eq!(other.load(Ordering::Acquire), 7);
    }

    #[test]
    fn other_files_are_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(SharedWord::map(&file).unwrap_err().to_string().contains("it has 0 bytes"));
    }
}
