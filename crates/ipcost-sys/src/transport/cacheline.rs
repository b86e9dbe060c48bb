//! `cacheline`, a floor: handing a word to a process that looks again and again, and never sleeps.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, Delivery, FloorKind};

use super::handing::{self, HandOver};
use super::{Client, Place, Provision, Server, Transport, TransportError};
use crate::{control, shared_word};

/// The floor.
pub struct Cacheline;

const CAPABILITIES: Capabilities = Capabilities {
    name: "cacheline",
    summary: "handing a word of shared memory to a process that spins until then",
    connects: false,
    both_ways: true,
    delivery: Delivery::Stream,
    os: &["linux", "windows"],
    carries_payload: true,
    option_groups: &[],
    trouble_counters: &[],
    in_default_suite: false,
    floor: Some(FloorKind::SpinningHandOver),
};

impl Transport for Cacheline {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), String> {
        shared_word::probe()
    }

    fn provision(&self, _place: &Place<'_>) -> Result<Provision, TransportError> {
        handing::provision()
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, TransportError> {
        handing::serve::<Spinning>(CAPABILITIES.name, address)
    }

    fn reach(
        &self,
        address: &Address,
        _cell: &Cell,
        _worker: u32,
    ) -> Result<Box<dyn Client>, TransportError> {
        handing::reach::<Spinning>(CAPABILITIES.name, address)
    }
}

/// Looks without a pause, as one would lengthen the time until the word is seen; but gives the core away after
/// so many looks (tens of microseconds, many times what a hand-over between cores takes), so that two sides on
/// one core get on.
const LOOKS: u32 = 20_000;
/// How often the core is given away before asking whether anybody is left to spin for.
const TURNS: u32 = 1_000;

/// Spins until the word is handed over.
struct Spinning;

impl HandOver for Spinning {
    #[inline]
    fn tell(_word: &AtomicU32) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn wait(word: &AtomicU32, seen: u32) -> io::Result<u32> {
        spin(word, seen, control::engine_is_gone)
    }
}

#[inline]
fn spin(word: &AtomicU32, seen: u32, abandoned: impl Fn() -> bool) -> io::Result<u32> {
    loop {
        for _ in 0..TURNS {
            for _ in 0..LOOKS {
                let now = word.load(Ordering::Acquire);
                if now != seen {
                    return Ok(now);
                }
            }
            thread::yield_now();
        }
        if abandoned() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the engine is gone"));
        }
    }
}

#[cfg(test)]
pub(super) fn pair() -> [Box<dyn super::Channel>; 2] {
    /// As [`Spinning`], whatever the test's standard input is.
    struct Patient;

    impl HandOver for Patient {
        fn tell(word: &AtomicU32) -> io::Result<()> {
            Spinning::tell(word)
        }

        fn wait(word: &AtomicU32, seen: u32) -> io::Result<u32> {
            spin(word, seen, || false)
        }
    }

    handing::pair::<Patient>().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_spins_for_an_engine_that_is_gone() {
        let error = spin(&AtomicU32::new(3), 3, || true).unwrap_err();
        assert_eq!(error.to_string(), "the engine is gone");
        assert_eq!(spin(&AtomicU32::new(4), 3, || true).unwrap(), 4);
    }
}
