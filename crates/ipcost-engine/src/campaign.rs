//! A run: calibration, epochs, rounds, and when to stop.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use ipcost_model::{LatencyMode, Plan, PlannedContrast, Sample, Stopped, Timing};
use ipcost_stats::{Random, Variances};
use serde_json::{Map, Value};

use crate::analysis::{Answered, Judge};
use crate::bench::{BatchOutcome, Bench};
use crate::calibration::{Counts, ns_per_op};
use crate::cost_table::CostTable;
use crate::error::EngineError;
use crate::percentiles::Percentiles;
use crate::planning::fit;
use crate::progress::{Observer, Phase, Progress};
use crate::surroundings::{Observed, Surroundings};

/// How far beyond its budget a run may go where it would otherwise end without a finite interval.
const OVERRUN: f64 = 0.25;
/// The most bytes a verification moves in each direction, and the most operations it does.
const VERIFY_BYTES: u64 = 1 << 20;
const VERIFY_OPS: u64 = 100;

/// Rounds of a pilot epoch.
const PILOT_ROUNDS: u32 = 2;
/// Pilot epochs beside the one that calibrates, and the share of the budget that they may take.
const MORE_PILOTS: u32 = 2;
const MOST_FOR_PILOTS: f64 = 0.05;

/// What a run has found: raw, nothing judged.
#[derive(Debug)]
pub struct Outcome {
    /// The plan as it was carried out.
    pub plan: Plan,
    /// The timed batches of every complete epoch.
    pub samples: Vec<Sample>,
    /// The same, arranged.
    pub table: CostTable,
    /// Latencies of every cell, nanoseconds.
    pub latency: Vec<Histogram<u64>>,
    /// Percentiles of latency of every cell, one of each complete epoch.
    pub percentiles: Vec<Vec<Percentiles>>,
    /// What options became, by cell, role and name.
    pub effective: Vec<Map<String, Value>>,
    /// What happened beside the samples, by cell.
    pub incidents: Vec<Incidents>,
    /// What the machine did over all complete epochs.
    pub observed: Observed,
    /// Where the time went.
    pub timing: Timing,
    /// All of it.
    pub elapsed: Duration,
    /// Why it ended.
    pub stopped: Stopped,
    /// What failed, where it failed.
    pub failure: Option<EngineError>,
}

impl Outcome {
    /// How long all complete epochs took, as far as that is known: what was not spent on calibrating.
    pub fn elapsed_of_epochs(&self) -> Duration {
        self.elapsed.saturating_sub(Duration::from_secs_f64(self.timing.calibration_s.max(0.0)))
    }
}

/// What happened in a cell's batches beside what was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Incidents {
    /// Connections that had to be tried again.
    pub retries: u64,
    /// How much the transport's counters of trouble rose, by name.
    pub troubles: BTreeMap<String, u64>,
}

/// Carries a plan out until its own questions are answered or its budget is spent. Failure and interruption are
/// outcomes too: what was measured before is kept.
pub fn run(
    plan: Plan,
    bench: &mut dyn Bench,
    surroundings: &mut dyn Surroundings,
    observer: &mut dyn Observer,
) -> Outcome {
    carry_out(plan, bench, surroundings, observer, None)
}

/// Tells whether what has been measured so far is enough.
pub type Enough<'a> = dyn FnMut(&Outcome) -> bool + 'a;

/// Carries a plan out until `enough` says so after an epoch, or its budget is spent.
pub fn run_until(
    plan: Plan,
    bench: &mut dyn Bench,
    surroundings: &mut dyn Surroundings,
    observer: &mut dyn Observer,
    enough: &mut Enough<'_>,
) -> Outcome {
    carry_out(plan, bench, surroundings, observer, Some(enough))
}

