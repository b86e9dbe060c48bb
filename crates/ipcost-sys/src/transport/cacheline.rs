//! `cacheline`, a floor: handing a word to a process that spins and never sleeps.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, FloorKind};

use super::hand_over::{self, Signal};
use super::spinning::{LOOKS, spin_for};
use super::{Client, Provision, Rendezvous, Server, Transport, supported};
use crate::{SysError, control, shared_word};

pub struct Cacheline;

const CAPABILITIES: Capabilities = Capabilities {
    name: "cacheline",
    summary: "handing a word of shared memory to a process that spins until then",
    os: &["linux", "windows"],
    floor: Some(FloorKind::SpinningHandOver),
    ..Capabilities::PLAIN
};

impl Transport for Cacheline {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(shared_word::LACKS)
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        hand_over::provision()
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        hand_over::serve::<Spinning>(CAPABILITIES.name, address)
    }

    fn reach(&self, address: &Address, _cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        hand_over::reach::<Spinning>(CAPABILITIES.name, address)
    }
}

/// Spins until the word is handed over.
/// How long a side sleeps that has spun in vain.
const MOMENT: Duration = Duration::from_micros(50);

struct Spinning;

impl Signal for Spinning {
    #[inline]
    fn signal(_word: &AtomicU32) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn wait(word: &AtomicU32, seen: u32) -> io::Result<u32> {
        if let Some(now) = spin_for(LOOKS, || look(word, seen)) {
            return Ok(now);
        }
        wait_on(word, seen, control::engine_is_gone)
    }
}

/// Waits for a side that does not run. On busy cores two sides that only spin may each run while the other does not, for minutes: they get
/// equal slices of time in turn with others. One that has slept is run at once.
#[cold]
fn wait_on(word: &AtomicU32, seen: u32, abandoned: impl Fn() -> bool) -> io::Result<u32> {
    loop {
        // The other side may wait for this core.
        thread::yield_now();
        if let Some(now) = spin_for(LOOKS, || look(word, seen)) {
            return Ok(now);
        }
        if abandoned() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the engine is gone"));
        }
        thread::sleep(MOMENT);
    }
}

#[inline]
fn look(word: &AtomicU32, seen: u32) -> Option<u32> {
    let now = word.load(Ordering::Acquire);
    (now != seen).then_some(now)
}

#[cfg(test)]
pub(super) fn pair() -> [Box<dyn super::HandOver>; 2] {
    /// As [`Spinning`], whatever the test's standard input.
    struct Patient;

    impl Signal for Patient {
        fn signal(word: &AtomicU32) -> io::Result<()> {
            Spinning::signal(word)
        }

        fn wait(word: &AtomicU32, seen: u32) -> io::Result<u32> {
            wait_on(word, seen, || false)
        }
    }

    hand_over::pair::<Patient>().unwrap()
}
