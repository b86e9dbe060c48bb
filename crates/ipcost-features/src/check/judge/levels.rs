//! A claim about every cell, before and after: what groups of cells and all of them together say, which a single cell may not
//! show.

use ipcost_model::Point;
use ipcost_stats::{
    CellSet, RunMedian, Shift, all_but, error_of_difference, median, run_median, shifted_groups,
};

use super::{AskedClaim, CellTest, CellTestThan, MeasuredCells};
use crate::ab::{ArmPair, PairedArms};
use crate::check::{CheckedTest, Level};
use crate::claims::{Bounded, ClaimBounds};
use crate::compare::{
    AskedGroup, CellGroup, ComparedBy, Evidence, NamedCells, UnpairedRuns, all_together, with_parts,
};
use ipcost_model::ClaimVerdict;

/// The tests of groups and of everything, each at `level`; none where a cell has no figures yet.
pub(super) fn decide_groups(
    claim: &AskedClaim,
    measured: &MeasuredCells<'_>,
    level: f64,
) -> Vec<CheckedTest> {
    let batches = &measured.batches;
    let Some(first) = claim.tests.first().filter(|_| !claim.groups.is_empty()) else { return Vec::new() };
    let ComparedBy::Cost(metric) = first.metric.compared_by() else { return Vec::new() };
    let points: Vec<&Point> = claim.tests.iter().map(|test| &measured.cells[test.cell].point).collect();
    let pair = |test: &CellTest| match test.than {
        CellTestThan::Cell(a) => Some(ArmPair { a, b: test.cell }),
        CellTestThan::Nothing | CellTestThan::Baseline(_) => None,
    };
    let pairs: Option<Vec<ArmPair>> = claim.tests.iter().map(pair).collect();
    if let Some(pairs) = pairs {
        let (found, evidence) = PairedArms::of(batches, metric, &pairs);
        return if found.len() == pairs.len() {
            decide(claim, &points, first, &evidence, level)
        } else {
            Vec::new()
        };
    }
    let costs = |test: &CellTest| {
        let CellTestThan::Baseline(then) = &test.than else { return None };
        let then: Option<Vec<RunMedian>> = then.runs.iter().map(|run| run_median(run)).collect();
        Some((then?, run_median(&batches.log_costs(metric, test.cell))?))
    };
    let Some(costs) = claim.tests.iter().map(costs).collect::<Option<Vec<(Vec<RunMedian>, RunMedian)>>>()
    else {
        return Vec::new();
    };
    // A run takes part if it has every cell.
    let runs = costs.first().map_or(0, |(then, _)| then.len());
    if costs.iter().any(|(then, _)| then.len() != runs) {
        return Vec::new();
    }
    let errors: Vec<Option<f64>> =
        costs.iter().map(|(then, now)| error_of_difference(then, &[*now])).collect();
    let of_run = |run: usize| costs.iter().map(|(then, _)| then[run].median).collect();
    let then: Vec<Vec<f64>> = (0..runs).map(of_run).collect();
    let now = costs.iter().map(|(_, now)| now.median).collect();
    let ids: Vec<&str> = claim.tests.iter().map(|test| measured.cells[test.cell].id.as_str()).collect();
    let evidence =
        UnpairedRuns::new([then, vec![now]], &ids, &errors, &claim.groups, claim.assumed_spread, &claim.past);
    decide(claim, &points, first, &evidence, level)
}

fn decide(
    claim: &AskedClaim,
    points: &[&Point],
    of: &CellTest,
    evidence: &impl Evidence,
    level: f64,
) -> Vec<CheckedTest> {
    let sides: Vec<Vec<CellSet>> = claim.groups.iter().map(AskedGroup::sides).collect();
    let mut changed = Vec::new();
    let mut tests = Vec::new();
    let found = shifted_groups(evidence, &sides, level);
    for (group, found) in claim.groups.iter().zip(found) {
        let Some(found) = found.filter(|found| found.found.is_some()) else { continue };
        let NamedCells { group, set, .. } = &group.0[found.side];
        changed.extend(&set.cells);
        // What changed relative to the rest may be the rest: the group itself must lie beyond the bound, too.
        let itself: Vec<f64> = set.cells.iter().map(|cell| evidence.of_cell(*cell)).collect();
        let beyond = median(&itself).is_some_and(|by| word(of, (by.exp(), by.exp())) == ClaimVerdict::Fails);
        let text = format!("{}, relative to the rest", group.words());
        tests.extend(test(of, text, Level::Group, found.shift).filter(|_| beyond));
    }
    let others = with_parts(points, CellGroup::default(), all_but(&changed, evidence.cells()));
    if let Some(shift) = all_together(evidence, &others.set, level) {
        let text = if changed.is_empty() { "all cells together" } else { "all other cells together" };
        tests.extend(test(of, text.to_owned(), Level::Everything, shift));
    }
    tests
}

fn word(of: &CellTest, ratios: (f64, f64)) -> ClaimVerdict {
    let bounds = ClaimBounds {
        above: of.at_least.map(Bounded::Including),
        below: of.at_most.map(Bounded::Including),
        margin: None,
    };
    bounds.decide(Some(ratios))
}

fn test(of: &CellTest, cell: String, level: Level, shift: Shift) -> Option<CheckedTest> {
    let (lo, hi) = shift.ratios()?;
    let baseline = match &of.than {
        CellTestThan::Baseline(then) => Some(then.name.clone()),
        CellTestThan::Nothing | CellTestThan::Cell(_) => None,
    };
    Some(CheckedTest {
        cell,
        baseline,
        level,
        metric: of.metric,
        value: Some(shift.by.exp()),
        lo: Some(lo),
        hi: Some(hi),
        at_most: of.at_most,
        at_least: of.at_least,
        word: word(of, (lo, hi)),
        ..CheckedTest::default()
    })
}
