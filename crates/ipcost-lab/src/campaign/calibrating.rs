//! Calibration: uncounted epochs before the first one.

use std::collections::BTreeMap;
use std::time::Duration;

use ipcost_model::pace::Pace;
use ipcost_model::{Calibrated, Cell, Options, Pattern, Placement, Plan, PlannedContrast, Wait};
use ipcost_stats::Variances;
use ipcost_sys::transport::{self, uses_tcp};

use super::epoch::{retry_if_suspended, verified_ops};
use super::{Campaign, MOST_PORTS};
use crate::bench::BatchKind;
use crate::calibration::{BatchEnd, Rate, alike, counts_of, each_ns, lengths, rate, rate_of_cold};
use crate::error::EngineError;
use crate::machine_observer::HeldPorts;
use crate::planning::{EpochCost, fit, has_choice, looks};
use crate::progress::Phase;

/// Rounds of a pilot epoch.
const PILOT_ROUNDS: u32 = 2;
/// Pilot epochs besides the calibrating one, and the largest share of the budget they may take.
const MORE_PILOTS: u32 = 2;
const MOST_FOR_PILOTS: f64 = 0.05;

/// Epochs for which there are to be ports besides those that an interval takes, and the part of an epoch's connections before the counted.
const SPARE_EPOCHS: u32 = 2;
const LEAD_IN_OF_CONNECTIONS: u64 = 5;
/// How often a cell may try to be fast enough for the rate that it is offered.
const TRIES: u32 = 5;

/// The result of a pilot epoch: logarithms of costs, by round and cell.
type Pilot = [Vec<f64>; PILOT_ROUNDS as usize];

