//! Locks that tell whether a program still uses a file or directory (`flock(2)`; on Windows `LockFileEx`, for files
//! only): the system releases them when the program ends, however it ends.

use std::fs::{File, TryLockError};
use std::io;
use std::thread;
use std::time::Duration;

/// A check holds the lock for less than this.
const LOOK: Duration = Duration::from_millis(5);
/// How often to retry a lock that a check may hold.
const ATTEMPTS: u32 = 20;

/// Locks an open file or directory for as long as it is open; `false` if another program has the lock.
pub fn lock(file: &File) -> io::Result<bool> {
    for _ in 0..ATTEMPTS {
        if taken(|| file.try_lock())? {
            return Ok(true);
        }
        thread::sleep(LOOK);
    }
    Ok(false)
}

/// Whether another program has locked an open file or directory.
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
        // If another test has just forked this process, the copy also keeps the file open until it calls exec.
        let deadline = Instant::now() + Duration::from_secs(30);
        while is_locked(&open()).unwrap() {
            assert!(Instant::now() < deadline, "still locked");
            thread::sleep(LOOK);
        }
        assert!(lock(&open()).unwrap());
    }
}
