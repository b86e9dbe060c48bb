//! Locks that tell whether a program still uses a file or a directory (`flock(2)`): the kernel takes them back when it
//! ends, however it ends.

use std::fs::File;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Somebody who only looks holds a lock for less than this.
const LOOK: Duration = Duration::from_millis(5);
/// How often a lock is asked for that somebody who looks may hold.
const ATTEMPTS: u32 = 20;

/// Takes the lock of an open file or directory for as long as it is open; `false` where another program has it.
///
/// # Errors
/// Where its file system has no locks.
pub fn lock(file: &File) -> io::Result<bool> {
    for _ in 0..ATTEMPTS {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => thread::sleep(LOOK),
            result => return result.map(|()| true).map_err(Into::into),
        }
    }
    Ok(false)
}

/// Whether another program has the lock of an open file or directory.
///
/// # Errors
/// Where its file system has no locks.
pub fn is_locked(file: &File) -> io::Result<bool> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockShared) {
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) => return Ok(true),
            Err(error) => return Err(error.into()),
            Ok(()) => {
                flock(file, FlockOperation::Unlock)?;
                return Ok(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_lasts_as_long_as_the_file_is_open() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let open = || File::open(&path).unwrap();
        let holder = open();
        assert!(!is_locked(&open()).unwrap());
        assert!(lock(&holder).unwrap());
        assert!(is_locked(&open()).unwrap() && !lock(&open()).unwrap());
        drop(holder);
        assert!(!is_locked(&open()).unwrap() && lock(&open()).unwrap());
    }
}
