//! Anonymous pipes (`pipe(2)`).

use std::os::fd::OwnedFd;

use ipcost_model::Cell;

use crate::system::{close_on_exec, pipe_buffer};
use crate::transport::Effective;
use crate::{Context, SysError};

/// A pipe with the capacity that a cell asks for: the read end, the write end, and the effective capacity.
pub fn pipe(cell: &Cell) -> Result<(OwnedFd, OwnedFd, Option<Effective>), SysError> {
    let (read, write) = close_on_exec::pipe().context(|| "cannot make a pipe".to_owned())?;
    let effective = pipe_buffer::set(&read, cell)?;
    Ok((read, write, effective))
}
