//! Whether the parts of a document fit together: every rendering relies on it.

use std::collections::HashSet;

use ipcost_stats::Verdict;

use crate::cell_record::{CellRecord, LayoutEffect};
use crate::contrast_record::{Bound, WorkloadRecord};
use crate::document::{Analysis, Document, Estimate};
use crate::error::ModelError;
use crate::layout::PAGE_BYTES;
use crate::sample::Sample;

/// The longest id or label of a cell, bytes: it sets the width of tables.
pub const MAX_NAME_BYTES: usize = 4096;
/// The longest run, seconds: three hundred years.
const MAX_ELAPSED_S: f64 = 1e10;

/// Checks that indices and ids exist, that costs are positive, and that intervals contain their medians.
pub fn check(document: &Document) -> Result<(), ModelError> {
    let mut ids = HashSet::new();
    for record in &document.cells {
        if !ids.insert(record.id.as_str()) {
            return Err(ModelError::SameId(record.id.clone()));
        }
        cell(record)?;
    }
    let parts = document.cells.iter().filter_map(|cell| cell.floor.as_ref()).flat_map(|floor| &floor.parts);
    parts.into_iter().try_for_each(|part| known(&ids, &part.cell, "a floor"))?;
    document.workloads.iter().try_for_each(|table| workload(table, &ids))?;
    let mut listed = HashSet::new();
    if let Some(id) = document.workloads.iter().flat_map(|table| &table.cells).find(|id| !listed.insert(*id))
    {
        return Err(ModelError::ListedTwice(id.clone()));
    }
    let mut compared = HashSet::new();
    let mut contrasts = document.contrasts.iter().chain(&document.over_pace);
    if let Some(again) = contrasts.find(|one| !compared.insert((one.metric, &one.a, &one.b))) {
        return Err(ModelError::SameContrast { a: again.a.clone(), b: again.b.clone() });
    }
    for contrast in document.contrasts.iter().chain(&document.over_pace) {
        [&contrast.a, &contrast.b].into_iter().try_for_each(|id| known(&ids, id, "a contrast"))?;
        // A direction may rest on the range of many epochs.
        let (lo, hi) = contrast.range.unzip();
        ratio(contrast.ratio, contrast.lo.or(lo), contrast.hi.or(hi), contrast.verdict)?;
        contrast
            .within
            .iter()
            .try_for_each(|within| ratio(within.ratio, within.lo, within.hi, within.verdict))?;
        contrast.latency.iter().try_for_each(|own| ratio(own.ratio, own.lo, own.hi, own.verdict))?;
        let bound = contrast.bound.iter().flat_map(|bound| [bound.at_least, bound.at_most]);
        if !bound.flatten().all(is_near) {
            return Err(ModelError::Contradiction("the bound of a ratio is not near 1"));
        }
    }
    for contrast in document.contrasts.iter().chain(&document.over_pace) {
        if let Some(mean) = contrast.mean {
            ratio(mean.ratio, mean.lo, mean.hi, mean.verdict)?;
            if ![mean.slow, mean.unseen].iter().all(|share| (0.0..=1.0).contains(share)) {
                return Err(ModelError::Contradiction("a share of epochs is not between 0 and 1"));
            }
        }
        if let Some(spread) = contrast.spread {
            ratio(spread.ratio, Some(spread.lo), Some(spread.hi), Verdict::Undecided)?;
        }
    }
    document.samples.iter().try_for_each(|batch| sample(batch, document.cells.len()))?;
    analysis(&document.analysis)?;
    if !(0.0..=MAX_ELAPSED_S).contains(&document.elapsed_s) {
        return Err(ModelError::Contradiction("the elapsed time is out of range"));
    }
    if document.runs.iter().any(|run| !run.runs.is_empty()) {
        return Err(ModelError::Contradiction("a run in it has runs of its own"));
    }
    document.runs.iter().try_for_each(check)
}

