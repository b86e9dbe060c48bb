//! How many operations make a batch.

use std::time::Duration;

use ipcost_model::pace::Pace;
use ipcost_model::{BatchOperations, Cell, Pattern, Plan, PlannedCell};
use ipcost_sys::transport::uses_tcp;

use crate::bench::{BatchKind, Bench, DELAYED_NS};
use crate::campaign::retry_if_suspended;
use crate::error::EngineError;

/// Shorter batches say little about the rate.
const ENOUGH_TIME: Duration = Duration::from_millis(4);
/// The target of the next attempt.
const AIM: Duration = Duration::from_millis(10);
/// The most by which one attempt may exceed the one before.
const GROWTH: f64 = 64.0;

/// Batches of this length need no longer ones, even if part is a fixed wait.
const LONG: Duration = Duration::from_secs(2);
/// The shortest burst of a stream whose connection learns: shorter ones vary with what it has learned so far.
const LEARNING_BATCH: Duration = Duration::from_millis(40);
/// A long transfer: enough for windows to grow and for pacing to settle, and short enough for some dozens in a minute.
const STEADY_BATCH: Duration = Duration::from_millis(300);
/// The transfer before it, in which it starts.
const STEADY_LEAD_IN: Duration = Duration::from_millis(100);
/// The fewest operations of a batch at an offered rate, of all workers together.
const LEAST_OFFERED: f64 = 128.0;
/// The part of as many operations as a batch with pauses has that come before it, at its pace: in the first of a process, caches and
/// predictors are cold.
const LEAD_IN_OF_PAUSES: f64 = 0.1;
/// Growth between the two batches that separate a fixed wait from the cost of operations; and growth if the shorter
/// was nearly all wait.
const LONGER: u64 = 3;
const MUCH_LONGER: u64 = 16;
/// The least fixed wait that is detected: less is a few per cent of the shortest batch.
const LEAST_WAIT: Duration = Duration::from_millis(1);
/// The same as a share of the longer of two batches.
const LEAST_WAIT_SHARE: f64 = 0.1;
/// In the longer of two batches, operations take this many times as long as the wait.
const WORK_OVER_WAIT: f64 = 2.5;
/// An operation costs at least the longer batch's average divided by this: batches get up to this many times longer.
const LEAST_SLOPE: f64 = 4.0;
/// [`WORK_OVER_WAIT`] for measured batches: both of a pair have waited, or neither, so the wait adds only noise.
const BATCH_OVER_WAIT: f64 = 1.5;

/// The duration of a batch: a part that does not grow with its operations, and one that does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// The duration of one more operation, nanoseconds.
    pub ns_per_op: f64,
    /// The fixed wait of a batch, nanoseconds; 0 if none was found.
    pub wait_ns: f64,
}

/// Finds the rate of a cell: batches grow until one is long enough.
///
/// A batch may have a fixed wait (a program that starts, a delayed acknowledgement). The search for one happens if
/// `may_wait` allows for it, or if a longer batch takes hardly longer. What a peer can push, it does.
pub fn rate(bench: &mut dyn Bench, cell: usize, workers: u64, may_wait: bool) -> Result<Rate, EngineError> {
    let kind = if may_wait && bench.pushes(cell) { BatchKind::Pushed } else { BatchKind::Plain };
    let mut time = |ops: u64| -> Result<f64, EngineError> {
        Ok(retry_if_suspended(bench, cell, ops, kind)?.0.wall_ns.max(1) as f64)
    };
    let (telling, aim) = (ENOUGH_TIME.as_nanos() as f64, AIM.as_nanos() as f64);
    let (mut ops, mut took) = (workers, time(workers)?);
    let mut before = None;
    while took < telling {
        let wanted = ops as f64 * aim / took;
        before = Some((ops, took));
        ops = shared(wanted.min(ops as f64 * GROWTH).max(ops as f64 * 2.0), workers);
        took = time(ops)?;
    }
    let first_is_long = before.is_none() && took >= LONG.as_nanos() as f64 / 4.0;
    let suspicious = before.is_none_or(|before| is_mostly_a_wait(before, (ops, took)));
    if first_is_long || !(may_wait || suspicious) {
        return Ok(Rate { ns_per_op: took / ops as f64, wait_ns: 0.0 });
    }
    let mut factor = LONGER;
    loop {
        let more = ops.saturating_mul(factor);
        let longer = time(more)?;
        let found = between((ops, took), (more, longer));
        let least = (LEAST_WAIT.as_nanos() as f64).max(LEAST_WAIT_SHARE * longer);
        if found.wait_ns < least {
            return Ok(Rate { ns_per_op: longer / more as f64, wait_ns: 0.0 });
        }
        let tells = |rate: Rate, longer: f64| {
            longer >= LONG.as_nanos() as f64 || longer - rate.wait_ns >= WORK_OVER_WAIT * rate.wait_ns
        };
        if tells(found, longer) {
            // A neighbour that took the processor for a while looks like a wait, but does not come again.
            let (took, shorter) = (took.min(time(ops)?), longer.min(time(more)?));
            let again = between((ops, took), (more, shorter));
            if again.wait_ns < least {
                return Ok(Rate { ns_per_op: shorter / more as f64, wait_ns: 0.0 });
            }
            if tells(again, longer) {
                return Ok(again);
            }
        }
        factor = if longer < took * 1.5 { MUCH_LONGER } else { LONGER };
        (ops, took) = (more, longer);
    }
}

