//! `eventfd`: a kernel counter for each direction (`eventfd(2)`). It carries exactly one word of eight bytes.

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, choices};

use super::{Client, Provision, Rendezvous, Server, Transport, TransportError, inherited};
use crate::Context;
use crate::system::channel::PipePair;
use crate::system::counter;

pub struct Eventfd;

const CAPABILITIES: Capabilities = Capabilities {
    name: "eventfd",
    summary: "a kernel counter for each direction: a word of 8 bytes; takes --sizes 8",
    both_ways: false,
    delivery: Delivery::Message,
    no_stream: Some("writes add up until they are read, so words do not stay separate"),
    sees_end: false,
    has_buffers: false,
    os: &["linux"],
    ..Capabilities::PLAIN
};

/// The size of a counter.
const WORD_BYTES: u64 = 8;

impl Transport for Eventfd {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), String> {
        counter::create().map(drop).map_err(|error| format!("this system has no eventfd ({error})"))
    }

    fn fits(&self, cell: &Cell) -> Result<(), String> {
        let fits = [cell.size, cell.reply] == [WORD_BYTES; 2]
            && cell.options.framing() != Some(choices::Framing::Newline);
        if fits {
            return Ok(());
        }
        Err("a message of any other size does not fit: a counter holds exactly 8 bytes; give --sizes 8"
            .to_owned())
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, TransportError> {
        inherited::share(
            place.cell,
            |_| Ok(counter::create().context(|| "cannot make a counter".to_owned())?),
        )
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, TransportError> {
        // A counter reads and writes like a pipe of eight bytes.
        inherited::serve(CAPABILITIES.name, address, |read, write| Ok(PipePair { read, write }))
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, TransportError> {
        inherited::reach(CAPABILITIES.name, address, worker, |read, write| Ok(PipePair { read, write }))
    }
}
