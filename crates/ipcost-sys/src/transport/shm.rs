//! `shm`: two rings of bytes in shared memory, one for each direction (`memfd_create(2)`, `futex(2)`).

use std::io;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};

use ipcost_model::choices::Wait;
use ipcost_model::protocol::Address;
use ipcost_model::units::size_text;
use ipcost_model::{Capabilities, Cell, OptionGroup, choices};

use super::spinning::{spin, spin_for};
use super::udp::largest_message;
use super::{Channel, Client, Connection, Provision, Rendezvous, Server, Transport, inherited, supported};
use crate::system::futex;
use crate::system::shared_ring::{self, SharedRing};
use crate::{Descriptor, SysError};

pub struct Shm;

const CAPABILITIES: Capabilities = Capabilities {
    name: "shm",
    summary: "a ring in shared memory for each direction; sleeps, or spins with --option wait=spin",
    both_ways: false,
    os: &["linux"],
    option_groups: &[OptionGroup::SharedMemory, OptionGroup::Waiting, OptionGroup::Ring],
    in_default_suite: true,
    ..Capabilities::PLAIN
};

/// The smallest ring unless the cell sets it, bytes: about what a Unix socket holds here. A ring holds at least two
/// messages; otherwise the writer waits for every one to be read.
const USUAL_BYTES: u64 = 262_144;
/// The smallest ring, a page.
const LEAST_BYTES: u64 = 4096;
/// Looks before `wait=hybrid` sleeps: tens of microseconds, longer than waking a sleeper takes. With fewer, two sides
/// that once slept would keep waking each other, as each looks for less time than the other takes to arrive.
pub(super) const LOOKS_BEFORE_SLEEP: u32 = 50_000;

impl Transport for Shm {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(shared_ring::LACKS)
    }

    fn fits(&self, cell: &Cell) -> Result<(), SysError> {
        let largest = largest_message(cell);
        if cell.options.payload() == Some(choices::Payload::InPlace)
            && cell.options.framing() == Some(choices::Framing::Newline)
        {
            return Err(SysError::Invalid("payload=in-place never looks for a newline; leave framing out"));
        }
        match cell.options.ring_size() {
            Some(ring) if ring_bytes(cell) < largest => Err(SysError::TooLarge {
                bytes: largest,
                limit: format!(" into a ring of {}", size_text(ring)),
                remedy: format!("give --option ring_size={largest} at least"),
            }),
            _ => Ok(()),
        }
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        Some(ring_bytes(cell))
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        inherited::share(place.cell, |_| {
            shared_ring::create(ring_bytes(place.cell) as usize, ring_offset(place.cell))
        })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        inherited::serve(CAPABILITIES.name, address, |read, write| RingEnds::open(read, write, cell))
    }

    fn reach(&self, address: &Address, cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        inherited::reach(CAPABILITIES.name, address, worker, |read, write| RingEnds::open(read, write, cell))
    }
}

/// A power of two, so that a position's low bits wrap around it.
fn ring_bytes(cell: &Cell) -> u64 {
    let bytes = cell.options.ring_size().unwrap_or((2 * largest_message(cell)).max(USUAL_BYTES));
    bytes.max(LEAST_BYTES).next_power_of_two()
}

/// Where a ring or a slot begins within a page of the memory, bytes.
pub(super) fn ring_offset(cell: &Cell) -> u64 {
    cell.options.ring_offset().unwrap_or(0)
}

/// The words of a ring: the positions of the writer and the reader; whether the reader sleeps, and the writer.
const WRITTEN: usize = 0;
const READ: usize = 1;
const READER_SLEEPS: usize = 2;
const WRITER_SLEEPS: usize = 3;
/// In a position: this side has finished. The other bits are the position, and wrap around.
const CLOSED: u32 = 1 << 31;
const POSITION: u32 = CLOSED - 1;

/// One side's end of one ring.
struct RingEnd {
    ring: SharedRing,
    wait: Wait,
    /// Whether the payload is written and read in place.
    in_place: bool,
    /// Whether the content is checked, so that it is copied in and out.
    checked: bool,
    own: u32,
    /// The other side's position when last read.
    other: u32,
}

