//! The sample of a batch and its lead-in.

use ipcost_model::protocol::{OPERATIONS, OPERATIONS_NS, PACER_NS};
use ipcost_model::{BatchOperations, Sample, Usage};

use crate::bench::{BatchOutcome, DELAYED_ACK_NS};

/// A sample of a batch, without its place in the run.
///
/// Where a pace is kept, the peers have timed every operation by itself: what counts is their sum, as if all had been timed.
///
/// Where batches have a part that does not grow with their operations, it is the difference of the batch and its
/// lead-in: the cost of the additional operations. `None` if the batch did not take longer, since something else then
/// took the time, or if only one of the two waited for an acknowledgement.
pub(crate) fn sample(
    counts: BatchOperations,
    lead_in: &BatchOutcome,
    batch: &BatchOutcome,
) -> Option<Sample> {
    if counts.paced {
        return Some(paced(counts, batch));
    }
    if !counts.slope || batch.suspended {
        // A cold start has no shorter batch for comparison, but the length of a delayed acknowledgement is known.
        let wait_ns = (counts.lead_in == 0 && batch.waited()).then_some(DELAYED_ACK_NS);
        return Some(Sample {
            ops: counts.batch,
            wall_ns: batch.wall_ns - wait_ns.unwrap_or(0),
            wait_ns,
            sent_ns: batch.sent_ns,
            client: batch.client,
            server: batch.server,
            measures: batch.measures.clone(),
            softirq_ns: batch.softirq_ns.map(signed),
            whereabouts: batch.whereabouts,
            layout: batch.layout,
            suspended: batch.suspended,
            ..Sample::default()
        });
    }
    if lead_in.waited() != batch.waited() {
        return None;
    }
    let ops = counts.batch - counts.lead_in;
    let wall_ns = batch.wall_ns.checked_sub(lead_in.wall_ns).filter(|longer| *longer > 0)?;
    // A value per call is not a count that grows.
    let more = |(name, value): (&String, &f64)| {
        let less = lead_in.measures.get(name).filter(|_| !name.ends_with("_per_call")).unwrap_or(&0.0);
        (name.clone(), (value - less).max(0.0))
    };
    let of_lead_in = u128::from(wall_ns) * u128::from(counts.lead_in) / u128::from(ops.max(1));
    Some(Sample {
        ops,
        wall_ns,
        sent_ns: batch.sent_ns.zip(lead_in.sent_ns).map(|(long, short)| long.saturating_sub(short)),
        wait_ns: Some(lead_in.wall_ns.saturating_sub(u64::try_from(of_lead_in).unwrap_or(u64::MAX))),
        client: batch.client - lead_in.client,
        server: batch.server - lead_in.server,
        measures: batch.measures.iter().map(more).collect(),
        // Steps of 10 ms: a difference below zero must count, or the sum is too large.
        softirq_ns: batch
            .softirq_ns
            .zip(lead_in.softirq_ns)
            .map(|(long, short)| signed(long) - signed(short)),
        whereabouts: batch.whereabouts,
        layout: batch.layout,
        ..Sample::default()
    })
}

/// The sample of a batch whose peers have told the time of its operations.
fn paced(counts: BatchOperations, batch: &BatchOutcome) -> Sample {
    let mut measures = batch.measures.clone();
    let mut take = |name: &str| measures.remove(name).unwrap_or(0.0).max(0.0);
    let (timed, of_timed_ns) = (take(OPERATIONS), take(OPERATIONS_NS));
    let each_ns = if timed > 0.0 { of_timed_ns / timed } else { 0.0 };
    // What the sender burns while it waits is a price of measuring, and stands apart.
    let pacer_ns = measures.get(PACER_NS).map_or(0, |ns| ns.max(0.0) as u64);
    let user_ns = batch.client.user_ns.saturating_sub(pacer_ns);
    let from_system = pacer_ns.saturating_sub(batch.client.user_ns);
    let sys_ns = batch.client.sys_ns.saturating_sub(from_system);
    Sample {
        ops: counts.batch,
        wall_ns: (each_ns * counts.batch as f64).round() as u64,
        elapsed_ns: Some(batch.wall_ns),
        sent_ns: batch.sent_ns,
        client: Usage { user_ns, sys_ns, ..batch.client },
        server: batch.server,
        measures,
        softirq_ns: batch.softirq_ns.map(signed),
        whereabouts: batch.whereabouts,
        layout: batch.layout,
        suspended: batch.suspended,
        ..Sample::default()
    }
}

