//! A word of memory that two processes share (`CreateFileMapping`).

use std::ops::Deref;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_ALL_ACCESS, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile, PAGE_READWRITE,
    UnmapViewOfFile,
};

use super::owned;
use crate::{Context, SysError};

/// Bytes to map: a page, so that the word has its cache line to itself.
const BYTES: usize = 4096;

/// The word, mapped into this process; it disappears with its last handle and mapping.
#[derive(Debug)]
pub struct SharedWord(NonNull<AtomicU32>);

// SAFETY: the word is atomic, and its mapping lives as long as this does, whichever thread uses it.
unsafe impl Send for SharedWord {}
// SAFETY: as above.
unsafe impl Sync for SharedWord {}

/// Why this system lacks such memory.
pub const LACKS: Option<&'static str> = None;

/// Creates memory for a word with the value 0.
pub fn create() -> Result<OwnedHandle, SysError> {
    // SAFETY: without a file the memory comes from the paging file; it has no name, and the result is ours alone.
    let memory = unsafe {
        owned(CreateFileMappingW(
            INVALID_HANDLE_VALUE,
            ptr::null(),
            PAGE_READWRITE,
            0,
            BYTES as u32,
            ptr::null(),
        ))
    };
    memory.context(|| "cannot make shared memory".to_owned())
}

impl SharedWord {
    /// Maps memory created by [`create`].
    ///
    /// # Errors
    /// If the handle is something else, or smaller, or cannot be mapped.
    pub fn map(memory: impl AsRawHandle) -> Result<Self, SysError> {
        // SAFETY: a new mapping at an address that the system chooses; it rejects a handle to anything else.
        let place = unsafe { MapViewOfFile(memory.as_raw_handle(), FILE_MAP_ALL_ACCESS, 0, 0, BYTES) };
        NonNull::new(place.Value.cast())
            .map(Self)
            .ok_or_else(std::io::Error::last_os_error)
            .context(|| "cannot map shared memory".to_owned())
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
        // SAFETY: mapped by `map`; no longer referred to.
        unsafe { UnmapViewOfFile(MEMORY_MAPPED_VIEW_ADDRESS { Value: self.0.as_ptr().cast() }) };
    }
}
