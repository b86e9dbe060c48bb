//! The results of a run, built up epoch by epoch, from a bench or from a samples file.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ipcost_model::protocol::LatencyKind;
use ipcost_model::units::duration_of;
use ipcost_model::{
    ArmsRecord, Calibrated, EpochRecord, Incidents, Plan, Resumed, Sample, Samples, Stopped, Timing,
    WatchedBatches,
};
use ipcost_stats::Histogram;
use ipcost_sys::clock::Quality;
use serde_json::{Map, Value};

use crate::batches::Batches;
use crate::error::EngineError;
use crate::machine_observer::{HeldPorts, Observed};
use crate::percentiles::Percentiles;
use crate::question::Answered;

/// Why a cell is not measured that the budget has no time for.
pub const NO_TIME: &str = "with it, no cell of this run would have an interval: processes take longer to start here than was planned for";

/// What a run has measured so far, before any verdict; at its end, its raw results.
#[derive(Debug)]
pub struct CampaignState {
    /// The plan as carried out.
    pub plan: Plan,
    /// The timed batches of every complete epoch.
    pub samples: Vec<Sample>,
    /// Samples during which the machine was suspended; they were measured again and are not counted.
    pub suspended: Vec<Sample>,
    pub epochs: u32,
    /// Latencies of every cell, nanoseconds.
    pub latency: Vec<Histogram>,
    /// Percentiles of latency of every cell, one set per complete epoch.
    pub percentiles: Vec<Vec<Percentiles>>,
    /// What else is told of each operation, by cell: of all epochs together, and percentiles of each.
    pub latencies: BTreeMap<(usize, LatencyKind), (Histogram, Vec<Percentiles>)>,
    /// Effective option values, by cell, role and name.
    pub effective: Vec<Map<String, Value>>,
    /// Events besides the samples, by cell.
    pub incidents: Vec<Incidents>,
    /// What the machine did over all complete epochs.
    pub observed: Observed,
    /// Where the time went.
    pub timing: Timing,
    /// The duration of the run.
    pub elapsed: Duration,
    /// When the run was resumed after being killed.
    pub resumed: Vec<Resumed>,
    pub stopped: Stopped,
    /// How many of its questions were answered at the last epoch; `None` before the first.
    pub answered: Option<Answered>,
    /// Cells that are measured no more, as the local ports to their server are held by connections that have ended; how many were, of
    /// how many.
    pub out_of_ports: BTreeMap<usize, HeldPorts>,
    /// The error, if it failed.
    pub failure: Option<EngineError>,
    /// What the commands of two arms changed.
    pub arms: Option<ArmsRecord>,
    /// As which user each kind of process ran.
    pub ran_as: BTreeMap<String, String>,
}

impl CampaignState {
    /// The outcome of a run that has not begun.
    pub(super) fn empty(plan: Plan) -> Self {
        let cells = plan.cells.len();
        Self {
            samples: Vec::new(),
            suspended: Vec::new(),
            epochs: 0,
            answered: None,
            out_of_ports: BTreeMap::new(),
            latency: vec![Histogram::default(); cells],
            percentiles: vec![Vec::new(); cells],
            latencies: BTreeMap::new(),
            effective: vec![Map::new(); cells],
            incidents: vec![Incidents::default(); cells],
            observed: Observed::default(),
            timing: Timing::default(),
            elapsed: Duration::ZERO,
            resumed: Vec::new(),
            stopped: Stopped::Budget,
            failure: None,
            ran_as: BTreeMap::new(),
            arms: None,
            plan,
        }
    }

    /// The outcome so far of a run that was killed, from its samples file.
    pub fn of_samples(samples: Samples) -> Self {
        let mut outcome = Self::empty(samples.begun.plan);
        if let Some(calibrated) = &samples.calibrated {
            outcome.calibrate(calibrated);
            outcome.elapsed = Duration::from_nanos(calibrated.elapsed_ns);
        }
        for epoch in samples.epochs {
            outcome.elapsed = Duration::from_nanos(epoch.elapsed_ns);
            outcome.keep(epoch);
        }
        outcome.resumed = samples.resumed;
        outcome.stopped = Stopped::Interrupted;
        outcome.account_for_the_rest();
        outcome
    }

