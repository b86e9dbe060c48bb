//! Channels over descriptors.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::transport::Channel;

/// One descriptor for both directions: a connected socket.
#[derive(Debug)]
pub struct Socket(pub OwnedFd);

impl Channel for Socket {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(&self.0, bytes)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.0, buffer)
    }
}

/// One descriptor for each direction: the two ends of two pipes.
#[derive(Debug)]
pub struct PipePair {
    /// The end to read from.
    pub read: OwnedFd,
    /// The end to write to.
    pub write: OwnedFd,
}

impl Channel for PipePair {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(&self.write, bytes)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.read, buffer)
    }
}

/// `write(2)`, repeated when a signal interrupts it.
#[inline]
pub(crate) fn write(descriptor: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match rustix::io::write(descriptor.as_fd(), bytes) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

/// `read(2)`, repeated when a signal interrupts it.
#[inline]
pub(crate) fn read(descriptor: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::io::read(descriptor.as_fd(), &mut *buffer) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}
