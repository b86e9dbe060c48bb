//! Deciding the claims that a project keeps about its own machine.
//!
//! [`prepare`] turns a file of claims into questions about cells, before anything is measured; [`decide`] answers them
//! from what was measured so far, at any moment. Every interval is drawn at α/m, m being how many there are, so that
//! all claims hold together, whenever the run ends.

mod baseline;
mod baselines;
mod deciding;
mod levels;
mod measured;
mod preparing;

use crate::check::{CheckedClaim, CheckedTest, ClaimMetric};
use ipcost_model::ClaimVerdict;

pub use baseline::differences;
pub use baselines::Baselines;
pub use measured::{MeasuredCells, recorded_cells};
pub use preparing::prepare;

use ipcost_lab::planning::ALPHA;

use crate::claims::all_keep;
use crate::compare::{AskedGroup, PastFigures};
use baseline::Then;

/// The questions that a file of claims asks of a run.
#[derive(Debug, Clone)]
pub struct Questions {
    claims: Vec<AskedClaim>,
    /// What the user should know before it starts.
    pub notes: Vec<String>,
    /// Whether a baseline is recorded, so that everything is measured to the end.
    pub recording: bool,
}

#[derive(Debug, Clone)]
struct AskedClaim {
    text: String,
    line: usize,
    tests: Vec<CellTest>,
    /// The groups of its cells, as places among the tests, where it is about every cell before and after.
    groups: Vec<AskedGroup>,
    /// How runs of one build differ, where it is about a baseline.
    past: PastFigures,
    /// How much they are assumed to, where too few runs tell it.
    assumed_spread: f64,
}

/// One cell of a claim.
#[derive(Debug, Clone)]
struct CellTest {
    cell: usize,
    metric: ClaimMetric,
    than: CellTestThan,
    at_most: Option<f64>,
    at_least: Option<f64>,
    /// A difference smaller than this does not matter.
    margin: f64,
    /// Why it cannot be decided here, as far as that is known before.
    hopeless: Option<String>,
}

/// What a cell is compared with.
#[derive(Debug, Clone)]
enum CellTestThan {
    Nothing,
    Cell(usize),
    /// What the same cell cost in documents of before.
    Baseline(Then),
}

impl CellTest {
    /// Its cells in the run.
    fn cells(&self) -> impl Iterator<Item = usize> + use<> {
        let other = match self.than {
            CellTestThan::Cell(other) => Some(other),
            CellTestThan::Nothing | CellTestThan::Baseline(_) => None,
        };
        std::iter::once(self.cell).chain(other)
    }
}

fn level_of(claims: &[AskedClaim]) -> f64 {
    ALPHA / claims.iter().map(AskedClaim::intervals).sum::<usize>().max(1) as f64
}

impl AskedClaim {
    /// How many intervals it takes: one for each cell, each group, and everything.
    fn intervals(&self) -> usize {
        let cells = self.tests.iter().filter(|test| test.hopeless.is_none()).count();
        let above = if self.groups.is_empty() { 0 } else { self.groups.len() + 1 };
        cells + above
    }
}

impl Questions {
    /// How many intervals share alpha.
    pub fn intervals(&self) -> usize {
        self.claims.iter().map(AskedClaim::intervals).sum()
    }

    /// What each interval is drawn at.
    pub fn level(&self) -> f64 {
        level_of(&self.claims)
    }

    /// The smallest level at which the run itself draws an interval: of a comparison with a baseline, that is a part of the whole.
    pub fn level_of_run(&self) -> f64 {
        let level = self.level();
        let of_test = |test: &CellTest| match &test.than {
            CellTestThan::Baseline(then) if test.hopeless.is_none() => then.level_of_run(level),
            CellTestThan::Nothing | CellTestThan::Cell(_) | CellTestThan::Baseline(_) => level,
        };
        self.tests().map(of_test).fold(level, f64::min)
    }

    /// The cells that some claim is about, as indices.
    pub fn cells(&self) -> Vec<usize> {
        let mut cells: Vec<usize> = self.tests().flat_map(CellTest::cells).collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// The claims in words, with their lines and why they cannot be decided here.
    pub fn list(&self) -> impl Iterator<Item = (&str, usize, Option<&str>)> {
        self.claims.iter().map(|claim| {
            let reason = claim.tests.iter().find_map(|test| test.hopeless.as_deref());
            (claim.text.as_str(), claim.line, reason)
        })
    }

    fn tests(&self) -> impl Iterator<Item = &CellTest> {
        self.claims.iter().flat_map(|claim| &claim.tests)
    }
}

/// Whether a longer run could not tell more of a claim.
pub fn is_settled(claim: &CheckedClaim) -> bool {
    // A small difference may still turn out to lie on the side that is claimed.
    let is_open = |word: ClaimVerdict| matches!(word, ClaimVerdict::Open | ClaimVerdict::NoDifference);
    !is_open(claim.word) || claim.tests.iter().all(|test| !is_open(test.word) || test.reason.is_some())
}

pub fn together(claims: &[CheckedClaim]) -> ClaimVerdict {
    all_keep(&claims.iter().map(|claim| claim.word).collect::<Vec<_>>())
}

/// Decides every claim from what was measured so far; says how long it would likely take only of a run that has ended.
pub fn decide(questions: &Questions, measured: &MeasuredCells<'_>) -> Vec<CheckedClaim> {
    let level = questions.level();
    questions.claims.iter().map(|claim| decide_claim(claim, measured, level)).collect()
}

/// Decides one claim at a level that is a part of that of a single run, as hosts of a fleet share it.
pub fn decide_at(
    questions: &Questions,
    claim: usize,
    measured: &MeasuredCells<'_>,
    parts: u64,
) -> CheckedClaim {
    decide_claim(&questions.claims[claim], measured, questions.level() / parts.max(1) as f64)
}

fn decide_claim(question: &AskedClaim, measured: &MeasuredCells<'_>, level: f64) -> CheckedClaim {
    let mut tests: Vec<CheckedTest> =
        question.tests.iter().map(|test| deciding::decide_test(test, measured, level)).collect();
    // Where every cell is within its bound, so is every group; one that is not known to fail adds nothing.
    let above = levels::decide_groups(question, measured, level);
    tests.splice(0..0, above.into_iter().filter(|test| test.word == ClaimVerdict::Fails));
    CheckedClaim {
        text: question.text.clone(),
        line: question.line as u32,
        word: all_keep(&tests.iter().map(|test| test.word).collect::<Vec<_>>()),
        tests,
    }
}
