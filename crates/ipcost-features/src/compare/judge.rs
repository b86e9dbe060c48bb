//! From two sets of documents to what changed between them.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_lab::Batches;
use ipcost_lab::planning::ALPHA;
use ipcost_model::{Document, Metric, Tool, Verdict, first_few};
use ipcost_stats::{ENOUGH_DEGREES, RunMedian, Spread, Unpaired, median, run_median, unpaired};
use thiserror::Error;

use crate::compare::differences::differences;
use crate::compare::{COMPARISON_SCHEMA, Change, ComparedRun, Comparison, SpreadSource};

/// What runs of one build are taken to differ by where too few runs tell it: the standard deviation of their
/// medians, relative. On the noisy virtual machine of the documentation it is less.
pub const DEFAULT_SPREAD: f64 = 0.05;

/// At least so many cells must move together before their moving together is worth a word.
const MANY: usize = 4;

/// How to compare.
#[derive(Debug, Clone, Copy)]
pub struct CompareSettings {
    /// What is compared.
    pub metric: Metric,
    /// The relative change that matters.
    pub margin: f64,
    /// The relative standard deviation between runs of one build, where too few runs tell it.
    pub assumed_spread: f64,
}

/// Why two sets of runs cannot be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// One run is named twice.
    #[error(
        "the run of {started} with seed {seed} is named more than once; a comparison takes runs that were measured independently"
    )]
    Twice {
        /// When it started.
        started: String,
        /// Its seed.
        seed: u64,
    },
    /// A run without epochs.
    #[error("the run of {started} has no complete epoch; leave it out, or measure it again")]
    Empty {
        /// When it started.
        started: String,
    },
    /// Nothing to compare.
    #[error(
        "no cell was measured on both sides; A has {a}, B has {b}: cells are matched by their ids, so run the same job on both"
    )]
    NothingInCommon {
        /// A cell of side A.
        a: String,
        /// A cell of side B.
        b: String,
    },
    /// No cell has figures in every run.
    #[error(
        "no cell has figures for {metric} in every epoch of every run, so nothing can be compared; compare by the other metric, or measure again"
    )]
    NoFigures {
        /// What was to be compared.
        metric: Metric,
    },
}

/// Compares side `b` with side `a`, cell by cell.
///
/// # Errors
/// Where a run takes part twice or measured nothing, or the sides have no cell in common, or none with figures.
pub fn compare(
    a: &[Document],
    b: &[Document],
    settings: &CompareSettings,
    tool: Tool,
) -> Result<Comparison, CompareError> {
    check_runs(a, b)?;
    let sides = [Side::of(a), Side::of(b)];
    let [of_a, of_b] = &sides;
    let cells: Vec<&str> = of_a.measured.intersection(&of_b.measured).copied().collect();
    if cells.is_empty() {
        let first = |side: &Side<'_>| side.measured.first().copied().unwrap_or("none").to_owned();
        return Err(CompareError::NothingInCommon { a: first(of_a), b: first(of_b) });
    }
    let pairs: Vec<(&str, &str)> = of_a.pairs.intersection(&of_b.pairs).copied().collect();
    let metric = settings.metric;
    let costs = measured_changes(&cells, &sides, |side, cell| side.log_costs(metric, cell));
    let ratios =
        measured_changes(&pairs, &sides, |side, (cell, baseline)| side.log_ratios(metric, cell, baseline));
    if costs.is_empty() {
        return Err(CompareError::NoFigures { metric });
    }
    let left_out: Vec<&str> =
        cells.iter().filter(|cell| costs.iter().all(|found| found.what != **cell)).copied().collect();
    let family = costs.len() + ratios.len();
    let alpha = ALPHA / family.max(1) as f64;
    let costs = judged(costs, alpha, settings, |cell| (cell.to_owned(), None));
    let relative =
        judged(ratios, alpha, settings, |(cell, baseline)| (cell.to_owned(), Some(baseline.to_owned())));
    let only = |one: &Side<'_>, other: &Side<'_>| {
        one.anywhere.difference(&other.anywhere).map(|id| (*id).to_owned()).collect()
    };
    let mut comparison = Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        tool,
        a: a.iter().map(compared_run).collect(),
        b: b.iter().map(compared_run).collect(),
        differences: differences(a, b, &cells),
        alpha: ALPHA,
        family: family as u32,
        margin: settings.margin,
        metric,
        assumed_spread: settings.assumed_spread,
        costs,
        relative,
        only_a: only(of_a, of_b),
        only_b: only(of_b, of_a),
        notes: Vec::new(),
    };
    comparison.notes = notes(&comparison);
    comparison.notes.extend(without_figures(&left_out, metric));
    Ok(comparison)
}

