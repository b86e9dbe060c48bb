//! `shm-slot`: one message at a time in shared memory, behind a word that says whose turn it is (`memfd_create(2)`, `futex(2)`).

use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use ipcost_model::choices::Wait;
use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};

use super::shm::{LOOKS_BEFORE_SLEEP, ring_offset};
use super::spinning::{spin, spin_for};
use super::udp::largest_message;
use super::{Channel, Client, Connection, Provision, Rendezvous, Server, Transport, inherited, supported};
use crate::system::futex;
use crate::system::shared_ring::{self, SharedRing};
use crate::{Context, Descriptor, SysError};

pub struct ShmSlot;

const CAPABILITIES: Capabilities = Capabilities {
    name: "shm-slot",
    summary: "one message at a time in shared memory, behind a word that says whose turn it is; sleeps, or spins with --option wait=spin",
    both_ways: false,
    os: &["linux"],
    option_groups: &[OptionGroup::SharedMemory, OptionGroup::Waiting],
    ..Capabilities::PLAIN
};

/// Where the message begins: behind the word, in its cache line.
const PAYLOAD: u32 = 8;
/// The minimum to map, a page.
const LEAST_BYTES: u64 = 4096;

impl Transport for ShmSlot {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(shared_ring::LACKS)
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        Some(largest_message(cell))
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        let bytes = (largest_message(place.cell) + u64::from(PAYLOAD)).max(LEAST_BYTES).next_power_of_two();
        let mut made: Option<Descriptor> = None;
        // Both directions of a worker share the same memory.
        inherited::share(place.cell, |_| {
            if let Some(same) = made.take() {
                return Ok(same);
            }
            let memory = shared_ring::create(bytes as usize, ring_offset(place.cell))?;
            made = Some(memory.try_clone().context(|| "cannot share memory".to_owned())?);
            Ok(memory)
        })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        inherited::serve(CAPABILITIES.name, address, |memory, _| SlotSide::open(memory, SERVERS, cell))
    }

    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        inherited::reach(CAPABILITIES.name, address, worker, |memory, _| SlotSide::open(memory, 0, cell))
    }
}

/// In the word: a side has finished; the turn is the server's, else the client's; the side without the turn sleeps. The
/// other bits are the length of the message that came with the turn.
const CLOSED: u32 = 1 << 31;
const SERVERS: u32 = 1 << 30;
const SLEEPS: u32 = 1 << 29;
const COUNT: u32 = SLEEPS - 1;

/// One side of a slot. It has the turn from receiving a message until it sends one, or wants another.
pub struct SlotSide {
    slot: SharedRing,
    wait: Wait,
    /// This side's turn, as the word expresses it.
    own: u32,
    /// Whether it has the turn.
    has_turn: bool,
    /// The unread part of the message that came with the turn.
    unread: std::ops::Range<u32>,
}

impl SlotSide {
    fn open(memory: Descriptor, own: u32, cell: &Cell) -> Result<Self, SysError> {
        let slot = SharedRing::map(memory)?;
        Ok(Self {
            slot,
            wait: cell.options.wait().unwrap_or(Wait::Block),
            own,
            has_turn: own == 0,
            unread: 0..0,
        })
    }

    /// Gives the turn to the other side, with `count` bytes; returns whether that side still exists.
    #[inline]
    fn give(&mut self, count: u32) -> bool {
        self.has_turn = false;
        let word = self.slot.first_word();
        // One exchange without a look before it: the message and the word are in one cache line, and a look would let
        // the other side fetch it back in between.
        let before = word.swap((self.own ^ SERVERS) | count, AcqRel);
        if before & SLEEPS != 0 {
            wake(word);
        }
        if before & CLOSED != 0 {
            word.fetch_or(CLOSED, Relaxed);
        }
        before & CLOSED == 0
    }

    /// Waits for the turn; returns whether it came. A message that came with it is then unread.
    #[inline]
    fn take(&mut self) -> io::Result<bool> {
        let word = self.slot.first_word();
        let look = || {
            let now = word.load(Acquire);
            (now & SERVERS == self.own || now & CLOSED != 0).then_some(now)
        };
        let now = match self.wait {
            Wait::Spin => spin(look)?,
            Wait::Hybrid => match spin_for(LOOKS_BEFORE_SLEEP, look) {
                Some(now) => now,
                None => sleep_until(word, look)?,
            },
            Wait::Block => sleep_until(word, look)?,
        };
        if now & SERVERS != self.own {
            return Ok(false);
        }
        self.has_turn = true;
        self.unread = 0..now & COUNT;
        Ok(true)
    }
}