/// The rate of batches so long that they are the first thing on a connection: what a few milliseconds tell is not so for a second, as
/// congestion control and buffers take their time.
pub fn rate_of_cold(
    bench: &mut dyn Bench,
    cell: usize,
    workers: u64,
    found: Rate,
    batch: Duration,
) -> Result<Rate, EngineError> {
    const PARTS: [f64; 2] = [0.125, 0.5];
    let mut ns_per_op = found.ns_per_op;
    for part in PARTS {
        let ops = shared(part * batch.as_nanos() as f64 / ns_per_op, workers);
        let took = retry_if_suspended(bench, cell, ops, BatchKind::Plain)?.0.wall_ns.max(1);
        ns_per_op = took as f64 / ops as f64;
    }
    Ok(Rate { ns_per_op, ..found })
}

/// The line through two batches.
fn between((fewer, took): (u64, f64), (ops, longer): (u64, f64)) -> Rate {
    let average = longer / ops as f64;
    let slope = ((longer - took) / (ops - fewer) as f64).clamp(0.0, average);
    // A batch that got no longer says nothing about operations; their apparent cost must not make batches endless.
    Rate { ns_per_op: slope.max(average / LEAST_SLOPE), wait_ns: longer - slope * ops as f64 }
}

/// Whether the time of two batches grew by less than half the factor of their operations.
fn is_mostly_a_wait((fewer, took): (u64, f64), (ops, longer): (u64, f64)) -> bool {
    let more = ops as f64 / fewer as f64;
    // Batches of nearly the same size say nothing about a wait.
    more >= 2.0 && longer / took < more / 2.0
}

/// The assumed cost of an operation, in nanoseconds, for operation counts of cells that the scheduler places. It is
/// the geometric mean over the table, but within a factor of four of the cell's own cost. So batches last at most
/// four times their target and at least a quarter of it.
///
/// A single look may see the fast mode or the slow one, and the scheduler moves batches of different lengths
/// differently: with separate counts equal cells would differ.
pub fn alike(own: f64, table: &[f64]) -> f64 {
    const MOST: f64 = 4.0;
    let mean = table.iter().map(|cost| cost.ln()).sum::<f64>() / table.len() as f64;
    mean.exp().clamp(own / MOST, own * MOST)
}

/// How long the batches of a cell and its lead-ins last.
pub(crate) fn lengths(plan: &Plan, cell: &PlannedCell) -> (Duration, Duration) {
    let learns = cell.cell.pattern == Pattern::Stream && uses_tcp(&cell.cell.transport);
    let pace = cell.cell.pace();
    if pace.is_paced() {
        let workers = cell.cell.concurrency;
        let lasting = |ops: f64| {
            let each = (ops / f64::from(workers)).max(1.0);
            Duration::from_nanos((each * pace.interval_ns(workers)) as u64)
        };
        return match pace {
            Pace::Rate { .. } => {
                let wanted = plan.offered.map_or(Duration::ZERO, |(ops, most)| lasting(ops as f64).min(most));
                (plan.batch.max(lasting(LEAST_OFFERED)).max(wanted), plan.lead_in)
            }
            Pace::Think { .. } | Pace::BackToBack => {
                let pauses = f64::from(plan.pauses);
                (plan.batch.max(lasting(pauses)), plan.lead_in.max(lasting(pauses * LEAD_IN_OF_PAUSES)))
            }
        };
    }
    let (batch, lead_in) = match () {
        () if cell.is_steady() => (plan.batch.max(STEADY_BATCH), STEADY_LEAD_IN),
        () if learns && plan.batch_exact.is_none() => (plan.batch.max(LEARNING_BATCH), plan.lead_in),
        () => (plan.batch, plan.lead_in),
    };
    (cell.batch.unwrap_or(batch), cell.lead_in.unwrap_or(lead_in))
}

/// How the batches of a cell end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchEnd {
    /// With the last operation.
    AtOnce,
    /// The last of a burst may be held back until the other side acknowledges.
    Held,
    /// It would be, but for the client, which pushes it.
    Pushed,
}

