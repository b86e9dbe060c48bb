//! `pipe`: a pair of anonymous pipes (`pipe(2)`), one for each direction.

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, OptionGroup};
use serde::{Deserialize, Serialize};

use super::inherited::{InheritedClient, InheritedServer, number, of_worker, take};
use super::{
    Client, Place, Provision, Server, Transport, TransportError, address_list, capacity, list_address,
};
use crate::system::channel::PipePair;
use crate::system::pipe::pipe;

/// The transport.
pub struct Pipe;

const CAPABILITIES: Capabilities = Capabilities {
    name: "pipe",
    summary: "a pair of anonymous pipes",
    connects: false,
    both_ways: false,
    delivery: Delivery::Stream,
    os: &["linux", "macos", "windows"],
    carries_payload: true,
    option_groups: &[OptionGroup::PipeBuffer],
    trouble_counters: &[],
    in_default_suite: true,
    floor: None,
};

/// Descriptors that the process has inherited.
#[derive(Serialize, Deserialize)]
struct Ends {
    read_fd: i32,
    write_fd: i32,
}

impl Transport for Pipe {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::pipe(cell)
    }

    fn provision(&self, place: &Place<'_>) -> Result<Provision, TransportError> {
        let mut provision = Provision::default();
        let (mut server, mut client) = (Vec::new(), Vec::new());
        for _ in 0..place.cell.concurrency {
            let (to_server, from_client, effective) = pipe(place.cell)?;
            provision.effective.extend(effective);
            let (to_client, from_server, effective) = pipe(place.cell)?;
            provision.effective.extend(effective);
            server.push(Ends { read_fd: number(&to_server), write_fd: number(&from_server) });
            client.push(Ends { read_fd: number(&to_client), write_fd: number(&from_client) });
            provision.server_inherits.extend([to_server, from_server]);
            provision.client_inherits.extend([to_client, from_client]);
        }
        provision.server = list_address(&server);
        provision.client = Some(list_address(&client));
        Ok(provision)
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, TransportError> {
        let ends: Vec<Ends> = address_list(CAPABILITIES.name, address)?;
        let channels = ends.iter().map(channel).collect::<Result<_, _>>()?;
        Ok(Box::new(InheritedServer::new(address, channels)))
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, TransportError> {
        let ends = of_worker(address_list::<Ends>(CAPABILITIES.name, address)?, worker)?;
        Ok(Box::new(InheritedClient::new(channel(&ends)?)))
    }
}

fn channel(ends: &Ends) -> Result<PipePair, TransportError> {
    Ok(PipePair { read: take(ends.read_fd)?, write: take(ends.write_fd)? })
}
