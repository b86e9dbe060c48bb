//! FIFOs: not supported here.

use std::io;
use std::path::Path;

use ipcost_model::Cell;

use super::unsupported;
use crate::system::descriptor::Descriptor;
use crate::transport::Effective;
use crate::{Context, SysError};

const REASON: &str = "Windows has no FIFOs; its named pipes are the transport npipe";

/// Why this system lacks FIFOs.
pub const LACKS: Option<&'static str> = Some(REASON);

pub fn make(_path: &Path) -> io::Result<()> {
    Err(unsupported(REASON))
}

pub fn open_to_read(_path: &Path) -> io::Result<Descriptor> {
    Err(unsupported(REASON))
}

/// Opens one for writing if there is a reader.
pub fn try_open_to_write(_path: &Path) -> io::Result<Option<Descriptor>> {
    Err(unsupported(REASON))
}

/// Opens one for writing.
pub fn open_to_write(_path: &Path) -> io::Result<Descriptor> {
    Err(unsupported(REASON))
}

pub fn set_buffer(_pipe: &Descriptor, _cell: &Cell) -> Result<Option<Effective>, SysError> {
    Err(unsupported(REASON)).context(|| "cannot set the capacity of a FIFO".to_owned())
}
