//! Sharing of descriptor tables between threads.

use std::io;

use super::running::threads_of;

/// Gives the calling thread a private descriptor table, with the descriptors open now (`close_range(2)`, `unshare(2)`).
///
/// If a table belongs to one thread, the kernel looks up a descriptor without counting references to its file.
pub fn separate() -> io::Result<()> {
    const NO_DESCRIPTOR: libc::c_uint = libc::c_uint::MAX;
    const CLOSE_RANGE_UNSHARE: libc::c_uint = 2;
    // Closes nothing. System call filters that forbid unshare, as containers' do, allow this.
    // SAFETY: takes numbers only.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, NO_DESCRIPTOR, NO_DESCRIPTOR, CLOSE_RANGE_UNSHARE) };
    if result == 0 {
        return Ok(());
    }
    // Linux before 5.9.
    // SAFETY: takes a number only.
    if unsafe { libc::unshare(libc::CLONE_FILES) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How many threads of a process share its main thread's table, that thread included (`kcmp(2)`); `None` if the system
/// does not say.
pub fn sharers(process: u32) -> Option<u32> {
    const KCMP_FILES: libc::c_int = 2;
    let mut sharers = 0;
    for thread in threads_of(process) {
        // SAFETY: takes numbers only.
        match unsafe { libc::syscall(libc::SYS_kcmp, process, thread, KCMP_FILES, 0, 0) } {
            0 => sharers += 1,
            -1 => return None,
            _ => {}
        }
    }
    // One that has ended has no threads.
    (sharers > 0).then_some(sharers)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_thread_with_its_own_table_is_no_sharer() {
        let before = sharers(std::process::id());
        let (ready, is_ready) = channel();
        let (leave, may_leave) = channel::<()>();
        let apart = std::thread::spawn(move || {
            separate().unwrap();
            ready.send(()).unwrap();
            may_leave.recv().unwrap();
        });
        is_ready.recv().unwrap();
        // Other tests start threads beside this one, so the numbers are bounds.
        let threads = std::fs::read_dir("/proc/self/task").unwrap().count() as u32;
        if let Some(now) = sharers(std::process::id()).filter(|_| before.is_some()) {
            assert!((1..threads + 8).contains(&now), "{now} of {threads}");
        }
        leave.send(()).unwrap();
        apart.join().unwrap();
    }

    #[test]
    fn what_a_thread_with_its_own_table_closes_stays_open_elsewhere() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let number = file.as_raw_fd();
        let open = || rustix::io::fcntl_getfd(&file).is_ok();
        std::thread::scope(|scope| {
            let closing = scope.spawn(|| {
                separate().unwrap();
                // SAFETY: the number is open in this thread's private table, and nothing uses it there.
                unsafe { libc::close(number) }
            });
            assert_eq!(closing.join().unwrap(), 0);
        });
        assert!(open());
    }
}
