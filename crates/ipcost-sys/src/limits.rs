//! Limits of this process.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit, setrlimit};

/// What the system is out of where it gives such an error, and the remedy; `None` where it is another kind of error.
pub fn shortage(error: &io::Error) -> Option<&'static str> {
    Some(match Errno::from_io_error(error)? {
        Errno::MFILE => {
            "no descriptor is left to this program: raise ulimit -n, or take fewer cells or less concurrency"
        }
        Errno::NFILE => {
            "no descriptor is left to the system: raise fs.file-max, or take fewer cells or less concurrency"
        }
        Errno::AGAIN => {
            "no process or thread more may start: raise ulimit -u, pids.max of the control group or kernel.pid_max, or take fewer cells or less concurrency"
        }
        Errno::NOMEM => "memory is used up: take fewer cells or less concurrency",
        Errno::NOSPC => "the disk is full: make room, or set TMPDIR to another",
        _ => return None,
    })
}

/// Raises the number of open descriptors as far as it may go, and gives what it became.
///
/// Children start with the same number.
pub fn raise_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    if limit.current.is_some_and(|current| current < most) {
        let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
        // Where it fails the old limit stands, and the caller compares with what it needs.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
