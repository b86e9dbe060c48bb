//! Pipes whose sender lends pages instead of copying (`vmsplice(2)`, `splice(2)`).

use std::io;
use std::os::fd::OwnedFd;

use ipcost_model::choices::PipeSend;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, ioctl_fionread, pwrite};
use rustix::pipe::{IoSliceRaw, SpliceFlags, splice, vmsplice};

use crate::system::channel::{PipePair, read};
use crate::transport::Channel;
use crate::transport::spinning::spin;

/// Whether pipes support ways of sending other than `write`.
pub const EXISTS: bool = true;

/// Pipes with a way of sending other than `write`.
pub fn over(pipes: PipePair, by: PipeSend) -> io::Result<Box<dyn Channel>> {
    let file = match by {
        PipeSend::Splice => Some(memfd_create("ipcost-message", MemfdFlags::CLOEXEC)?),
        PipeSend::Vmsplice | PipeSend::Write => None,
    };
    Ok(Box::new(Lent { pipes, file, filled: 0, checked: false }))
}

/// The pipe holds the sender's own pages, which must not change until read. The loops repeat one message; it changes
/// only while content is checked, and the sender then waits until the pipe is empty.
struct Lent {
    pipes: PipePair,
    /// A file with the message, if its pages are sent instead of memory's.
    file: Option<OwnedFd>,
    /// Bytes of the message that are in the file.
    filled: usize,
    checked: bool,
}

impl Lent {
    /// Lends some of the bytes; returns how many.
    #[inline]
    fn lend(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let sent = match &self.file {
                None => {
                    let memory = [IoSliceRaw::from_slice(bytes)];
                    // SAFETY: the other side reads the pages later, with their present content or what has replaced it
                    // since; the kernel keeps them until then.
                    unsafe { vmsplice(&self.pipes.write, &memory, SpliceFlags::empty()) }
                }
                Some(file) => {
                    // The rest of a message begins where the first part ended.
                    let mut from = self.filled.saturating_sub(bytes.len()) as u64;
                    splice(file, Some(&mut from), &self.pipes.write, None, bytes.len(), SpliceFlags::empty())
                }
            };
            match sent {
                Err(Errno::INTR) => {}
                result => return Ok(result?),
            }
        }
    }

    /// Waits until the other side has read everything.
    fn wait_until_read(&self) -> io::Result<()> {
        spin(|| match ioctl_fionread(&self.pipes.write) {
            Ok(0) => Some(Ok(())),
            Ok(_) => None,
            Err(error) => Some(Err(error.into())),
        })?
    }
}

impl Channel for Lent {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &self.file
            && (self.checked || self.filled < bytes.len())
        {
            let mut written = 0;
            while written < bytes.len() {
                written += pwrite(file, &bytes[written..], written as u64)?;
            }
            self.filled = bytes.len();
        }
        let sent = self.lend(bytes)?;
        if self.checked {
            self.wait_until_read()?;
        }
        Ok(sent)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.pipes.read, buffer)
    }

    fn expect_checks(&mut self, checked: bool) {
        self.checked = checked;
        // The message changes from now on.
        self.filled = 0;
    }
}
