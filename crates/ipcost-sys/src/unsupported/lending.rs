//! Pipes that can be written to and nothing else.

use std::io;

use super::unsupported;
use crate::system::channel::PipePair;
use crate::transport::Channel;

/// Whether pipes can be sent to in a way, as the option `pipe_send` names it.
///
/// # Errors
/// Every way but one.
pub fn probe(pipe_send: &str) -> Result<(), String> {
    if pipe_send == "write" { Ok(()) } else { Err(format!("pipe_send={pipe_send} exists on Linux alone")) }
}

/// Pipes that are sent to in another way.
///
/// # Errors
/// Always.
pub fn over(_pipes: PipePair, _pipe_send: &str) -> io::Result<Box<dyn Channel>> {
    Err(unsupported("only Linux has other ways to send to a pipe"))
}
