//! `eventfd`: a counter of the kernel's for each direction (`eventfd(2)`). It carries a word of eight bytes and no more.

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery};

use super::{Client, Place, Provision, Server, Transport, TransportError, inherited};
use crate::Context;
use crate::system::channel::PipePair;
use crate::system::counter;

/// The transport.
pub struct Eventfd;

const CAPABILITIES: Capabilities = Capabilities {
    name: "eventfd",
    summary: "a counter of the kernel's for each direction: a word of 8 bytes; takes --sizes 8",
    both_ways: false,
    delivery: Delivery::Message,
    no_stream: Some("what is written is added up until it is read, so that words do not stay apart"),
    sees_end: false,
    os: &["linux"],
    ..Capabilities::PLAIN
};

/// What a counter holds.
const WORD_BYTES: u64 = 8;

impl Transport for Eventfd {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), String> {
        counter::create().map(drop).map_err(|error| format!("this system has no eventfd ({error})"))
    }

    fn fits(&self, cell: &Cell) -> Result<(), String> {
        let fits =
            [cell.size, cell.reply] == [WORD_BYTES; 2] && cell.options.text("framing") != Some("newline");
        if fits {
            return Ok(());
        }
        Err("a message that is no word does not fit: a counter holds 8 bytes at most, and no fewer; give --sizes 8"
            .to_owned())
    }

    fn provision(&self, place: &Place<'_>) -> Result<Provision, TransportError> {
        inherited::share(
            place.cell,
            |_| Ok(counter::create().context(|| "cannot make a counter".to_owned())?),
        )
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, TransportError> {
        // A counter is written and read like a pipe of eight bytes.
        inherited::serve(CAPABILITIES.name, address, |read, write| Ok(PipePair { read, write }))
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, TransportError> {
        inherited::reach(CAPABILITIES.name, address, worker, |read, write| Ok(PipePair { read, write }))
    }
}
