//! Channels whose descriptors the engine made: there is nothing to connect, only to take over.

use std::collections::VecDeque;
use std::io;

use ipcost_model::protocol::Address;

use super::{Client, Connection, Server, TransportError, Waitable};
pub use crate::system::descriptor::{number, take};

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

impl<C: Into<Connection> + Send + Sync> Server for InheritedServer<C> {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, TransportError> {
        let channel = self.channels.pop_front();
        let none_left =
            || TransportError::Refused("the address names fewer channels than there are workers".into());
        channel.map(|channel| Some(channel.into())).ok_or_else(none_left)
    }

    fn accept(&self) -> io::Result<Connection> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
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

impl<C: Into<Connection> + Send> Client for InheritedClient<C> {
    fn connect(&mut self) -> Result<Connection, TransportError> {
        let taken =
            || TransportError::Refused("this transport has one channel a worker, and it is in use".into());
        self.0.take().map(Into::into).ok_or_else(taken)
    }
}

/// The entry of a list of addresses that belongs to a worker.
pub fn of_worker<T>(list: Vec<T>, worker: u32) -> Result<T, TransportError> {
    let missing =
        || TransportError::Refused(format!("the address names no channel for worker {}", worker + 1));
    list.into_iter().nth(worker as usize).ok_or_else(missing)
}
