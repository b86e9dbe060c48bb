//! Windows named pipes.

use std::io;

use super::unsupported;
use crate::transport::Channel;

const REASON: &str = "named pipes of this kind exist on Windows only; fifo is the closest here";
pub const LACKS: Option<&'static str> = Some(REASON);

#[derive(Debug)]
pub enum NamedPipeListener {}

impl NamedPipeListener {
    stubs! { Err(unsupported(REASON)); fn open(_: &str, _: u32) -> io::Result<Self>; }
    stubs! { match *self {};
        fn buffer(&self) -> io::Result<u64>;
        fn try_accept(&mut self) -> io::Result<Option<Box<dyn Channel>>>;
        fn accept(&self) -> io::Result<Box<dyn Channel>>;
    }
}

stubs! { Err(unsupported(REASON)); fn connect(_: &str) -> io::Result<Box<dyn Channel>>; }
