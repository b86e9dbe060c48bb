//! Requests to stop.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use windows_sys::Win32::Foundation::{FALSE, HANDLE, TRUE};
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Threading::{CreateEventW, SetEvent};

use super::{checked, owned};

/// Whether a stop was requested; the system calls the handler on its own thread, without a context argument.
static ASKED: AtomicBool = AtomicBool::new(false);
/// The event to set then, once it exists; it stays until the process ends.
static BELL: AtomicIsize = AtomicIsize::new(0);

/// Whether the user or the system has asked this program to stop (Ctrl-C, Ctrl-Break, the console closing, logging
/// off, shutting down).
///
/// The first time is a request; a second one ends the program at once, as without this handler.
#[derive(Debug, Clone)]
pub struct Interrupt {
    bell: Arc<OwnedHandle>,
    listens: bool,
}

impl Interrupt {
    pub fn install() -> io::Result<Self> {
        let bell = event()?;
        // SAFETY: the handle is open; a copy of it stays open for the handler permanently.
        let kept = bell.try_clone()?;
        BELL.store(kept.as_raw_handle() as isize, Ordering::SeqCst);
        std::mem::forget(kept);
        // SAFETY: the function lives as long as the program and touches only the two statics.
        checked(unsafe { SetConsoleCtrlHandler(Some(on_console_event), TRUE) })?;
        Ok(Self { bell: Arc::new(bell), listens: true })
    }

    /// One that never sees a request; for tests and tools.
    pub fn never() -> io::Result<Self> {
        Ok(Self { bell: Arc::new(event()?), listens: false })
    }

    /// Whether it was asked to stop.
    pub fn asked(&self) -> bool {
        self.listens && ASKED.load(Ordering::SeqCst)
    }

    /// How often this program was stopped and continued; unknown on Windows, so always 0.
    pub fn times_continued(&self) -> u64 {
        0
    }

    /// The event that is set on a request to stop.
    pub(super) fn bell(&self) -> HANDLE {
        self.bell.as_raw_handle()
    }
}

/// A manual-reset event, initially unset.
fn event() -> io::Result<OwnedHandle> {
    // SAFETY: the call takes plain values, and its result is ours alone.
    unsafe { owned(CreateEventW(ptr::null(), TRUE, FALSE, ptr::null())) }
}

/// The system calls this on its own thread; `FALSE` lets it proceed as without a handler.
unsafe extern "system" fn on_console_event(_kind: u32) -> i32 {
    if ASKED.swap(true, Ordering::SeqCst) {
        return FALSE;
    }
    // SAFETY: the event was stored before this function was installed, and is never closed.
    unsafe { SetEvent(BELL.load(Ordering::SeqCst) as HANDLE) };
    TRUE
}
