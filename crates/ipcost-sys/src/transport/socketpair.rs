//! `socketpair`: two connected Unix sockets without a name (`socketpair(2)`).

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};
use serde::{Deserialize, Serialize};

use super::inherited::{InheritedClient, InheritedServer, number, of_worker};
use super::{
    Client, Place, Provision, Server, Transport, TransportError, address_list, capacity, list_address, socket,
};
use crate::Context;
use crate::system::channel::Socket;
use crate::system::descriptor::{take_socket, to_inherit};
use crate::system::socket::{pair, probe_pair};

/// The transport.
pub struct Socketpair;

const CAPABILITIES: Capabilities = Capabilities {
    name: "socketpair",
    summary: "a pair of connected Unix sockets without a name",
    os: &["linux", "macos"],
    option_groups: &[OptionGroup::Socket],
    ..Capabilities::PLAIN
};

/// A descriptor that the process has inherited.
#[derive(Serialize, Deserialize)]
struct End {
    fd: i32,
}

impl Transport for Socketpair {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), String> {
        probe_pair()
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::unix(cell)
    }

    fn provision(&self, place: &Place<'_>) -> Result<Provision, TransportError> {
        let mut provision = Provision::default();
        let (mut servers, mut clients) = (Vec::new(), Vec::new());
        for _ in 0..place.cell.concurrency {
            let (server, client) = pair().context(|| "cannot make a socketpair".to_owned())?;
            for end in [&server, &client] {
                socket::set_buffers(end, place.cell)?;
                provision.effective.extend(socket::buffers(end, place.cell)?);
            }
            let (server, client) = (to_inherit(server), to_inherit(client));
            servers.push(End { fd: number(&server) });
            clients.push(End { fd: number(&client) });
            provision.server_inherits.push(server);
            provision.client_inherits.push(client);
        }
        provision.server = list_address(&servers);
        provision.client = Some(list_address(&clients));
        Ok(provision)
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, TransportError> {
        let ends: Vec<End> = address_list(CAPABILITIES.name, address)?;
        let channels =
            ends.iter().map(|end| Ok(Socket(take_socket(end.fd)?))).collect::<Result<_, TransportError>>()?;
        Ok(Box::new(InheritedServer::new(address, channels)))
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, TransportError> {
        let end = of_worker(address_list::<End>(CAPABILITIES.name, address)?, worker)?;
        Ok(Box::new(InheritedClient::new(Socket(take_socket(end.fd)?))))
    }
}
