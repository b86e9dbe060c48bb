//! Files in which the kernel tells of itself: `/proc` and `/sys`; where there are none, there is nothing to read.

pub use std::fs::{read_dir, read_to_string};
use std::path::Path;

/// Whether one is there.
pub fn exists(path: &str) -> bool {
    Path::new(path).exists()
}
