//! Channels whose descriptors the engine created: nothing to connect, only descriptors to take over.

use std::collections::VecDeque;
use std::io;

use ipcost_model::Cell;
use ipcost_model::protocol::Address;
use serde::{Deserialize, Serialize};

use super::{Client, Connection, Provision, Server, Waitable, address_list, list_address};
pub use crate::system::descriptor::{number, take};
use crate::{Context, Descriptor, SysError};

/// Descriptors of a worker's channel, one for each direction.
#[derive(Serialize, Deserialize)]
pub struct ChannelDescriptors {
    /// The descriptor to read from.
    pub read_fd: i32,
    /// The descriptor to write to.
    pub write_fd: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelDirection {
    /// From client to server.
    ToServer,
    /// From server to client.
    ToClient,
}

/// Creates one object per direction for every worker; both sides inherit them.
pub fn share(
    cell: &Cell,
    mut make: impl FnMut(ChannelDirection) -> Result<Descriptor, SysError>,
) -> Result<Provision, SysError> {
    let mut provision = Provision::default();
    let (mut server, mut client) = (Vec::new(), Vec::new());
    for _ in 0..cell.concurrency {
        let (to_server, to_client) = (make(ChannelDirection::ToServer)?, make(ChannelDirection::ToClient)?);
        let again =
            |made: &Descriptor| made.try_clone().context(|| "cannot give the client a share".to_owned());
        let (from_server, from_client) = (again(&to_client)?, again(&to_server)?);
        server.push(ChannelDescriptors { read_fd: number(&to_server), write_fd: number(&to_client) });
        client.push(ChannelDescriptors { read_fd: number(&from_server), write_fd: number(&from_client) });
        provision.server_inherits.extend([to_server, to_client]);
        provision.client_inherits.extend([from_server, from_client]);
    }
    provision.server = list_address(&server);
    provision.client = Some(list_address(&client));
    Ok(provision)
}

/// The server's end of channels built from a read and a write descriptor.
pub fn serve<C: Into<Connection> + Send + Sync + 'static>(
    transport: &'static str,
    address: &Address,
    open: impl Fn(Descriptor, Descriptor) -> Result<C, SysError>,
) -> Result<Box<dyn Server>, SysError> {
    let ends: Vec<ChannelDescriptors> = address_list(transport, address)?;
    let channels = ends.iter().map(|ends| open(take(ends.read_fd)?, take(ends.write_fd)?));
    Ok(Box::new(InheritedServer::new(address, channels.collect::<Result<_, _>>()?)))
}

/// One worker's end of such a channel.
pub fn reach<C: Into<Connection> + Send + 'static>(
    transport: &'static str,
    address: &Address,
    worker: u32,
    open: impl Fn(Descriptor, Descriptor) -> Result<C, SysError>,
) -> Result<Box<dyn Client>, SysError> {
    let ends: ChannelDescriptors = of_worker(address_list(transport, address)?, worker)?;
    Ok(Box::new(InheritedClient::new(open(take(ends.read_fd)?, take(ends.write_fd)?)?)))
}

/// The server's end: all channels exist from the start.
pub struct InheritedServer<C> {
    address: Address,
    channels: VecDeque<C>,
}

impl<C> InheritedServer<C> {
    /// Takes the channels in the workers' order.
    pub fn new(address: &Address, channels: Vec<C>) -> Self {
        Self { address: address.clone(), channels: channels.into() }
    }
}

impl<C: Into<Connection> + Send + Sync> Server for InheritedServer<C> {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, SysError> {
        let none_left = SysError::Invalid("the address names fewer channels than there are workers");
        self.channels.pop_front().map(|channel| Some(channel.into())).ok_or(none_left)
    }

    fn accept(&self) -> io::Result<Connection> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
        None
    }
}

/// A client worker's end: one channel, which exists from the start.
pub struct InheritedClient<C>(Option<C>);

impl<C> InheritedClient<C> {
    /// Takes the worker's channel.
    pub fn new(channel: C) -> Self {
        Self(Some(channel))
    }
}

impl<C: Into<Connection> + Send> Client for InheritedClient<C> {
    fn connect(&mut self) -> Result<Connection, SysError> {
        let taken = SysError::Invalid("this transport has one channel a worker, and it is in use");
        self.0.take().map(Into::into).ok_or(taken)
    }
}

/// A worker's entry in a list of addresses.
pub fn of_worker<T>(list: Vec<T>, worker: u32) -> Result<T, SysError> {
    list.into_iter().nth(worker as usize).ok_or(SysError::NoChannel(worker + 1))
}
