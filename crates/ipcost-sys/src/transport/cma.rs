//! `cma`: the receiver copies a message out of the sender's memory (`process_vm_readv(2)`, "cross-memory attach"); a
//! socketpair carries its location.

use std::io;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};

use super::socketpair::{reach, serve, share};
use super::{Channel, Client, Connection, Provision, Rendezvous, Server, Transport, supported};
use crate::SysError;
use crate::system::channel::SocketChannel;
use crate::system::other_memory;
use crate::system::socket::{Endpoint, LACKS_PAIRS};

pub struct Cma;

const CAPABILITIES: Capabilities = Capabilities {
    name: "cma",
    summary: "copied by the receiver out of the sender's memory; a socketpair says where it is",
    os: &["linux"],
    option_groups: &[OptionGroup::Socket],
    ..Capabilities::PLAIN
};

impl Transport for Cma {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(LACKS_PAIRS)?;
        other_memory::probe()
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        share(place.cell)
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        other_memory::allow();
        serve(CAPABILITIES.name, address, AttachedMemory::new)
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        other_memory::allow();
        reach(CAPABILITIES.name, address, worker, AttachedMemory::new)
    }
}

/// A message's location: process, address, length.
type MessageLocation = [u8; 24];

/// One side. A sender must not change a message until it is read. The loops repeat one message, as if each message in
/// flight had its own buffer; it changes only while content is checked, and its receiver then confirms each.
struct AttachedMemory {
    socket: SocketChannel,
    /// This process; set at the first send, as a worker may be a separate process.
    process: Option<u32>,
    /// The unread rest of a message.
    left: Option<Left>,
    checked: bool,
}

struct Left {
    process: u32,
    address: u64,
    bytes: u64,
}

impl AttachedMemory {
    fn new(socket: Endpoint) -> Self {
        Self { socket: SocketChannel(socket), process: None, left: None, checked: false }
    }

    /// The next message that the other side announces; `None` at the end.
    #[inline]
    fn next(&mut self) -> io::Result<Option<Left>> {
        let mut told: MessageLocation = [0; 24];
        let mut count = 0;
        while count < told.len() {
            match self.socket.receive(&mut told[count..])? {
                0 => return Ok(None),
                more => count += more,
            }
        }
        let number = |index: usize| {
            let bytes = told[8 * index..8 * index + 8].try_into().expect("eight bytes");
            u64::from_ne_bytes(bytes)
        };
        let process = u32::try_from(number(0)).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Some(Left { process, address: number(1), bytes: number(2) }))
    }
}

impl Channel for AttachedMemory {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let process = *self.process.get_or_insert_with(std::process::id);
        let mut told: MessageLocation = [0; 24];
        for (place, number) in
            told.chunks_exact_mut(8).zip([u64::from(process), bytes.as_ptr() as u64, bytes.len() as u64])
        {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        let mut count = self.socket.send(&told)?;
        while count < told.len() {
            count += self.socket.send(&told[count..])?;
        }
        if self.checked && self.socket.receive(&mut [0])? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes.len())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut left = match self.left.take() {
            Some(left) => left,
            None => match self.next()? {
                Some(left) => left,
                None => return Ok(0),
            },
        };
        let most = left.bytes.min(buffer.len() as u64) as usize;
        let count = other_memory::read(left.process, left.address, &mut buffer[..most])?;
        left.address += count as u64;
        left.bytes -= count as u64;
        if left.bytes > 0 {
            self.left = Some(left);
        } else if self.checked {
            self.socket.send(b"r")?;
        }
        Ok(count)
    }

    fn expect_checks(&mut self, checked: bool) {
        self.checked = checked;
    }
}

impl From<AttachedMemory> for Connection {
    fn from(attached: AttachedMemory) -> Self {
        Self::Other(Box::new(attached))
    }
}