impl Campaign<'_> {
    /// Uncounted epochs: they find operation counts, the cost of starting processes here, and how contrasts vary.
    pub(super) fn calibrate(&mut self) -> Result<Calibrated, EngineError> {
        let (clock, clock_source) = (self.surroundings.clock(), self.surroundings.clock_source());
        self.report(Phase::Calibrating);
        let mut rates = BTreeMap::new();
        let mut starting = Duration::ZERO;
        let mut pilots = vec![self.no_pilot()];
        for group in self.blocks.concat() {
            let began = self.bench.elapsed();
            self.bench.start_epoch(0, &group)?;
            self.verify(&group)?;
            let started = self.bench.elapsed();
            for cell in &group {
                let found = self.rate_of(*cell)?;
                rates.insert(*cell, found);
                self.report(Phase::Calibrating);
            }
            self.check_rates(&rates)?;
            self.count_operations(&rates);
            self.pilot(&group, &mut pilots[0])?;
            let piloted = self.bench.elapsed();
            self.bench.end_epoch()?;
            starting += (started - began) + (self.bench.elapsed() - piloted);
        }
        let cells = rates.len() as u32;
        let overhead = starting / cells;

        let plan = &self.state.plan;
        let epoch = cells * (overhead + PILOT_ROUNDS * plan.lead_in);
        // If there is nothing left to choose, pilots gain nothing.
        let left = plan.budget.saturating_sub(self.spent + self.bench.elapsed());
        let choosing = has_choice(plan, left, overhead);
        if choosing && epoch * MORE_PILOTS < plan.budget.mul_f64(MOST_FOR_PILOTS) {
            for _ in 0..MORE_PILOTS {
                pilots.push(self.no_pilot());
                let last = pilots.len() - 1;
                for group in self.blocks.concat() {
                    self.bench.start_epoch(0, &group)?;
                    self.pilot(&group, &mut pilots[last])?;
                    self.bench.end_epoch()?;
                }
            }
        }
        let spared = self.fit(&mut rates, overhead, &pilots);
        self.count_operations(&rates);
        let plan = &self.state.plan;
        Ok(Calibrated {
            looks: looks(plan),
            spared,
            rounds: plan.rounds,
            batch_ns: plan.batch.as_nanos() as u64,
            lead_in_ns: plan.lead_in.as_nanos() as u64,
            epochs_expected: plan.epochs_expected,
            counts: self.counts.clone(),
            random: self.random.state(),
            elapsed_ns: self.elapsed().as_nanos() as u64,
            clock_read_ns: clock.read_ns,
            clock_step_ns: clock.step_ns,
            clock_source,
        })
    }

    /// Chooses rounds and batches for the time left; gives up cells, which it returns, where there is too little for all.
    fn fit(&mut self, rates: &mut BTreeMap<usize, Rate>, overhead: Duration, pilots: &[Pilot]) -> Vec<u32> {
        let variances = variances(&self.state.plan, pilots);
        let stretch = stretch(rates, pilots);
        let left = self.state.plan.budget.saturating_sub(self.spent + self.bench.elapsed());
        let mut spared = Vec::new();
        loop {
            let cost = EpochCost { overhead, stretch, extra: self.extra(rates) };
            // The budget was large enough by assumption; the actual time needed is known only now.
            if fit(&mut self.state.plan, left, cost, &variances) {
                return spared;
            }
            let cells = self.question.spared(&self.state.plan);
            if cells.is_empty() {
                return spared;
            }
            for cell in cells {
                rates.remove(&cell);
                self.state.spare(cell);
                spared.push(cell as u32);
            }
            self.blocks = self.state.plan.blocks();
        }
    }

    /// How fast a cell is back to back. One that looks too slow for the rate that it is offered gets more tries: a neighbour may have
    /// had the processor.
    fn rate_of(&mut self, cell: usize) -> Result<Rate, EngineError> {
        let work = &self.state.plan.cells[cell].cell;
        let (workers, may_wait) = (u64::from(work.concurrency), work.pattern == Pattern::Stream);
        let most_ns = match work.pace() {
            Pace::Rate { per_s, .. } if !self.state.plan.may_overload => 1e9 / per_s as f64,
            Pace::Rate { .. } | Pace::BackToBack | Pace::Think { .. } => f64::INFINITY,
        };
        let mut found = rate(self.bench, cell, workers, may_wait)?;
        let planned = &self.state.plan.cells[cell];
        if planned.starts_cold() && planned.ops.is_none() {
            let (batch, _) = lengths(&self.state.plan, planned);
            return rate_of_cold(self.bench, cell, workers, found, batch);
        }
        for _ in 1..TRIES {
            if found.ns_per_op <= most_ns {
                break;
            }
            let again = rate(self.bench, cell, workers, may_wait)?;
            if again.ns_per_op < found.ns_per_op {
                found = again;
            }
        }
        Ok(found)
    }

    /// Refuses a rate that none of a table's cells carries, once all of them are known: the queue would only grow.
    fn check_rates(&self, rates: &BTreeMap<usize, Rate>) -> Result<(), EngineError> {
        let plan = &self.state.plan;
        if plan.may_overload {
            return Ok(());
        }
        for workload in &plan.workloads {
            let cells: Vec<usize> = workload
                .cells
                .iter()
                .copied()
                .filter(|cell| plan.cells[*cell].unavailable.is_none())
                .collect();
            let Some(Pace::Rate { per_s, .. }) = cells.first().map(|cell| plan.cells[*cell].cell.pace())
            else {
                continue;
            };
            let carried = |cell: &usize| Some((1e9 / rates.get(cell)?.ns_per_op, &plan.cells[*cell].label));
            let Some(carried) = cells.iter().map(carried).collect::<Option<Vec<(f64, &String)>>>() else {
                continue;
            };
            let most = carried.into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b));
            if let Some((most, label)) = most.filter(|(most, _)| *most < per_s as f64) {
                return Err(EngineError::RateTooHigh {
                    per_s,
                    most,
                    label: label.clone(),
                    concurrency: workload.work.concurrency,
                });
            }
        }
        Ok(())
    }

    fn count_operations(&mut self, rates: &BTreeMap<usize, Rate>) {
        let plan = &self.state.plan;
        let mut rates = rates.clone();
        for workload in &plan.workloads {
            if workload.placement != Placement::Free || workload.baseline.is_none() {
                continue;
            }
            // A spinning cell is equally fast anywhere, and says nothing about one that sleeps.
            for spins in [false, true] {
                let is_like = |cell: &&usize| (plan.cells[**cell].cell.wait() == Wait::Spin) == spins;
                let like = || workload.cells.iter().filter(is_like);
                let costs: Vec<f64> = like().filter_map(|cell| Some(rates.get(cell)?.ns_per_op)).collect();
                for cell in like() {
                    if let Some(rate) = rates.get_mut(cell) {
                        rate.ns_per_op = alike(rate.ns_per_op, &costs);
                    }
                }
            }
        }
        for (cell, rate) in rates {
            let work = &plan.cells[cell].cell;
            let fill = if plan.sender_timed.contains(&cell) { filling_ops(work, rate.ns_per_op) } else { 0 };
            let ends = if fill > 0 { BatchEnd::Held } else { ends_of(work, self.bench.pushes(cell)) };
            self.counts[cell] = counts_of(plan, &plan.cells[cell], rate, ends, fill);
        }
        self.limit_connections();
    }

    /// Time that fixed waits, and the longer batches they require, add to a round.
    fn extra(&self, rates: &BTreeMap<usize, Rate>) -> Duration {
        let plan = &self.state.plan;
        let usual_ns = (plan.batch + plan.lead_in).as_nanos() as f64;
        let of_cell = |(cell, rate): (&usize, &Rate)| {
            let counts = self.counts[*cell];
            let each_ns = each_ns(&plan.cells[*cell].cell, rate.ns_per_op);
            let ns = (counts.batch + counts.lead_in) as f64 * each_ns + 2.0 * rate.wait_ns;
            (ns - usual_ns).max(0.0)
        };
        Duration::from_nanos(rates.iter().map(of_cell).sum::<f64>() as u64)
    }

    fn no_pilot(&self) -> Pilot {
        [(); PILOT_ROUNDS as usize].map(|()| vec![f64::NAN; self.state.plan.cells.len()])
    }

    /// Rounds of batches as short as lead-ins, in an uncounted epoch: logarithms of costs by cell.
    fn pilot(&mut self, group: &[usize], rounds: &mut Pilot) -> Result<(), EngineError> {
        let mut order = group.to_vec();
        for log_costs in rounds {
            self.random.shuffle(&mut order);
            // A single batch does not tell the cost of a cell with a fixed wait.
            let tells = |cell: &&usize| {
                let counts = self.counts[**cell];
                !counts.slope && !counts.paced && !self.state.plan.cells[**cell].starts_cold()
            };
            for cell in order.iter().filter(tells) {
                let ops = self.pilot_ops(*cell);
                let kind = BatchKind::of(self.counts[*cell], false, 0);
                let wall_ns = retry_if_suspended(self.bench, *cell, ops, kind)?.0.wall_ns;
                log_costs[*cell] = (wall_ns.max(1) as f64 / ops as f64).ln();
            }
            self.report(Phase::Calibrating);
        }
        Ok(())
    }

    /// The number for a usual lead-in, however long the cell's own is.
    fn pilot_ops(&self, cell: usize) -> u64 {
        let plan = &self.state.plan;
        let planned = &plan.cells[cell];
        let (_, own) = lengths(plan, planned);
        let share = plan.lead_in.as_secs_f64() / own.as_secs_f64();
        let workers = u64::from(planned.cell.concurrency);
        let each = (self.counts[cell].lead_in / workers) as f64 * share;
        (each.ceil() as u64).max(1) * workers
    }

    /// Has them open so few connections that all epochs that an interval takes find ports.
    fn limit_connections(&mut self) {
        let (cells, HeldPorts { held, of }) = self.connecting();
        let plan = &self.state.plan;
        let epochs = u64::from(plan.epochs_needed + SPARE_EPOCHS) * cells.len() as u64;
        for cell in cells {
            let work = &plan.cells[cell].cell;
            let in_epoch =
                ((of / MOST_PORTS).saturating_sub(held) / epochs).saturating_sub(verified_ops(work));
            let each = in_epoch / u64::from(plan.rounds.max(1));
            let workers = u64::from(work.concurrency);
            let equally = |ops: u64| ops / workers * workers;
            let counts = &mut self.counts[cell];
            counts.lead_in = counts.lead_in.min(equally(each / LEAD_IN_OF_CONNECTIONS));
            counts.batch = counts.batch.min(equally(each - counts.lead_in)).max(workers);
        }
    }
}

