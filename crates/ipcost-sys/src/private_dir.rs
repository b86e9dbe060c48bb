//! Directories that only this user can enter: one for sockets and FIFOs, and those that are kept.

use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Context, SysError, file_lock};

/// The longest path a Unix socket can be bound to, in bytes: `sun_path` without its final NUL.
pub const MAX_SOCKET_PATH: usize = 107;

/// How names of these directories begin; twelve hexadecimal digits follow.
const PREFIX: &str = "ipcost-";
const DIGITS: usize = 12;
/// How often another name is tried where one is taken.
const MOST_TRIES: u32 = 64;
/// Whoever makes one locks it at once: what is older and not locked has nobody any more.
const ABANDONED: Duration = Duration::from_secs(60);

/// A fresh directory with mode 0700; it is removed with all that is in it when this is dropped.
///
/// It is locked while it is used, so that the next program can tell those that a killed one has left behind.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    _lock: File,
}

impl PrivateDir {
    /// Makes one in the system's directory for temporary files, and removes those that killed programs have left there.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn create() -> Result<Self, SysError> {
        Self::announced(&mut |_| {})
    }

    /// The same; `announce` hears its path before it is there, so that it is known whenever this program is killed.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn announced(announce: &mut dyn FnMut(&Path)) -> Result<Self, SysError> {
        let base = std::env::temp_dir();
        sweep(&base);
        let context =
            || format!("cannot make a private directory in {} (set TMPDIR to another)", base.display());
        for _ in 0..MOST_TRIES {
            let path = base.join(fresh_name());
            announce(&path);
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).context(context),
                Ok(()) => {
                    let lock = File::open(&path).context(context)?;
                    // Where the file system has no locks nothing is swept either: that takes a lock.
                    let _ = file_lock::lock(&lock);
                    return Ok(Self { path, _lock: lock });
                }
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists)).context(context)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn fresh_name() -> String {
    // Its keys are random, and differ from one to the next.
    let random = RandomState::new().build_hasher().finish();
    format!("{PREFIX}{:0DIGITS$x}", random >> (u64::BITS as usize - 4 * DIGITS))
}

/// Whether a name is one of these directories'.
pub fn is_private_name(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == DIGITS && rest.bytes().all(digit))
}

/// Removes what killed programs have left behind: directories by such a name that belong to this user, that nobody else
/// can enter, and that nobody has locked.
fn sweep(base: &Path) {
    let user = rustix::process::geteuid().as_raw();
    let abandoned = |path: &Path| {
        let found = fs::symlink_metadata(path).ok()?;
        let old = found.modified().ok()?.elapsed().is_ok_and(|age| age > ABANDONED);
        let own = found.is_dir() && found.uid() == user && found.mode() & 0o777 == 0o700;
        let lock = (old && own).then(|| File::open(path).ok()).flatten()?;
        file_lock::is_locked(&lock).is_ok_and(|locked| !locked).then_some(())
    };
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_str().is_some_and(is_private_name) && abandoned(&path).is_some() {
            // Another program may sweep at the same time.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Makes sure that a directory is there which only this user can write to; if it has to be made, nobody else
/// can enter it either.
///
/// # Errors
/// Where it cannot be made, is somebody else's, or can be written to by others.
pub fn ensure_private(path: &Path) -> Result<(), SysError> {
    let shown = || path.display().to_string();
    let refuse = |reason: String| {
        Err(SysError { action: shown(), source: io::Error::new(io::ErrorKind::PermissionDenied, reason) })
    };
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(SysError { action: format!("cannot make {}", shown()), source: error });
        }
        _ => {}
    }
    let found = fs::metadata(path).context(|| format!("cannot look at {}", shown()))?;
    let user = rustix::process::geteuid().as_raw();
    if !found.is_dir() {
        return refuse("it is no directory; move it away".to_owned());
    }
    if found.uid() != user {
        let owner = found.uid();
        return refuse(format!("it belongs to user {owner}, and this program runs as user {user}"));
    }
    if found.mode() & 0o022 != 0 {
        return refuse(format!(
            "other users can write to it; take that from them with chmod go-w {}",
            shown()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_directory_of_somebody_else_is_refused() {
        if rustix::process::geteuid().is_root() {
            let dir = PrivateDir::create().unwrap();
            std::os::unix::fs::chown(dir.path(), Some(12_345), None).unwrap();
            let error = ensure_private(dir.path()).unwrap_err().to_string();
            assert!(error.contains("belongs to user 12345"), "{error}");
        } else {
            let error = ensure_private(Path::new("/")).unwrap_err().to_string();
            assert!(error.contains("belongs to user 0"), "{error}");
        }
        assert!(ensure_private(Path::new("/dev/null")).unwrap_err().to_string().contains("no directory"));
    }

    #[test]
    fn is_private_and_goes_away() {
        let mut announced = None;
        let dir =
            PrivateDir::announced(&mut |path| announced = Some((path.to_owned(), path.exists()))).unwrap();
        let path = dir.path().to_owned();
        assert_eq!(announced, Some((path.clone(), false)), "told before it was there");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(is_private_name(path.file_name().unwrap().to_str().unwrap()));
        std::fs::write(path.join("x"), "y").unwrap();
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn only_what_a_killed_program_has_left_behind_is_swept() {
        let base = tempfile::tempdir().unwrap();
        let put = |name: &str, mode: u32, old: bool| {
            let path = base.path().join(name);
            DirBuilder::new().mode(mode).create(&path).unwrap();
            std::fs::write(path.join("socket"), "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let age = if old { 2 * ABANDONED } else { Duration::ZERO };
            File::open(&path).unwrap().set_modified(SystemTime::now() - age).unwrap();
            path
        };
        let left = put("ipcost-0123456789ab", 0o700, true);
        let used = put("ipcost-0123456789ac", 0o700, true);
        let lock = File::open(&used).unwrap();
        assert!(file_lock::lock(&lock).unwrap());
        let kept = [
            put("ipcost-0123456789ad", 0o700, false),
            put("ipcost-0123456789ae", 0o755, true),
            put("ipcost-results", 0o700, true),
            put("ipcost-0123456789abcd", 0o700, true),
            used,
        ];
        let target = base.path().join("elsewhere");
        fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, base.path().join("ipcost-0123456789af")).unwrap();
        sweep(base.path());
        assert!(!left.exists());
        assert!(kept.iter().all(|path| path.join("socket").exists()));
        assert!(target.exists());
    }
}
