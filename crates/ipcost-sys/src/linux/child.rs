//! What Linux can do for a child beyond what every Unix can.

use std::io;
use std::os::fd::OwnedFd;

use crate::contract::Bounds;

use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, getppid, pidfd_open, set_parent_process_death_signal,
    setrlimit,
};
use rustix::thread::{CpuSet, sched_setaffinity};

/// A descriptor that becomes readable when the child has ended (`pidfd_open(2)`); `None` on older kernels.
pub fn exit_descriptor(child: u32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(child as i32)?, PidfdFlags::empty()).ok()
}

/// Makes the kernel kill the calling process when its parent dies; allocates nothing.
pub fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Makes the kernel interrupt the calling process when its parent dies, so that it can clean up; allocates nothing.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::INT))?)
}

/// Keeps the calling process on one processor; allocates nothing.
pub fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Bounds what is about to be executed, even if its parent is stopped by then: the caller becomes two processes. One waits until the other has
/// ended, or its time is over, and is the one that the parent knows. The other, which the kernel kills with the first, returns.
///
/// A program may ignore the alarm that it is given itself, as strace does.
///
/// # Safety
/// To be called between fork and exec; it allocates nothing.
pub unsafe fn bound(bounds: Bounds) -> io::Result<()> {
    let limit = Some(bounds.file_bytes);
    setrlimit(Resource::Fsize, Rlimit { current: limit, maximum: limit })?;
    let first = getpid();
    // SAFETY: the calling process has one thread, as it came from a fork; both go on with system calls alone.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            die_with_parent()?;
            // It may have ended before the request to the kernel.
            if getppid() == Some(first) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
        }
        // SAFETY: system calls on plain numbers. No descriptor is used afterwards; the parent waits until those are closed.
        program => unsafe {
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
            // The program is asked to end with this one, and ends as it likes.
            libc::signal(libc::SIGTERM, libc::SIG_IGN);
            libc::alarm(bounds.seconds);
            while libc::waitpid(program, std::ptr::null_mut(), 0) == -1
                && *libc::__errno_location() == libc::EINTR
            {}
            libc::_exit(0)
        },
    }
}
