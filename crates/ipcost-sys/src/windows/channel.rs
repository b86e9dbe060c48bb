//! Channels over sockets and handles, with blocking calls.

use std::io;
use std::os::windows::io::{AsRawHandle, AsRawSocket, OwnedHandle, OwnedSocket};
use std::ptr;

use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED};
use windows_sys::Win32::Networking::WinSock::{SOCKET, SOCKET_ERROR, recv, send};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};

use super::socket::last_error;
use super::{checked, is};
use crate::transport::Channel;

/// The most that one call moves; calls take signed 32-bit counts.
const MOST_BYTES: usize = 1 << 30;

/// One socket for both directions.
#[derive(Debug)]
pub struct SocketChannel(pub OwnedSocket);

impl Channel for SocketChannel {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(MOST_BYTES) as i32;
        // SAFETY: the socket is open, and the pointer and length describe the buffer.
        match unsafe { send(self.0.as_raw_socket() as SOCKET, bytes.as_ptr(), length, 0) } {
            SOCKET_ERROR => Err(last_error()),
            count => Ok(count as usize),
        }
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(MOST_BYTES) as i32;
        // SAFETY: the socket is open, and the pointer and length describe the buffer.
        match unsafe { recv(self.0.as_raw_socket() as SOCKET, buffer.as_mut_ptr(), length, 0) } {
            SOCKET_ERROR => Err(last_error()),
            count => Ok(count as usize),
        }
    }
}

/// One handle for each direction: the two ends of two anonymous pipes.
#[derive(Debug)]
pub struct PipePair {
    /// The end to read from.
    pub read: OwnedHandle,
    /// The end to write to.
    pub write: OwnedHandle,
}

impl Channel for PipePair {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(&self.write, bytes)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.read, buffer)
    }
}

/// One handle for both directions: an end of a named pipe.
#[derive(Debug)]
pub struct Duplex(pub OwnedHandle);

impl Channel for Duplex {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(&self.0, bytes)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.0, buffer)
    }
}

#[inline]
fn write(handle: &OwnedHandle, bytes: &[u8]) -> io::Result<usize> {
    let length = bytes.len().min(MOST_BYTES) as u32;
    let mut count = 0;
    // SAFETY: the handle is open and was opened for blocking calls; the pointer and length describe the buffer.
    let result =
        unsafe { WriteFile(handle.as_raw_handle(), bytes.as_ptr(), length, &mut count, ptr::null_mut()) };
    checked(result).map(|()| count as usize)
}

/// Reads; 0 if the other side has closed. Also used for standard input.
#[inline]
pub(super) fn read(handle: &impl AsRawHandle, buffer: &mut [u8]) -> io::Result<usize> {
    let length = buffer.len().min(MOST_BYTES) as u32;
    let mut count = 0;
    // SAFETY: the handle is open and was opened for blocking calls; the pointer and length describe the buffer.
    let result =
        unsafe { ReadFile(handle.as_raw_handle(), buffer.as_mut_ptr(), length, &mut count, ptr::null_mut()) };
    match checked(result) {
        Err(error) if has_ended(&error) => Ok(0),
        result => result.map(|()| count as usize),
    }
}

/// Whether the other side of a pipe has closed.
pub(super) fn has_ended(error: &io::Error) -> bool {
    [ERROR_BROKEN_PIPE, ERROR_PIPE_NOT_CONNECTED, ERROR_NO_DATA].iter().any(|code| is(error, *code))
}
