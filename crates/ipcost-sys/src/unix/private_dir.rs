//! Directories that only this user can enter: one for sockets and FIFOs, and those that are kept.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::TempDir;

use crate::{Context, SysError};

/// The longest path a Unix socket can be bound to, in bytes: `sun_path` without its final NUL.
pub const MAX_SOCKET_PATH: usize =
    size_of::<libc::sockaddr_un>() - std::mem::offset_of!(libc::sockaddr_un, sun_path) - 1;

/// A fresh directory with mode 0700; it is removed with all that is in it when this is dropped.
#[derive(Debug)]
pub struct PrivateDir(TempDir);

impl PrivateDir {
    /// Makes one in the system's directory for temporary files.
    ///
    /// # Errors
    /// Where it cannot be made, or where its path is so long that no socket could be bound in it.
    pub fn create() -> Result<Self, SysError> {
        let base = std::env::temp_dir();
        let dir = private_dir_in(&base, "ipcost-").context(|| {
            format!("cannot make a private directory in {} (set TMPDIR to another)", base.display())
        })?;
        Ok(Self(dir))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Removes it now.
    ///
    /// # Errors
    /// Where something in it cannot be removed.
    pub fn remove(self) -> Result<(), SysError> {
        let path = self.path().to_owned();
        self.0.close().context(|| format!("cannot remove {}", path.display()))
    }
}

/// Makes a directory, and those above it that are missing, so that nobody else can enter them.
///
/// # Errors
/// The system's answer.
pub fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes a directory within another that nobody else can enter; it goes with what this gives, unless that is kept.
///
/// # Errors
/// The system's answer.
pub fn private_dir_in(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir_in(parent)
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
        let dir = PrivateDir::create().unwrap();
        let path = dir.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(path.join("x"), "y").unwrap();
        drop(dir);
        assert!(!path.exists());
    }
}
