//! The capacity of pipes and FIFOs.

use std::os::fd::AsFd;

use ipcost_model::Cell;
use rustix::io::Errno;
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

use crate::transport::Effective;
use crate::{Context, SysError};

/// Sets the capacity if the cell asks for one (`F_SETPIPE_SZ`, `fcntl(2)`).
///
/// The kernel rounds up to a power of two pages. Beyond `/proc/sys/fs/pipe-max-size` it refuses unprivileged users; the
/// pipe then gets that size, and the difference is reported.
///
/// # Errors
/// If the capacity can be neither set nor read.
pub fn set(pipe: impl AsFd, cell: &Cell) -> Result<Option<Effective>, SysError> {
    let Some(asked) = cell.options.int("pipe_size") else { return Ok(None) };
    let action = || format!("cannot set a pipe's capacity to {asked} bytes");
    match fcntl_setpipe_size(pipe.as_fd(), asked as usize) {
        Err(Errno::PERM) => {
            let most = std::fs::read_to_string("/proc/sys/fs/pipe-max-size").context(action)?;
            fcntl_setpipe_size(pipe.as_fd(), most.trim().parse().unwrap_or(1 << 20)).context(action)?;
        }
        result => drop(result.context(action)?),
    }
    let became = fcntl_getpipe_size(pipe).context(action)? as u64;
    Ok(Some(Effective { name: "pipe_size", asked, became }))
}
