//! From two sets of documents to what changed between them.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_lab::planning::ALPHA;
use ipcost_model::{Document, Metric, Point, Tool, Verdict, first_few};
use ipcost_stats::{
    ENOUGH_DEGREES, RunMedian, RunsSpread, SpreadBetweenRuns, Unpaired, error_of_difference, moderated,
    run_median, student_quantile, unpaired, usual_spread,
};
use thiserror::Error;

use super::compared_by::ComparedBy;
use super::differences::{BATCH, differences};
use super::groups::{AskedGroup, groups};
use super::latency::latency;
use super::levels::{Levels, levels, would_show};
use super::record::{COMPARISON_SCHEMA, Change, ComparedRun, Comparison, SpreadSource};
use super::sides::RunsOfSide;
use super::spread::{PastFigures, PastRuns};
use super::unpaired::UnpairedRuns;

/// What runs of one build are taken to differ by where too few runs tell it: the standard deviation of their
/// medians, relative. On the noisy virtual machine of the documentation it is less.
pub const DEFAULT_SPREAD: f64 = 0.05;

#[derive(Debug, Clone, Copy)]
pub struct CompareSettings {
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
    Twice { started: String, seed: u64 },
    /// A run without epochs.
    #[error("the run of {started} has no complete epoch; leave it out, or measure it again")]
    Empty { started: String },
    #[error(
        "no cell was measured on both sides; A has {a}, B has {b}: cells are matched by their ids, so run the same job on both"
    )]
    NothingInCommon {
        /// A cell of side A.
        a: String,
        /// A cell of side B.
        b: String,
    },
    #[error(
        "no cell has figures for {metric} in every epoch of every run, so nothing can be compared; compare by the other metric, or measure again"
    )]
    NoFigures {
        /// What was to be compared.
        metric: Metric,
    },
}

/// Compares side `b` with side `a`: groups of cells, all together, and cell by cell. `past` are saved runs of the same job on
/// the same host, of neither side.
///
/// # Errors
/// Where a run takes part twice or measured nothing, or the sides have no cell in common, or none with figures.
pub fn compare(
    a: &[Document],
    b: &[Document],
    settings: &CompareSettings,
    past: &PastRuns,
    tool: Tool,
) -> Result<Comparison, CompareError> {
    check_runs(a, b)?;
    let sides = [RunsOfSide::of(a), RunsOfSide::of(b)];
    let [of_a, of_b] = &sides;
    let CompareSettings { metric, margin, assumed_spread } = *settings;
    let by = ComparedBy::Cost(metric);
    let MeasuredOnBoth { cells, costs, ratios } = MeasuredOnBoth::of(&sides, metric)?;
    let left_out = without_figures(&cells, &costs, metric);
    let family = costs.len() + ratios.len();
    let compared: Vec<&str> = costs.iter().map(|found| found.what).collect();
    let record = |id: &&str| a[0].cell(id);
    let points: Vec<&Point> = compared.iter().filter_map(record).map(|cell| &cell.point).collect();
    let asked = groups(&points);
    let past_costs = past.of(by).cloned().unwrap_or_default();
    let evidence = evidence(&costs, &asked, assumed_spread, &past_costs);
    let Levels { groups, everything, cell_alpha, alpha_below } =
        levels(&evidence, &points, asked, family, margin);
    let spreads = Spreads { sides: &sides, past, assumed: assumed_spread };
    let alphas: BTreeMap<&str, f64> = compared.iter().copied().zip(cell_alpha).collect();
    let costs = judged(costs, settings, |cell| JudgedCell {
        cell: cell.to_owned(),
        baseline: None,
        alpha: alphas[cell],
        spread: spreads.of_cell(by, cell),
    });
    let relative = judged(ratios, settings, |(cell, baseline)| JudgedCell {
        cell: cell.to_owned(),
        baseline: Some(baseline.to_owned()),
        alpha: alpha_below,
        spread: spreads.of_ratio(by, cell, baseline),
    });
    let mut comparison = Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        tool,
        a: a.iter().map(compared_run).collect(),
        b: b.iter().map(compared_run).collect(),
        differences: differences(a, b, &cells),
        alpha: ALPHA,
        family: family as u32,
        margin,
        metric,
        assumed_spread,
        arms: None,
        saved_runs: past_costs.runs() as u32,
        groups,
        everything,
        costs,
        relative,
        latency: latency(&cells, &sides, settings, &spreads),
        only_a: of_a.only(of_b),
        only_b: of_b.only(of_a),
        notes: Vec::new(),
    };
    comparison.notes = notes(&comparison).into_iter().chain(other_machines(a, b)).chain(left_out).collect();
    Ok(comparison)
}