fn check_runs(a: &[Document], b: &[Document]) -> Result<(), CompareError> {
    let mut seen = BTreeSet::new();
    for run in a.iter().chain(b) {
        if !seen.insert((&run.started, run.seed)) {
            return Err(CompareError::Twice { started: run.started.clone(), seed: run.seed });
        }
        if run.cells.iter().all(|cell| cell.epochs == 0) {
            return Err(CompareError::Empty { started: run.started.clone() });
        }
    }
    Ok(())
}

fn compared_run(run: &Document) -> ComparedRun {
    ComparedRun { started: run.started.clone(), seed: run.seed, epochs: run.schedule.epochs }
}

/// The runs of one side, and what they have measured.
struct Side<'a> {
    runs: Vec<Run<'a>>,
    /// Cells that every run has measured.
    measured: BTreeSet<&'a str>,
    /// Cells that some run has measured.
    anywhere: BTreeSet<&'a str>,
    /// Cells with the baseline that every run compares them with.
    pairs: BTreeSet<(&'a str, &'a str)>,
}

struct Run<'a> {
    /// Of cells that were measured.
    indices: BTreeMap<&'a str, usize>,
    pairs: BTreeSet<(&'a str, &'a str)>,
    batches: Batches<'a>,
}

impl<'a> Side<'a> {
    fn of(documents: &'a [Document]) -> Self {
        let runs: Vec<Run<'a>> = documents.iter().map(Run::of).collect();
        let cells_of = |run: &Run<'a>| run.indices.keys().copied().collect::<BTreeSet<_>>();
        let in_all = |sets: Vec<BTreeSet<&'a str>>| sets.into_iter().reduce(|all, set| &all & &set);
        let measured = in_all(runs.iter().map(cells_of).collect()).unwrap_or_default();
        let anywhere = runs.iter().flat_map(|run| run.indices.keys().copied()).collect();
        let pairs = runs.iter().map(|run| run.pairs.clone()).reduce(|all, set| &all & &set);
        Self { runs, measured, anywhere, pairs: pairs.unwrap_or_default() }
    }

    /// For every run, the logarithms of a cell's costs by epoch.
    fn log_costs(&self, metric: Metric, cell: &str) -> Vec<Vec<f64>> {
        self.runs.iter().map(|run| run.batches.log_costs(metric, run.indices[cell])).collect()
    }

    /// For every run, the logarithms of the ratio of two cells' costs by epoch.
    fn log_ratios(&self, metric: Metric, cell: &str, baseline: &str) -> Vec<Vec<f64>> {
        let of = |run: &Run<'_>| run.batches.log_ratios(metric, run.indices[cell], run.indices[baseline]);
        self.runs.iter().map(of).collect()
    }
}

impl<'a> Run<'a> {
    fn of(document: &'a Document) -> Self {
        let batches = Batches::new(&document.samples, document.cells.len());
        let indices: BTreeMap<&str, usize> = document
            .cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.epochs > 0)
            .map(|(index, cell)| (cell.id.as_str(), index))
            .collect();
        let pairs = document.contrasts.iter().map(|contrast| (contrast.a.as_str(), contrast.b.as_str()));
        let known = |pair: &(&str, &str)| indices.contains_key(pair.0) && indices.contains_key(pair.1);
        Self { pairs: pairs.filter(known).collect(), indices, batches }
    }
}

/// What is compared, and the runs' medians on both sides.
struct Measured<K> {
    what: K,
    a: Vec<RunMedian>,
    b: Vec<RunMedian>,
}

