//! The hierarchy of questions: whether a group of cells changed relative to the rest, whether everything changed, and which
//! single cells did.
//!
//! A group relative to the rest is free of whatever affects a whole run, so it is the first question and has half of alpha.
//! Everything together has a tenth, and single cells share the rest. The alpha of a group that is found to have changed passes
//! to its cells, and that of everything to all of them. That is a sequentially rejective Bonferroni procedure along a graph. It keeps the
//! chance of any wrong finding at alpha, however the questions depend on each other (Bretz, Maurer, Brannath and Posch, "A
//! graphical approach to sequentially rejective multiple test procedures", *Statistics in Medicine* 28, 2009).

use ipcost_lab::planning::ALPHA;
use ipcost_model::{Point, Verdict};
use ipcost_stats::{CellSet, GroupEvidence, GroupShift, Shift, all_but, shifted_groups, student_quantile};

use super::groups::{AskedGroup, CellGroup, NamedCells, groups, with_parts};
use super::record::{GroupChange, SpreadSource};

/// How much of alpha each level has.
const OF_GROUPS: f64 = 0.5;
const OF_EVERYTHING: f64 = 0.1;
/// Of fewer cells, one that changed moves the middle of all.
const FEWEST_FOR_EVERYTHING: usize = 4;

/// What the groups and everything together are judged by.
pub(crate) trait Evidence: GroupEvidence {
    /// How far these cells moved together.
    fn together(&self, cells: &[usize], alpha: f64) -> Option<Shift>;
    /// The fewest cells of a group that is asked of, and outside it.
    fn fewest_in_group(&self) -> usize {
        self.fewest()
    }
    /// The spread between runs that goes into the questions of groups, or of everything; `None` where runs are not compared.
    fn spread(&self, whole: bool) -> Option<(f64, SpreadSource)>;
}

/// How far the cells of a set moved together. What moves only a part of them moves their middle, too, so the interval takes in what the
/// others show without any of its parts.
pub(crate) fn all_together(evidence: &impl Evidence, set: &CellSet, alpha: f64) -> Option<Shift> {
    let whole = evidence.together(&set.cells, alpha)?;
    let without = |part: &Vec<usize>| -> Vec<usize> {
        set.cells.iter().copied().filter(|cell| !part.contains(cell)).collect()
    };
    let others = set.parts.iter().map(without).filter(|others| others.len() >= FEWEST_FOR_EVERYTHING - 1);
    Some(others.fold(whole, |shift, others| shift.joined(evidence.together(&others, alpha))))
}

/// What is known at the upper levels, and what that leaves to cells.
#[derive(Debug)]
pub(crate) struct Levels {
    /// The groups: first those that changed, in the order in which they explain most.
    pub groups: Vec<GroupChange>,
    /// All cells together; `None` of fewer than four, or if too little is known.
    pub everything: Option<GroupChange>,
    /// The level of each cell.
    pub cell_alpha: Vec<f64>,
    /// That of other questions at the level of cells.
    pub alpha_below: f64,
}

/// Asks the upper levels, of these groups of the cells. `tests_of_cells` share what is left to single cells.
pub(crate) fn levels(
    evidence: &impl Evidence,
    cells: &[&Point],
    groups: Vec<AskedGroup>,
    tests_of_cells: usize,
    margin: f64,
) -> Levels {
    let all = evidence.cells();
    let groups = judgeable(groups, evidence);
    let sides: Vec<Vec<CellSet>> = groups.iter().map(AskedGroup::sides).collect();
    let (of_groups, of_everything) = shares(groups.len(), all);
    let each = ALPHA * of_groups / groups.len().max(1) as f64;
    let base = ALPHA * (1.0 - of_groups - of_everything) / tests_of_cells.max(1) as f64;
    let mut cell_alpha = vec![base; all];
    let mut changed = Vec::new();

    let mut found: Vec<GroupChange> = Vec::new();
    for (group, shift) in groups.iter().zip(shifted_groups(evidence, &sides, each)) {
        let Some(GroupShift { shift, found: place, side, unshown }) = shift else { continue };
        let side = if place.is_some() { &group.0[side] } else { group.first() };
        let members = &side.set.cells;
        if place.is_some() {
            members.iter().for_each(|cell| cell_alpha[*cell] += each / members.len() as f64);
            changed.extend(members);
        }
        found.push(GroupChange {
            found: place.map(|place| place as u32 + 1),
            unshown: if place.is_some() { largest(side, &unshown, evidence.fewest()) } else { Vec::new() },
            ..change(side.group.clone(), members.len(), shift, each, margin, evidence.spread(false))
        });
    }
    // Those that changed come first; the order of the rest is that of the questions.
    found.sort_by_key(|group| group.found.unwrap_or(u32::MAX));

    let alpha = ALPHA * of_everything;
    let others = with_parts(cells, CellGroup::default(), all_but(&changed, all)).set;
    let of = others.cells.len();
    let together = (of_everything > 0.0 && of >= FEWEST_FOR_EVERYTHING)
        .then(|| all_together(evidence, &others, alpha))
        .flatten();
    let everything = together.map(|shift| {
        if shift.is_known() {
            others.cells.iter().for_each(|cell| cell_alpha[*cell] += alpha / of as f64);
        }
        let found = shift.is_known().then_some(1);
        let spread = evidence.spread(true);
        GroupChange { found, ..change(CellGroup::default(), of, shift, alpha, margin, spread) }
    });
    Levels { groups: found, everything, cell_alpha, alpha_below: base }
}

