//! Memory created for a message and passed to another process (`memfd_create(2)`, SCM_RIGHTS of `unix(7)`).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};

use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::copying::copy;
use crate::system::channel::write;

/// Why this system lacks such memory.
pub const LACKS: Option<&'static str> = None;

/// Creates memory with these bytes and passes it on.
pub fn pass(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let memory = memfd_create("ipcost-message", MemfdFlags::CLOEXEC)?;
    let mut written = 0;
    while written < bytes.len() {
        written += write(&memory, &bytes[written..])?;
    }
    let passed = [memory.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    beside.push(SendAncillaryMessage::ScmRights(&passed));
    loop {
        match sendmsg(socket, &[IoSlice::new(b"m")], &mut beside, SendFlags::empty()) {
            Err(Errno::INTR) => {}
            result => return Ok(result.map(drop)?),
        }
    }
}

/// Takes the next one passed, and maps it; `None` at the end.
pub fn take(socket: &OwnedFd) -> io::Result<Option<PassedMemory>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let count = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            result => break result?.bytes,
        }
    };
    if count == 0 {
        return Ok(None);
    }
    let memory = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut passed) => passed.next(),
        _ => None,
    });
    let memory = memory.ok_or_else(|| io::Error::other("a message without its memory; raise ulimit -n"))?;
    let bytes = usize::try_from(fstat(&memory)?.st_size).unwrap_or(0);
    // SAFETY: the kernel chooses the address.
    let mapped = unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, &memory, 0) }?;
    let start = NonNull::new(mapped.cast()).ok_or_else(|| io::Error::other("memory at address 0"))?;
    Ok(Some(PassedMemory { start, bytes, read: 0 }))
}

/// A received message, mapped.
#[derive(Debug)]
pub struct PassedMemory {
    start: NonNull<u8>,
    bytes: usize,
    read: usize,
}

// SAFETY: the owner of this value owns the mapping, and nothing writes through it.
unsafe impl Send for PassedMemory {}
// SAFETY: reading needs exclusive access.
unsafe impl Sync for PassedMemory {}

impl PassedMemory {
    /// Copies the next bytes out; returns how many.
    pub fn read(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.bytes - self.read);
        // SAFETY: the mapping has `count` bytes from there on, and their sender writes no more.
        unsafe { copy(self.start.as_ptr().add(self.read), buffer.as_mut_ptr(), count) };
        self.read += count;
        count
    }

    /// Whether all of it has been read.
    pub fn is_over(&self) -> bool {
        self.read == self.bytes
    }
}

impl Drop for PassedMemory {
    fn drop(&mut self) {
        // SAFETY: mapped with these bounds, and no longer referred to.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
