//! Locks that tell whether a program still uses a file or a directory (`flock(2)`, on Windows `LockFileEx`, for files
//! alone): the system takes them back when it ends, however it ends.

use std::fs::{File, TryLockError};
use std::io;
use std::thread;
use std::time::Duration;

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
        if taken(|| file.try_lock())? {
            return Ok(true);
        }
        thread::sleep(LOOK);
    }
    Ok(false)
}

/// Whether another program has the lock of an open file or directory.
///
/// # Errors
/// Where its file system has no locks.
pub fn is_locked(file: &File) -> io::Result<bool> {
    if !taken(|| file.try_lock_shared())? {
        return Ok(true);
    }
    file.unlock().map(|()| false)
}

fn taken(mut attempt: impl FnMut() -> Result<(), TryLockError>) -> io::Result<bool> {
    loop {
        match attempt() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

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
        // Where another test has just copied this process, the copy holds the file open, too, until it runs its own program.
        let deadline = Instant::now() + Duration::from_secs(30);
        while is_locked(&open()).unwrap() {
            assert!(Instant::now() < deadline, "still locked");
            thread::sleep(LOOK);
        }
        assert!(lock(&open()).unwrap());
    }
}
