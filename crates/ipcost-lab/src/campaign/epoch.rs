//! One epoch: fresh processes for every cell, verified, then rounds in random order.

use std::collections::BTreeMap;
use std::time::Duration;

use ipcost_model::protocol::LatencyKind;
use ipcost_model::{BatchOperations, Cell, CellLatency, EpochRecord, LatencyMode, Sample};
use ipcost_stats::{Histogram, Random};

use super::{Campaign, seconds, timed};
use crate::bench::{BatchKind, BatchOutcome, Bench};
use crate::error::EngineError;

/// What is told of each operation, by cell, in one epoch.
type Seen = BTreeMap<(u32, LatencyKind), Histogram>;

/// The most bytes a verification moves in each direction, and the most operations it does.
const VERIFY_BYTES: u64 = 1 << 20;
const VERIFY_OPS: u64 = 100;
/// After how long no more are verified: an operation may take long, and one is enough to see that it works.
const VERIFY_TIME: Duration = Duration::from_millis(100);
/// The most where a real server replies: every reply of it is checked, also of those that are timed, and one may take milliseconds.
const VERIFY_REQUESTS: u64 = 5;
/// How long a batch that is watched is meant to last, nanoseconds: several delayed acknowledgements.
const WATCHED_NS: f64 = 0.3e9;
/// In how many epochs a burst is not pushed, to see how long its end waits.
const MOST_HELD: u32 = 4;
/// In how many epochs a cell is watched.
const MOST_WATCHED: u32 = 3;
/// How often to repeat a batch during which the machine was suspended.
const MOST_REPEATS: usize = 3;

