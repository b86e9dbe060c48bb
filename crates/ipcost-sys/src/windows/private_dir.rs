//! Directories that only this user can enter: one for sockets, and persistent ones.

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
pub use crate::private_name::{is_private_name, part_of};
use crate::{Context, SysError};

/// The longest path for a Unix socket, bytes: `sun_path` without its final NUL.
pub const MAX_SOCKET_PATH: usize = 107;
/// How many random names to try.
const MOST_TRIES: u32 = 16;

/// A new directory that only this user and the system may open; dropping this removes it with its contents.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
}

impl PrivateDir {
    /// Creates one in the system's temporary directory.
    pub fn create() -> Result<Self, SysError> {
        Self::announced(&mut |_| {})
    }

    /// The same; `announce` receives its path before it exists, so that it is known whenever this program is killed.
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

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// No server of another user runs here.
    pub fn let_others_pass(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Checks that no one else may write to a file and its directory: that is not read here.
///
/// # Errors
/// Always: this system's lists of rights are not read, so the user has to say that the file is theirs.
pub fn check_own(_file: &std::fs::File, _path: &Path) -> Result<(), SysError> {
    Err(SysError::Unsupported("who else may write to it is not read on this system"))
}

/// Creates a directory and its missing parents, for this user only.
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

/// What a file holds; `None` if there is none. Its directory decides who may write to it.
pub fn read_own(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Writes a file in one step; Windows writes its directory when it sees fit.
pub fn write_whole(path: &Path, text: &str, durable: bool) -> io::Result<()> {
    crate::system::file_writer::write_whole(path, &part_of(path), text, durable)
}

/// Removes such a file, and what was written of it.
///
/// # Errors
/// If a system call fails; that it is gone already is none.
pub fn remove_whole(path: &Path) -> io::Result<()> {
    for file in [path, &part_of(path)] {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Opens a file to lock it, and creates it if needed.
pub fn open_own_lock(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Creates a directory for this user only within another; it disappears with the returned value, unless kept.
pub fn private_dir_in(parent: &Path, prefix: &str) -> io::Result<TempDir> {
    let mut last = io::ErrorKind::AlreadyExists.into();
    for _ in 0..MOST_TRIES {
        let dir = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        // Created again, with its own access rules: it is empty between the two calls.
        fs::remove_dir(dir.path())?;
        match make(dir.path()) {
            Ok(()) => return Ok(dir),
            Err(error) => last = error,
        }
        // It belongs to another program now.
        let _ = dir.keep();
    }
    Err(last)
}

/// Ensures that a directory exists; if it has to be created, only this user can enter it. An existing one keeps its
/// rules: below `LOCALAPPDATA`, Windows keeps others out.
pub fn ensure_private(path: &Path) -> Result<(), SysError> {
    let shown = || path.display().to_string();
    match make(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(SysError::Call { action: format!("cannot make {}", shown()), source: error });
        }
        _ => {}
    }
    if path.is_dir() {
        return Ok(());
    }
    let wrong = io::Error::new(io::ErrorKind::AlreadyExists, "it is not a directory; move it away");
    Err(wrong).context(shown)
}

fn make(path: &Path) -> io::Result<()> {
    let name = wide(path)?;
    let security = Security::only_this_user()?;
    let attributes = security.attributes(false);
    // SAFETY: the name ends in NUL; the attributes and what they point to outlive the call.
    checked(unsafe { CreateDirectoryW(name.as_ptr(), ptr::from_ref(&attributes)) })
}