/// The operation counts for a rate; frozen for the whole run. A number that the cell gives is kept, without a lead-in.
///
/// If batches have a fixed wait, or may have one according to `ends`, the lead-in is timed as well, and the batch
/// made longer so that the difference reveals the cost of operations. A lead-in has at least `filling` operations, or
/// none if the cell starts cold.
pub fn counts_of(
    plan: &Plan,
    cell: &PlannedCell,
    rate: Rate,
    ends: BatchEnd,
    filling: u64,
) -> BatchOperations {
    let workers = u64::from(cell.cell.concurrency);
    if let Some(batch) = cell.ops {
        return BatchOperations { batch, ..BatchOperations::default() };
    }
    let lasting = |ns: f64| shared(ns / rate.ns_per_op, workers);
    let (batch, lead_in) = lengths(plan, cell);
    let (batch_ns, lead_in_ns) = (batch.as_nanos() as f64, lead_in.as_nanos() as f64);
    if cell.cell.pace().is_paced() {
        let each_ns = each_ns(&cell.cell, rate.ns_per_op);
        let lead_in = if lead_in_ns > 0.0 { shared(lead_in_ns / each_ns, workers) } else { 0 };
        // What is offered more than it carries takes longer, and not fewer operations.
        let least = if matches!(cell.cell.pace(), Pace::Rate { .. }) { LEAST_OFFERED } else { 0.0 };
        return BatchOperations {
            batch: shared((batch_ns / each_ns).max(least), workers),
            lead_in,
            paced: true,
            ..BatchOperations::default()
        };
    }
    if cell.starts_cold() {
        return BatchOperations { batch: lasting(batch_ns), ..BatchOperations::default() };
    }
    let lead_in = lasting(lead_in_ns).max(shared(filling as f64, workers));
    if ends == BatchEnd::Held || rate.wait_ns > 0.0 {
        // A batch that may wait does not always; the length of its wait is known.
        let wait_ns = rate.wait_ns.max(if ends == BatchEnd::Held { DELAYED_NS as f64 } else { 0.0 });
        let longer = lasting(batch_ns.max(BATCH_OVER_WAIT * wait_ns));
        return BatchOperations {
            batch: lead_in + longer,
            lead_in,
            slope: true,
            ..BatchOperations::default()
        };
    }
    BatchOperations {
        batch: lasting(batch_ns),
        lead_in,
        push: ends == BatchEnd::Pushed,
        ..BatchOperations::default()
    }
}

/// How long one operation more makes a batch at the cell's pace, nanoseconds, where it takes `ns_per_op` back to back.
pub(crate) fn each_ns(cell: &Cell, ns_per_op: f64) -> f64 {
    let pace = cell.pace();
    let between_ns = pace.interval_ns(cell.concurrency) / f64::from(cell.concurrency);
    match pace {
        Pace::BackToBack => ns_per_op,
        Pace::Think { .. } => between_ns + ns_per_op,
        Pace::Rate { .. } => between_ns.max(ns_per_op),
    }
}

