//! Samples of some tracepoints on all processors, with one ring for each processor.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::bpf::Map;
use super::sample_records::{RecordKind, SampledRecord, parse};
use super::sample_ring::SampleRing;
use super::{perf_event, tracefs};
use crate::observed::{SampleError, Taken};

/// The least size, where this user may lock little memory.
const LEAST_RING_BYTES: usize = 64 << 10;
/// A record is in its ring so long after its time at the latest, unless the processor is taken away just then.
pub const DELAY_NS: u64 = 1_000_000;

/// The rings of all processors. Processors that come online later are left out.
#[derive(Debug)]
pub struct ProcessorRings {
    processors: Vec<Processor>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Processor {
    number: i32,
    ring: SampleRing,
    /// One for each tracepoint.
    events: Vec<OwnedFd>,
    /// Whether a full ring was counted as one lost record, which the kernel will tell, too.
    is_reckoned: bool,
}

impl ProcessorRings {
    /// Opens them for some tracepoints by number, where their fields are as the filter says; disabled. With the flag [`perf_event::NAMES`], the
    /// names of programs that are executed are told as well.
    ///
    /// A ring has so many bytes, which is a power of two, or fewer where this user may not lock as much memory.
    ///
    /// # Errors
    /// If this user lacks permission, or the kernel lacks the tracepoints, or a system call fails.
    pub fn open(tracepoints: &[u16], filter: &CStr, bytes: usize, flags: u64) -> Result<Self, SampleError> {
        Self::of_each(bytes, |processor| {
            let open = |tracepoint: &u16| {
                let event = perf_event::sample((*tracepoint).into(), processor, flags)?;
                perf_event::filter(&event, filter).map(|()| event)
            };
            tracepoints.iter().map(open).collect()
        })
    }

    /// Opens them for what programs in the kernel hand over; disabled.
    ///
    /// # Errors
    /// As for [`ProcessorRings::open`].
    pub fn of_output(bytes: usize) -> Result<Self, SampleError> {
        Self::of_each(bytes, |processor| perf_event::output(processor).map(|event| vec![event]))
    }

    fn of_each(bytes: usize, open: impl Fn(i32) -> io::Result<Vec<OwnedFd>>) -> Result<Self, SampleError> {
        let mut processors = Vec::new();
        for processor in 0..processors_end().map_err(refusal)? {
            match open(processor).and_then(|events| Processor::of(processor, events, bytes)) {
                Ok(opened) => processors.push(opened),
                // It is offline.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(refusal(error)),
            }
        }
        Ok(Self { processors, buffer: Vec::new() })
    }

    /// The rings by processor, for programs.
    pub fn in_map(&self) -> io::Result<Map<u32, u32>> {
        let last = self.processors.iter().map(|processor| processor.number).max().unwrap_or(0);
        let map = Map::rings(last.cast_unsigned() + 1)?;
        for Processor { number, events, .. } in &self.processors {
            let event = events.first().ok_or(io::ErrorKind::InvalidInput)?.as_raw_fd();
            map.set(&number.cast_unsigned(), &event.cast_unsigned())?;
        }
        Ok(map)
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.processors.len()
    }

    /// Starts sampling, the last tracepoint first.
    pub fn enable(&self) {
        for processor in &self.processors {
            processor.events.iter().rev().for_each(perf_event::enable);
        }
    }

    /// Stops sampling, the first tracepoint first.
    pub fn disable(&self) {
        for processor in &self.processors {
            processor.events.iter().for_each(perf_event::disable);
        }
    }

    /// Takes what the kernel has written since the last time, with the losses, processor by processor.
    pub fn take(&mut self, take: &mut dyn FnMut(SampledRecord<'_>)) -> Taken {
        let mut taken = Taken::default();
        for processor in &mut self.processors {
            self.buffer.clear();
            let was_full = processor.ring.drain(&mut self.buffer);
            let mut lost = 0;
            parse(&self.buffer, &mut |sample| {
                if let RecordKind::Lost(count) = sample.kind {
                    lost += count;
                }
                take(sample);
            });
            if lost > 0 {
                taken.lost += lost - u64::from(processor.is_reckoned);
                processor.is_reckoned = false;
            }
            if was_full && !processor.is_reckoned {
                taken.lost += 1;
                processor.is_reckoned = true;
            }
        }
        taken
    }
}

impl Processor {
    fn of(number: i32, events: Vec<OwnedFd>, mut bytes: usize) -> io::Result<Self> {
        let first = events.first().ok_or(io::ErrorKind::InvalidInput)?;
        let ring = loop {
            match SampleRing::of(first, bytes) {
                Err(error) if error.raw_os_error() == Some(libc::EPERM) && bytes > LEAST_RING_BYTES => {
                    bytes /= 2
                }
                made => break made?,
            }
        };
        events[1..].iter().try_for_each(|event| perf_event::share_ring(event, first))?;
        Ok(Self { number, ring, events, is_reckoned: false })
    }
}

/// Reads the `format` files of tracepoints of a group, such as `raw_syscalls`.
///
/// # Errors
/// If this user may not read them, or the kernel lacks the tracepoints, or they are not as expected: then there is no layout.
pub fn layout<const N: usize, L>(
    group: &str,
    points: [&str; N],
    parse: impl FnOnce([&str; N]) -> Option<L>,
) -> Result<L, SampleError> {
    let read = || {
        let directory = tracefs::open(&format!("events/{group}"))?;
        let format = |point: &&str| tracefs::read(&directory, &format!("{point}/format"));
        let formats = points.iter().map(format).collect::<io::Result<Vec<_>>>()?;
        let mut texts = [""; N];
        texts.iter_mut().zip(&formats).for_each(|(text, format)| *text = format);
        parse(texts).ok_or_else(|| io::ErrorKind::InvalidData.into())
    };
    read().map_err(refusal)
}

fn refusal(error: io::Error) -> SampleError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => SampleError::Forbidden(error),
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported | io::ErrorKind::InvalidData => {
            SampleError::Absent(error)
        }
        _ if error.raw_os_error() == Some(libc::ENODEV) => SampleError::Absent(error),
        _ => SampleError::Failed(error),
    }
}

/// One more than the number of the last online processor, from a list such as `0-3,8`.
fn processors_end() -> io::Result<i32> {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let last: Option<i32> = online.trim().rsplit([',', '-']).next().and_then(|last| last.parse().ok());
    last.and_then(|last| last.checked_add(1)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
