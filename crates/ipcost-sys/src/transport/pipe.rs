//! `pipe`: a pair of anonymous pipes (`pipe(2)`), one for each direction.

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};

use super::inherited::{self, ChannelDescriptors, number};
use super::{Client, Provision, Rendezvous, Server, Transport, capacity, list_address};
use crate::SysError;
use crate::system::channel::PipePair;
use crate::system::pipe::pipe;

pub struct Pipe;

const CAPABILITIES: Capabilities = Capabilities {
    name: "pipe",
    summary: "a pair of anonymous pipes",
    both_ways: false,
    option_groups: &[OptionGroup::PipeBuffer],
    in_default_suite: true,
    ..Capabilities::PLAIN
};

impl Transport for Pipe {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::pipe(cell)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        let mut provision = Provision::default();
        let (mut server, mut client) = (Vec::new(), Vec::new());
        for _ in 0..place.cell.concurrency {
            let (to_server, from_client, effective) = pipe(place.cell)?;
            provision.effective.extend(effective);
            let (to_client, from_server, effective) = pipe(place.cell)?;
            provision.effective.extend(effective);
            server.push(ChannelDescriptors { read_fd: number(&to_server), write_fd: number(&from_server) });
            client.push(ChannelDescriptors { read_fd: number(&to_client), write_fd: number(&from_client) });
            provision.server_inherits.extend([to_server, from_server]);
            provision.client_inherits.extend([to_client, from_client]);
        }
        provision.server = list_address(&server);
        provision.client = Some(list_address(&client));
        Ok(provision)
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        inherited::serve(CAPABILITIES.name, address, |read, write| Ok(PipePair { read, write }))
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        inherited::reach(CAPABILITIES.name, address, worker, |read, write| Ok(PipePair { read, write }))
    }
}
