//! The capacity of pipes and FIFOs.

use std::os::fd::AsFd;

use ipcost_model::Cell;
use ipcost_model::facts::USUAL_PIPE_BYTES;
use rustix::io::Errno;
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

use crate::transport::Effective;
use crate::{Context, SysError};

/// Sets the capacity if the cell asks for one (`F_SETPIPE_SZ`, `fcntl(2)`).
///
/// The kernel rounds up to a power of two pages. Beyond `/proc/sys/fs/pipe-max-size` it refuses unprivileged users; the
/// pipe then gets that size, and the difference is reported. So is a pipe that holds less than pipes do, although nothing was asked for.
pub fn set(pipe: impl AsFd, cell: &Cell) -> Result<Option<Effective>, SysError> {
    let Some(asked) = cell.options.pipe_size() else {
        let became = fcntl_getpipe_size(pipe).map_or(USUAL_PIPE_BYTES, |bytes| bytes as u64);
        return Ok((became < USUAL_PIPE_BYTES).then_some(Effective {
            name: "pipe_size",
            asked: USUAL_PIPE_BYTES,
            became,
        }));
    };
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
