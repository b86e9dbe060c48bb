//! The kernel's files in `/proc` and `/sys`; systems without them have nothing to read.

pub use std::fs::{read, read_dir, read_to_string};
use std::path::Path;

/// Whether a file exists.
pub fn exists(path: &str) -> bool {
    Path::new(path).exists()
}
