//! Channels whose descriptors the engine made: there is nothing to connect, only to take over.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use ipcost_model::protocol::Address;

use super::{Channel, Client, Server, TransportError};
use crate::{Context, SysError};

/// Takes over a descriptor that this process has inherited, and keeps it from further children.
///
/// # Errors
/// Where no such descriptor is open, or it is one of the standard three.
pub fn take(number: RawFd) -> Result<OwnedFd, SysError> {
    let closed = || std::io::Error::from_raw_os_error(libc::EBADF);
    let action = || format!("descriptor {number} was to be inherited");
    if number <= libc::STDERR_FILENO {
        return Err(closed()).context(action);
    }
    // SAFETY: borrowed for one call that any number may be given to; the kernel answers EBADF if it is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::CLOEXEC).context(action)?;
    // SAFETY: the descriptor is open, the engine passed it to this process for this purpose, and addresses
    // name each number once, so nothing else here owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// The server's end: channels that are all there from the start.
pub struct InheritedServer<C> {
    address: Address,
    channels: VecDeque<C>,
}

impl<C> InheritedServer<C> {
    /// Takes the channels in the order of the workers.
    pub fn new(address: &Address, channels: Vec<C>) -> Self {
        Self { address: address.clone(), channels: channels.into() }
    }
}

impl<C: Channel + Sync + 'static> Server for InheritedServer<C> {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Box<dyn Channel>>, TransportError> {
        let channel = self.channels.pop_front();
        let none_left =
            || TransportError::Refused("the address names fewer channels than there are workers".into());
        channel.map(|channel| Some(Box::new(channel) as Box<dyn Channel>)).ok_or_else(none_left)
    }

    fn accept(&self) -> io::Result<Box<dyn Channel>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn waiting(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A client worker's end: one channel that is there from the start.
pub struct InheritedClient<C>(Option<C>);

impl<C> InheritedClient<C> {
    /// Takes the worker's channel.
    pub fn new(channel: C) -> Self {
        Self(Some(channel))
    }
}

impl<C: Channel + 'static> Client for InheritedClient<C> {
    fn connect(&mut self) -> Result<Box<dyn Channel>, TransportError> {
        let taken =
            || TransportError::Refused("this transport has one channel a worker, and it is in use".into());
        self.0.take().map(|channel| Box::new(channel) as Box<dyn Channel>).ok_or_else(taken)
    }
}

/// The entry of a list of addresses that belongs to a worker.
pub fn of_worker<T>(list: Vec<T>, worker: u32) -> Result<T, TransportError> {
    let missing =
        || TransportError::Refused(format!("the address names no channel for worker {}", worker + 1));
    list.into_iter().nth(worker as usize).ok_or_else(missing)
}

/// The numbers of descriptors, as addresses name them.
pub fn number(descriptor: &OwnedFd) -> RawFd {
    use std::os::fd::AsRawFd;
    descriptor.as_fd().as_raw_fd()
}
