//! Windows 10 and later.

pub mod channel;
pub mod control;
pub mod descriptor;
pub mod file_writer;
pub mod found_file;
pub mod interrupt;
mod job;
pub mod kernel_files;
mod launch;
pub mod limits;
pub mod local_stream;
pub mod machine;
pub mod monotonic;
pub mod npipe;
mod overlapped;
pub mod pipe;
pub mod private_dir;
pub mod process;
pub mod processor_times;
pub mod processors;
pub mod programs;
mod security;
pub mod shared_word;
pub mod socket;
mod socket_address;
pub mod source_address;
mod text;
pub mod usage;
pub mod user_dirs;

pub use crate::unsupported::{
    abstract_address, call_counts, call_samples, calling, cheapest_call, congestion, connecting, counter,
    credentials, descriptor_table, driven_program, fifo, futex, kernel_texts, keys, loopback, measuring,
    message_queue, more_sockets, net_namespace, other_memory, passed_memory, pausing, perf, permissions,
    pieces, process_tree, request_trace, running, shared_ring, sockets, suspension, tcp_ends, vmsplice, wake,
    whole_command, worker,
};

use std::io;
use std::os::windows::io::{FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};

/// Converts the result of a call that returns 0 on failure.
fn checked(result: i32) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes ownership of a call's handle, or returns the call's error.
///
/// # Safety
/// The handle, if valid, must be open and have no other owner.
unsafe fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Whether an error has this Windows code.
fn is(error: &io::Error, code: u32) -> bool {
    error.raw_os_error() == Some(code as i32)
}
