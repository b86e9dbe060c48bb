//! Being asked to stop.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use windows_sys::Win32::Foundation::{FALSE, HANDLE, TRUE};
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Threading::{CreateEventW, SetEvent};

use super::{checked, owned};

/// Whether it was asked; the handler is called on a thread of the system's and can be given nothing.
static ASKED: AtomicBool = AtomicBool::new(false);
/// The event to set then, once there is one; it stays until the process ends.
static BELL: AtomicIsize = AtomicIsize::new(0);

/// Whether the user or the system has asked this program to stop (Ctrl-C, Ctrl-Break, the console closing, logging
/// off, shutting down).
///
/// The first time is a request; a second one ends the program at once, as if nothing had been set up.
#[derive(Debug, Clone)]
pub struct Interrupt {
    bell: Arc<OwnedHandle>,
    listens: bool,
}

impl Interrupt {
    /// Starts to listen.
    ///
    /// # Errors
    /// Where a handler cannot be installed.
    pub fn install() -> io::Result<Self> {
        let bell = event()?;
        // SAFETY: the handle is open; a copy of it is left open for the handler for good.
        let kept = bell.try_clone()?;
        BELL.store(kept.as_raw_handle() as isize, Ordering::SeqCst);
        std::mem::forget(kept);
        // SAFETY: the function lives as long as the program and touches nothing but the two statics.
        checked(unsafe { SetConsoleCtrlHandler(Some(on_console_event), TRUE) })?;
        Ok(Self { bell: Arc::new(bell), listens: true })
    }

    /// One that is never asked; for tests and tools.
    ///
    /// # Errors
    /// Where there are no handles left.
    pub fn never() -> io::Result<Self> {
        Ok(Self { bell: Arc::new(event()?), listens: false })
    }

    /// Whether it was asked to stop.
    pub fn asked(&self) -> bool {
        self.listens && ASKED.load(Ordering::SeqCst)
    }

    /// How often this program was stopped and continued: nothing tells.
    pub fn times_continued(&self) -> u64 {
        0
    }

    /// An event that is set when it is asked to stop.
    pub(super) fn bell(&self) -> HANDLE {
        self.bell.as_raw_handle()
    }
}

/// An event that stays set, and is not.
fn event() -> io::Result<OwnedHandle> {
    // SAFETY: the call takes plain values, and what it makes is ours alone.
    unsafe { owned(CreateEventW(ptr::null(), TRUE, FALSE, ptr::null())) }
}

/// Called by the system on a thread of its own; `FALSE` lets the system do what it does without a handler.
unsafe extern "system" fn on_console_event(_kind: u32) -> i32 {
    if ASKED.swap(true, Ordering::SeqCst) {
        return FALSE;
    }
    // SAFETY: the event was stored before this function was installed, and is never closed.
    unsafe { SetEvent(BELL.load(Ordering::SeqCst) as HANDLE) };
    TRUE
}