/// Sleeps until `look` finds something.
fn sleep_until(word: &AtomicU32, look: impl Fn() -> Option<u32>) -> io::Result<u32> {
    loop {
        if let Some(now) = look() {
            return Ok(now);
        }
        let now = word.fetch_or(SLEEPS, AcqRel) | SLEEPS;
        if look().is_none() {
            // The kernel compares: a turn given meanwhile has changed the word.
            futex::sleep(word, now)?;
        }
    }
}

#[cold]
fn wake(word: &AtomicU32) {
    // A word of this mapping can always be woken.
    let _ = futex::wake(word);
}

impl Channel for SlotSide {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.has_turn && !self.take()? {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let count = bytes.len().min(self.slot.bytes() - PAYLOAD as usize);
        self.slot.write(PAYLOAD, &bytes[..count]);
        if self.give(count as u32) { Ok(count) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.unread.is_empty() {
            if self.has_turn && !self.give(0) || !self.take()? {
                return Ok(0);
            }
        }
        let count = self.unread.len().min(buffer.len());
        self.slot.read(PAYLOAD + self.unread.start, &mut buffer[..count]);
        self.unread.start += count as u32;
        Ok(count)
    }
}

impl Drop for SlotSide {
    fn drop(&mut self) {
        let word = self.slot.first_word();
        if word.fetch_or(CLOSED, AcqRel) & SLEEPS != 0 {
            wake(word);
        }
    }
}

impl From<SlotSide> for Connection {
    fn from(side: SlotSide) -> Self {
        Self::Slot(side)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use ipcost_model::OptionValue;

    use super::super::tests::cell;
    use super::*;

    /// A client and a server of one slot.
    fn pair(wait: &str) -> [SlotSide; 2] {
        let mut cell = cell("shm-slot", 1);
        cell.options.set("wait", OptionValue::Text(wait.to_owned())).unwrap();
        let memory = shared_ring::create(LEAST_BYTES as usize, 80).unwrap();
        let again = memory.try_clone().unwrap();
        [SlotSide::open(memory, 0, &cell).unwrap(), SlotSide::open(again, SERVERS, &cell).unwrap()]
    }

    fn receive_all(side: &mut SlotSide, buffer: &mut [u8]) -> bool {
        let mut at = 0;
        while at < buffer.len() {
            match side.receive(&mut buffer[at..]).unwrap() {
                0 => return false,
                count => at += count,
            }
        }
        true
    }

    /// Alternates round trips and one-way messages, so that some turns come without one; the server reads in pieces.
    #[test]
    fn nothing_is_lost_and_nobody_sleeps_for_ever() {
        const ROUNDS: u32 = 20_000;
        for wait in ["block", "spin", "hybrid"] {
            let [mut client, mut server] = pair(wait);
            let serving = thread::spawn(move || {
                let mut received = 0_u32;
                let mut message = [0; 7];
                while receive_all(&mut server, &mut message[..3]) {
                    assert!(receive_all(&mut server, &mut message[3..]));
                    assert_eq!(message, [received as u8; 7], "{wait}");
                    received += 1;
                    if !received.is_multiple_of(3) {
                        assert_eq!(server.send(&message[..2]).unwrap(), 2);
                    }
                }
                received
            });
            for round in 0..ROUNDS {
                assert_eq!(client.send(&[round as u8; 7]).unwrap(), 7);
                if !(round + 1).is_multiple_of(3) {
                    let mut reply = [0; 2];
                    assert!(receive_all(&mut client, &mut reply));
                    assert_eq!(reply, [round as u8; 2], "{wait}");
                }
            }
            drop(client);
            assert_eq!(serving.join().unwrap(), ROUNDS, "{wait}");
        }
    }

    #[test]
    fn whoever_waits_sees_that_the_other_has_gone() {
        for wait in ["block", "spin", "hybrid"] {
            let [mut client, server] = pair(wait);
            let waiting = thread::spawn(move || {
                // The server may be gone already.
                let _ = client.send(&[1]);
                (client.receive(&mut [0; 4]).unwrap(), client.send(&[1]).unwrap_err().kind())
            });
            drop(server);
            assert_eq!(waiting.join().unwrap(), (0, io::ErrorKind::BrokenPipe), "{wait}");
        }
    }
}
