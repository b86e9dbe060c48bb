//! From a document with two arms to what differs between them.

use ipcost_lab::Batches;
use ipcost_lab::percentiles::{log_ratios, log_values};
use ipcost_model::{ArmSetting, Document, Metric, Percentile, Point, Verdict};
use ipcost_stats::{Shift, median, student_quantile};

use super::paired::{ArmPair, PairedArms, pairs, shift};
use crate::compare::{
    COMPARISON_SCHEMA, Change, Comparison, Difference, LatencyChange, Levels, compared_run, groups, levels,
    sorted, would_show,
};

/// What differs between the arms of a run; `None` of a run without arms, or before the first epoch.
pub fn comparison(document: &Document, metric: Metric) -> Option<Comparison> {
    let arms = document.job.ab.clone()?;
    let batches = Batches::new(&document.samples, document.cells.len());
    let points: Vec<&Point> = document.cells.iter().map(|cell| &cell.point).collect();
    let (measured, evidence) = PairedArms::of(&batches, metric, &pairs(&points));
    let margin = document.analysis.margin;
    let of_a: Vec<&Point> = measured.iter().map(|pair| points[pair.a]).collect();
    let found = levels(&evidence, &of_a, groups(&of_a), measured.len(), margin);
    let cost = |cell: usize| median(&batches.log_costs(metric, cell)).map(f64::exp);
    let costs = changes(document, &measured, &evidence, &found, cost);
    if costs.is_empty() {
        return None;
    }
    let run = compared_run(document);
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
        arms: Some(arms),
        groups: found.groups,
        everything: found.everything,
        costs,
        latency: latency(document, &pairs(&points)),
        notes: notes(document),
        ..Comparison::default()
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
    let reasons: Vec<String> = unmeasured
        .filter_map(|cell| Some(format!("{}: {}", cell.id_without_arm(&cell.id), cell.reason.as_ref()?)))
        .collect();
    let mut notes: Vec<String> = reasons;
    notes.dedup();
    notes
}

/// The change of each cell, the largest first.
fn changes(
    document: &Document,
    pairs: &[ArmPair],
    evidence: &PairedArms,
    levels: &Levels,
    cost: impl Fn(usize) -> Option<f64>,
) -> Vec<Change> {
    let of_pair = |(place, pair): (usize, &ArmPair)| {
        let alpha = levels.cell_alpha[place];
        let shift = evidence.cell_shift(place, alpha)?;
        Some(change(document, *pair, [cost(pair.a)?, cost(pair.b)?], shift, alpha))
    };
    let mut changes: Vec<Change> = pairs.iter().enumerate().filter_map(of_pair).collect();
    changes.sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    changes
}

/// How percentiles of latency changed, each epoch's own; they share alpha.
fn latency(document: &Document, pairs: &[ArmPair]) -> Vec<LatencyChange> {
    let epochs = |cell: usize| document.cells[cell].latency_by_epoch.as_slice();
    let measured = |percentile: Percentile| {
        let logs = move |pair: &ArmPair| {
            let logs = log_ratios(epochs(pair.b), epochs(pair.a), percentile)?;
            (!logs.is_empty()).then_some((percentile, *pair, logs))
        };
        pairs.iter().filter_map(logs)
    };
    let measured: Vec<(Percentile, ArmPair, Vec<f64>)> =
        Percentile::COMPARED.into_iter().flat_map(measured).collect();
    let alpha = document.analysis.alpha / measured.len().max(1) as f64;
    let of_pair = |(percentile, pair, logs): &(Percentile, ArmPair, Vec<f64>)| {
        let middle = |cell: usize| median(&log_values(epochs(cell), *percentile)?).map(f64::exp);
        let figures = [middle(pair.a)?, middle(pair.b)?];
        let change = change(document, *pair, figures, shift(logs, alpha)?, alpha);
        let offered_per_s = document.cells[pair.a].pace().offered_per_s();
        Some(LatencyChange { percentile: *percentile, offered_per_s, change })
    };
    sorted(measured.iter().filter_map(of_pair).collect())
}

/// How one cell changed, from its figures in both arms and their ratio.
fn change(document: &Document, pair: ArmPair, [a, b]: [f64; 2], shift: Shift, alpha: f64) -> Change {
    let cell = &document.cells[pair.a];
    let ratios = shift.ratios();
    Change {
        cell: cell.id_without_arm(&cell.id).to_owned(),
        a,
        b,
        ratio: shift.by.exp(),
        lo: ratios.map(|ratios| ratios.0),
        hi: ratios.map(|ratios| ratios.1),
        verdict: Verdict::of(ratios, document.analysis.margin),
        alpha,
        would_show: would_show(shift.bounds, student_quantile(1.0 - alpha / 2.0, f64::INFINITY)),
        ..Change::default()
    }
}