/// What both sides have measured.
struct MeasuredOnBoth<'a> {
    cells: Vec<&'a str>,
    /// Of the cells that have a cost in every run.
    costs: Vec<ComparedRuns<&'a str>>,
    ratios: Vec<ComparedRuns<(&'a str, &'a str)>>,
}

impl<'a> MeasuredOnBoth<'a> {
    fn of(sides: &[RunsOfSide<'a>; 2], metric: Metric) -> Result<Self, CompareError> {
        let [a, b] = sides;
        let cells: Vec<&str> = a.measured.intersection(&b.measured).copied().collect();
        if cells.is_empty() {
            let first = |side: &RunsOfSide<'_>| side.measured.first().copied().unwrap_or("none").to_owned();
            return Err(CompareError::NothingInCommon { a: first(a), b: first(b) });
        }
        let pairs: Vec<(&str, &str)> = a.pairs.intersection(&b.pairs).copied().collect();
        let costs = measured_changes(&cells, sides, |side, cell| side.logs(ComparedBy::Cost(metric), cell));
        let ratios = measured_changes(&pairs, sides, |side, (a, b)| side.log_ratios(metric, a, b));
        match costs.is_empty() {
            true => Err(CompareError::NoFigures { metric }),
            false => Ok(Self { cells, costs, ratios }),
        }
    }
}

/// The runs' medians of all cells' costs, as groups of cells are judged by them.
fn evidence(
    costs: &[ComparedRuns<&str>],
    groups: &[AskedGroup],
    assumed: f64,
    past: &PastFigures,
) -> UnpairedRuns {
    let logs = |runs: &[RunMedian]| runs.iter().map(|run| run.median).collect::<Vec<f64>>();
    let sides = [
        transposed(costs.iter().map(|cell| logs(&cell.a)).collect()),
        transposed(costs.iter().map(|cell| logs(&cell.b)).collect()),
    ];
    let cells: Vec<&str> = costs.iter().map(|found| found.what).collect();
    let errors: Vec<Option<f64>> = costs.iter().map(|cell| error_of_difference(&cell.a, &cell.b)).collect();
    UnpairedRuns::new(sides, &cells, &errors, groups, assumed, past)
}

/// How far runs of one build are apart where too few of them tell it.
pub(super) struct Spreads<'a> {
    sides: &'a [RunsOfSide<'a>; 2],
    past: &'a PastRuns,
    assumed: f64,
}

impl Spreads<'_> {
    pub fn of_cell(&self, by: ComparedBy, cell: &str) -> RunSpread {
        let saved = self.past.of(by).and_then(|past| past.between(&[cell], |rests| rests.first().copied()));
        let assumed = || (SpreadBetweenRuns::assumed(by.assumed(self.assumed)), SpreadSource::Assumed);
        let (between, source) = saved.map_or_else(assumed, |sd| (sd, SpreadSource::Saved));
        RunSpread::at_least(self.modes(by, cell), between, source)
    }

    fn of_ratio(&self, by: ComparedBy, cell: &str, baseline: &str) -> RunSpread {
        let least = self.modes(by, cell).max(self.modes(by, baseline));
        RunSpread::at_least(least, SpreadBetweenRuns::assumed(self.assumed), SpreadSource::Assumed)
    }

    /// Half the distance of two groups of epochs is the standard deviation of runs that have either as often as the other.
    fn modes(&self, by: ComparedBy, cell: &str) -> f64 {
        self.sides.iter().map(|side| side.modes(by, cell)).fold(0.0, f64::max) / 2.0
    }
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

/// A run as it takes part.
pub(crate) fn compared_run(run: &Document) -> ComparedRun {
    ComparedRun { started: run.started.clone(), seed: run.seed, epochs: run.schedule.epochs }
}

/// What is compared, and the runs' medians on both sides.
pub(super) struct ComparedRuns<K> {
    what: K,
    a: Vec<RunMedian>,
    b: Vec<RunMedian>,
}

/// That the sides were measured on different machines, where they were.
fn other_machines(a: &[Document], b: &[Document]) -> Option<String> {
    let names = |runs: &[Document]| -> BTreeSet<String> {
        let names = runs.iter().map(|run| run.host.name().to_owned());
        names.filter(|name| !name.is_empty()).collect()
    };
    let (of_a, of_b) = (names(a), names(b));
    let known = !of_a.is_empty() && !of_b.is_empty();
    (known && of_a != of_b).then(|| {
        let listed = |names: &BTreeSet<String>| Vec::from_iter(names.iter().cloned()).join(", ");
        format!("A was measured on {}, B on {}: a change may be the machine's", listed(&of_a), listed(&of_b))
    })
}