fn carry_out(
    plan: Plan,
    bench: &mut dyn Bench,
    surroundings: &mut dyn Surroundings,
    observer: &mut dyn Observer,
    enough: Option<&mut Enough<'_>>,
) -> Outcome {
    let cells = plan.cells.len();
    let empty = || Histogram::new(3).expect("three digits are valid");
    let latency = plan.cells.iter().map(|_| empty()).collect();
    let mut campaign = Campaign {
        random: Random::new(plan.seed),
        cells: plan.measurable().collect(),
        counts: vec![Counts::default(); cells],
        outcome: Outcome {
            samples: Vec::new(),
            table: CostTable::default(),
            latency,
            percentiles: vec![Vec::new(); cells],
            effective: vec![Map::new(); cells],
            incidents: vec![Incidents::default(); cells],
            observed: Observed::default(),
            timing: Timing::default(),
            elapsed: Duration::ZERO,
            stopped: Stopped::Budget,
            failure: None,
            plan,
        },
        bench,
        surroundings,
        observer,
        answered: Answered { resolved: 0, of: 0 },
        enough,
        epoch: 0,
        longest_epoch: Duration::ZERO,
    };
    campaign.outcome.observed.clock = campaign.surroundings.clock();
    campaign.outcome.observed.clock_source = campaign.surroundings.clock_source();
    campaign.surroundings.watch_others();
    let stopped = campaign.measure();
    let elapsed = campaign.bench.elapsed();
    campaign.outcome.observed.busiest = campaign.surroundings.busiest_other();
    let mut outcome = campaign.outcome;
    (outcome.stopped, outcome.failure) = match stopped {
        Ok(stopped) => (stopped, None),
        Err(EngineError::Interrupted) => (Stopped::Interrupted, None),
        Err(error) => (Stopped::Failed, Some(error)),
    };
    outcome.elapsed = elapsed;
    let timing = &mut outcome.timing;
    let named = timing.calibration_s + timing.processes_s + timing.batches_s + timing.lead_ins_s;
    timing.other_s = (elapsed.as_secs_f64() - named).max(0.0);
    outcome
}

struct Campaign<'a, 'e> {
    random: Random,
    /// The cells that can be measured.
    cells: Vec<usize>,
    counts: Vec<Counts>,
    outcome: Outcome,
    bench: &'a mut dyn Bench,
    surroundings: &'a mut dyn Surroundings,
    observer: &'a mut dyn Observer,
    answered: Answered,
    enough: Option<&'a mut Enough<'e>>,
    epoch: u32,
    longest_epoch: Duration,
}

/// What a pilot epoch has found: logarithms of costs, by round and cell.
type Pilot = [Vec<f64>; PILOT_ROUNDS as usize];

/// What one epoch has found; added to the outcome once it is complete.
#[derive(Default)]
struct Epoch {
    samples: Vec<Sample>,
    latency: Vec<(usize, Vec<u64>)>,
}

impl Campaign<'_, '_> {
    fn measure(&mut self) -> Result<Stopped, EngineError> {
        self.calibrate()?;
        let plan = &self.outcome.plan;
        self.outcome.table = CostTable::new(plan.cells.len(), plan.rounds);
        loop {
            if let Some(stopped) = self.reason_to_stop() {
                return Ok(stopped);
            }
            self.epoch += 1;
            let began = self.bench.elapsed();
            let before = self.surroundings.snapshot();
            let epoch = self.run_epoch()?;
            let after = self.surroundings.snapshot();
            self.outcome.observed.add(&before, &after);
            self.keep(epoch);
            self.longest_epoch = self.longest_epoch.max(self.bench.elapsed() - began);
        }
    }