    /// Gives up a cell before it is measured.
    pub(super) fn spare(&mut self, cell: usize) {
        if let Some(planned) = self.plan.cells.get_mut(cell) {
            planned.unavailable = Some(NO_TIME.to_owned());
        }
    }

    /// Stores the result of calibration.
    pub(super) fn calibrate(&mut self, calibrated: &Calibrated) {
        calibrated.spared.iter().for_each(|cell| self.spare(*cell as usize));
        let plan = &mut self.plan;
        plan.rounds = calibrated.rounds;
        plan.batch = Duration::from_nanos(calibrated.batch_ns);
        plan.lead_in = Duration::from_nanos(calibrated.lead_in_ns);
        plan.epochs_expected = calibrated.epochs_expected;
        plan.looks = calibrated.looks.clone();
        self.timing.calibration_s = Duration::from_nanos(calibrated.elapsed_ns).as_secs_f64();
        self.observed.clock =
            Quality { read_ns: calibrated.clock_read_ns, step_ns: calibrated.clock_step_ns };
        self.observed.clock_source = calibrated.clock_source.clone();
    }

    /// Adds a complete epoch.
    pub(super) fn keep(&mut self, epoch: EpochRecord) {
        self.epochs += 1;
        let measured: BTreeSet<usize> = epoch.samples.iter().map(|sample| sample.cell as usize).collect();
        let (suspended, samples): (Vec<Sample>, Vec<Sample>) =
            epoch.samples.into_iter().partition(|sample| sample.suspended);
        self.suspended.extend(suspended);
        self.samples.extend(samples);
        let none = Percentiles { epoch: epoch.epoch, ..Percentiles::default() };
        let mut of_epoch = vec![none; self.plan.cells.len()];
        for latency in epoch.latency {
            let cell = latency.cell as usize;
            // One that contradicts itself comes from a tampered samples file, and counts as empty.
            let histogram = Histogram::from_bins(&latency.bins, latency.max_ns).unwrap_or_default();
            if latency.kind == LatencyKind::Latency {
                let over_limit = self.plan.limit_ns.map(|limit| histogram.above(limit));
                of_epoch[cell] = Percentiles { over_limit, ..Percentiles::of(epoch.epoch, &histogram) };
                self.latency[cell].add(&histogram);
            } else {
                let (all, epochs) = self.latencies.entry((cell, latency.kind)).or_default();
                all.add(&histogram);
                epochs.push(Percentiles::of(epoch.epoch, &histogram));
            }
        }
        measured.into_iter().for_each(|cell| self.percentiles[cell].push(of_epoch[cell]));
        for (cell, effective) in epoch.effective {
            self.effective[cell as usize] = effective;
        }
        for (cell, incidents) in epoch.incidents {
            let sum = &mut self.incidents[cell as usize];
            sum.retries = sum.retries.saturating_add(incidents.retries);
            for (name, count) in incidents.troubles {
                let all = sum.troubles.entry(name).or_default();
                *all = all.saturating_add(count);
            }
            if let Some(watched) = incidents.watched {
                sum.watched.get_or_insert(WatchedBatches::NOTHING).add(&watched);
            }
        }
        self.observed.add(&epoch.machine);
        let (sum, of_epoch) = (&mut self.timing, &epoch.timing);
        sum.processes_s += of_epoch.processes_s;
        sum.batches_s += of_epoch.batches_s;
        sum.lead_ins_s += of_epoch.lead_ins_s;
        sum.tails_s += of_epoch.tails_s;
    }

    /// Time not attributed to any phase.
    pub(super) fn account_for_the_rest(&mut self) {
        let timing = &mut self.timing;
        let named =
            timing.calibration_s + timing.processes_s + timing.batches_s + timing.lead_ins_s + timing.tails_s;
        timing.other_s = (self.elapsed.as_secs_f64() - named).max(0.0);
    }

    /// The samples, arranged for questions about cells.
    pub fn batches(&self) -> Batches<'_> {
        Batches::new(&self.samples, self.plan.cells.len())
    }

    /// The approximate duration of all complete epochs: all time except calibration.
    pub fn elapsed_of_epochs(&self) -> Duration {
        self.elapsed.saturating_sub(duration_of(self.timing.calibration_s))
    }
}
