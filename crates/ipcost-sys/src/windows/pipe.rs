//! Anonymous pipes (`CreatePipe`).

use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;

use ipcost_model::Cell;
use windows_sys::Win32::System::Pipes::{CreatePipe, GetNamedPipeInfo};

use super::{checked, owned};
use crate::transport::Effective;
use crate::{Context, SysError};

/// The capacity unless the cell sets it: a Linux pipe's. Windows' own default would be a page.
const BUFFER_BYTES: u64 = 65_536;

/// A pipe with the capacity that a cell asks for: the read end, the write end, and the effective capacity.
pub fn pipe(cell: &Cell) -> Result<(OwnedHandle, OwnedHandle, Option<Effective>), SysError> {
    let action = || "cannot make a pipe".to_owned();
    let asked = cell.options.pipe_size();
    let bytes = u32::try_from(asked.unwrap_or(BUFFER_BYTES)).unwrap_or(u32::MAX);
    let (mut read, mut write) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the pointers are to two handles that outlive the call; the call has just created them.
    let (read, write) = unsafe {
        checked(CreatePipe(&mut read, &mut write, ptr::null(), bytes)).context(action)?;
        (owned(read).context(action)?, owned(write).context(action)?)
    };
    let Some(asked) = asked else { return Ok((read, write, None)) };
    let became = capacity(&read).context(|| "cannot read a pipe's capacity".to_owned())?;
    Ok((read, write, Some(Effective { name: "pipe_size", asked, became })))
}

/// A pipe's buffer for each direction, bytes; anonymous pipes are named pipes underneath.
pub(super) fn capacity(pipe: &OwnedHandle) -> std::io::Result<u64> {
    let (mut out, mut input) = (0, 0);
    // SAFETY: the handle is open; the pointers are to numbers, or null for unused results.
    let result = unsafe {
        GetNamedPipeInfo(pipe.as_raw_handle(), ptr::null_mut(), &mut out, &mut input, ptr::null_mut())
    };
    checked(result).map(|()| u64::from(input.max(out)))
}
