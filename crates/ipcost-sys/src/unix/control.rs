//! The peer's side of the control protocol: lines from standard input.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;

pub use crate::contract::Next;
use crate::lines::Lines;
use crate::transport::Server;

/// How long to wait before polling a server without a descriptor again.
const ASK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// How much is read at once, bytes.
const CHUNK_BYTES: usize = 8192;

/// Lines from standard input.
///
/// Read here, not in a thread: a second thread would slow down every system call on a descriptor (the kernel then
/// counts references), and the peer must cost what a plain program costs.
#[derive(Debug, Default)]
pub struct ControlInput {
    lines: Lines,
}

/// Whether the engine is gone: the other end of standard input is closed.
///
/// Loops without system calls ask this now and then; the end of input means stop.
pub fn engine_is_gone() -> bool {
    let input = stdin();
    let mut watched = [PollFd::new(&input, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut watched, Some(&now)).is_ok() && watched[0].revents().contains(PollFlags::HUP)
}

impl ControlInput {
    /// The next line without its newline; `None` at the end of input.
    ///
    /// # Errors
    /// If standard input cannot be read, or a line is longer than the protocol allows.
    pub fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let line =
                self.lines.take().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            if line.is_some() {
                return Ok(line);
            }
            let mut chunk = [0; CHUNK_BYTES];
            match rustix::io::read(stdin(), &mut chunk) {
                Ok(0) => return Ok(None),
                Ok(count) => self.lines.add(&chunk[..count]),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until a control line or a channel of the server may be ready.
    pub fn wait_beside(&self, server: &dyn Server) -> io::Result<Next> {
        if self.lines.has_line() {
            return Ok(Next::Control);
        }
        let input: BorrowedFd<'_> = stdin();
        let mut watched = vec![PollFd::new(&input, PollFlags::IN)];
        let waiting = server.waiting();
        if let Some(descriptor) = &waiting {
            watched.push(PollFd::new(descriptor, PollFlags::IN));
        }
        let timeout = waiting.is_none().then_some(&ASK_AGAIN);
        match poll(&mut watched, timeout) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(if watched[0].revents().is_empty() { Next::Server } else { Next::Control })
    }
}
