//! `socketpair`: two connected, unnamed Unix sockets (`socketpair(2)`).

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};
use serde::{Deserialize, Serialize};

use super::inherited::{InheritedClient, InheritedServer, number, of_worker};
use super::{
    Client, Connection, Provision, Rendezvous, Server, Transport, address_list, capacity, list_address,
    socket, supported,
};
use crate::system::channel::SocketChannel;
use crate::system::descriptor::{take_socket, to_inherit};
use crate::system::socket::{Endpoint, LACKS_PAIRS, pair};
use crate::{Context, SysError};

pub struct Socketpair;

const CAPABILITIES: Capabilities = Capabilities {
    name: "socketpair",
    summary: "a pair of connected Unix sockets without a name",
    os: &["linux", "macos"],
    option_groups: &[OptionGroup::Socket, OptionGroup::Calling, OptionGroup::Writing],
    ..Capabilities::PLAIN
};

#[derive(Serialize, Deserialize)]
struct PairEnd {
    fd: i32,
}

impl Transport for Socketpair {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(LACKS_PAIRS)
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::unix(cell)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        share(place.cell)
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        serve(CAPABILITIES.name, address, SocketChannel)
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        reach(CAPABILITIES.name, address, worker, SocketChannel)
    }
}

/// Creates a pair for every worker; each side inherits one end.
pub(super) fn share(cell: &Cell) -> Result<Provision, SysError> {
    let mut provision = Provision::default();
    let (mut servers, mut clients) = (Vec::new(), Vec::new());
    for _ in 0..cell.concurrency {
        let (server, client) = pair().context(|| "cannot make a socketpair".to_owned())?;
        for end in [&server, &client] {
            socket::set_buffers(end, cell)?;
            provision.effective.extend(socket::buffers(end, cell)?);
        }
        let (server, client) = (to_inherit(server), to_inherit(client));
        servers.push(PairEnd { fd: number(&server) });
        clients.push(PairEnd { fd: number(&client) });
        provision.server_inherits.push(server);
        provision.client_inherits.push(client);
    }
    provision.server = list_address(&servers);
    provision.client = Some(list_address(&clients));
    Ok(provision)
}

/// The server's end of channels built from a socket.
pub(super) fn serve<C: Into<Connection> + Send + Sync + 'static>(
    transport: &'static str,
    address: &Address,
    open: impl Fn(Endpoint) -> C,
) -> Result<Box<dyn Server>, SysError> {
    let ends: Vec<PairEnd> = address_list(transport, address)?;
    let channels = ends.iter().map(|end| Ok(open(take_socket(end.fd)?)));
    Ok(Box::new(InheritedServer::new(address, channels.collect::<Result<_, SysError>>()?)))
}

/// One worker's end of such a channel.
pub(super) fn reach<C: Into<Connection> + Send + 'static>(
    transport: &'static str,
    address: &Address,
    worker: u32,
    open: impl Fn(Endpoint) -> C,
) -> Result<Box<dyn Client>, SysError> {
    let end = of_worker(address_list::<PairEnd>(transport, address)?, worker)?;
    Ok(Box::new(InheritedClient::new(open(take_socket(end.fd)?))))
}
