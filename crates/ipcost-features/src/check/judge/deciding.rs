//! The word of one test, from what was measured.

use ipcost_lab::percentiles;
use ipcost_model::{LatencyMode, Metric, Percentile};
use ipcost_stats::{epochs_to_exclude, median};

use super::{CellTest, CellTestThan, MeasuredCells};
use crate::FeatureError;
use crate::check::{CheckedTest, ClaimMetric};
use crate::claims::{Bounded, ClaimBounds, ClaimedValue};
use ipcost_model::ClaimVerdict;

/// Decides one test at `level`.
pub(super) fn decide_test(test: &CellTest, measured: &MeasuredCells<'_>, level: f64) -> CheckedTest {
    let mut checked = unmeasured(test, measured, level);
    if measured.epochs == 0 || measured.cells[test.cell].unavailable.is_some() {
        return checked;
    }
    let logs = match log_values(measured, test) {
        Ok(logs) => logs,
        Err(error) => {
            checked.reason.get_or_insert_with(|| error.to_string());
            return checked;
        }
    };
    let (value, interval) = match &test.than {
        CellTestThan::Baseline(then) => {
            let ratio = median(&logs).zip(then.mean()).map(|(now, then)| (now - then).exp());
            (ratio, then.interval(&logs, level).map(|(lo, hi)| (lo.exp(), hi.exp())))
        }
        CellTestThan::Nothing | CellTestThan::Cell(_) => {
            let found = ClaimedValue::of(&logs, level, measured.start, f64::exp);
            (found.map(|found| found.value), found.and_then(|found| found.interval))
        }
    };
    checked.value = value;
    (checked.lo, checked.hi) = interval.unzip();
    let bounds = ClaimBounds {
        above: test.at_least.map(Bounded::Including),
        below: test.at_most.map(Bounded::Including),
        margin: checked.is_ratio().then_some(test.margin),
    };
    checked.word = bounds.decide(interval);
    if let Some(pace) =
        measured.pace.filter(|_| checked.word == ClaimVerdict::Open && checked.reason.is_none())
    {
        checked.likely_budget_s = likely_epochs(test, &logs, interval, level)
            .map(|epochs| pace.before_s.max(0.0) + pace.epoch_s * f64::from(epochs));
    }
    checked
}

/// A test of which nothing is known yet.
fn unmeasured(test: &CellTest, measured: &MeasuredCells<'_>, level: f64) -> CheckedTest {
    let id = |cell: usize| measured.cells[cell].id.clone();
    let mut checked = CheckedTest {
        cell: id(test.cell),
        metric: test.metric,
        at_most: test.at_most,
        at_least: test.at_least,
        reason: test.hopeless.clone(),
        ..CheckedTest::default()
    };
    match &test.than {
        CellTestThan::Nothing => {}
        CellTestThan::Cell(other) => checked.against = Some(id(*other)),
        CellTestThan::Baseline(then) => {
            checked.baseline = Some(then.name.clone());
            checked.between_runs = Some(then.between_runs(level));
        }
    }
    checked
}

/// Forecasts above this number of epochs are not reported.
const MOST_LIKELY: u32 = 200_000;

/// How many epochs would likely exclude every bound that the interval holds; `None` where that cannot be told.
fn likely_epochs(test: &CellTest, logs: &[f64], interval: Option<(f64, f64)>, level: f64) -> Option<u32> {
    if matches!(test.than, CellTestThan::Baseline(_)) {
        // What the baseline and the spread between runs leave open does not narrow however long this run takes.
        return None;
    }
    let within = |bound: &f64| interval.is_none_or(|(lo, hi)| lo <= *bound && *bound <= hi);
    let open = [test.at_most, test.at_least].into_iter().flatten().filter(within);
    let epochs: Vec<u32> = open
        .map(|bound| epochs_to_exclude(logs, bound.ln(), level, 1.0, MOST_LIKELY, true))
        .collect::<Option<_>>()?;
    epochs.into_iter().max()
}