/// The nearest number of operations that workers can share equally; at least one each.
fn shared(ops: f64, workers: u64) -> u64 {
    ((ops / workers as f64).round() as u64).max(1) * workers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::BatchOutcome;

    /// A cell whose batches take nanoseconds as given by a function of their operations.
    struct Scripted<F>(F);

    impl<F: FnMut(u64) -> u64> Bench for Scripted<F> {
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        fn start_epoch(&mut self, _epoch: u32, _order: &[usize]) -> Result<(), EngineError> {
            Ok(())
        }

        fn verify(&mut self, _cell: usize, _ops: u64) -> Result<(), EngineError> {
            Ok(())
        }

        fn batch(&mut self, _cell: usize, ops: u64, _: BatchKind) -> Result<BatchOutcome, EngineError> {
            Ok(BatchOutcome { wall_ns: (self.0)(ops), ..BatchOutcome::default() })
        }

        fn end_epoch(&mut self) -> Result<(), EngineError> {
            Ok(())
        }

        fn effective(&self, _cell: usize) -> serde_json::Map<String, serde_json::Value> {
            serde_json::Map::new()
        }
    }

    fn rate_of(may_wait: bool, wall_ns: impl FnMut(u64) -> u64) -> Rate {
        rate(&mut Scripted(wall_ns), 0, 1, may_wait).unwrap()
    }

    /// The rate found for a cell with a fixed time per batch and a time per operation; and the batches run.
    fn found(wait_ns: u64, each_ns: u64, may_wait: bool) -> (Rate, Vec<u64>) {
        let mut asked = Vec::new();
        let rate = rate_of(may_wait, |ops| {
            asked.push(ops);
            wait_ns + ops * each_ns
        });
        (rate, asked)
    }

    #[test]
    fn a_fixed_wait_is_not_taken_for_the_cost() {
        let close = |found: f64, expected: u64| (found / expected as f64 - 1.0).abs() < 0.05;
        for (wait_ns, each_ns) in
            [(0, 300), (0, 15_000), (30_000, 15_000), (0, 50_000_000), (0, 2_000_000_000)]
        {
            for may_wait in [false, true] {
                let (Rate { ns_per_op, wait_ns: wait }, asked) = found(wait_ns, each_ns, may_wait);
                assert!(close(ns_per_op, each_ns) && wait == 0.0, "{wait_ns} {each_ns}: {ns_per_op} {wait}");
                assert!(asked.len() <= 6, "{asked:?}");
            }
        }
        // A delayed acknowledgement, and programs that start.
        for (wait_ns, each_ns) in
            [(40_000_000, 260), (40_000_000, 100_000), (5_000_000, 300_000), (200_000_000, 1_000)]
        {
            let (Rate { ns_per_op, wait_ns: wait }, asked) = found(wait_ns, each_ns, true);
            assert!(
                close(ns_per_op, each_ns) && close(wait, wait_ns),
                "{wait_ns} {each_ns}: {ns_per_op} {wait} {asked:?}"
            );
        }
    }

    #[test]
    fn a_wait_that_begins_with_the_second_operation_is_found() {
        let found = rate_of(true, |ops| 20_000 + if ops > 1 { 40_000_000 } else { 0 } + ops * 260);
        assert!((found.ns_per_op / 260.0 - 1.0).abs() < 0.05, "{found:?}");
        assert!((found.wait_ns / 40e6 - 1.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn a_wait_that_only_the_shorter_batch_had_makes_no_batch_without_end() {
        // Whether each batch waits; after the twelfth none does.
        for (pattern, waited) in (0_u32..1 << 12).flat_map(|pattern| [41, 60, 80].map(|ms| (pattern, ms))) {
            let mut waits = (0..12).map(|bit| pattern >> bit & 1 == 1);
            let found = rate_of(true, |ops| {
                let wait = if waits.next() == Some(true) { waited * 1_000_000 } else { 0 };
                wait + ops * 2_000
            });
            // A batch by this rate takes at most one and a half times its target.
            assert!(found.ns_per_op > 2_000.0 / 1.5, "{pattern:b} {waited} ms: {found:?}");
        }
    }

    #[test]
    fn a_wait_of_seconds_that_varies_by_more_than_its_operations_take_makes_no_batch_without_end() {
        let (mut wait, mut most) = (2_500_000_000, 0);
        let Rate { ns_per_op, wait_ns } = rate_of(true, |ops| {
            wait -= 1_000_000;
            most = most.max(ops);
            20_000 + if ops > 1 { wait } else { 0 } + ops * 260
        });
        assert!((wait_ns / 2.5e9 - 1.0).abs() < 0.05, "{wait_ns}");
        // The next batch after such a vague one is only a little longer: the wait may have been the operations'.
        assert!(BATCH_OVER_WAIT * wait_ns / ns_per_op <= 6.0 * most as f64, "{ns_per_op} {most}");
    }

    #[test]
    fn a_cold_batch_is_as_long_as_planned_where_a_longer_transfer_is_slower() {
        // Buffers take the first 10 ms of messages at once; then each takes five times as long.
        let took = |ops: u64| if ops < 10_000 { ops * 1_000 } else { 10_000_000 + (ops - 10_000) * 5_000 };
        let batch = Duration::from_secs(1);
        let bench = &mut Scripted(took);
        let short = rate(bench, 0, 1, false).unwrap();
        let found = rate_of_cold(bench, 0, 1, short, batch).unwrap();
        let lasts = |rate: Rate| took(shared(1e9 / rate.ns_per_op, 1)) as f64 / 1e9;
        assert!(lasts(short) > 3.0 && (0.8..1.2).contains(&lasts(found)), "{short:?} {found:?}");
    }

    #[test]
    fn where_the_scheduler_places_equal_cells_have_equal_counts_and_no_batch_gets_far_too_long() {
        let table = [2_000.0, 8_000.0, 4_000.0];
        for own in table {
            assert!((alike(own, &table) / 4_000.0 - 1.0).abs() < 1e-9, "{own}");
        }
        let table = [100.0, 100.0, 10_000.0];
        let far = table.map(|own| alike(own, &table));
        assert_eq!(far, [400.0, 400.0, 2_500.0]);
    }

    #[test]
    fn every_worker_gets_the_same_share() {
        assert_eq!(shared(1000.0, 1), 1000);
        assert_eq!(shared(1000.0, 7), 1001);
        assert_eq!(shared(3.0, 100), 100);
        assert_eq!(shared(0.0, 1), 1);
    }
}
