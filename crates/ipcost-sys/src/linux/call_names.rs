//! The names of system calls that may take long, by number.

use super::moving_calls::of_number;

macro_rules! named {
    ($($(#[$meta:meta])* $name:ident $number:ident)*) => {
        &[$($(#[$meta])* (libc::$number, stringify!($name))),*]
    };
}

/// Those that move no data, and of which a thread is told to have been in one.
const NAMES: &[(libc::c_long, &str)] = named! {
    bind SYS_bind brk SYS_brk clock_nanosleep SYS_clock_nanosleep
    clone SYS_clone clone3 SYS_clone3 copy_file_range SYS_copy_file_range
    epoll_ctl SYS_epoll_ctl execve SYS_execve
    exit SYS_exit fallocate SYS_fallocate fcntl SYS_fcntl fdatasync SYS_fdatasync flock SYS_flock
    fsync SYS_fsync ftruncate SYS_ftruncate futex SYS_futex getdents64 SYS_getdents64 getrandom SYS_getrandom
    io_getevents SYS_io_getevents io_submit SYS_io_submit ioctl SYS_ioctl
    kill SYS_kill linkat SYS_linkat lseek SYS_lseek madvise SYS_madvise mkdirat SYS_mkdirat mmap SYS_mmap
    mprotect SYS_mprotect
    mremap SYS_mremap msgrcv SYS_msgrcv msgsnd SYS_msgsnd msync SYS_msync munmap SYS_munmap
    nanosleep SYS_nanosleep openat SYS_openat pidfd_open SYS_pidfd_open pread64 SYS_pread64
    preadv SYS_preadv preadv2 SYS_preadv2
    pwrite64 SYS_pwrite64 pwritev SYS_pwritev
    pwritev2 SYS_pwritev2
    renameat2 SYS_renameat2 rt_sigsuspend SYS_rt_sigsuspend
    rt_sigtimedwait SYS_rt_sigtimedwait sched_yield SYS_sched_yield semop SYS_semop semtimedop SYS_semtimedop
    socket SYS_socket statx SYS_statx sync SYS_sync sync_file_range SYS_sync_file_range
    syncfs SYS_syncfs unlinkat SYS_unlinkat wait4 SYS_wait4 waitid SYS_waitid
    #[cfg(target_arch = "x86_64")] open SYS_open
    #[cfg(target_arch = "x86_64")] pause SYS_pause
    #[cfg(target_arch = "x86_64")] rename SYS_rename
    #[cfg(target_arch = "x86_64")] unlink SYS_unlink
};

/// The name of a call, or its number in words where it is none of those that usually take long.
pub fn call_name(number: u32) -> String {
    let number = i64::from(number);
    let other = || NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| *name);
    let known = of_number(number).map(|call| call.name).or_else(other);
    known.map_or_else(|| format!("call {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_names() {
        assert_eq!(call_name(libc::SYS_fdatasync as u32), "fdatasync");
        assert_eq!(call_name(100_000), "call 100000");
        for (number, name) in NAMES {
            assert_eq!(call_name(*number as u32), *name);
        }
    }
}
