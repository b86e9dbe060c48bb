//! Workers that are copies of this process, where a process cannot be copied.

use std::fs::File;

use super::unsupported;
pub use crate::contract::Link;
use crate::{Context, SysError};

/// A worker as its parent sees it; there is never one.
#[derive(Debug)]
pub struct Worker {
    /// What the worker reads.
    pub orders: File,
    /// What the worker writes.
    pub answers: File,
}

/// Waits until one of the workers has written something.
///
/// # Errors
/// Always.
pub fn wait_any(_workers: &[&Worker]) -> Result<usize, SysError> {
    none()
}

/// Copies this process.
///
/// # Errors
/// Always: this system cannot.
pub fn start(_task: impl FnOnce(Link)) -> Result<Worker, SysError> {
    none()
}

/// A copy of this process that does its task in the end; there is never one.
#[derive(Debug)]
pub struct Keeper(std::convert::Infallible);

impl Keeper {
    /// Copies this process.
    ///
    /// # Errors
    /// Always: this system cannot.
    pub fn start(_task: impl FnOnce()) -> Result<Self, SysError> {
        none()
    }
}

fn none<T>() -> Result<T, SysError> {
    let reason = "this system cannot copy a process (fork); leave out workers=processes";
    Err::<T, _>(unsupported(reason)).context(|| "cannot start a worker process".to_owned())
}
