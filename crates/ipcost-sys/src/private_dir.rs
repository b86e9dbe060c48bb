//! A directory that only this user can enter, for sockets and FIFOs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::{Context, SysError};

/// The longest path a Unix socket can be bound to, in bytes: `sun_path` without its final NUL.
pub const MAX_SOCKET_PATH: usize = 107;

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
        let dir = tempfile::Builder::new()
            .prefix("ipcost-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&base)
            .context(|| {
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

#[cfg(test)]
mod tests {
    use super::*;

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