    /// Epochs that are not counted: operation counts, what starting processes costs here, and how contrasts vary.
    fn calibrate(&mut self) -> Result<(), EngineError> {
        self.tell(Phase::Calibrating);
        let began = self.bench.elapsed();
        let order = self.cells.clone();
        self.bench.start_epoch(0, &order)?;
        self.verify(&order)?;
        let started = self.bench.elapsed();
        let mut rates = Vec::new();
        for cell in &order {
            let workers = u64::from(self.outcome.plan.cells[*cell].cell.concurrency);
            rates.push((*cell, workers, ns_per_op(self.bench, *cell, workers)?));
            self.tell(Phase::Calibrating);
        }
        self.count_operations(&rates);
        let mut pilots = vec![self.pilot()?];
        let piloted = self.bench.elapsed();
        self.bench.end_epoch()?;
        let now = self.bench.elapsed();
        let overhead = ((started - began) + (now - piloted)) / order.len() as u32;

        let plan = &self.outcome.plan;
        let epoch = order.len() as u32 * (overhead + PILOT_ROUNDS * plan.lead_in);
        // Where nothing is left to choose, nothing is gained by pilots.
        let choosing = plan.epochs_exact.is_none() && plan.batch_exact.is_none();
        if choosing && epoch * MORE_PILOTS < plan.budget.mul_f64(MOST_FOR_PILOTS) {
            for _ in 0..MORE_PILOTS {
                self.bench.start_epoch(0, &order)?;
                pilots.push(self.pilot()?);
                self.bench.end_epoch()?;
            }
        }
        let variances = variances(&self.outcome.plan, &pilots);
        let plan = &mut self.outcome.plan;
        let left = plan.budget.saturating_sub(self.bench.elapsed());
        // The budget was large enough by assumption; what it really takes is known only now.
        let _ = fit(plan, left, overhead, &variances);
        self.count_operations(&rates);
        self.outcome.timing.calibration_s = self.bench.elapsed().as_secs_f64();
        Ok(())
    }

    fn count_operations(&mut self, rates: &[(usize, u64, f64)]) {
        for (cell, workers, ns_per_op) in rates {
            self.counts[*cell] = Counts::of(&self.outcome.plan, *ns_per_op, *workers);
        }
    }

    /// Rounds of batches as short as lead-ins, in an epoch that is not counted: logarithms of costs by cell.
    fn pilot(&mut self) -> Result<Pilot, EngineError> {
        let mut rounds = [(); PILOT_ROUNDS as usize].map(|()| vec![f64::NAN; self.outcome.plan.cells.len()]);
        let mut order = self.cells.clone();
        for log_costs in &mut rounds {
            self.random.shuffle(&mut order);
            for cell in &order {
                let ops = self.counts[*cell].lead_in;
                let wall_ns = self.bench.batch(*cell, ops, false)?.wall_ns;
                log_costs[*cell] = (wall_ns.max(1) as f64 / ops as f64).ln();
            }
            self.tell(Phase::Calibrating);
        }
        Ok(rounds)
    }

    fn reason_to_stop(&mut self) -> Option<Stopped> {
        let plan = &self.outcome.plan;
        if let Some(exact) = plan.epochs_exact {
            return (self.epoch >= exact).then_some(Stopped::Budget);
        }
        let resolved = match &mut self.enough {
            Some(enough) => self.epoch > 0 && enough(&self.outcome),
            None => self.answered.all(),
        };
        if resolved {
            return Some(Stopped::Resolved);
        }
        let plan = &self.outcome.plan;
        let next = self.bench.elapsed() + self.longest_epoch;
        let most =
            if self.epoch < plan.epochs_needed { plan.budget.mul_f64(1.0 + OVERRUN) } else { plan.budget };
        (self.epoch > 0 && next > most).then_some(Stopped::Budget)
    }