fn cell(cell: &CellRecord) -> Result<(), ModelError> {
    let wrong = |what, right| ModelError::Cell { cell: cell.id.clone(), what, right };
    if cell.id.len().max(cell.label.len()) > MAX_NAME_BYTES {
        return Err(ModelError::LongName);
    }
    let costs = [cell.wall_ns_per_op, cell.cpu_ns_per_op, cell.sent_ns_per_op];
    if !costs.iter().flatten().all(is_estimate) || cell.wall_ns_per_op.is_some_and(|wall| wall.median <= 0.0)
    {
        return Err(wrong("a cost", "a positive number inside its interval"));
    }
    let is_mode = |share: f64, cost: f64| (0.0..=1.0).contains(&share) && cost.is_finite() && cost > 0.0;
    if !cell.modes.iter().all(|mode| is_mode(mode.share, mode.wall_ns_per_op)) {
        return Err(wrong("a mode", "a share with a cost"));
    }
    let mut ran = cell.ran.iter().filter_map(|ran| ran.wall_ns_per_op);
    if !ran.all(|cost| cost.is_finite() && cost > 0.0) {
        return Err(wrong("a cost by placement", "a positive number"));
    }
    let is_layout = |found: &LayoutEffect| {
        is_mode(found.share, found.wall_ns_per_op)
            && is_mode(found.share, found.elsewhere_ns_per_op)
            && found.from.max(found.to) < PAGE_BYTES
    };
    if !cell.layout.iter().all(is_layout) {
        return Err(wrong("the slow layouts", "places in a page with costs"));
    }
    if let Some(floor) = &cell.floor {
        let sound = |ns: f64| ns.is_finite() && ns >= 0.0;
        let parts = floor.parts.iter().all(|part| sound(part.count) && sound(part.ns));
        if !is_estimate(&floor.multiple) || !sound(floor.ns_per_op) || !parts {
            return Err(wrong("the floor", "a positive number"));
        }
    }
    let rates =
        [cell.ops_per_s, cell.bytes_per_s, cell.wait_ns, cell.wall_ns_per_op_mean, cell.softirq_ns_per_op];
    if !rates.iter().flatten().all(|rate| rate.is_finite() && *rate >= 0.0) {
        return Err(wrong("a rate", "a positive number"));
    }
    let used = cell.usage_per_op.map(|used| {
        let times = [used.client_user_ns, used.client_sys_ns, used.server_user_ns, used.server_sys_ns];
        times.into_iter().chain([used.voluntary_switches, used.involuntary_switches])
    });
    if !used.into_iter().flatten().all(|value| value.is_finite() && value >= 0.0) {
        return Err(wrong("the usage", "a positive number"));
    }
    Ok(())
}

fn workload(table: &WorkloadRecord, ids: &HashSet<&str>) -> Result<(), ModelError> {
    let named = table.cells.iter().chain(&table.baseline);
    let fastest = table.fastest.iter().flat_map(|fastest| [&fastest.cell, &fastest.runner_up]);
    let compared = table.contrasts.iter().flat_map(|contrast| [&contrast.a, &contrast.b]);
    named.chain(fastest).chain(compared).try_for_each(|id| known(ids, id, "a workload"))?;
    table.bursts.iter().try_for_each(|bursts| workload(bursts, ids))?;
    let open = table.fastest.iter().flat_map(|fastest| [fastest.open_within, fastest.open_cheaper_by]);
    if !open.flatten().all(is_near) {
        return Err(ModelError::Contradiction("what is open of the cheapest is not near it"));
    }
    match &table.fastest {
        // Where a direction rests on a range, that range is the contrast's.
        Some(fastest) if fastest.verdict == Verdict::Direction => {
            ratio(fastest.ratio, fastest.lo, fastest.hi, Verdict::Undecided)
        }
        Some(fastest) => ratio(fastest.ratio, fastest.lo, fastest.hi, fastest.verdict),
        None => Ok(()),
    }
}

fn sample(sample: &Sample, cells: usize) -> Result<(), ModelError> {
    if sample.cell as usize >= cells {
        return Err(ModelError::NoCell { by: "a sample", cell: sample.cell.to_string() });
    }
    if sample.ops == 0 || sample.epoch == 0 {
        return Err(ModelError::Contradiction("a sample has no operations or no epoch"));
    }
    Ok(())
}

fn analysis(analysis: &Analysis) -> Result<(), ModelError> {
    let shares = [analysis.alpha, analysis.alpha_each];
    if !shares.iter().all(|share| (0.0..=1.0).contains(share)) || !(0.0..1e3).contains(&analysis.margin) {
        return Err(ModelError::Contradiction("alpha or the margin is out of range"));
    }
    match analysis.looks.is_sound() {
        true => Ok(()),
        false => Err(ModelError::Contradiction("the looks that were planned promise more than they may")),
    }
}

fn known(ids: &HashSet<&str>, id: &str, by: &'static str) -> Result<(), ModelError> {
    match ids.contains(id) {
        true => Ok(()),
        false => Err(ModelError::NoCell { by, cell: format!("{id:?}") }),
    }
}

fn is_estimate(estimate: &Estimate) -> bool {
    let Estimate { median, lo, hi } = *estimate;
    median.is_finite()
        && median >= 0.0
        && lo.is_none_or(|lo| lo >= 0.0 && lo <= median)
        && hi.is_none_or(|hi| hi.is_finite() && hi >= median)
}

fn is_near(factor: f64) -> bool {
    /// What is rounded may be a little further.
    const BEYOND: f64 = 1e-9;
    let most = Bound::LOOSEST + BEYOND;
    (1.0 / most..=most).contains(&factor)
}

fn ratio(ratio: f64, lo: Option<f64>, hi: Option<f64>, verdict: Verdict) -> Result<(), ModelError> {
    let bounded = lo.is_some() && hi.is_some();
    let fits = is_estimate(&Estimate { median: ratio, lo, hi }) && ratio > 0.0;
    match fits && (bounded || verdict == Verdict::Undecided) {
        true => Ok(()),
        false => Err(ModelError::Contradiction(
            "a ratio lies outside its interval, or has a verdict without an interval",
        )),
    }
}
