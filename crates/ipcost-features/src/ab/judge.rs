//! From a document with two arms to what differs between them.

use ipcost_lab::Batches;
use ipcost_model::{ArmSetting, CellRecord, Document, Metric, Point, Verdict};
use ipcost_stats::{EpochInterval, epoch_interval, student_quantile};

use super::paired::{Pair, PairedArms, pairs};
use crate::compare::{
    COMPARISON_SCHEMA, Change, ComparedRun, Comparison, Difference, Levels, levels, would_show,
};

/// What differs between the arms of a run; `None` of a run without arms, or before the first epoch.
pub fn comparison(document: &Document, metric: Metric) -> Option<Comparison> {
    let arms = document.job.ab.clone()?;
    let batches = Batches::new(&document.samples, document.cells.len());
    let points: Vec<&Point> = document.cells.iter().map(|cell| &cell.point).collect();
    let (measured, evidence) = PairedArms::of(&batches, metric, &pairs(&points));
    let margin = document.analysis.margin;
    let of_a: Vec<&Point> = measured.iter().map(|pair| points[pair.a]).collect();
    let found = levels(&evidence, &of_a, measured.len(), margin);
    let costs = changes(document, &measured, &evidence, &found, metric);
    if costs.is_empty() {
        return None;
    }
    let run = ComparedRun {
        started: document.started.clone(),
        seed: document.seed,
        epochs: document.schedule.epochs,
    };
    Some(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        tool: document.tool.clone(),
        a: vec![run.clone()],
        b: vec![run],
        differences: settings(document),
        alpha: document.analysis.alpha,
        family: costs.len() as u32,
        margin,
        metric,
        assumed_spread: 0.0,
        arms: Some(arms),
        saved_runs: 0,
        groups: found.groups,
        everything: found.everything,
        costs,
        relative: Vec::new(),
        only_a: Vec::new(),
        only_b: Vec::new(),
        notes: notes(document),
    })
}

/// What the commands set, where that differs.
fn settings(document: &Document) -> Vec<Difference> {
    let settings =
        document.arms.iter().flat_map(|arms| &arms.settings).filter(|setting| setting.a != setting.b);
    let of = |value: &Option<String>| vec![value.clone().unwrap_or_else(|| "unknown".to_owned())];
    let difference = |setting: &ArmSetting| Difference {
        what: setting.path.clone(),
        a: of(&setting.a),
        b: of(&setting.b),
    };
    settings.map(difference).collect()
}

fn notes(document: &Document) -> Vec<String> {
    let unmeasured = document.cells.iter().filter(|cell| !cell.available && cell.arm.is_some());
    let reasons: Vec<String> =
        unmeasured.filter_map(|cell| Some(format!("{}: {}", row(cell), cell.reason.as_ref()?))).collect();
    let mut notes: Vec<String> = reasons;
    notes.dedup();
    notes
}

/// The id of a cell without its arm.
fn row(cell: &CellRecord) -> &str {
    let suffix = cell.arm.map(|arm| format!("/arm={arm}")).unwrap_or_default();
    cell.id.strip_suffix(&suffix).unwrap_or(&cell.id)
}

/// The change of each cell, the largest first.
fn changes(
    document: &Document,
    pairs: &[Pair],
    evidence: &PairedArms,
    levels: &Levels,
    metric: Metric,
) -> Vec<Change> {
    let batches = Batches::new(&document.samples, document.cells.len());
    let cost = |index: usize| ipcost_stats::median(&batches.log_costs(metric, index)).map(f64::exp);
    let margin = document.analysis.margin;
    let change = |(place, pair): (usize, &Pair)| {
        let alpha = levels.cell_alpha[place];
        let EpochInterval { interval, .. } = epoch_interval(&evidence.epochs(place), alpha)?;
        let ratios = interval.bounds.map(|(lo, hi)| (lo.exp(), hi.exp()));
        Some(Change {
            cell: row(&document.cells[pair.a]).to_owned(),
            baseline: None,
            a: cost(pair.a)?,
            b: cost(pair.b)?,
            ratio: interval.median.exp(),
            lo: ratios.map(|ratios| ratios.0),
            hi: ratios.map(|ratios| ratios.1),
            verdict: Verdict::of(ratios, margin),
            alpha,
            would_show: would_show(interval.bounds, student_quantile(1.0 - alpha / 2.0, f64::INFINITY)),
            spread: None,
            spread_source: None,
        })
    };
    let mut changes: Vec<Change> = pairs.iter().enumerate().filter_map(change).collect();
    changes.sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    changes
}