    fn run_epoch(&mut self) -> Result<Epoch, EngineError> {
        let began = self.bench.elapsed();
        let mut order = self.cells.clone();
        self.random.shuffle(&mut order);
        self.bench.start_epoch(self.epoch, &order)?;
        self.verify(&order)?;
        self.outcome.timing.processes_s += (self.bench.elapsed() - began).as_secs_f64();

        let mut epoch = Epoch::default();
        let clocked = self.outcome.plan.latency;
        for round in 1..=self.outcome.plan.rounds {
            self.random.shuffle(&mut order);
            for (position, cell) in (1..).zip(&order) {
                let lead_in =
                    self.bench.batch(*cell, self.counts[*cell].lead_in, clocked == LatencyMode::LeadIn)?;
                self.outcome.timing.lead_ins_s += seconds(lead_in.wall_ns);
                self.note_incidents(*cell, &lead_in);
                epoch.latency.push((*cell, lead_in.latency_ns));
                let ops = self.counts[*cell].batch;
                let batch = self.bench.batch(*cell, ops, clocked == LatencyMode::Inline)?;
                self.outcome.timing.batches_s += seconds(batch.wall_ns);
                self.note_incidents(*cell, &batch);
                epoch.samples.push(Sample {
                    cell: *cell as u32,
                    epoch: self.epoch,
                    round,
                    position,
                    ops,
                    wall_ns: batch.wall_ns,
                    sent_ns: batch.sent_ns,
                    client: batch.client,
                    server: batch.server,
                    measures: batch.measures,
                });
                epoch.latency.push((*cell, batch.latency_ns));
                self.tell_measuring();
            }
        }
        for cell in &order {
            self.outcome.effective[*cell] = self.bench.effective(*cell);
        }

        let ending = self.bench.elapsed();
        self.bench.end_epoch()?;
        self.outcome.timing.processes_s += (self.bench.elapsed() - ending).as_secs_f64();
        Ok(epoch)
    }

    fn verify(&mut self, order: &[usize]) -> Result<(), EngineError> {
        for index in order {
            let cell = &self.outcome.plan.cells[*index].cell;
            let workers = u64::from(cell.concurrency);
            let fitting = VERIFY_BYTES / cell.bytes_per_op().max(1);
            let each = fitting.clamp(2, VERIFY_OPS).div_ceil(workers);
            self.bench.verify(*index, each * workers)?;
        }
        Ok(())
    }

    fn keep(&mut self, epoch: Epoch) {
        let outcome = &mut self.outcome;
        outcome.table.add_epoch(&epoch.samples);
        outcome.samples.extend(epoch.samples);
        for cell in &self.cells {
            let own = epoch.latency.iter().filter(|(of, _)| of == cell);
            let values = own.flat_map(|(_, values)| values.iter().copied()).collect();
            outcome.percentiles[*cell].push(Percentiles::of(values));
        }
        for (cell, values) in epoch.latency {
            for value in values {
                // An auto-resizing histogram of 64-bit counts takes every value.
                let _ = outcome.latency[cell].record(value);
            }
        }
        self.answered = Judge::new(&outcome.plan, &outcome.table).answered();
    }

    fn note_incidents(&mut self, cell: usize, batch: &BatchOutcome) {
        let incidents = &mut self.outcome.incidents[cell];
        // A peer may say anything.
        incidents.retries = incidents.retries.saturating_add(batch.retries);
        for (name, count) in &batch.troubles {
            *incidents.troubles.entry(name.clone()).or_default() += count;
        }
    }

    fn tell_measuring(&mut self) {
        let Answered { resolved, of: contrasts } = self.answered;
        let of = self.outcome.plan.epochs_expected.max(self.epoch);
        self.tell(Phase::Measuring { epoch: self.epoch, of, resolved, contrasts });
    }

    fn tell(&mut self, phase: Phase) {
        let elapsed = self.bench.elapsed();
        let plan = &self.outcome.plan;
        let whole = match (plan.epochs_exact, self.epoch) {
            (None, _) => plan.budget,
            // Until the first epoch has shown how long one takes.
            (Some(_), 0 | 1) => plan.budget.max(elapsed),
            (Some(exact), epoch) => elapsed + self.longest_epoch * (exact - epoch + 1),
        };
        let left = whole.saturating_sub(elapsed);
        let done = (elapsed.as_secs_f64() / whole.as_secs_f64().max(1e-9)).min(1.0);
        self.observer.progress(&Progress { phase, done, elapsed, left });
    }
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

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
