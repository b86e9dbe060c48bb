//! What Linux can do for a child beyond what every Unix can.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};

/// A descriptor that becomes readable when the child has ended (`pidfd_open(2)`); `None` on older kernels.
pub fn exit_descriptor(child: u32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(child as i32)?, PidfdFlags::empty()).ok()
}

/// Makes the kernel kill the calling process when its parent dies; allocates nothing.
///
/// # Errors
/// If a system call fails.
pub fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Makes the kernel interrupt the calling process when its parent dies, so that it can clean up; allocates nothing.
///
/// # Errors
/// If a system call fails.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::INT))?)
}

/// Keeps the calling process on one processor; allocates nothing.
///
/// # Errors
/// If a system call fails.
pub fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}