/// That cells are left out, where some are.
fn without_figures(cells: &[&str], metric: Metric) -> Option<String> {
    /// More cells than this are counted, not named.
    const NAMED: usize = 6;
    let named = first_few(cells, NAMED);
    (!cells.is_empty())
        .then(|| format!("left out, since some epoch of some run has no figure for {metric}: {named}"))
}

/// What has a cost in every run; a metric that some run has no figures of is left out.
fn measured_changes<'a, K: Copy>(
    what: &[K],
    [a, b]: &[Side<'a>; 2],
    series: impl Fn(&Side<'a>, K) -> Vec<Vec<f64>>,
) -> Vec<Measured<K>> {
    let medians = |side: &Side<'a>, key: K| -> Option<Vec<RunMedian>> {
        series(side, key).iter().map(|epochs| run_median(epochs)).collect()
    };
    let of = |key: &K| Some(Measured { what: *key, a: medians(a, *key)?, b: medians(b, *key)? });
    what.iter().filter_map(of).collect()
}

fn judged<K>(
    measured: Vec<Measured<K>>,
    alpha: f64,
    settings: &CompareSettings,
    name: impl Fn(K) -> (String, Option<String>),
) -> Vec<Change> {
    let change = |Measured { what, a, b }: Measured<K>| {
        let Unpaired { difference, bounds, spread } = unpaired(&a, &b, alpha, settings.assumed_spread)?;
        let (cell, baseline) = name(what);
        let mean =
            |runs: &[RunMedian]| (runs.iter().map(|run| run.median).sum::<f64>() / runs.len() as f64).exp();
        let bounds = bounds.map(|(lo, hi)| (lo.exp(), hi.exp()));
        let (spread, spread_source) = match spread {
            Spread::Measured(sd) => (sd, SpreadSource::Measured),
            Spread::Assumed(sd) => (sd, SpreadSource::Assumed),
        };
        Some(Change {
            cell,
            baseline,
            a: mean(&a),
            b: mean(&b),
            ratio: difference.exp(),
            lo: bounds.map(|bounds| bounds.0),
            hi: bounds.map(|bounds| bounds.1),
            verdict: Verdict::of(bounds, settings.margin),
            spread,
            spread_source,
        })
    };
    let mut changes: Vec<Change> = measured.into_iter().filter_map(change).collect();
    changes.sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    changes
}

fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let runs = comparison.a.len() + comparison.b.len();
    if runs < ENOUGH_DEGREES + 2 {
        let percent = comparison.assumed_spread * 100.0;
        notes.push(format!(
            "so few runs do not show how much two runs of one build differ; ipcost assumes {percent} % (standard deviation; --run-to-run), and smaller changes stay open: measure three runs or more a side, A and B by turns, and name them all: ipcost compare A1 A2 A3 -- B1 B2 B3"
        ));
    }
    let beyond: Vec<&Change> =
        comparison.costs.iter().filter(|change| change.verdict == Verdict::Undecided).collect();
    let wandering = beyond.iter().filter(|change| change.lo.is_none()).count();
    if wandering > 0 {
        notes.push(format!(
            "{wandering} of {} cells wander too much within a run, or have too few epochs, for one run to say anything: measure more runs a side, or longer ones",
            comparison.costs.len()
        ));
    }
    notes.extend(moving_together(&comparison.costs, comparison.margin));
    notes
}

/// Where every cell moved the same way, something that all share changed: seldom what one wanted to know.
fn moving_together(costs: &[Change], margin: f64) -> Option<String> {
    let logs: Vec<f64> = costs.iter().map(|change| change.ratio.ln()).collect();
    let middle = median(&logs)?;
    let together = logs.iter().all(|log| log.signum() == middle.signum());
    (costs.len() >= MANY && together && middle.abs() > (1.0 + margin).ln()).then(|| {
        let word = if middle > 0.0 { "dearer" } else { "cheaper" };
        format!(
            "every cell is {word} on side B, {:.2} × in the middle: something that all share changed, such as the kernel, the clock rate or the machine's neighbours; the ratios to the baseline are free of it",
            middle.exp()
        )
    })
}
