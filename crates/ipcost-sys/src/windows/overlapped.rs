//! Pipes to a child's standard streams: the child's end blocks, as it expects; this end does not, so that one call can
//! wait for several. Anonymous pipes cannot do that, so these have unguessable names.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_IO_INCOMPLETE, ERROR_IO_PENDING, FALSE, GENERIC_READ, GENERIC_WRITE, HANDLE, TRUE, WAIT_OBJECT_0,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING, PIPE_ACCESS_INBOUND,
    PIPE_ACCESS_OUTBOUND, ReadFile, WriteFile,
};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::{
    CreateNamedPipeW, PIPE_READMODE_BYTE, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE, PIPE_WAIT,
};
use windows_sys::Win32::System::Threading::{CreateEventW, WaitForSingleObject};

use super::channel::has_ended;
use super::security::Security;
use super::text::wide;
use super::{checked, is, owned};

/// The system's buffer for a pipe, bytes.
const PIPE_BYTES: u32 = 65_536;

/// The end that reads a child's output.
#[derive(Debug)]
pub struct Incoming {
    pipe: OwnedHandle,
    event: OwnedHandle,
    /// Where the system writes during a call; not accessed by this side then.
    call: NonNull<Call>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Reading,
    Ended,
}

struct Call {
    overlapped: OVERLAPPED,
    chunk: Vec<u8>,
}

// SAFETY: the call's memory belongs only to this value, whichever thread it is on.
unsafe impl Send for Incoming {}

impl Incoming {
    /// A pipe that reads at most `chunk_bytes` at once, and the child's end of it.
    pub fn new(chunk_bytes: usize) -> io::Result<(Self, OwnedHandle)> {
        let (pipe, child) = pipe(PIPE_ACCESS_INBOUND, GENERIC_WRITE)?;
        let call = Box::new(Call { overlapped: OVERLAPPED::default(), chunk: vec![0; chunk_bytes] });
        let call = NonNull::from(Box::leak(call));
        Ok((Self { pipe, event: event()?, call, state: State::Idle }, child))
    }

    /// Whether all has been read and the pipe has ended.
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Set when there may be something to take.
    pub fn event(&self) -> HANDLE {
        self.event.as_raw_handle()
    }

    /// Passes received bytes to `take`, or starts waiting for some; `false` if none have come yet, or will.
    pub fn take(&mut self, take: impl FnOnce(&[u8])) -> io::Result<bool> {
        if self.state == State::Idle {
            self.begin()?;
        }
        if self.state == State::Ended {
            return Ok(false);
        }
        match self.outcome(FALSE) {
            Err(error) if is(&error, ERROR_IO_INCOMPLETE) => Ok(false),
            Err(error) if has_ended(&error) => {
                self.state = State::Ended;
                Ok(false)
            }
            result => {
                self.state = State::Idle;
                let count = result?;
                // SAFETY: the call is over, so the memory is ours again.
                take(unsafe { &self.call.as_ref().chunk[..count] });
                Ok(true)
            }
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        // SAFETY: no call is in progress, so the memory is ours; from here on it is the system's until the call is
        // over, which drop waits for.
        let result = unsafe {
            let call = self.call.as_ptr();
            (*call).overlapped = OVERLAPPED { hEvent: self.event.as_raw_handle(), ..OVERLAPPED::default() };
            let (place, length) = ((*call).chunk.as_mut_ptr(), (*call).chunk.len() as u32);
            ReadFile(self.pipe.as_raw_handle(), place, length, ptr::null_mut(), &raw mut (*call).overlapped)
        };
        match checked(result) {
            Err(error) if has_ended(&error) => self.state = State::Ended,
            Err(error) if !is(&error, ERROR_IO_PENDING) => return Err(error),
            _ => self.state = State::Reading,
        }
        Ok(())
    }

    fn outcome(&self, wait: i32) -> io::Result<usize> {
        let mut count = 0;
        // SAFETY: the handle is open, and the call was started with this structure.
        let result = unsafe {
            let overlapped = &raw const (*self.call.as_ptr()).overlapped;
            GetOverlappedResult(self.pipe.as_raw_handle(), overlapped, &mut count, wait)
        };
        checked(result).map(|()| count as usize)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if self.state == State::Reading {
            // SAFETY: the handle is open, and the call was started with this structure.
            unsafe { CancelIoEx(self.pipe.as_raw_handle(), &raw const (*self.call.as_ptr()).overlapped) };
            // However it ends, it is over then.
            let _ = self.outcome(TRUE);
        }
        // SAFETY: leaked by `new`; no call is in progress.
        drop(unsafe { Box::from_raw(self.call.as_ptr()) });
    }
}

/// The end that writes a child's input.
#[derive(Debug)]
pub struct Outgoing {
    pipe: OwnedHandle,
    event: OwnedHandle,
}

impl Outgoing {
    /// A pipe, and the child's end of it.
    pub fn new() -> io::Result<(Self, OwnedHandle)> {
        let (pipe, child) = pipe(PIPE_ACCESS_OUTBOUND, GENERIC_READ)?;
        Ok((Self { pipe, event: event()? }, child))
    }

