//! `vsock`: stream sockets between virtual machines and their host, within one of them (`vsock(7)`, VMADDR_CID_LOCAL).

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};
use serde::{Deserialize, Serialize};

use super::socket::{Inherits, SocketListener};
use super::{Client, Connection, Provision, Rendezvous, Server, Transport, from_address, to_address};
use crate::system::channel::SocketChannel;
use crate::system::more_sockets::{ANY_VSOCK_PORT, vsock_address, vsock_port, vsock_socket};
use crate::system::socket::{bind, connect_patiently};
use crate::{Context, SysError};

pub struct Vsock;

const CAPABILITIES: Capabilities = Capabilities {
    name: "vsock",
    summary: "sockets for virtual machines, over their loopback",
    connects: true,
    os: &["linux"],
    option_groups: &[OptionGroup::Calling, OptionGroup::Listener],
    ..Capabilities::PLAIN
};

#[derive(Serialize, Deserialize)]
struct VsockPort {
    port: u32,
}

impl Transport for Vsock {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        let bound = vsock_socket().and_then(|socket| bind(&socket, &vsock_address(ANY_VSOCK_PORT)?));
        bound.or_absent("vsock has no loopback here", "; modprobe vsock_loopback")
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        Ok(Provision { server: to_address(&VsockPort { port: ANY_VSOCK_PORT }), ..Provision::default() })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        let VsockPort { port } = from_address(CAPABILITIES.name, address)?;
        let at = vsock_address(port).context(|| "cannot use vsock".to_owned())?;
        let listener = SocketListener::open(
            vsock_socket(),
            Inherits::Buffers,
            &at,
            "a vsock port",
            cell,
            |_| Ok(()),
            |socket| Ok(to_address(&VsockPort { port: vsock_port(socket)? })),
        )?;
        Ok(Box::new(listener))
    }

    fn reach(&self, address: &Address, _cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        let VsockPort { port } = from_address(CAPABILITIES.name, address)?;
        Ok(Box::new(VsockClient { port, retries: 0 }))
    }
}

struct VsockClient {
    port: u32,
    retries: u64,
}

impl Client for VsockClient {
    #[inline]
    fn connect(&mut self) -> Result<Connection, SysError> {
        let action = || format!("cannot connect to vsock port {}", self.port);
        let socket = vsock_socket().context(action)?;
        let to = vsock_address(self.port).context(action)?;
        let mut retries = 0;
        connect_patiently(&socket, &to, &mut retries).context(action)?;
        self.retries += retries;
        Ok(SocketChannel(socket).into())
    }

    fn retries(&self) -> u64 {
        self.retries
    }
}
