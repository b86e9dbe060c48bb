//! Requests to stop.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM};

use crate::clock::now_ns;

/// How long after the first request another one by the user means that it is to end at once.
const INSISTS_AFTER_NS: u64 = 1_000_000_000;

/// Whether the user or the system has asked this program to stop (SIGINT, SIGTERM, SIGHUP).
///
/// The first signal is a request. An interrupt by the user (SIGINT) that comes a second later or more ends the program at once, as
/// without these handlers; a closing terminal and an init system send several signals in a row, and mean one request.
#[derive(Debug, Clone)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    continued: Arc<AtomicU64>,
    wake: Arc<UnixStream>,
}

impl Interrupt {
    /// Starts to listen for the signals.
    pub fn install() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let asked = Arc::new(AtomicBool::new(false));
        let first_ns = Arc::new(AtomicU64::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let first_ns = Arc::clone(&first_ns);
            // SAFETY: the handler reads the clock, compares and sets an atomic number, and ends the program by its default action:
            // all of it is async-signal-safe.
            unsafe {
                signal_hook::low_level::register(signal, move || {
                    let now_ns = now_ns().max(1);
                    let first = first_ns.compare_exchange(0, now_ns, Ordering::SeqCst, Ordering::SeqCst);
                    if signal == SIGINT
                        && first.is_err_and(|first| now_ns.saturating_sub(first) >= INSISTS_AFTER_NS)
                    {
                        let _ = signal_hook::low_level::emulate_default_handler(signal);
                    }
                })?;
            }
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
            signal_hook::low_level::pipe::register(signal, ring.try_clone()?)?;
        }
        let continued = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&continued);
        // SAFETY: the handler only adds to an atomic number, which is async-signal-safe.
        unsafe {
            signal_hook::low_level::register(SIGCONT, move || {
                count.fetch_add(1, Ordering::SeqCst);
            })?;
        }
        Ok(Self { asked, continued, wake: Arc::new(wake) })
    }

    /// One that never sees a signal; for tests and tools.
    pub fn never() -> io::Result<Self> {
        let (wake, ring) = UnixStream::pair()?;
        std::mem::forget(ring);
        Ok(Self { asked: Arc::default(), continued: Arc::default(), wake: Arc::new(wake) })
    }

    /// Whether it was asked to stop.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// How often this program was stopped and continued (SIGCONT); not a reason to end.
    pub fn times_continued(&self) -> u64 {
        self.continued.load(Ordering::SeqCst)
    }

    /// Becomes readable when it is asked to stop.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
