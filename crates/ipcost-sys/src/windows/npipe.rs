//! Named pipes (`CreateNamedPipe`) in byte mode, with blocking calls.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windows_sys::Win32::Foundation::{
    ERROR_NO_DATA, ERROR_PIPE_BUSY, ERROR_PIPE_CONNECTED, ERROR_PIPE_LISTENING, GENERIC_READ, GENERIC_WRITE,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, OPEN_EXISTING, PIPE_ACCESS_DUPLEX, SECURITY_ANONYMOUS,
    SECURITY_SQOS_PRESENT,
};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, PIPE_NOWAIT, PIPE_READMODE_BYTE, PIPE_REJECT_REMOTE_CLIENTS,
    PIPE_TYPE_BYTE, PIPE_UNLIMITED_INSTANCES, PIPE_WAIT, SetNamedPipeHandleState, WaitNamedPipeW,
};

use super::channel::Duplex;
use super::pipe::capacity;
use super::security::Security;
use super::text::wide;
use super::{checked, is, owned};
use crate::transport::Channel;

/// How long a client waits for an instance before it retries, milliseconds.
const PATIENCE_MS: u32 = 1_000;

/// Why this system lacks them.
pub const LACKS: Option<&'static str> = None;

/// A server's end. Exactly one instance of the pipe waits for a client at any time: with more, a client could get one
/// that no worker is waiting on.
pub struct NamedPipeListener {
    name: Vec<u16>,
    buffer_bytes: u32,
    security: Security,
    /// The waiting instance. Workers take turns; a worker that gets a client first puts the next instance here.
    next: Mutex<Option<OwnedHandle>>,
}

// SAFETY: the security descriptor is only read.
unsafe impl Send for NamedPipeListener {}
// SAFETY: as above.
unsafe impl Sync for NamedPipeListener {}

impl NamedPipeListener {
    /// Creates the pipe, with a buffer of `buffer_bytes` for each direction.
    pub fn open(path: &str, buffer_bytes: u32) -> io::Result<Self> {
        let (name, security) = (wide(path)?, Security::only_this_user()?);
        let listener = Self { name, buffer_bytes, security, next: Mutex::default() };
        *listener.next() = Some(listener.instance(FILE_FLAG_FIRST_PIPE_INSTANCE)?);
        Ok(listener)
    }

    /// The system's buffer for each direction, bytes.
    pub fn buffer(&self) -> io::Result<u64> {
        self.next().as_ref().map_or(Err(io::ErrorKind::NotConnected.into()), capacity)
    }

    /// The next connection, if one is ready; never waits.
    pub fn try_accept(&mut self) -> io::Result<Option<Box<dyn Channel>>> {
        let mut next = self.next();
        let instance = self.waiting_one(&mut next)?;
        set_waiting(instance, PIPE_NOWAIT)?;
        // SAFETY: the handle is open.
        let there = match checked(unsafe { ConnectNamedPipe(instance.as_raw_handle(), ptr::null_mut()) }) {
            // In non-blocking mode, success only means that it listens.
            Ok(()) => false,
            Err(error) if is(&error, ERROR_PIPE_LISTENING) => false,
            Err(error) if is(&error, ERROR_PIPE_CONNECTED) || is(&error, ERROR_NO_DATA) => true,
            Err(error) => return Err(error),
        };
        set_waiting(instance, PIPE_WAIT)?;
        if there { self.hand_out(&mut next).map(Some) } else { Ok(None) }
    }

    /// Waits for the next connection.
    #[inline]
    pub fn accept(&self) -> io::Result<Box<dyn Channel>> {
        let mut next = self.next();
        let instance = self.waiting_one(&mut next)?;
        // SAFETY: the handle is open.
        match checked(unsafe { ConnectNamedPipe(instance.as_raw_handle(), ptr::null_mut()) }) {
            // A client that connected before this call, even one that has left again since.
            Err(error) if is(&error, ERROR_PIPE_CONNECTED) || is(&error, ERROR_NO_DATA) => {}
            result => result?,
        }
        self.hand_out(&mut next)
    }

    #[inline]
    fn next(&self) -> MutexGuard<'_, Option<OwnedHandle>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The waiting instance; a new one if the last could not be replaced.
    #[inline]
    fn waiting_one<'a>(&self, next: &'a mut Option<OwnedHandle>) -> io::Result<&'a OwnedHandle> {
        match next {
            Some(instance) => Ok(instance),
            none => Ok(none.insert(self.instance(0)?)),
        }
    }

    /// Returns the connected instance, and puts another in its place before that client is served.
    #[inline]
    fn hand_out(&self, next: &mut Option<OwnedHandle>) -> io::Result<Box<dyn Channel>> {
        let connected = next.replace(self.instance(0)?);
        let connected = connected.ok_or(io::ErrorKind::NotConnected)?;
        Ok(Box::new(Duplex(connected)))
    }

    fn instance(&self, flags: u32) -> io::Result<OwnedHandle> {
        let attributes = self.security.attributes(false);
        let mode = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
        // SAFETY: the name ends in NUL; the attributes and what they point to outlive the call, and its result is ours
        // alone.
        unsafe {
            owned(CreateNamedPipeW(
                self.name.as_ptr(),
                PIPE_ACCESS_DUPLEX | flags,
                mode,
                PIPE_UNLIMITED_INSTANCES,
                self.buffer_bytes,
                self.buffer_bytes,
                0,
                &attributes,
            ))
        }
    }
}

fn set_waiting(instance: &OwnedHandle, waiting: u32) -> io::Result<()> {
    let mode = PIPE_READMODE_BYTE | waiting;
    // SAFETY: the handle is open; the pointers are to the mode, or null for unchanged settings.
    checked(unsafe { SetNamedPipeHandleState(instance.as_raw_handle(), &mode, ptr::null(), ptr::null()) })
}

/// Connects; if every instance is briefly in use, waits for one.
#[inline]
pub fn connect(path: &str) -> io::Result<Box<dyn Channel>> {
    let name = wide(path)?;
    loop {
        // The server may learn nothing about this user.
        let flags = SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS;
        let access = GENERIC_READ | GENERIC_WRITE;
        // SAFETY: the name ends in NUL, and the result is ours alone.
        let opened = unsafe {
            let no_template = ptr::null_mut();
            owned(CreateFileW(name.as_ptr(), access, 0, ptr::null(), OPEN_EXISTING, flags, no_template))
        };
        match opened {
            Err(error) if is(&error, ERROR_PIPE_BUSY) => {
                // SAFETY: the name ends in NUL. The next attempt to open shows whether one became free.
                unsafe { WaitNamedPipeW(name.as_ptr(), PATIENCE_MS) };
            }
            result => return Ok(Box::new(Duplex(result?))),
        }
    }
}
