//! `eventfd`: a kernel counter for each direction (`eventfd(2)`). It carries exactly one word of eight bytes.

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, choices};

use super::{Client, Provision, Rendezvous, Server, Transport, inherited};
use crate::system::channel::PipePair;
use crate::system::counter;
use crate::{Context, SysError};

pub struct Eventfd;

const CAPABILITIES: Capabilities = Capabilities {
    name: "eventfd",
    summary: "a kernel counter for each direction; messages of exactly 8 bytes (--sizes 8)",
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

    fn probe(&self) -> Result<(), SysError> {
        counter::create().or_absent("this system has no eventfd", "")
    }

    fn fits(&self, cell: &Cell) -> Result<(), SysError> {
        if cell.options.framing() == Some(choices::Framing::Newline) {
            return Err(SysError::Invalid("a counter has no room for a newline; leave framing=newline out"));
        }
        if [cell.size, cell.reply] == [WORD_BYTES; 2] {
            return Ok(());
        }
        Err(SysError::Invalid("eventfd carries exactly 8 bytes; give --sizes 8"))
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        inherited::share(place.cell, |_| counter::create().context(|| "cannot make a counter".to_owned()))
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        // A counter reads and writes like a pipe of eight bytes.
        inherited::serve(CAPABILITIES.name, address, |read, write| Ok(PipePair { read, write }))
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        inherited::reach(CAPABILITIES.name, address, worker, |read, write| Ok(PipePair { read, write }))
    }
}
