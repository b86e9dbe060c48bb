//! The hierarchy of questions: whether a group of cells changed relative to the rest, whether everything changed, and which
//! single cells did.
//!
//! A group relative to the rest is free of whatever affects a whole run, so it is the first question and has half of alpha.
//! Everything together has a tenth, and single cells share the rest. The alpha of a group that is found to have changed passes
//! to its cells, and that of everything to all of them: a sequentially rejective Bonferroni procedure along a graph, which keeps the
//! chance of any wrong finding at alpha however the questions depend on each other (Bretz, Maurer, Brannath and Posch, "A
//! graphical approach to sequentially rejective multiple test procedures", *Statistics in Medicine* 28, 2009).

use ipcost_lab::planning::ALPHA;
use ipcost_model::{Point, Verdict};
use ipcost_stats::{GroupEvidence, GroupShift, Shift, shifted_groups, student_quantile};

use super::groups::{AskedGroup, CellGroup, groups};
use super::record::{GroupChange, SpreadSource};

/// How much of alpha each level has.
const OF_GROUPS: f64 = 0.5;
const OF_EVERYTHING: f64 = 0.1;
/// Of fewer cells, one that changed moves the middle of all.
const FEWEST_FOR_EVERYTHING: usize = 4;

/// What the groups and everything together are judged by.
pub(crate) trait Evidence: GroupEvidence {
    /// How far all cells moved together, once groups that moved by themselves are taken off.
    fn together(&self, moved: &[f64], alpha: f64) -> Option<Shift>;
    /// The smallest level at which a group of this size can be told from the rest of that size.
    fn least_alpha(&self, inside: usize, outside: usize) -> f64;
    /// The spread between runs that goes into the questions of groups, or of everything; `None` where runs are not compared.
    fn spread(&self, whole: bool) -> Option<(f64, SpreadSource)>;
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
    groups: Vec<AskedGroup>,
    tests_of_cells: usize,
    margin: f64,
) -> Levels {
    let all = evidence.cells();
    let groups = tellable(groups, evidence);
    let members: Vec<Vec<usize>> = groups.iter().map(|group| group.cells.clone()).collect();
    let (of_groups, of_everything) = shares(groups.len(), all);
    let each = ALPHA * of_groups / groups.len().max(1) as f64;
    let base = ALPHA * (1.0 - of_groups - of_everything) / tests_of_cells.max(1) as f64;
    let mut cell_alpha = vec![base; all];
    let mut moved = vec![0.0; all];

    let mut found: Vec<(CellGroup, usize, GroupShift)> = Vec::new();
    for (group, shift) in groups.iter().zip(shifted_groups(evidence, &members, each)) {
        let Some(GroupShift { shift, found: place }) = shift else { continue };
        let (name, cells, shift) = match place {
            Some(_) => group.that_moved(shift, evidence),
            None => (group.group.clone(), group.cells.clone(), shift),
        };
        if place.is_some() {
            cells.iter().for_each(|cell| {
                moved[*cell] += shift.by;
                cell_alpha[*cell] += each / cells.len() as f64;
            });
        }
        found.push((name, cells.len(), GroupShift { shift, found: place }));
    }
    // Those that changed come first; the order of the rest is that of the questions.
    found.sort_by_key(|(.., shift)| shift.found.unwrap_or(usize::MAX));
    let groups = found
        .into_iter()
        .map(|(group, cells, GroupShift { shift, found })| GroupChange {
            found: found.map(|place| place as u32 + 1),
            ..change(group, cells, shift, each, margin, evidence.spread(false))
        })
        .collect();

    let alpha = ALPHA * of_everything;
    let together = (of_everything > 0.0).then(|| evidence.together(&moved, alpha)).flatten();
    let everything = together.map(|shift| {
        if shift.is_known() {
            cell_alpha.iter_mut().for_each(|cell| *cell += alpha / all as f64);
        }
        let found = shift.is_known().then_some(1);
        let spread = evidence.spread(true);
        GroupChange { found, ..change(CellGroup::default(), all, shift, alpha, margin, spread) }
    });
    Levels { groups, everything, cell_alpha, alpha_below: base }
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

/// The groups that are large enough for a test at their share of alpha: the others would take from that share in vain.
fn tellable(mut groups: Vec<AskedGroup>, evidence: &impl Evidence) -> Vec<AskedGroup> {
    let cells = evidence.cells();
    loop {
        let (before, each) = (groups.len(), ALPHA * OF_GROUPS / groups.len().max(1) as f64);
        groups.retain(|group| evidence.least_alpha(group.cells.len(), cells - group.cells.len()) <= each);
        if groups.len() == before {
            return groups;
        }
    }
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
        found: None,
        alpha,
        would_show: would_show(shift.bounds, student_quantile(1.0 - alpha / 2.0, f64::INFINITY)),
        spread: spread.map(|spread| spread.0),
        spread_source: spread.map(|spread| spread.1),
    }
}

/// The change that an interval like this one would have excluded from 1 in nine of ten cases, as a ratio above 1; `quantile`
/// is how many standard errors the interval reaches.
pub(crate) fn would_show(bounds: Option<(f64, f64)>, quantile: f64) -> Option<f64> {
    const NINE_IN_TEN: f64 = 1.281_552;
    let (lo, hi) = bounds?;
    Some(((hi - lo) / 2.0 * (1.0 + NINE_IN_TEN / quantile)).exp())
}