/// The largest of a group's parts that do not show its change: of those too small to tell, only what has one more thing in common.
fn largest(side: &NamedCells, unshown: &[usize], fewest: usize) -> Vec<CellGroup> {
    let cells = |part: &usize| &side.set.parts[*part];
    let depth = |group: &CellGroup| {
        usize::from(group.pattern.is_some())
            + usize::from(group.transport.is_some())
            + usize::from(group.placement.is_some())
            + usize::from(group.peers.is_some())
    };
    let is_named =
        |part: &&usize| cells(part).len() >= fewest || depth(&side.parts[**part]) == depth(&side.group) + 1;
    let is_within = |part: &usize, larger: &usize| {
        cells(larger).len() > cells(part).len() && cells(part).iter().all(|cell| cells(larger).contains(cell))
    };
    let named: Vec<&usize> = unshown.iter().filter(is_named).collect();
    let is_largest = |part: &&&usize| !named.iter().any(|larger| is_within(part, larger));
    named.iter().filter(is_largest).map(|part| side.parts[**part].clone()).collect()
}

/// The shares of alpha that the upper levels have, where there is anything to ask at them.
fn shares(groups: usize, cells: usize) -> (f64, f64) {
    let of_groups = if groups == 0 { 0.0 } else { OF_GROUPS };
    let of_everything = if cells >= FEWEST_FOR_EVERYTHING { OF_EVERYTHING } else { 0.0 };
    (of_groups, of_everything)
}

/// The level of a single cell, if every group can be told from the rest and none is found.
pub(crate) fn cell_level(cells: &[&Point]) -> f64 {
    let (of_groups, of_everything) = shares(groups(cells).len(), cells.len());
    ALPHA * (1.0 - of_groups - of_everything) / cells.len().max(1) as f64
}

/// The groups that are large enough to be told from the rest: the others would take from the share of alpha in vain.
fn judgeable(mut groups: Vec<AskedGroup>, evidence: &impl Evidence) -> Vec<AskedGroup> {
    let (all, fewest) = (evidence.cells(), evidence.fewest_in_group());
    groups.retain(|group| (fewest..=all.saturating_sub(fewest)).contains(&group.first().set.cells.len()));
    groups
}

fn change(
    group: CellGroup,
    cells: usize,
    shift: Shift,
    alpha: f64,
    margin: f64,
    spread: Option<(f64, SpreadSource)>,
) -> GroupChange {
    let bounds = shift.ratios();
    GroupChange {
        group,
        cells: cells as u32,
        ratio: shift.by.exp(),
        lo: bounds.map(|bounds| bounds.0),
        hi: bounds.map(|bounds| bounds.1),
        verdict: Verdict::of(bounds, margin),
        alpha,
        would_show: would_show(shift.bounds, student_quantile(1.0 - alpha / 2.0, f64::INFINITY)),
        spread: spread.map(|spread| spread.0),
        spread_source: spread.map(|spread| spread.1),
        ..GroupChange::default()
    }
}

/// The change that an interval like this one would have excluded from 1 in nine of ten cases, as a ratio above 1; `quantile`
/// is how many standard errors the interval reaches.
pub(crate) fn would_show(bounds: Option<(f64, f64)>, quantile: f64) -> Option<f64> {
    const NINE_IN_TEN: f64 = 1.281_552;
    let (lo, hi) = bounds?;
    Some(((hi - lo) / 2.0 * (1.0 + NINE_IN_TEN / quantile)).exp())
}

