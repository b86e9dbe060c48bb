//! The processors that this program may use.

use std::thread::available_parallelism;

/// Every processor as a core of its own: which are siblings is not told here.
pub fn by_core() -> Vec<Vec<usize>> {
    (0..available_parallelism().map_or(1, usize::from)).map(|cpu| vec![cpu]).collect()
}