impl Campaign<'_> {
    /// Measures an epoch, in groups if there are more cells than may have processes at once.
    pub(super) fn run_epoch(&mut self) -> Result<EpochRecord, EngineError> {
        let began = self.elapsed();
        let before = self.surroundings.snapshot();
        let mut epoch = EpochRecord { epoch: self.epoch, ..EpochRecord::default() };
        let mut latency = BTreeMap::new();
        let mut blocks = self.blocks.clone();
        if blocks.len() > 1 {
            self.random.shuffle(&mut blocks);
        }
        for block in blocks.iter_mut().filter(|block| block.len() > 1) {
            self.random.shuffle(block);
        }
        let mut position = 0;
        for group in blocks.into_iter().flatten() {
            let count = group.len() as u32;
            self.run_group(group, position, &mut epoch, &mut latency)?;
            position += count;
        }
        epoch.machine = self.surroundings.snapshot().since(&before);
        epoch.random = self.random.state();
        let in_bins = |((cell, kind), histogram): ((u32, LatencyKind), Histogram)| CellLatency {
            cell,
            kind,
            max_ns: histogram.max(),
            bins: histogram.bins(),
        };
        epoch.latency = latency.into_iter().map(in_bins).collect();
        let ended = self.elapsed();
        epoch.took_ns = (ended - began).as_nanos() as u64;
        epoch.elapsed_ns = ended.as_nanos() as u64;
        Ok(epoch)
    }

    /// All rounds of a group's cells; in each round, its first cell follows `position` others.
    fn run_group(
        &mut self,
        mut order: Vec<usize>,
        position: u32,
        epoch: &mut EpochRecord,
        latency: &mut Seen,
    ) -> Result<(), EngineError> {
        let began = self.bench.elapsed();
        self.random.shuffle(&mut order);
        self.bench.start_epoch(self.epoch, &order)?;
        let (cold, warm): (Vec<usize>, Vec<usize>) =
            order.iter().partition(|cell| self.state.plan.cells[**cell].starts_cold());
        self.verify(&warm)?;
        epoch.timing.processes_s += (self.bench.elapsed() - began).as_secs_f64();

        let clocked = self.state.plan.latency;
        for round in 1..=self.state.plan.rounds {
            let order = self.order_of_round(&order);
            for (position, cell) in (position + 1..).zip(&order) {
                for sample in self.time(*cell, round, epoch, latency)? {
                    epoch.samples.push(Sample {
                        cell: *cell as u32,
                        epoch: self.epoch,
                        round,
                        position,
                        ..sample
                    });
                }
                let planned = &self.state.plan.cells[*cell];
                let samples_tail = clocked == LatencyMode::Tail && !self.counts[*cell].paced;
                if samples_tail && planned.cell.has_latency() && !planned.starts_cold() {
                    let (tail, _) = retry_if_suspended(
                        self.bench,
                        *cell,
                        self.counts[*cell].lead_in,
                        BatchKind::Latency,
                    )?;
                    epoch.timing.tails_s += seconds(tail.wall_ns);
                    note(epoch, latency, *cell, &tail);
                }
                self.report_measuring();
            }
        }
        for cell in &order {
            let effective = self.bench.effective(*cell);
            if !effective.is_empty() {
                epoch.effective.insert(*cell as u32, effective);
            }
        }

        let ending = self.bench.elapsed();
        self.watch(&order, epoch)?;
        self.verify(&cold)?;
        self.bench.end_epoch()?;
        epoch.timing.processes_s += (self.bench.elapsed() - ending).as_secs_f64();
        Ok(())
    }

    /// A random order of tables, and of the cells within each: what the machine does for a moment thus hits all cells of a
    /// comparison, and which of two comes first remains a fair toss.
    fn order_of_round(&mut self, cells: &[usize]) -> Vec<usize> {
        let mut tables = self.state.plan.by_table(cells);
        self.random.shuffle(&mut tables);
        tables.iter_mut().for_each(|table| self.random.shuffle(table));
        tables.concat()
    }

    /// A lead-in and a timed batch of a cell. Samples from before a suspension precede the one that counts.
    fn time(
        &mut self,
        cell: usize,
        round: u32,
        epoch: &mut EpochRecord,
        latency: &mut Seen,
    ) -> Result<Vec<Sample>, EngineError> {
        let counts = self.counts[cell];
        let clocked = self.state.plan.latency;
        // The same arrivals for all cells of a round.
        let seed = self.seed_of(round);
        let kind = |latency: bool| BatchKind::of(counts, latency, seed);
        let mut samples = Vec::new();
        for attempt in 0.. {
            let lead_in = match counts.lead_in {
                0 => BatchOutcome::default(),
                ops => retry_if_suspended(self.bench, cell, ops, kind(clocked == LatencyMode::LeadIn))?.0,
            };
            epoch.timing.lead_ins_s += seconds(lead_in.wall_ns);
            // At a pace each operation tells its time, and those of a lead-in are not asked about.
            let latencies = if counts.paced { BTreeMap::new() } else { lead_in.latencies.clone() };
            note(epoch, latency, cell, &BatchOutcome { latencies, ..lead_in.clone() });
            let (batch, suspended) =
                retry_if_suspended(self.bench, cell, counts.batch, kind(clocked == LatencyMode::Inline))?;
            epoch.timing.batches_s += seconds(batch.wall_ns);
            // One that pauses stands still because it is meant to.
            if batch.stood_still() && !counts.paced {
                self.still.insert(cell, batch.wall_ns as f64 / counts.batch as f64);
            }
            note(epoch, latency, cell, &batch);
            samples.extend(suspended.iter().filter_map(|slept| timed::sample(counts, &lead_in, slept)));
            let plain = BatchOperations { slope: false, ..counts };
            let last = attempt == MOST_REPEATS;
            // The batch as a whole costs at least as much as its operations.
            let found = timed::sample(counts, &lead_in, &batch)
                .or_else(|| timed::sample(plain, &lead_in, &batch).filter(|_| last));
            if let Some(sample) = found {
                samples
                    .push(Sample { wait_ns: self.held(cell, &sample, epoch)?.or(sample.wait_ns), ..sample });
                break;
            }
        }
        Ok(samples)
    }

    /// What pauses and arrivals of a round are drawn from: numbers that every peer's JSON holds exactly.
    fn seed_of(&self, round: u32) -> u64 {
        let round = u64::from(self.epoch) << 32 | u64::from(round);
        let mut random = Random::new(self.state.plan.seed ^ Random::new(round).next_u64());
        random.next_u64() >> (u64::BITS - f64::MANTISSA_DIGITS)
    }

    /// How long a burst waits at its end if nothing pushes it, in a few epochs: what it takes beyond its operations.
    fn held(
        &mut self,
        cell: usize,
        sample: &Sample,
        epoch: &mut EpochRecord,
    ) -> Result<Option<u64>, EngineError> {
        let counts = self.counts[cell];
        if !counts.push || self.state.plan.cells[cell].is_steady() || self.epoch > MOST_HELD {
            return Ok(None);
        }
        let (burst, _) = retry_if_suspended(self.bench, cell, counts.lead_in, BatchKind::Plain)?;
        epoch.timing.tails_s += seconds(burst.wall_ns);
        let of_operations =
            u128::from(sample.wall_ns) * u128::from(counts.lead_in) / u128::from(sample.ops.max(1));
        Ok(Some(burst.wall_ns.saturating_sub(u64::try_from(of_operations).unwrap_or(u64::MAX))))
    }

    /// Watches cells whose batches stood still, in a batch that is not timed; not in every epoch, since what they wait for is the same.
    fn watch(&mut self, order: &[usize], epoch: &mut EpochRecord) -> Result<(), EngineError> {
        for cell in order {
            let Some(ns_per_op) = self.still.remove(cell) else { continue };
            let times = self.watched.entry(*cell).or_default();
            if *times == MOST_WATCHED {
                continue;
            }
            *times += 1;
            let workers = u64::from(self.state.plan.cells[*cell].cell.concurrency);
            let each = (WATCHED_NS / ns_per_op / workers as f64) as u64;
            if let Some(watched) = self.bench.watch(*cell, each.max(1) * workers)? {
                epoch.incidents.entry(*cell as u32).or_default().watched = Some(watched);
            }
        }
        Ok(())
    }

    /// Verifies cells: all operations that are wanted, or as many as fit a time, and one at least.
    pub(super) fn verify(&mut self, order: &[usize]) -> Result<(), EngineError> {
        for index in order {
            let cell = &self.state.plan.cells[*index].cell;
            let workers = u64::from(cell.concurrency);
            let all = verified_ops(cell) / workers;
            let began = self.bench.elapsed();
            let (mut done, mut took) = (0, Duration::ZERO);
            while done < all && took < VERIFY_TIME {
                // The first tells how long the others take; where they fit, they are one batch.
                let fit =
                    done > 0 && took.as_secs_f64() * all as f64 <= VERIFY_TIME.as_secs_f64() * done as f64;
                let each = if fit { all - done } else { (done + 1).min(all - done) };
                self.bench.verify(*index, each * workers)?;
                done += each;
                took = self.bench.elapsed() - began;
            }
        }
        Ok(())
    }
}