    /// Writes some bytes; returns how many.
    ///
    /// # Errors
    /// `TimedOut` if the child does not read in time; otherwise, if a system call fails.
    pub fn write(&self, bytes: &[u8], at_most: Duration) -> io::Result<usize> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let mut overlapped = OVERLAPPED { hEvent: self.event.as_raw_handle(), ..OVERLAPPED::default() };
        let mut count = 0;
        // SAFETY: the handle is open; structure and bytes live until the call is over, which is awaited below.
        let begun = checked(unsafe {
            WriteFile(self.pipe.as_raw_handle(), bytes.as_ptr(), length, ptr::null_mut(), &mut overlapped)
        });
        match begun {
            Err(error) if is(&error, ERROR_IO_PENDING) => {}
            result => result?,
        }
        // SAFETY: the event is open.
        let waited = unsafe { WaitForSingleObject(self.event.as_raw_handle(), milliseconds(at_most)) };
        if waited != WAIT_OBJECT_0 {
            // SAFETY: the call was started with this structure.
            unsafe { CancelIoEx(self.pipe.as_raw_handle(), &overlapped) };
        }
        // SAFETY: as above; this waits until the call is over.
        let over =
            checked(unsafe { GetOverlappedResult(self.pipe.as_raw_handle(), &overlapped, &mut count, TRUE) });
        match over {
            Err(_) if waited != WAIT_OBJECT_0 => Err(io::ErrorKind::TimedOut.into()),
            Err(error) if has_ended(&error) => Err(io::ErrorKind::BrokenPipe.into()),
            result => result.map(|()| count as usize),
        }
    }
}

/// A time for calls, rounded up so that a wait is never too short.
pub fn milliseconds(time: Duration) -> u32 {
    const FOR_EVER: u128 = u32::MAX as u128;
    time.as_micros().div_ceil(1000).min(FOR_EVER - 1) as u32
}

/// Both ends: this process's, for overlapped calls, and the child's, which it inherits.
fn pipe(direction: u32, child_access: u32) -> io::Result<(OwnedHandle, OwnedHandle)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let secret = RandomState::new().hash_one(count);
    let name = wide(format!(r"\\.\pipe\ipcost-control-{process}-{count}-{secret:016x}"))?;
    let security = Security::only_this_user()?;
    let (ours, inherited) = (security.attributes(false), security.attributes(true));
    let open = direction | FILE_FLAG_FIRST_PIPE_INSTANCE | FILE_FLAG_OVERLAPPED;
    let mode = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
    // SAFETY: the name ends in NUL; the attributes and what they point to outlive the calls, and their results are ours
    // alone.
    unsafe {
        let pipe = owned(CreateNamedPipeW(name.as_ptr(), open, mode, 1, PIPE_BYTES, PIPE_BYTES, 0, &ours))?;
        let access = child_access;
        let child =
            owned(CreateFileW(name.as_ptr(), access, 0, &inherited, OPEN_EXISTING, 0, ptr::null_mut()))?;
        Ok((pipe, child))
    }
}

/// A manual-reset event, initially set; a call that starts resets it.
fn event() -> io::Result<OwnedHandle> {
    // SAFETY: the call takes plain values, and its result is ours alone.
    unsafe { owned(CreateEventW(ptr::null(), TRUE, TRUE, ptr::null())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_never_too_short() {
        assert_eq!(milliseconds(Duration::from_micros(1)), 1);
        assert_eq!(milliseconds(Duration::ZERO), 0);
        assert_eq!(milliseconds(Duration::MAX), u32::MAX - 1);
    }
}
