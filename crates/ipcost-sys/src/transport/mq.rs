//! `mq`: two POSIX message queues, one for each direction (`mq_overview(7)`). They lose their names before the peers
//! start, so that none is ever left behind.

use std::io;

use ipcost_model::protocol::Address;
use ipcost_model::units::size_text;
use ipcost_model::{Capabilities, Cell, Delivery, choices};

use super::inherited::{self, ChannelDirection};
use super::udp::largest_message;
use super::{Channel, Client, Connection, Provision, Rendezvous, Server, Transport};
use crate::facts::text;
use crate::system::message_queue::{self, MessageQueue};
use crate::{Context, Descriptor, SysError};

pub struct Mq;

const CAPABILITIES: Capabilities = Capabilities {
    name: "mq",
    summary: "a POSIX message queue for each direction",
    both_ways: false,
    delivery: Delivery::Message,
    sees_end: false,
    os: &["linux"],
    ..Capabilities::PLAIN
};

impl Transport for Mq {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        message_queue::create(1).or_absent("this system has no POSIX message queues", "")
    }

    fn fits(&self, cell: &Cell) -> Result<(), SysError> {
        let Some(most) = text::number("/proc/sys/fs/mqueue/msgsize_max") else { return Ok(()) };
        let bytes = largest_message(cell);
        if bytes <= most {
            return Ok(());
        }
        let limit = format!(": a queue takes {} here", size_text(most));
        let remedy = format!(
            "sysctl -w fs.mqueue.msgsize_max={bytes}, and ulimit -q unlimited where many are to be open"
        );
        Err(SysError::TooLarge { bytes, limit, remedy })
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        let cell = place.cell;
        let line = u64::from(cell.options.framing() == Some(choices::Framing::Newline));
        inherited::share(cell, |way| match way {
            ChannelDirection::ToServer => queue(cell.size + line),
            // A stream sends one byte back.
            ChannelDirection::ToClient => queue(cell.reply.max(1)),
        })
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        inherited::serve(CAPABILITIES.name, address, |read, write| {
            Ok(Queues { read: MessageQueue(read), write: MessageQueue(write) })
        })
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        inherited::reach(CAPABILITIES.name, address, worker, |read, write| {
            Ok(Queues { read: MessageQueue(read), write: MessageQueue(write) })
        })
    }
}

/// A queue for messages of at most `message_bytes`.
fn queue(message_bytes: u64) -> Result<Descriptor, SysError> {
    message_queue::create(message_bytes as usize).map_err(SysError::MessageQueue)
}

struct Queues {
    read: MessageQueue,
    write: MessageQueue,
}

impl Channel for Queues {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write.send(bytes)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read.receive(buffer)
    }
}

impl From<Queues> for Connection {
    fn from(queues: Queues) -> Self {
        Self::Other(Box::new(queues))
    }
}
