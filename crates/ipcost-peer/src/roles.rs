//! From a cell to the workers that play a role in it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ipcost_model::protocol::Address;
use ipcost_model::{Cell, Pattern};
use ipcost_sys::transport::{Connection, Effective, Server, Transport};

use crate::connect::{ClosesFirst, ConnectClient, ConnectServer, Turns};
use crate::crew::{Crew, DescriptorTable};
use crate::error::PeerError;
use crate::floor;
use crate::rr::{Framing, RrClient, RrServer};
use crate::stream::{StreamClient, StreamServer};
use crate::work::Work;

/// The server's buffer with `framing=newline`, unless the cell sets it.
const SERVER_BUFFER_BYTES: u64 = 65_537;
/// The least a `stream` server reads at once, unless the cell says otherwise.
const RECV_BUFFER_BYTES: u64 = 65_536;

/// Sets up a client: opens its connections, except in pattern `connect`.
pub fn client(
    transport: &dyn Transport,
    cell: &Cell,
    address: &Address,
) -> Result<(Crew, Vec<Effective>), PeerError> {
    let mut effective = Vec::new();
    let mut make = |worker: u32| -> Result<Box<dyn Work>, PeerError> {
        let mut client = transport.reach(address, cell, worker)?;
        if cell.pattern == Pattern::Connect {
            return Ok(Box::new(ConnectClient::new(
                client,
                bytes(cell.size),
                bytes(cell.reply),
                turns(cell),
            )));
        }
        let channel = client.connect()?.called_as(cell)?;
        effective = client.effective();
        Ok(match cell.pattern {
            Pattern::Floor => floor::client(channel, cell)?,
            Pattern::Rr => {
                let is_clocked = cell.options.text("clock") == Some("each");
                Box::new(RrClient::new(
                    channel,
                    bytes(cell.size),
                    bytes(cell.reply),
                    framing(cell),
                    is_clocked,
                ))
            }
            // Clients of connect are created above.
            Pattern::Stream | Pattern::Connect => Box::new(StreamClient::new(channel, bytes(cell.size))),
        })
    };
    let crew = if cell.options.text("workers") == Some("processes") {
        Crew::processes((0..cell.concurrency).map(make), descriptor_table(cell))?
    } else {
        Crew::within((0..cell.concurrency).map(&mut make).collect::<Result<_, _>>()?, descriptor_table(cell))?
    };
    Ok((crew, effective))
}

/// A server's workers on open channels.
pub fn server_on_channels(cell: &Cell, channels: Vec<Connection>) -> Result<Crew, PeerError> {
    let work = |channel: Connection| -> Result<Box<dyn Work>, PeerError> {
        let channel = channel.called_as(cell)?;
        Ok(match cell.pattern {
            Pattern::Floor => floor::server(channel, cell)?,
            Pattern::Rr => {
                Box::new(RrServer::new(channel, bytes(cell.size), bytes(cell.reply), framing(cell)))
            }
            // Channels of connect come only from its listener.
            Pattern::Stream | Pattern::Connect => {
                let recv_buffer = cell.options.int("recv_buffer").unwrap_or(cell.size.max(RECV_BUFFER_BYTES));
                Box::new(StreamServer::new(channel, cell.size, bytes(recv_buffer)))
            }
        })
    };
    Crew::within(channels.into_iter().map(work).collect::<Result<_, _>>()?, descriptor_table(cell))
}

/// A server's workers on a shared listener, and the counter of a batch's remaining connections.
pub fn server_on_listener(cell: &Cell, server: Box<dyn Server>) -> Result<(Crew, Arc<AtomicU64>), PeerError> {
    let server: Arc<dyn Server> = Arc::from(server);
    let unclaimed = Arc::new(AtomicU64::new(0));
    let work = |_| -> Box<dyn Work> {
        let (server, unclaimed) = (Arc::clone(&server), Arc::clone(&unclaimed));
        Box::new(ConnectServer::new(server, unclaimed, bytes(cell.size), bytes(cell.reply), turns(cell)))
    };
    let crew = Crew::within((0..cell.concurrency).map(work).collect(), descriptor_table(cell))?;
    Ok((crew, unclaimed))
}

fn framing(cell: &Cell) -> Framing {
    match cell.options.text("framing") {
        Some("newline") => Framing::Newline {
            server_buffer_bytes: bytes(cell.options.int("server_buffer").unwrap_or(SERVER_BUFFER_BYTES)),
        },
        _ => Framing::Length,
    }
}

fn descriptor_table(cell: &Cell) -> DescriptorTable {
    match cell.options.text("descriptor_table") {
        Some("shared") => DescriptorTable::Shared,
        Some(_) => DescriptorTable::Private,
        None => DescriptorTable::Usual,
    }
}

fn turns(cell: &Cell) -> Turns {
    let closes_first = match cell.options.text("closes_first") {
        Some("client") => ClosesFirst::Client,
        Some("any") => ClosesFirst::Any,
        _ => ClosesFirst::Server,
    };
    Turns { speaks_first: cell.speaks_first, closes_first }
}

fn bytes(size: u64) -> usize {
    usize::try_from(size).expect("sizes are far below what memory holds")
}
