//! `unix-dgram`: datagrams between Unix sockets bound to paths (`unix(7)`). None are lost: a sender waits while the
//! receiver's queue is full.

use std::io;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup};
use serde::{Deserialize, Serialize};

use super::inherited::of_worker;
use super::socket::{buffers, set_buffers};
use super::unix::{message_fits, socket_address};
use super::{
    Client, Connection, Effective, Provision, Rendezvous, Server, Transport, Waitable, address_list,
    capacity, list_address,
};
use crate::system::channel::SocketChannel;
use crate::system::socket::{Endpoint, bind, connect_patiently, datagram_socket};
use crate::{Context, SysError};

pub struct UnixDgram;

const CAPABILITIES: Capabilities = Capabilities {
    name: "unix-dgram",
    summary: "datagrams between Unix sockets bound to paths",
    delivery: Delivery::Message,
    sees_end: false,
    os: &["linux"],
    option_groups: &[OptionGroup::Socket, OptionGroup::Calling],
    ..Capabilities::PLAIN
};

/// The paths of a worker's two sockets.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct DatagramPaths {
    server: String,
    client: String,
}

impl Transport for UnixDgram {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        datagram_socket().or_absent("this system has no Unix sockets for datagrams", "")
    }

    fn fits(&self, cell: &Cell) -> Result<(), SysError> {
        message_fits(cell)
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::unix(cell)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        let path = |worker: u32, side: char| {
            let name = format!("{}-{worker}{side}", place.name);
            place.dir.join(name).to_string_lossy().into_owned()
        };
        let paths = |worker| DatagramPaths { server: path(worker, 's'), client: path(worker, 'c') };
        let all: Vec<DatagramPaths> = (0..place.cell.concurrency).map(paths).collect();
        Ok(Provision { server: list_address(&all), ..Provision::default() })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        let mut server = DgramServer { address: address.clone(), waiting: Vec::new(), effective: Vec::new() };
        for paths in address_list::<DatagramPaths>(CAPABILITIES.name, address)? {
            let socket = bound(&paths.server, cell)?;
            server.effective = buffers(&socket, cell)?;
            server.waiting.push((socket, paths.client));
        }
        Ok(Box::new(server))
    }

    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        let paths = of_worker(address_list::<DatagramPaths>(CAPABILITIES.name, address)?, worker)?;
        Ok(Box::new(DgramClient { paths, cell: cell.clone(), effective: Vec::new() }))
    }
}

fn bound(path: &str, cell: &Cell) -> Result<Endpoint, SysError> {
    let socket = datagram_socket().context(|| "cannot make a socket".to_owned())?;
    set_buffers(&socket, cell)?;
    bind(&socket, &socket_address(path)?).context(|| format!("cannot bind {path}"))?;
    Ok(socket)
}

/// Sockets, each with its client's path, which may not exist yet.
struct DgramServer {
    address: Address,
    waiting: Vec<(Endpoint, String)>,
    effective: Vec<Effective>,
}

impl Server for DgramServer {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, SysError> {
        for index in 0..self.waiting.len() {
            let (socket, path) = &self.waiting[index];
            match connect_patiently(socket, &socket_address(path)?, &mut 0) {
                Ok(()) => {
                    let (socket, _) = self.waiting.remove(index);
                    return Ok(Some(SocketChannel(socket).into()));
                }
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
                }
                Err(error) => return Err(error).context(|| format!("cannot connect to {path}"))?,
            }
        }
        Ok(None)
    }

    fn accept(&self) -> io::Result<Connection> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
        None
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}

struct DgramClient {
    paths: DatagramPaths,
    cell: Cell,
    effective: Vec<Effective>,
}

impl Client for DgramClient {
    fn connect(&mut self) -> Result<Connection, SysError> {
        let DatagramPaths { server, client } = &self.paths;
        let socket = bound(client, &self.cell)?;
        connect_patiently(&socket, &socket_address(server)?, &mut 0)
            .context(|| format!("cannot connect to {server}"))?;
        self.effective = buffers(&socket, &self.cell)?;
        Ok(SocketChannel(socket).into())
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}