/// The logarithm of what a test is about, an epoch each.
fn log_values(measured: &MeasuredCells<'_>, test: &CellTest) -> Result<Vec<f64>, FeatureError> {
    let batches = &measured.batches;
    let bytes = |cell: usize| (measured.cells[cell].cell.bytes_per_op() as f64).ln();
    let costs = |metric: Metric| match test.than {
        CellTestThan::Cell(other) => batches.log_ratios(metric, test.cell, other),
        CellTestThan::Nothing | CellTestThan::Baseline(_) => batches.log_costs(metric, test.cell),
    };
    // A rate is one over a cost; a ratio of rates has no seconds in it.
    let rate = |of_one: f64, of_other: f64| -> Vec<f64> {
        let compared = matches!(test.than, CellTestThan::Cell(_));
        let unit = if compared { of_one - of_other } else { of_one + 1e9f64.ln() };
        costs(Metric::Wall).into_iter().map(|log_cost| unit - log_cost).collect()
    };
    let other = test.cells().last().unwrap_or(test.cell);
    let found = match (test.metric.percentile(), test.metric) {
        (Some(percentile), _) => return log_percentiles(measured, test, percentile),
        (None, ClaimMetric::Cpu) => costs(Metric::Cpu),
        (None, ClaimMetric::OpsPerS) => rate(0.0, 0.0),
        (None, ClaimMetric::BytesPerS) => rate(bytes(test.cell), bytes(other)),
        (None, _) => costs(Metric::Wall),
    };
    if found.is_empty() {
        return Err(match test.metric {
            ClaimMetric::Cpu => FeatureError::NoCpuTime,
            _ => FeatureError::NoCost,
        });
    }
    Ok(found)
}

/// The logarithm of each epoch's own percentile, or of the ratio of two, paired by epoch.
fn log_percentiles(
    measured: &MeasuredCells<'_>,
    test: &CellTest,
    percentile: Percentile,
) -> Result<Vec<f64>, FeatureError> {
    for cell in test.cells() {
        let fewest = measured.percentiles[cell].iter().map(|epoch| epoch.count).min();
        if fewest.is_none_or(|fewest| fewest < percentile.least_ops()) {
            return Err(too_few(measured, cell, percentile, fewest));
        }
    }
    let own = measured.percentiles[test.cell];
    let found = match test.than {
        CellTestThan::Cell(other) => percentiles::log_ratios(own, measured.percentiles[other], percentile),
        CellTestThan::Nothing | CellTestThan::Baseline(_) => percentiles::log_values(own, percentile),
    };
    Ok(found.unwrap_or_default())
}

/// Why epochs do not give a percentile, `fewest` being the operations of the smallest, and what would.
fn too_few(
    measured: &MeasuredCells<'_>,
    cell: usize,
    percentile: Percentile,
    fewest: Option<u64>,
) -> FeatureError {
    /// Batches of one length do not all have as many operations.
    const ROOM: f64 = 1.2;
    let planned = &measured.cells[cell];
    let cell = planned.id.clone();
    let fewest = match fewest {
        None => return FeatureError::NoPercentiles(cell),
        Some(0) => return FeatureError::NoLatencies(cell),
        Some(fewest) => fewest,
    };
    let samples_batches = planned.cell.pace().is_paced() || measured.latency == LatencyMode::Inline;
    let longer_ms = measured.batch_ms * ROOM * percentile.least_ops() as f64 / fewest as f64;
    let batch = samples_batches.then(|| batch_text(longer_ms));
    FeatureError::TooFewSampled { cell, percentile, fewest, batch }
}

/// A length of batches as people type it, rounded up.
fn batch_text(ms: f64) -> String {
    match ms {
        ms if ms < 1e3 => format!("{}ms", ((ms / 10.0).ceil() * 10.0) as u64),
        ms => format!("{}s", (ms / 1e3).ceil() as u64),
    }
}
