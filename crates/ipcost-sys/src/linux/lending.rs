//! Pipes whose pages are lent by the sender instead of copied in (`vmsplice(2)`, `splice(2)`).

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, ioctl_fionread, pwrite};
use rustix::pipe::{IoSliceRaw, SpliceFlags, splice, vmsplice};

use crate::system::channel::{PipePair, read};
use crate::transport::Channel;
use crate::transport::spinning::spin;

/// Whether pipes can be sent to in a way, as the option `pipe_send` names it.
///
/// # Errors
/// Never: Linux has them all.
pub fn probe(_pipe_send: &str) -> Result<(), String> {
    Ok(())
}

/// Pipes that are sent to in a way that is not `write`.
///
/// # Errors
/// The system's answer.
pub fn over(pipes: PipePair, pipe_send: &str) -> io::Result<Box<dyn Channel>> {
    let file = match pipe_send {
        "splice" => Some(memfd_create("ipcost-message", MemfdFlags::CLOEXEC)?),
        _ => None,
    };
    Ok(Box::new(Lent { pipes, file, filled: 0, checked: false }))
}

/// What is in the pipe are the sender's own pages, which it must not change until they have been read. The loops send the same message
/// again and again; only while what comes is checked does it change, and the sender then waits until the pipe is empty.
struct Lent {
    pipes: PipePair,
    /// A file with the message, where pages of one are sent and not of memory.
    file: Option<OwnedFd>,
    /// Bytes of the message that are in the file.
    filled: usize,
    checked: bool,
}

impl Lent {
    /// Lends some of the bytes; how many.
    #[inline]
    fn lend(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let sent = match &self.file {
                None => {
                    let memory = [IoSliceRaw::from_slice(bytes)];
                    // SAFETY: the pages are read by the other side later, when they hold what they hold now or what has replaced it
                    // since; the kernel keeps them for as long.
                    unsafe { vmsplice(&self.pipes.write, &memory, SpliceFlags::empty()) }
                }
                Some(file) => {
                    // A rest of the message begins where the first part ended.
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
        // The message is another one from now on.
        self.filled = 0;
    }
}
