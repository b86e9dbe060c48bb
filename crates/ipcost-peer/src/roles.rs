//! From a cell to the workers that play a role in it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ipcost_model::protocol::{Address, PeerRole};
use ipcost_model::{Cell, Pattern, choices};
use ipcost_sys::transport::{Connection, Effective, Server, Transport};

use crate::connect::{ConnectClient, ConnectServer};
use crate::error::PeerError;
use crate::floor;
use crate::pace::Pacing;
use crate::rr::{RrClient, RrServer};
use crate::stream::{StreamClient, StreamServer};
use crate::work::Work;
use crate::workers::{DescriptorTable, Workers};

/// Sets up a client: opens its connections, except in pattern `connect`.
pub fn client(
    transport: &dyn Transport,
    cell: &Cell,
    address: &Address,
) -> Result<(Workers, Vec<Effective>), PeerError> {
    let mut effective = Vec::new();
    let mut make = |worker: u32| -> Result<Box<dyn Work>, PeerError> {
        let mut client = transport.reach(address, cell, worker)?;
        if cell.pattern == Pattern::Connect {
            return Ok(Box::new(ConnectClient::new(client, cell, Pacing::of(cell, worker))));
        }
        let channel = client.connect()?.called_as(cell, PeerRole::Client)?;
        effective = client.effective();
        let pacing = Pacing::of(cell, worker);
        Ok(match cell.pattern {
            Pattern::Floor => floor::client(channel, cell)?,
            Pattern::Rr => Box::new(RrClient::new(channel, cell, pacing)),
            // Clients of connect are created above.
            Pattern::Stream | Pattern::Connect => Box::new(StreamClient::new(channel, cell, pacing)),
        })
    };
    let workers = Workers::of_client(cell, descriptor_table(cell), &mut make)?;
    Ok((workers, effective))
}

/// A server's workers on open channels.
pub fn server_on_channels(cell: &Cell, channels: Vec<Connection>) -> Result<Workers, PeerError> {
    let work = |channel: Connection| -> Result<Box<dyn Work>, PeerError> {
        let channel = channel.called_as(cell, PeerRole::Server)?;
        Ok(match cell.pattern {
            Pattern::Floor => floor::server(channel, cell)?,
            Pattern::Rr => Box::new(RrServer::new(channel, cell)),
            // Channels of connect come only from its listener.
            Pattern::Stream | Pattern::Connect => Box::new(StreamServer::new(channel, cell)),
        })
    };
    Workers::within(channels.into_iter().map(work).collect::<Result<_, _>>()?, descriptor_table(cell))
}

/// A server's workers on a shared listener, and the counter of a batch's remaining connections.
pub fn server_on_listener(
    cell: &Cell,
    server: Box<dyn Server>,
) -> Result<(Workers, Arc<AtomicU64>), PeerError> {
    let server: Arc<dyn Server> = Arc::from(server);
    let unclaimed = Arc::new(AtomicU64::new(0));
    let work = |_| -> Box<dyn Work> {
        let (server, unclaimed) = (Arc::clone(&server), Arc::clone(&unclaimed));
        Box::new(ConnectServer::new(server, unclaimed, cell))
    };
    let workers = Workers::within((0..cell.concurrency).map(work).collect(), descriptor_table(cell))?;
    Ok((workers, unclaimed))
}

fn descriptor_table(cell: &Cell) -> DescriptorTable {
    match cell.options.descriptor_table() {
        Some(choices::DescriptorTable::Shared) => DescriptorTable::Shared,
        Some(_) => DescriptorTable::Private,
        None => DescriptorTable::Usual,
    }
}

/// A size in memory.
pub fn bytes(size: u64) -> usize {
    usize::try_from(size).expect("sizes are far below what memory holds")
}
