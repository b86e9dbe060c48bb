//! The sample of a batch and its lead-in.

use ipcost_model::{Counts, Sample};

use crate::bench::{BatchOutcome, DELAYED_ACK_NS};

/// A sample of a batch, without its place in the run.
///
/// Where batches have a part that does not grow with their operations, it is the difference of the batch and its
/// lead-in: the cost of the additional operations. `None` if the batch did not take longer, since something else then
/// took the time, or if only one of the two waited for an acknowledgement.
pub(crate) fn sample(counts: Counts, lead_in: &BatchOutcome, batch: &BatchOutcome) -> Option<Sample> {
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

/// Nanoseconds as a number that may fall below zero.
fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use ipcost_model::Usage;

    use super::*;

    fn batch(wall_ns: u64, user_ns: u64) -> BatchOutcome {
        let client = Usage { user_ns, ..Usage::default() };
        BatchOutcome { wall_ns, sent_ns: Some(wall_ns / 2), client, ..BatchOutcome::default() }
    }

    #[test]
    fn the_cost_is_that_of_one_more_operation() {
        let counts = Counts { batch: 1_100, lead_in: 100, slope: true, push: false };
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
        let counts = Counts { batch: 1_100, lead_in: 100, slope: true, push: false };
        let of =
            |before, after| sample(counts, &ticks(short, before), &ticks(long, after)).unwrap().softirq_ns;
        assert_eq!(of(Some(0), Some(2)), Some(20_000_000));
        assert_eq!(of(Some(1), Some(0)), Some(-10_000_000));
        assert_eq!(of(None, Some(1)), None);
        let whole = Counts { slope: false, ..counts };
        let found = sample(whole, &ticks(short, Some(5)), &ticks(long, Some(1))).unwrap();
        assert_eq!(found.softirq_ns, Some(10_000_000), "only the batch counts");
    }

    #[test]
    fn without_a_wait_it_is_the_batch_itself() {
        let counts = Counts { batch: 1_000, lead_in: 100, slope: false, push: false };
        let sample = sample(counts, &batch(10, 1), &batch(100, 10)).unwrap();
        assert_eq!((sample.ops, sample.wall_ns, sample.wait_ns), (1_000, 100, None));
    }

    #[test]
    fn the_delayed_acknowledgement_of_a_batch_that_starts_cold_is_no_cost_of_its_operations() {
        let counts = Counts { batch: 1_000, lead_in: 0, slope: false, push: false };
        let waited = BatchOutcome { sent_ns: Some(100_000), ..batch(41_000_000, 1) };
        let found = sample(counts, &BatchOutcome::default(), &waited).unwrap();
        assert_eq!((found.wall_ns, found.wait_ns), (1_000_000, Some(40_000_000)));
        let found = sample(counts, &BatchOutcome::default(), &batch(41_000_000, 1)).unwrap();
        assert_eq!((found.wall_ns, found.wait_ns), (41_000_000, None), "half of it was sending");
    }

    #[test]
    fn a_wait_that_only_one_of_them_had_is_no_cost() {
        let counts = Counts { batch: 1_100, lead_in: 100, slope: true, push: false };
        let waiting =
            |wall_ns: u64| BatchOutcome { sent_ns: Some(wall_ns - 41_000_000), ..batch(wall_ns, 1) };
        assert_eq!(sample(counts, &batch(10_000, 1), &waiting(41_110_000)), None);
        let found = sample(counts, &waiting(41_010_000), &waiting(41_110_000)).unwrap();
        assert_eq!((found.wall_ns, found.ops), (100_000, 1_000));
    }

    #[test]
    fn a_longer_batch_that_takes_no_longer_tells_nothing() {
        let counts = Counts { batch: 1_100, lead_in: 100, slope: true, push: false };
        assert_eq!(sample(counts, &batch(50, 1), &batch(50, 1)), None);
    }
}
