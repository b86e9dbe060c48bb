//! Directories that only this user can enter: one for sockets, and those that are kept.

use std::fs;
use std::io;
use std::path::Path;
use std::ptr;

use tempfile::TempDir;
use windows_sys::Win32::Storage::FileSystem::CreateDirectoryW;

use super::checked;
use super::security::Security;
use super::text::wide;
use crate::{Context, SysError};

/// The longest path a Unix socket can be bound to, in bytes: `sun_path` without its final NUL.
pub const MAX_SOCKET_PATH: usize = 107;
/// How often another random name is tried.
const MOST_TRIES: u32 = 16;

/// A fresh directory that only this user and the system may open; it is removed with all that is in it when this is
/// dropped.
#[derive(Debug)]
pub struct PrivateDir(TempDir);

impl PrivateDir {
    /// Makes one in the system's directory for temporary files.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn create() -> Result<Self, SysError> {
        let base = std::env::temp_dir();
        let dir = private_dir_in(&base, "ipcost-").context(|| {
            format!("cannot make a private directory in {} (set TEMP to another)", base.display())
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
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_private(parent)?;
    }
    match make(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        result => result,
    }
}

/// Makes a directory within another that nobody else can enter; it goes with what this gives, unless that is kept.
///
/// # Errors
/// The system's answer.
pub fn private_dir_in(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    let mut last = io::ErrorKind::AlreadyExists.into();
    for _ in 0..MOST_TRIES {
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        // Made once more, with rules of its own: between the two calls there is nothing in it.
        fs::remove_dir(dir.path())?;
        match make(dir.path()) {
            Ok(()) => return Ok(dir),
            Err(error) => last = error,
        }
        // It is somebody else's by now.
        let _ = dir.keep();
    }
    Err(last)
}

/// Makes sure that a directory is there; if it has to be made, nobody else can enter it. One that is there keeps
/// its rules: below `LOCALAPPDATA`, Windows keeps others out.
///
/// # Errors
/// Where it cannot be made, or is something else.
pub fn ensure_private(path: &Path) -> Result<(), SysError> {
    let shown = || path.display().to_string();
    match make(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(SysError { action: format!("cannot make {}", shown()), source: error });
        }
        _ => {}
    }
    if path.is_dir() {
        return Ok(());
    }
    let wrong = io::Error::new(io::ErrorKind::AlreadyExists, "it is no directory; move it away");
    Err(wrong).context(shown)
}

fn make(path: &Path) -> io::Result<()> {
    let name = wide(path)?;
    let security = Security::only_this_user()?;
    let attributes = security.attributes(false);
    // SAFETY: the name ends in NUL; the attributes and what they point to live through the call.
    checked(unsafe { CreateDirectoryW(name.as_ptr(), ptr::from_ref(&attributes)) })
}
