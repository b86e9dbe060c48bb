//! The capacity of pipes and FIFOs, which cannot be set here.

use std::io;
use std::os::fd::AsFd;

use ipcost_model::Cell;

use crate::transport::Effective;
use crate::{Context, SysError};

/// Refuses a cell that asks for a capacity.
pub fn set(_pipe: impl AsFd, cell: &Cell) -> Result<Option<Effective>, SysError> {
    let Some(asked) = cell.options.pipe_size() else { return Ok(None) };
    let reason = "this system sets it itself; leave out pipe_size";
    Err(io::Error::new(io::ErrorKind::Unsupported, reason))
        .context(|| format!("cannot set a pipe's capacity to {asked} bytes"))
}
