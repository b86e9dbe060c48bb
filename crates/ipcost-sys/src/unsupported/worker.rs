//! Workers that are copies of this process: this system cannot copy one.

use std::fs::File;

use super::unsupported;
pub use crate::contract::Link;
use crate::{Context, SysError};

/// A worker as its parent sees it; never created.
#[derive(Debug)]
pub struct Worker {
    /// What the worker reads.
    pub orders: File,
    /// What the worker writes.
    pub answers: File,
}

/// Waits until a worker has written something.
pub fn wait_any(_workers: &[&Worker]) -> Result<usize, SysError> {
    none()
}

pub fn start(_task: impl FnOnce(Link)) -> Result<Worker, SysError> {
    none()
}

/// A copy of this process that runs its task at the end; never created.
#[derive(Debug)]
pub struct Keeper(std::convert::Infallible);

impl Keeper {
    pub fn start(_task: impl FnOnce()) -> Result<Self, SysError> {
        none()
    }
}

fn none<T>() -> Result<T, SysError> {
    let reason = "this system cannot copy a process (fork); leave out workers=processes";
    Err::<T, _>(unsupported(reason)).context(|| "cannot start a worker process".to_owned())
}
