//! A short sample of the machine: first left alone, then with every processor of this program busy.
//!
//! Left alone, it shows what others do. But a hypervisor steals no time from an idle processor and a quota throttles no
//! idle process; so they show only in the second part.

use std::thread;
use std::time::{Duration, Instant};

use ipcost_model::facts::ActivitySample;

use ipcost_model::ProcessorTimes;

use crate::counters::{self, NS_PER_TICK};
use crate::quota;
use crate::{others, usage};

/// Watches the machine for about twice this time.
pub fn sample(window: Duration, processors: u32) -> ActivitySample {
    let throttled = quota::throttling();
    let quiet = left_alone(window);
    let busy = kept_busy(window, processors);
    let passed = quota::throttling().map(|now| now.since(&throttled.unwrap_or_default()));
    ActivitySample {
        throttled: passed.map(|passed| (passed.times, passed.time().as_secs_f64())),
        ..merged(quiet, busy)
    }
}

fn merged(quiet: ActivitySample, busy: ActivitySample) -> ActivitySample {
    let ActivitySample { quiet_s, others, busiest, .. } = quiet;
    ActivitySample { quiet_s, others, busiest, ..busy }
}

fn left_alone(window: Duration) -> ActivitySample {
    let began = Instant::now();
    let (before, listed) = (counters::of_processors(), others::processes());
    let own = usage::own().cpu_ns();
    thread::sleep(window);
    let after = counters::of_processors();
    let own = usage::own().cpu_ns().saturating_sub(own);
    let busiest = others::busiest(&listed, &others::processes());
    let passed =
        after.zip(before).map(|(after, before)| after.since(&before)).filter(|passed| passed.total > 0);
    ActivitySample {
        quiet_s: began.elapsed().as_secs_f64(),
        others: passed.map(|passed| share_of_others(&passed, own)),
        busiest: passed
            .zip(busiest)
            .map(|(passed, busy)| (busy.name, busy.id, (busy.ticks as f64 / passed.total as f64).min(1.0))),
        ..ActivitySample::default()
    }
}

/// The share of time that was neither idle nor this program's.
fn share_of_others(passed: &ProcessorTimes, own_ns: u64) -> f64 {
    ((passed.busy as f64 - own_ns as f64 / NS_PER_TICK as f64) / passed.total as f64).clamp(0.0, 1.0)
}

fn kept_busy(window: Duration, processors: u32) -> ActivitySample {
    let began = Instant::now();
    let before = counters::of_processors();
    let spin = || {
        while began.elapsed() < window {
            std::hint::spin_loop();
        }
    };
    thread::scope(|scope| {
        for _ in 0..processors.max(1) {
            scope.spawn(spin);
        }
    });
    let after = counters::of_processors();
    ActivitySample {
        busy_s: began.elapsed().as_secs_f64(),
        stolen: after.zip(before).and_then(|(after, before)| stolen(&after.since(&before))),
        stolen_since_boot: after.as_ref().and_then(stolen),
        ..ActivitySample::default()
    }
}

/// The hypervisor's share of the time in which there was work to do.
fn stolen(times: &ProcessorTimes) -> Option<f64> {
    let wanted = times.busy + times.stolen;
    (wanted > 0).then(|| times.stolen as f64 / wanted as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        let times = ProcessorTimes { busy: 30, stolen: 10, total: 100 };
        assert_eq!(stolen(&times), Some(0.25));
        assert_eq!(stolen(&ProcessorTimes::default()), None);
        assert_eq!(share_of_others(&times, 100_000_000), 0.2);
        assert_eq!(share_of_others(&times, u64::MAX), 0.0);
    }

    #[test]
    fn a_moment_of_this_machine() {
        let sample = sample(Duration::from_millis(50), 1);
        assert!(sample.quiet_s >= 0.05 && sample.busy_s >= 0.05, "{sample:?}");
        let shares = [sample.others, sample.stolen, sample.stolen_since_boot];
        assert!(shares.iter().flatten().all(|share| (0.0..=1.0).contains(share)), "{sample:?}");
    }
}
