//! Pipes with `write` as the only way of sending.

use std::io;

use ipcost_model::choices::PipeSend;

use super::unsupported;
use crate::system::channel::PipePair;
use crate::transport::Channel;

/// Whether pipes support ways of sending other than `write`.
pub const EXISTS: bool = false;

/// Pipes with another way of sending.
pub fn over(_pipes: PipePair, _by: PipeSend) -> io::Result<Box<dyn Channel>> {
    Err(unsupported("only Linux has other ways to send to a pipe"))
}
