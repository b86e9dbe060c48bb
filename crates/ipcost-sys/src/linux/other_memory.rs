//! Reading the memory of another process (`process_vm_readv(2)`).

use std::io;

use rustix::process::{PTracer, Pid, set_ptracer};

use crate::facts::text;
use crate::{Context, SysError};

/// From this level on, Yama lets only root read another process's memory (`ptrace(2)`).
const ROOT_ALONE: u64 = 2;

/// Whether a process may read another's memory here.
pub fn probe() -> Result<(), SysError> {
    let mut copy = [0_u8; 1];
    let own = [1_u8; 1];
    read(std::process::id(), own.as_ptr() as u64, &mut copy)
        .or_absent("process_vm_readv is refused here", ", as in some containers")?;
    let scope = text::number("/proc/sys/kernel/yama/ptrace_scope").unwrap_or(0);
    if scope >= ROOT_ALONE && !rustix::process::geteuid().is_root() {
        return Err(SysError::PtraceScope(scope));
    }
    Ok(())
}

/// Lets this user's other processes read this one's memory, where Yama would allow only its ancestors.
pub fn allow() {
    // A kernel without Yama lacks this setting and refuses no process.
    let _ = set_ptracer(PTracer::Any);
}

/// Reads a process's memory from an address on; returns how many bytes.
#[inline]
pub fn read(process: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    let here = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let there = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: buffer.len() };
    // SAFETY: the local buffer is valid for its length; the kernel checks the other address.
    let count = unsafe { libc::process_vm_readv(process.as_raw_nonzero().get(), &here, 1, &there, 1, 0) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}