/// Nanoseconds as a number that may fall below zero.
fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(wall_ns: u64, user_ns: u64) -> BatchOutcome {
        let client = Usage { user_ns, ..Usage::default() };
        BatchOutcome { wall_ns, sent_ns: Some(wall_ns / 2), client, ..BatchOutcome::default() }
    }

    #[test]
    fn the_cost_is_that_of_one_more_operation() {
        let counts =
            BatchOperations { batch: 1_100, lead_in: 100, slope: true, ..BatchOperations::default() };
        let sample = sample(counts, &batch(40_010_000, 1_000), &batch(40_110_000, 11_000)).unwrap();
        assert_eq!((sample.ops, sample.wall_ns, sample.wait_ns), (1_000, 100_000, Some(40_000_000)));
        assert_eq!((sample.client.user_ns, sample.sent_ns), (10_000, Some(50_000)));
    }

    #[test]
    fn softirq_time_of_a_difference_may_fall_below_zero() {
        let ticks = |wall_ns, ticks: Option<u64>| BatchOutcome {
            softirq_ns: ticks.map(|ticks| ticks * 10_000_000),
            ..batch(wall_ns, 1)
        };
        let (short, long) = (40_010_000, 40_110_000);
        let counts =
            BatchOperations { batch: 1_100, lead_in: 100, slope: true, ..BatchOperations::default() };
        let of =
            |before, after| sample(counts, &ticks(short, before), &ticks(long, after)).unwrap().softirq_ns;
        assert_eq!(of(Some(0), Some(2)), Some(20_000_000));
        assert_eq!(of(Some(1), Some(0)), Some(-10_000_000));
        assert_eq!(of(None, Some(1)), None);
        let whole = BatchOperations { slope: false, ..counts };
        let found = sample(whole, &ticks(short, Some(5)), &ticks(long, Some(1))).unwrap();
        assert_eq!(found.softirq_ns, Some(10_000_000), "only the batch counts");
    }

    #[test]
    fn without_a_wait_it_is_the_batch_itself() {
        let counts = BatchOperations { batch: 1_000, lead_in: 100, ..BatchOperations::default() };
        let sample = sample(counts, &batch(10, 1), &batch(100, 10)).unwrap();
        assert_eq!((sample.ops, sample.wall_ns, sample.wait_ns), (1_000, 100, None));
    }

    #[test]
    fn the_delayed_acknowledgement_of_a_batch_that_starts_cold_is_no_cost_of_its_operations() {
        let counts = BatchOperations { batch: 1_000, lead_in: 0, ..BatchOperations::default() };
        let waited = BatchOutcome { sent_ns: Some(100_000), ..batch(41_000_000, 1) };
        let found = sample(counts, &BatchOutcome::default(), &waited).unwrap();
        assert_eq!((found.wall_ns, found.wait_ns), (1_000_000, Some(40_000_000)));
        let found = sample(counts, &BatchOutcome::default(), &batch(41_000_000, 1)).unwrap();
        assert_eq!((found.wall_ns, found.wait_ns), (41_000_000, None), "half of it was sending");
    }

    #[test]
    fn a_wait_that_only_one_of_them_had_is_no_cost() {
        let counts =
            BatchOperations { batch: 1_100, lead_in: 100, slope: true, ..BatchOperations::default() };
        let waiting =
            |wall_ns: u64| BatchOutcome { sent_ns: Some(wall_ns - 41_000_000), ..batch(wall_ns, 1) };
        assert_eq!(sample(counts, &batch(10_000, 1), &waiting(41_110_000)), None);
        let found = sample(counts, &waiting(41_010_000), &waiting(41_110_000)).unwrap();
        assert_eq!((found.wall_ns, found.ops), (100_000, 1_000));
    }

    #[test]
    fn where_a_pace_is_kept_the_operations_count_and_neither_pauses_nor_the_pacer() {
        let counts = BatchOperations { batch: 10, paced: true, ..BatchOperations::default() };
        let measures = [(OPERATIONS, 9.0), (OPERATIONS_NS, 900.0), (PACER_NS, 700.0)];
        let measures = measures.map(|(name, value)| (name.to_owned(), value)).into();
        let batch = BatchOutcome { measures, ..batch(1_000_000, 800) };
        let found = sample(counts, &BatchOutcome::default(), &batch).unwrap();
        assert_eq!((found.ops, found.wall_ns, found.elapsed_ns), (10, 1_000, Some(1_000_000)));
        assert_eq!((found.client.user_ns, found.measures.len()), (100, 1));
    }

    #[test]
    fn a_longer_batch_that_takes_no_longer_tells_nothing() {
        let counts =
            BatchOperations { batch: 1_100, lead_in: 100, slope: true, ..BatchOperations::default() };
        assert_eq!(sample(counts, &batch(50, 1), &batch(50, 1)), None);
    }
}
