//! Being asked to stop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether the user or the system has asked this program to stop (SIGINT, SIGTERM, SIGHUP).
///
/// The first signal is a request; a second one ends the program at once, as if nothing had been set up.
#[derive(Debug, Clone)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    wake: Arc<UnixStream>,
}

impl Interrupt {
    /// Starts to listen for the signals.
    ///
    /// # Errors
    /// Where a handler cannot be installed.
    pub fn install() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: a signal that finds the flag raised is the second one.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&asked))?;
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
            signal_hook::low_level::pipe::register(signal, ring.try_clone()?)?;
        }
        Ok(Self { asked, wake: Arc::new(wake) })
    }

    /// One that is never asked; for tests and tools.
    ///
    /// # Errors
    /// Where there are no descriptors left.
    pub fn never() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        std::mem::forget(ring);
        Ok(Self { asked: Arc::default(), wake: Arc::new(wake) })
    }

    /// Whether it was asked to stop.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Becomes readable when it is asked to stop.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