impl RingEnd {
    /// How many bytes one side is ahead of the other.
    #[inline]
    fn between(ahead: u32, behind: u32) -> usize {
        (ahead.wrapping_sub(behind) & POSITION) as usize
    }

    /// Writes some of the bytes; returns how many.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = |end: &Self, read: u32| end.ring.bytes() - Self::between(end.own, read);
        let mut free = room(self, self.other);
        if free == 0 {
            let seen = self.other;
            self.other = self.wait_for(READ, WRITER_SLEEPS, seen)?;
            if self.other & CLOSED != 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            free = room(self, self.other);
        }
        let count = free.min(bytes.len());
        match bytes.first().filter(|_| self.in_place && !self.checked) {
            Some(value) => self.ring.fill(self.own, *value, count),
            None => self.ring.write(self.own, &bytes[..count]),
        }
        self.go_on(WRITTEN, READER_SLEEPS, count, |_| true);
        Ok(count)
    }

    /// Reads some bytes; returns how many, 0 at the end.
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Self::between(self.other, self.own) == 0 {
            if self.other & CLOSED == 0 {
                let seen = self.other;
                self.other = self.wait_for(WRITTEN, READER_SLEEPS, seen)?;
            }
            // Bytes written before the end are read first.
            if Self::between(self.other, self.own) == 0 {
                return Ok(0);
            }
        }
        let count = Self::between(self.other, self.own).min(buffer.len());
        if self.in_place && !self.checked {
            self.ring.look_at(self.own, count);
        } else {
            self.ring.read(self.own, &mut buffer[..count]);
        }
        // A writer that waits for room is woken once half of the ring is free, so that the two do not alternate for
        // every message.
        self.go_on(READ, WRITER_SLEEPS, count, |end| {
            Self::between(end.other, end.own) <= end.ring.bytes() / 2
        });
        Ok(count)
    }

    /// Publishes this side's position, and wakes the other side if it sleeps.
    #[inline]
    fn go_on(&mut self, own: usize, sleeps: usize, count: usize, is_due: impl Fn(&Self) -> bool) {
        self.own = self.own.wrapping_add(count as u32) & POSITION;
        let position = self.ring.word(own);
        if self.wait == Wait::Spin {
            position.store(self.own, Release);
            return;
        }
        // All four are SeqCst, here and in `sleep_until`: either the other side sees the position, or it is seen asleep.
        position.store(self.own, SeqCst);
        if self.ring.word(sleeps).load(SeqCst) != 0 && is_due(self) {
            wake(self.ring.word(sleeps));
        }
    }

    /// Waits until the other side's position changes.
    #[inline]
    fn wait_for(&self, other: usize, sleeps: usize, seen: u32) -> io::Result<u32> {
        let word = self.ring.word(other);
        let look = || {
            let now = word.load(Acquire);
            (now != seen).then_some(now)
        };
        match self.wait {
            Wait::Spin => spin(look),
            Wait::Hybrid => match spin_for(LOOKS_BEFORE_SLEEP, look) {
                Some(now) => Ok(now),
                None => sleep_until(word, self.ring.word(sleeps), seen),
            },
            Wait::Block => sleep_until(word, self.ring.word(sleeps), seen),
        }
    }

    /// Tells the other side that this one has finished.
    fn close(&self, own: usize, sleeps: usize) {
        self.ring.word(own).store(self.own | CLOSED, SeqCst);
        wake(self.ring.word(sleeps));
    }
}

/// Sleeps until the position changes. This side sleeps on the word that says that it sleeps: a waker clears it first,
/// and so is never too early. A test goes through every interleaving of the two.
fn sleep_until(position: &AtomicU32, sleeps: &AtomicU32, seen: u32) -> io::Result<u32> {
    loop {
        let now = position.load(Acquire);
        if now != seen {
            return Ok(now);
        }
        sleeps.store(1, SeqCst);
        if position.load(SeqCst) == seen {
            futex::sleep(sleeps, 1)?;
        }
    }
}

#[cold]
fn wake(sleeps: &AtomicU32) {
    sleeps.store(0, SeqCst);
    // A word of this mapping can always be woken.
    let _ = futex::wake(sleeps);
}

