//! How long a processor takes to wake from idle: what every answer waits for that comes to a core at rest.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::child::pin;

/// The median time from the call that wakes a thread on the second processor to its first instruction there, after that
/// processor has rested for so long; over so many times.
pub fn after_rest((from, to): (usize, usize), rest: Duration, times: u32) -> io::Result<Duration> {
    let began = Instant::now();
    let now_ns = || began.elapsed().as_nanos() as u64;
    let (sent_ns, took_ns) = (AtomicU64::new(0), AtomicU64::new(0));
    let (done, absent) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| -> io::Result<()> {
            pin(to).inspect_err(|_| absent.store(true, Ordering::Release))?;
            while !done.load(Ordering::Acquire) {
                thread::park();
                let sent = sent_ns.swap(0, Ordering::AcqRel);
                // A park may end for no reason.
                if sent != 0 {
                    took_ns.store(now_ns().saturating_sub(sent).max(1), Ordering::Release);
                }
            }
            Ok(())
        });
        let sleeping = sleeper.thread().clone();
        let (sent_ns, took_ns, absent) = (&sent_ns, &took_ns, &absent);
        let waker = scope.spawn(move || -> io::Result<Vec<u64>> {
            pin(from)?;
            let mut taken = Vec::new();
            for _ in 0..times {
                // This processor stays awake, and only the other one rests.
                let resting = Instant::now();
                while resting.elapsed() < rest {
                    std::hint::spin_loop();
                }
                sent_ns.store(now_ns(), Ordering::Release);
                sleeping.unpark();
                while took_ns.load(Ordering::Acquire) == 0 && !absent.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                taken.push(took_ns.swap(0, Ordering::AcqRel));
            }
            Ok(taken)
        });
        let taken = waker.join().expect("it does not panic");
        done.store(true, Ordering::Release);
        sleeper.thread().unpark();
        sleeper.join().expect("it does not panic")?;
        let mut taken = taken?;
        taken.sort_unstable();
        Ok(Duration::from_nanos(taken.get(taken.len() / 2).copied().unwrap_or(0)))
    })
}

#[cfg(test)]
mod tests {
    use ipcost_testing::missing;

    use super::*;
    use crate::placement::Topology;

    #[test]
    fn a_wake_takes_time_and_an_absent_processor_is_an_error() {
        let cores = Topology::read().cores;
        let (first, last) = (cores[0][0], cores[cores.len() - 1][0]);
        if first == last {
            return missing("two-cores", "there is one");
        }
        let took = after_rest((first, last), Duration::from_micros(50), 20).unwrap();
        assert!(took > Duration::ZERO && took < Duration::from_secs(1), "{took:?}");
        assert!(after_rest((first, 1_000), Duration::from_micros(1), 1).is_err());
    }
}