/// Whether the end of a burst may be held back: Nagle's algorithm keeps the last segment until earlier data is
/// acknowledged, and the other side delays that by up to 40 ms.
pub(crate) fn holds_back(transport: &str, pattern: Pattern, options: &Options) -> bool {
    uses_tcp(transport) && pattern == Pattern::Stream && !options.sets_nodelay(pattern)
}

/// How the batches of a cell end whose client pushes, or does not.
pub(crate) fn ends_of(cell: &Cell, pushes: bool) -> BatchEnd {
    match holds_back(&cell.transport, cell.pattern, &cell.options) {
        true if pushes => BatchEnd::Pushed,
        true => BatchEnd::Held,
        false => BatchEnd::AtOnce,
    }
}

/// The number of operations that fill the buffers between the two sides more than once, where only the sender is
/// timed. Its last send returns with that much still in flight, in a batch as in its lead-in, so the difference of
/// the two cancels it. Limited to a few seconds.
fn filling_ops(cell: &Cell, ns_per_op: f64) -> u64 {
    const TIMES_THE_BUFFERS: u64 = 2;
    const LONGEST_NS: f64 = 3e9;
    if cell.pattern != Pattern::Stream {
        return 0;
    }
    let capacity = transport::find(&cell.transport).and_then(|known| known.capacity_bytes(cell));
    let wanted = capacity.unwrap_or(0).saturating_mul(TIMES_THE_BUFFERS).div_ceil(cell.size.max(1));
    wanted.min((LONGEST_NS / ns_per_op) as u64)
}

/// How much longer batches last on average than predicted by the rates behind operation counts.
fn stretch(rates: &BTreeMap<usize, Rate>, pilots: &[Pilot]) -> Option<f64> {
    let costs = rates.iter().flat_map(|(cell, rate)| {
        pilots.iter().flatten().map(move |log_costs| log_costs[*cell].exp() / rate.ns_per_op)
    });
    let known: Vec<f64> = costs.filter(|cost| cost.is_finite()).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// How contrasts vary, from pilot epochs.
fn variances(plan: &Plan, pilots: &[Pilot]) -> Variances {
    let log_ratios = |contrast: &PlannedContrast| -> Vec<[f64; 2]> {
        let of_epoch =
            |rounds: &Pilot| rounds.each_ref().map(|log_costs| log_costs[contrast.a] - log_costs[contrast.b]);
        pilots.iter().map(of_epoch).collect()
    };
    let contrasts: Vec<Vec<[f64; 2]>> = plan.contrasts.iter().map(log_ratios).collect();
    Variances::of_pilots(&contrasts, plan.lead_in)
}