#[cfg(test)]
pub(crate) mod simulated {
    //! One, two and three changed combinations of pattern, transport and placement, with a shift of all cells or without one.

    use ipcost_model::{Cell, Pattern, Placement};
    use ipcost_stats::median;

    use super::*;

    /// Patterns by transports by placements, each of so many sizes.
    pub fn suite(transports: &[&str], patterns: &[Pattern], sizes: u64) -> Vec<Point> {
        let mut points = Vec::new();
        for transport in transports {
            for pattern in patterns {
                for size in 0..sizes {
                    for placement in [Placement::Together, Placement::Apart] {
                        let cell = Cell::new(*pattern, transport, 64 << (2 * size));
                        points.push(Point { placement, ..Point::free(cell) });
                    }
                }
            }
        }
        points
    }

    /// A combination that changed: what its cells have in common.
    pub fn combination(pattern: Option<Pattern>, transport: &str, placement: Option<Placement>) -> CellGroup {
        CellGroup { pattern, transport: Some(transport.to_owned()), placement, peers: None }
    }

    /// What is changed together: nothing, one to three combinations, whole groups.
    pub fn scenarios() -> Vec<(&'static str, Vec<CellGroup>)> {
        let (together, apart) = (Some(Placement::Together), Some(Placement::Apart));
        vec![
            ("none", vec![]),
            ("one", vec![combination(None, "tcp", together)]),
            (
                "two of one placement",
                vec![combination(None, "tcp", together), combination(None, "unix", together)],
            ),
            ("two, crossed", vec![combination(None, "tcp", together), combination(None, "unix", apart)]),
            (
                "three, in a corner",
                vec![
                    combination(None, "tcp", together),
                    combination(None, "unix", together),
                    combination(None, "tcp", apart),
                ],
            ),
            ("a transport", vec![combination(None, "tcp", None)]),
        ]
    }

    /// How far each cell changed in truth.
    pub fn truth(points: &[Point], changed: &[CellGroup], by: f64, common: f64) -> Vec<f64> {
        let of = |point: &Point| common + if changed.iter().any(|group| group.has(point)) { by } else { 0.0 };
        points.iter().map(of).collect()
    }

    /// What is said and is not so: a group of which some cell, in no part that is said not to show it, has not changed that way
    /// relative to most of those outside all named groups; or all others together, if their middle did not move that way.
    pub fn wrong(levels: &Levels, points: &[Point], truth: &[f64]) -> bool {
        let named: Vec<&GroupChange> = levels.groups.iter().filter(|group| group.found.is_some()).collect();
        let others: Vec<f64> = (0..points.len())
            .filter(|cell| !named.iter().any(|group| group.group.has(&points[*cell])))
            .map(|cell| truth[cell])
            .collect();
        let middle = median(&others).unwrap_or_default();
        let is_false = |group: &&&GroupChange| {
            let said =
                |point: &Point| group.group.has(point) && !group.unshown.iter().any(|part| part.has(point));
            let way = group.ratio.ln().signum();
            (0..points.len()).any(|cell| said(&points[cell]) && (truth[cell] - middle) * way < 1e-9)
        };
        let of_all = levels.everything.as_ref().filter(|all| all.found.is_some());
        named.iter().any(|group| is_false(&group))
            || of_all.is_some_and(|all| middle * all.ratio.ln().signum() < 1e-9)
    }

    /// Simulates each case so many times and reports its name, how many answers were wrong and how many named something.
    pub type Simulation = fn(usize, &dyn Fn(&str, usize, usize));

    /// That no case is wrong more often than it may be, and all together half as often.
    pub fn assert_seldom_wrong(simulation: Simulation, times: usize) {
        let (all, cases) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        simulation(times, &|name, wrong, _| {
            all.set(all.get() + wrong);
            cases.set(cases.get() + times);
            assert!(wrong <= most(times), "{name}: {wrong} of {times}");
        });
        assert!(all.get() <= most(cases.get()) / 2, "{} of {}", all.get(), cases.get());
    }

    /// Prints each case, none of which is wrong more often than it may be.
    pub fn print_cases(simulation: Simulation, times: usize) {
        simulation(times, &|name, wrong, named| {
            println!("{name}: wrong {wrong}, named {named} of {times}");
            assert!(wrong <= most(times), "{name}: {wrong} of {times}");
        });
    }

    /// At most this many of so many repetitions are wrong at 5 %, but once in ten thousand times.
    fn most(times: usize) -> usize {
        let times = times as f64;
        (0.05 * times + 3.7 * (0.05 * 0.95 * times).sqrt()) as usize
    }
}
