//! `switch`, a floor: handing a word to a process that sleeps until then (`futex(2)`).

use std::io;
use std::sync::atomic::AtomicU32;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, FloorKind};

use super::hand_over::{self, Signal};
use super::{Client, Provision, Rendezvous, Server, Transport, supported};
use crate::SysError;
use crate::system::futex;

pub struct Switch;

const CAPABILITIES: Capabilities = Capabilities {
    name: "switch",
    summary: "handing a word of shared memory to a process that sleeps until then (futex)",
    os: &["linux"],
    floor: Some(FloorKind::HandOver),
    ..Capabilities::PLAIN
};

impl Transport for Switch {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(futex::LACKS)
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        hand_over::provision()
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        hand_over::serve::<Sleeping>(CAPABILITIES.name, address)
    }

    fn reach(&self, address: &Address, _cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        hand_over::reach::<Sleeping>(CAPABILITIES.name, address)
    }
}

/// Sleeps until the word is handed over.
struct Sleeping;

impl Signal for Sleeping {
    #[inline]
    fn signal(word: &AtomicU32) -> io::Result<()> {
        futex::wake(word)
    }

    #[inline]
    fn wait(word: &AtomicU32, seen: u32) -> io::Result<u32> {
        futex::wait(word, seen)
    }
}

#[cfg(test)]
pub(super) fn pair() -> [Box<dyn super::HandOver>; 2] {
    hand_over::pair::<Sleeping>().unwrap()
}
