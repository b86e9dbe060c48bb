//! POSIX message queues: missing here, or not descriptors.

use std::io;

use super::unsupported;
use crate::system::descriptor::Descriptor;

const REASON: &str = "they are measured on Linux only";

pub fn create(_message_bytes: usize) -> io::Result<Descriptor> {
    Err(unsupported(REASON))
}

/// A queue; never created.
#[derive(Debug)]
pub struct MessageQueue(pub Descriptor);

impl MessageQueue {
    pub fn send(&self, _bytes: &[u8]) -> io::Result<usize> {
        let Self(_never) = self;
        Err(unsupported(REASON))
    }

    pub fn receive(&self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(unsupported(REASON))
    }
}
