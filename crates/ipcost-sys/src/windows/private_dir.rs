//! Directories that only this user can enter: one for sockets, and those that are kept.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::ptr;

use tempfile::TempDir;
use windows_sys::Win32::Storage::FileSystem::CreateDirectoryW;

use super::checked;
use super::security::Security;
use super::text::wide;
use crate::private_name::fresh_name;
pub use crate::private_name::is_private_name;
use crate::{Context, SysError};

/// The longest path a Unix socket can be bound to, in bytes: `sun_path` without its final NUL.
pub const MAX_SOCKET_PATH: usize = 107;
/// How often another random name is tried.
const MOST_TRIES: u32 = 16;

/// A fresh directory that only this user and the system may open; it is removed with all that is in it when this is
/// dropped.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
}

impl PrivateDir {
    /// Makes one in the system's directory for temporary files.
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
        let mut last = io::ErrorKind::AlreadyExists.into();
        for _ in 0..MOST_TRIES {
            let path = base.join(fresh_name());
            announce(&path);
            match make(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    last = error;
                    break;
                }
            }
        }
        Err(last).context(|| {
            format!("cannot make a private directory in {} (set TEMP to another)", base.display())
        })
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

/// Makes a file to append to, never one that is there already; who may read it its directory says.
///
/// # Errors
/// The system's answer.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    File::options().append(true).create_new(true).open(path)
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
