//! The kernel's files: Windows has none. Under Wine, those of the kernel below are readable, but describe another
//! system.

use std::fs::{self, ReadDir};
use std::io;
use std::path::Path;

/// A file's bytes, unless it is a kernel's file.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    not_of_a_kernel(path.as_ref()).and_then(fs::read)
}

/// A file's text, unless it is a kernel's file.
///
/// # Errors
/// `Unsupported` for a kernel's file; otherwise, if a system call fails.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    not_of_a_kernel(path.as_ref()).and_then(fs::read_to_string)
}

/// A directory's entries, unless it is a kernel's directory.
///
/// # Errors
/// `Unsupported` for a kernel's directory; otherwise, if a system call fails.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    not_of_a_kernel(path.as_ref()).and_then(fs::read_dir)
}

/// Whether a kernel's file exists; never here.
pub fn exists(_path: &str) -> bool {
    false
}

/// No Windows path begins at a root without a drive.
fn not_of_a_kernel(path: &Path) -> io::Result<&Path> {
    if path.has_root() && !path.is_absolute() { Err(io::ErrorKind::Unsupported.into()) } else { Ok(path) }
}
