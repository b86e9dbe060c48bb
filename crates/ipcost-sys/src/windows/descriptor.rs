//! Handles to inherit and to wait on.

use std::io;
use std::os::windows::io::{
    AsRawHandle, AsSocket, BorrowedSocket, FromRawHandle, IntoRawSocket, OwnedHandle,
};

use windows_sys::Win32::Foundation::{
    GetHandleInformation, HANDLE, HANDLE_FLAG_INHERIT, SetHandleInformation,
};
use windows_sys::Win32::System::Console::{
    GetStdHandle, STD_ERROR_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE,
};

use super::checked;
use super::socket::Endpoint;
use crate::{Context, SysError};

/// Something open that a child can inherit.
pub type Descriptor = OwnedHandle;
/// Something to wait on until it is readable.
pub type Waitable<'a> = BorrowedSocket<'a>;

/// Takes over an inherited handle, and keeps it from further children.
///
/// # Errors
/// If no such handle is open, or it is one of the standard three.
pub fn take(number: i32) -> Result<Descriptor, SysError> {
    let action = || format!("expected to inherit handle {number}");
    let handle = number as isize as HANDLE;
    // SAFETY: the calls take plain values.
    let standard =
        unsafe { [STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE].map(|which| GetStdHandle(which)) };
    if number <= 0 || standard.contains(&handle) {
        let wrong = io::Error::new(io::ErrorKind::InvalidInput, "it is invalid or a standard handle");
        return Err(wrong).context(action);
    }
    let mut flags = 0;
    // SAFETY: the system rejects anything but an open handle.
    unsafe {
        checked(GetHandleInformation(handle, &mut flags)).context(action)?;
        checked(SetHandleInformation(handle, HANDLE_FLAG_INHERIT, 0)).context(action)?;
    }
    // SAFETY: the handle is open, the engine passed it to this process for this purpose, and addresses name each number
    // once, so nothing else here owns it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// A handle's number, as in addresses: inheritable handles fit into 32 bits.
pub fn number(descriptor: &Descriptor) -> i32 {
    descriptor.as_raw_handle() as isize as i32
}

/// What to wait on for an endpoint's connections.
pub fn waitable(endpoint: &Endpoint) -> Waitable<'_> {
    endpoint.as_socket()
}

/// A socket as an inheritable handle; never called, as Windows has no socketpairs.
pub fn to_inherit(endpoint: Endpoint) -> Descriptor {
    // SAFETY: a socket's number is that of a handle; ownership moves from one to the other.
    unsafe { OwnedHandle::from_raw_handle(endpoint.into_raw_socket() as usize as HANDLE) }
}

/// Takes over an inherited socket.
pub fn take_socket(number: i32) -> Result<Endpoint, SysError> {
    let reason = "sockets are not inherited on Windows";
    Err(io::Error::new(io::ErrorKind::Unsupported, reason)).context(|| format!("socket {number}"))
}