/// That cells are left out, where some are.
fn without_figures(cells: &[&str], costs: &[ComparedRuns<&str>], metric: Metric) -> Option<String> {
    /// More cells than this are counted, not named.
    const NAMED: usize = 6;
    let left_out: Vec<&str> =
        cells.iter().filter(|cell| costs.iter().all(|found| found.what != **cell)).copied().collect();
    let named = first_few(&left_out, NAMED);
    (!left_out.is_empty())
        .then(|| format!("left out, since some epoch of some run has no figure for {metric}: {named}"))
}

/// What has a cost in every run; a metric that some run has no figures of is left out.
pub(super) fn measured_changes<'a, K: Copy>(
    what: &[K],
    [a, b]: &[RunsOfSide<'a>; 2],
    series: impl Fn(&RunsOfSide<'a>, K) -> Vec<Vec<f64>>,
) -> Vec<ComparedRuns<K>> {
    let medians = |side: &RunsOfSide<'a>, key: K| -> Option<Vec<RunMedian>> {
        series(side, key).iter().map(|epochs| run_median(epochs)).collect()
    };
    let of = |key: &K| Some(ComparedRuns { what: *key, a: medians(a, *key)?, b: medians(b, *key)? });
    what.iter().filter_map(of).collect()
}

/// What is judged, and how.
pub(super) struct JudgedCell {
    pub cell: String,
    pub baseline: Option<String>,
    /// The level of its interval is 1 − `alpha`.
    pub alpha: f64,
    pub spread: RunSpread,
}

/// How far runs of something are apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunSpread {
    /// Where too few of them tell it.
    pub between: SpreadBetweenRuns,
    pub source: SpreadSource,
    /// At least, as each may have met one of two modes.
    pub least: f64,
}

impl RunSpread {
    fn at_least(least: f64, between: SpreadBetweenRuns, source: SpreadSource) -> Self {
        let between = SpreadBetweenRuns { sd: between.sd.max(least), ..between };
        Self { between, source, least }
    }
}

pub(super) fn judged<K: Copy>(
    measured: Vec<ComparedRuns<K>>,
    settings: &CompareSettings,
    name: impl Fn(K) -> JudgedCell,
) -> Vec<Change> {
    let enough = |cell: &&ComparedRuns<K>| cell.a.len() + cell.b.len() >= ENOUGH_DEGREES + 2;
    let usual = usual_spread(measured.iter().filter(enough).map(|cell| [&cell.a[..], &cell.b[..]]));
    let change = |ComparedRuns { what, a, b }: ComparedRuns<K>| {
        let JudgedCell { cell, baseline, alpha, spread: RunSpread { between, source, least } } = name(what);
        let Unpaired { difference, bounds, spread, degrees } = match usual {
            Some(usual) => moderated(&a, &b, alpha, usual, least)?,
            None => unpaired(&a, &b, alpha, between)?,
        };
        let mean =
            |runs: &[RunMedian]| (runs.iter().map(|run| run.median).sum::<f64>() / runs.len() as f64).exp();
        let (spread, source) = match spread {
            RunsSpread::Measured(sd) => (sd, SpreadSource::Measured),
            RunsSpread::Assumed(sd) => (sd, source),
        };
        let ratios = bounds.map(|(lo, hi)| (lo.exp(), hi.exp()));
        Some(Change {
            cell,
            baseline,
            a: mean(&a),
            b: mean(&b),
            ratio: difference.exp(),
            lo: ratios.map(|ratios| ratios.0),
            hi: ratios.map(|ratios| ratios.1),
            verdict: Verdict::of(ratios, settings.margin),
            alpha,
            would_show: would_show(bounds, student_quantile(1.0 - alpha / 2.0, degrees)),
            spread: Some(spread),
            spread_source: Some(source),
        })
    };
    let mut changes: Vec<Change> = measured.into_iter().filter_map(change).collect();
    changes.sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    changes
}

/// By run and cell, from by cell and run.
fn transposed(by_cell: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let runs = by_cell.first().map_or(0, Vec::len);
    (0..runs).map(|run| by_cell.iter().map(|cell| cell[run]).collect()).collect()
}

/// What a reader must know of the runs; everything else is in the levels.
fn notes(comparison: &Comparison) -> Vec<String> {
    let wandering = comparison.costs.iter().filter(|change| change.lo.is_none()).count();
    let of = comparison.costs.len();
    let note = (wandering > 0).then(|| {
        format!(
            "{wandering} of {of} cells wander too much within a run, or have too few epochs, for one run to say anything: measure more runs a side, or longer ones"
        )
    });
    let batches = comparison.differences.iter().find(|difference| difference.what == BATCH).map(|lengths| {
        format!(
            "batches last {} ms on side A, {} ms on side B: what a batch costs once weighs more in short ones, so measure both sides with the same budget, or set --batch",
            lengths.a.join(", "),
            lengths.b.join(", ")
        )
    });
    note.into_iter().chain(batches).collect()
}