pub struct RingEnds {
    out: RingEnd,
    into: RingEnd,
}

impl RingEnds {
    fn open(read: Descriptor, write: Descriptor, cell: &Cell) -> Result<Self, SysError> {
        let wait = cell.options.wait().unwrap_or(Wait::Block);
        let in_place = cell.options.payload() == Some(choices::Payload::InPlace);
        let end = |memory| -> Result<RingEnd, SysError> {
            let ring = SharedRing::map(memory)?;
            Ok(RingEnd { ring, wait, in_place, checked: true, own: 0, other: 0 })
        };
        Ok(Self { out: end(write)?, into: end(read)? })
    }
}

impl Channel for RingEnds {
    #[inline]
    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.into.read(buffer)
    }

    fn expect_checks(&mut self, checked: bool) {
        (self.out.checked, self.into.checked) = (checked, checked);
    }
}

impl Drop for RingEnds {
    fn drop(&mut self) {
        self.out.close(WRITTEN, READER_SLEEPS);
        self.into.close(READ, WRITER_SLEEPS);
    }
}

impl From<RingEnds> for Connection {
    fn from(ends: RingEnds) -> Self {
        Self::Rings(ends)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use super::super::tests::cell;
    use super::*;
    use ipcost_model::OptionValue;

    /// Both sides of a small ring.
    fn pair(wait: &str, payload: &str) -> [RingEnds; 2] {
        let mut cell = cell("shm", 1);
        for (name, value) in [("wait", wait), ("payload", payload)] {
            cell.options.set(name, OptionValue::Text(value.to_owned())).unwrap();
        }
        let rings = [(); 2].map(|()| shared_ring::create(LEAST_BYTES as usize, 80).unwrap());
        let again = rings.each_ref().map(|ring| ring.try_clone().unwrap());
        let ([one, other], [again_one, again_other]) = (rings, again);
        [RingEnds::open(one, other, &cell).unwrap(), RingEnds::open(again_other, again_one, &cell).unwrap()]
    }

    /// Pieces of all sizes, so that each side often waits for the other and the ring wraps around many times.
    #[test]
    fn nothing_is_lost_and_nobody_sleeps_for_ever_however_the_two_meet() {
        const BYTES: u32 = 3_000_000;
        for wait in ["block", "spin", "hybrid"] {
            let [mut writer, mut reader] = pair(wait, "copied");
            let size =
                |at: u32, seed: u32| 1 + (at.wrapping_mul(2_654_435_761).rotate_left(seed) % 5_000) as usize;
            let writing = thread::spawn(move || {
                let mut at = 0;
                while at < BYTES {
                    let count = size(at, 7).min((BYTES - at) as usize);
                    let bytes: Vec<u8> = (at..at + count as u32).map(|place| (place % 251) as u8).collect();
                    at += writer.send(&bytes).unwrap() as u32;
                    if at % 11 == 0 {
                        thread::yield_now();
                    }
                }
                writer
            });
            let mut at = 0;
            while at < BYTES {
                let mut buffer = vec![0; size(at, 13)];
                let count = reader.receive(&mut buffer).unwrap();
                assert!(
                    buffer[..count].iter().zip(at..).all(|(byte, place)| *byte == (place % 251) as u8),
                    "{wait}"
                );
                at += count as u32;
            }
            // A sleeping reader sees the end; a writer without a reader gets an error once the ring is full.
            let writer = writing.join().unwrap();
            let sleeping = thread::spawn(move || (reader.receive(&mut [0; 8]).unwrap(), reader));
            drop(writer);
            assert_eq!(sleeping.join().unwrap().0, 0, "{wait}");
            let [mut writer, reader] = pair(wait, "copied");
            let filling = thread::spawn(move || while writer.send(&[7; 1000]).is_ok() {});
            drop(reader);
            filling.join().unwrap();
        }
    }

    /// The two sides' shared state, and how far each is in its steps.
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Meeting {
        position: u32,
        sleeps: u32,
        /// Whether the waiter is in the kernel, on the word under test.
        in_kernel: bool,
        waiter: u8,
        seen: u32,
        waker: u8,
        found_asleep: bool,
    }

    /// Every interleaving of [`sleep_until`], twice in a row, with [`End::go_on`], twice in a row: whether the waiter
    /// may sleep for ever. `on_flag` says whether it sleeps on the word that says that it sleeps, or on the position.
    fn may_sleep_for_ever(on_flag: bool) -> bool {
        const DONE: u8 = 10;
        let start = Meeting {
            position: 0,
            sleeps: 0,
            in_kernel: false,
            waiter: 0,
            seen: 0,
            waker: 0,
            found_asleep: false,
        };
        let (mut open, mut known) = (vec![start.clone()], std::collections::HashSet::from([start]));
        while let Some(now) = open.pop() {
            let mut next = Vec::new();
            if now.waiter < DONE && !now.in_kernel {
                let mut after = now.clone();
                match now.waiter {
                    // It looks, and takes any news; after the second time it is done.
                    0 if now.position != now.seen => {
                        after.seen = now.position;
                        after.waiter = if now.position == 2 { DONE } else { 0 };
                    }
                    0 => after.waiter = 1,
                    1 => (after.sleeps, after.waiter) = (1, 2),
                    2 => after.waiter = if now.position == now.seen { 3 } else { 0 },
                    // The kernel compares and sleeps in one step.
                    _ => {
                        let sleeps = if on_flag { now.sleeps == 1 } else { now.position == now.seen };
                        (after.in_kernel, after.waiter) = (sleeps, 0);
                    }
                }
                next.push(after);
            }
            if now.waker < 8 {
                let mut after = now.clone();
                after.waker += 1;
                match now.waker % 4 {
                    0 => after.position += 1,
                    1 => after.found_asleep = now.sleeps != 0,
                    2 if now.found_asleep => after.sleeps = 0,
                    3 if now.found_asleep => after.in_kernel = false,
                    _ => {}
                }
                next.push(after);
            }
            if next.is_empty() && now.waiter != DONE {
                return true;
            }
            next.retain(|after| known.insert(after.clone()));
            open.extend(next);
        }
        false
    }

    #[test]
    fn nobody_sleeps_for_ever_in_whatever_order_the_two_take_their_steps() {
        assert!(!may_sleep_for_ever(true));
        assert!(may_sleep_for_ever(false), "the test would notice");
    }

    /// Many small messages, so that the writer often falls asleep again while the reader still wakes it.
    #[test]
    fn nobody_is_woken_before_he_sleeps() {
        const MESSAGES: usize = 1_000_000;
        let [mut writer, mut reader] = pair("block", "copied");
        let writing = thread::spawn(move || {
            for _ in 0..MESSAGES {
                let mut sent = 0;
                while sent < 64 {
                    sent += writer.send(&[1; 64][sent..]).unwrap();
                }
            }
            writer
        });
        let (mut received, mut buffer) = (0, vec![0; 65_536]);
        while received < MESSAGES * 64 {
            received += reader.receive(&mut buffer).unwrap();
        }
        drop(writing.join().unwrap());
    }

    #[test]
    fn a_payload_that_stays_in_place_has_as_many_bytes_and_is_copied_where_it_is_checked() {
        let [mut writer, mut reader] = pair("block", "in-place");
        let mut buffer = [0; 100];
        for (checked, found) in [(false, 0), (true, 5)] {
            writer.expect_checks(checked);
            reader.expect_checks(checked);
            assert_eq!(writer.send(&[5; 100]).unwrap(), 100);
            assert_eq!((reader.receive(&mut buffer).unwrap(), buffer), (100, [found; 100]));
        }
    }

    #[test]
    fn rings_hold_a_message_and_what_does_not_fit_is_refused() {
        let mut cell = cell("shm", 1);
        assert_eq!((ring_bytes(&cell), Shm.fits(&cell).is_ok()), (262_144, true));
        cell.size = 200_000;
        assert_eq!((ring_bytes(&cell), Shm.fits(&cell).is_ok()), (524_288, true));
        cell.options.set("ring_size", OptionValue::Int(4096)).unwrap();
        assert!(Shm.fits(&cell).unwrap_err().to_string().contains("ring_size=200000"));
    }
}
