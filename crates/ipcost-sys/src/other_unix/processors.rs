//! The processors available to this program.

use std::thread::available_parallelism;

/// Every processor as its own core: this system does not report siblings.
pub fn by_core() -> Vec<Vec<usize>> {
    (0..available_parallelism().map_or(1, usize::from)).map(|cpu| vec![cpu]).collect()
}
