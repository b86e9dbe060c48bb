//! `unix-abstract`: a stream socket in Linux's abstract namespace (`unix(7)`), bound to a name without a file.

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};
use serde::{Deserialize, Serialize};

use super::unix::{UnixClient, listen, stream_of_unix};
use super::{
    Client, Provision, Rendezvous, Server, Transport, capacity, from_address, supported, to_address,
};
use crate::system::abstract_address::{self, abstract_address, unguessable};
use crate::system::socket::UnixAddress;
use crate::{Context, SysError};

pub struct UnixAbstract;

const CAPABILITIES: Capabilities = Capabilities {
    name: "unix-abstract",
    summary: "a Unix stream socket with a name outside the file system",
    connects: true,
    os: &["linux"],
    option_groups: &[OptionGroup::Socket, OptionGroup::Calling, OptionGroup::Writing, OptionGroup::Listener],
    ..Capabilities::PLAIN
};

#[derive(Serialize, Deserialize)]
struct AbstractName {
    name: String,
}

impl Transport for UnixAbstract {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(abstract_address::LACKS)
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::unix(cell)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        // No other process can guess it and bind it first; once bound it is visible to all, so callers are checked.
        let secret = unguessable().context(|| "cannot get random numbers".to_owned())?;
        let name = format!("ipcost-{secret}/{}", place.name);
        Ok(Provision { server: to_address(&AbstractName { name }), ..Provision::default() })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        let AbstractName { name } = from_address(CAPABILITIES.name, address)?;
        let at = socket_address(&name)?;
        let address = to_address(&AbstractName { name: name.clone() });
        listen(stream_of_unix, &at, &format!("@{name}"), address, cell)
    }

    fn reach(&self, address: &Address, cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        let AbstractName { name } = from_address(CAPABILITIES.name, address)?;
        Ok(Box::new(UnixClient::new(stream_of_unix, socket_address(&name)?, format!("@{name}"), cell)))
    }
}

fn socket_address(name: &str) -> Result<UnixAddress, SysError> {
    abstract_address(name).context(|| format!("cannot use the abstract name {name}"))
}
