//! Files in which a kernel tells of itself: Windows has none. Under Wine, those of the kernel below could be read,
//! and would tell of another system.

use std::fs::{self, ReadDir};
use std::io;
use std::path::Path;

/// A file's text; none where it is one of a kernel.
///
/// # Errors
/// `Unsupported` for a kernel's file, or the system's answer.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    not_of_a_kernel(path.as_ref()).and_then(fs::read_to_string)
}

/// A directory's entries; none where it is one of a kernel.
///
/// # Errors
/// `Unsupported` for a kernel's directory, or the system's answer.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    not_of_a_kernel(path.as_ref()).and_then(fs::read_dir)
}

/// Whether one is there; never.
pub fn exists(_path: &str) -> bool {
    false
}

/// No path of Windows begins at a root without a drive.
fn not_of_a_kernel(path: &Path) -> io::Result<&Path> {
    if path.has_root() && !path.is_absolute() { Err(io::ErrorKind::Unsupported.into()) } else { Ok(path) }
}