/// How many operations of a cell are verified in an epoch at most, shared equally by its workers.
pub(super) fn verified_ops(cell: &Cell) -> u64 {
    let fitting = VERIFY_BYTES / cell.bytes_per_op().max(1);
    let most = if cell.request.is_some() { VERIFY_REQUESTS } else { VERIFY_OPS };
    fitting.clamp(2, most).next_multiple_of(cell.concurrency.into())
}

/// Runs a batch, and again if the machine was suspended meanwhile. Returns the one that counts, and those before it.
pub fn retry_if_suspended(
    bench: &mut dyn Bench,
    cell: usize,
    ops: u64,
    kind: BatchKind,
) -> Result<(BatchOutcome, Vec<BatchOutcome>), EngineError> {
    let mut suspended = Vec::new();
    loop {
        let batch = bench.batch(cell, ops, kind)?;
        if !batch.suspended {
            return Ok((batch, suspended));
        }
        suspended.push(batch);
        if suspended.len() > MOST_REPEATS {
            return Err(EngineError::Suspended { times: suspended.len() });
        }
    }
}

/// Records everything about a batch except its sample.
fn note(epoch: &mut EpochRecord, latency: &mut Seen, cell: usize, batch: &BatchOutcome) {
    let index = cell as u32;
    for (kind, histogram) in batch.latencies.iter().filter(|(_, histogram)| histogram.count() > 0) {
        latency.entry((index, *kind)).or_default().add(histogram);
    }
    if batch.retries > 0 || !batch.troubles.is_empty() {
        let incidents = epoch.incidents.entry(index).or_default();
        // A peer may report any number.
        incidents.retries = incidents.retries.saturating_add(batch.retries);
        for (name, count) in &batch.troubles {
            *incidents.troubles.entry(name.clone()).or_default() += count;
        }
    }
}
