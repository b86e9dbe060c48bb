//! Opening files that were found in a directory, where anything may lie.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a regular file for reading, links followed.
///
/// # Errors
/// That it is another kind of file, or cannot be read.
pub fn open(path: &Path) -> io::Result<File> {
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}
