//! Whether operations stand still now and then, and how often: what batches shorter than the time between two do not see.

use std::time::Duration;

use ipcost_model::Job;
use ipcost_model::protocol::LatencyKind;
use ipcost_stats::median;
use ipcost_sys::interrupt::Interrupt;

use super::{Lab, LabError, fresh_seed};
use crate::bench::{BatchKind, Bench};
use crate::campaign::retry_if_suspended;
use crate::planning::PlanSettings;

/// How long a cell is watched, and in how short batches.
const WATCHED: Duration = Duration::from_secs(2);
const EACH: Duration = Duration::from_millis(25);
/// A stall takes so many times the median.
const TIMES: u64 = 10;

/// The stalls of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Stalls {
    /// The transport of the cell.
    pub transport: String,
    /// From the begin of one to that of the next, in the median.
    pub every: Duration,
    pub longest: Duration,
}

impl Lab {
    /// Watches each cell of a job, which is offered a rate, for two seconds; tells those of which operations took ten times the median and
    /// more at least three times.
    pub fn stalls(&self, job: &Job, interrupt: &Interrupt) -> Result<Vec<Stalls>, LabError> {
        let job = Job { epochs: Some(1), budget: None, floor: false, ..job.clone() };
        let settings = PlanSettings { may_overload: true, ..PlanSettings::of(&job, fresh_seed()) };
        let plan = self.plan(self.cells(&job)?, &settings)?;
        let mut bench = self.bench(&plan, interrupt)?;
        let cells: Vec<usize> = plan.measurable().collect();
        bench.start_epoch(0, &cells)?;
        let mut found = Vec::new();
        for cell in cells {
            let work = &plan.cells[cell].cell;
            let per_s = work.pace().offered_per_s().unwrap_or(1) as f64;
            let workers = u64::from(work.concurrency);
            let ops = ((per_s * EACH.as_secs_f64()) as u64).div_ceil(workers).max(1) * workers;
            let (began, mut batches) = (bench.elapsed(), Vec::new());
            while bench.elapsed() - began < WATCHED {
                let at = bench.elapsed() - began;
                let seed = batches.len() as u64 + 1;
                let (batch, _) = retry_if_suspended(&mut bench, cell, ops, BatchKind::Paced(seed))?;
                if let Some(times) =
                    batch.latencies.get(&LatencyKind::Latency).filter(|times| times.count() > 0)
                {
                    batches.push((at, times.value_at(0.5), times.max()));
                }
            }
            found.extend(stalls(&batches).map(|(every, longest)| Stalls {
                transport: work.transport.clone(),
                every,
                longest,
            }));
        }
        bench.end_epoch()?;
        Ok(found)
    }
}

/// How often some batches hold a stall, and the longest; from when each began, its median and its largest, nanoseconds.
fn stalls(batches: &[(Duration, u64, u64)]) -> Option<(Duration, Duration)> {
    let usual = median(&batches.iter().map(|(_, p50, _)| *p50 as f64).collect::<Vec<_>>())?;
    let is_stall = |(_, _, max): &&(Duration, u64, u64)| *max as f64 >= TIMES as f64 * usual;
    let stalled: Vec<&(Duration, u64, u64)> = batches.iter().filter(is_stall).collect();
    let gaps: Vec<f64> = stalled.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_secs_f64()).collect();
    let longest = stalled.iter().map(|(_, _, max)| *max).max()?;
    (gaps.len() >= 2)
        .then(|| Some((Duration::from_secs_f64(median(&gaps)?), Duration::from_nanos(longest))))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_still_five_times_a_second_is_found() {
        let batch = |at_ms: u64, max| (Duration::from_millis(at_ms), 20_000, max);
        let every_200_ms: Vec<_> =
            (0..80).map(|index| batch(index * 25, if index % 8 == 3 { 5_000_000 } else { 90_000 })).collect();
        let (every, longest) = stalls(&every_200_ms).unwrap();
        assert_eq!((every, longest), (Duration::from_millis(200), Duration::from_millis(5)));
        let none: Vec<_> = (0..80).map(|index| batch(index * 25, 150_000)).collect();
        assert_eq!(stalls(&none), None);
        // Two are no rhythm.
        let twice: Vec<_> =
            (0..80).map(|index| batch(index * 25, if index == 9 { 1 << 30 } else { 1 })).collect();
        assert_eq!((stalls(&twice), stalls(&[])), (None, None));
    }
}
