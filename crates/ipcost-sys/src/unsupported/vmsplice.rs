//! Pipes with `write` as the only way of sending.

use std::io;

use super::unsupported;
use crate::SysError;
use crate::system::channel::PipePair;
use crate::transport::Channel;

/// Whether pipes support a way of sending, as the option `pipe_send` names it.
pub fn probe(pipe_send: &str) -> Result<(), SysError> {
    match pipe_send {
        "write" => Ok(()),
        _ => Err(SysError::LinuxAlone { option: "pipe_send", value: pipe_send.to_owned() }),
    }
}

/// Pipes with another way of sending.
pub fn over(_pipes: PipePair, _pipe_send: &str) -> io::Result<Box<dyn Channel>> {
    Err(unsupported("only Linux has other ways to send to a pipe"))
}
