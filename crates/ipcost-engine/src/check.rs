//! Deciding the claims that a project keeps about its own machine.
//!
//! [`prepare`] turns a file of claims into questions about cells, before anything is measured; [`decide`] answers them
//! from what was measured so far, at any moment. Every interval is drawn at α/m, m being how many there are, so that
//! all claims hold together, whenever the run ends.

mod baseline;

use std::collections::BTreeMap;

use ipcost_model::check::{
    Bound, CheckedClaim, CheckedTest, ClaimMetric, ClaimsFile, ProjectClaim, Reference,
};
use ipcost_model::replication::Word;
use ipcost_model::{Document, JobFileError, LatencyMode, Metric, Pattern, PlannedCell};
use ipcost_stats::{epochs_to_exclude, epochs_to_expect, median, merged_interval};

pub use baseline::{differences, ratio_to_baseline};

use crate::campaign::Outcome;
use crate::claims::{Bounded, Bounds, all_hold, find_named};
use crate::planning::ALPHA;

/// The questions that a file of claims asks of a run.
#[derive(Debug, Clone)]
pub struct Questions {
    claims: Vec<Question>,
    /// What the user should know before it starts.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone)]
struct Question {
    text: String,
    line: usize,
    tests: Vec<Test>,
}

/// One cell of a claim.
#[derive(Debug, Clone)]
struct Test {
    cell: usize,
    metric: ClaimMetric,
    than: Than,
    at_most: Option<f64>,
    at_least: Option<f64>,
    /// Why it cannot be decided here, as far as that is known before.
    hopeless: Option<String>,
}

/// What a cell is compared with.
#[derive(Debug, Clone)]
enum Than {
    Nothing,
    Cell(usize),
    /// Logarithms of what the same cell cost in a document, by epoch.
    Baseline {
        name: String,
        log_costs: Vec<f64>,
    },
}

/// Finds the cells of every claim. `baselines` holds the documents that claims name, by those names.
///
/// # Errors
/// The first claim that asks about nothing, with its place in the file.
pub fn prepare(
    file: &ClaimsFile,
    cells: &[PlannedCell],
    latency: LatencyMode,
    baselines: &BTreeMap<String, Document>,
) -> Result<Questions, JobFileError> {
    let mut preparation = Preparation { cells, latency, baselines, notes: Vec::new() };
    let mut claims =
        file.claims.iter().map(|claim| preparation.question(claim)).collect::<Result<Vec<_>, _>>()?;
    let level = level_of(&claims);
    for test in claims.iter_mut().flat_map(|claim| &mut claim.tests) {
        let Than::Baseline { name, log_costs } = &test.than else { continue };
        if baseline::interval(log_costs, level).is_none() && test.hopeless.is_none() {
            test.hopeless = Some(format!(
                "{name} has too few epochs of it ({}): it takes about {}; record it again with a larger budget",
                log_costs.len(),
                epochs_to_expect(level / 2.0)
            ));
        }
    }
    Ok(Questions { claims, notes: preparation.notes })
}

struct Preparation<'a> {
    cells: &'a [PlannedCell],
    latency: LatencyMode,
    baselines: &'a BTreeMap<String, Document>,
    notes: Vec<String>,
}

impl Preparation<'_> {
    fn question(&mut self, claim: &ProjectClaim) -> Result<Question, JobFileError> {
        let named = |name: &ipcost_model::check::Located<_>| {
            find_named(self.cells, &name.value).map_err(|message| name.place.error(message))
        };
        let cell = claim.cell.as_ref().map(named).transpose()?;
        let than: Vec<(usize, Than)> = match &claim.reference {
            Reference::Nothing => cell.map(|cell| (cell, Than::Nothing)).into_iter().collect(),
            Reference::Cell(other) => {
                let b = named(other)?;
                if Some(b) == cell {
                    let message = format!("{} is compared with itself; name another cell", self.cells[b].id);
                    return Err(other.place.error(message));
                }
                cell.map(|cell| (cell, Than::Cell(b))).into_iter().collect()
            }
            Reference::Baseline(name) => {
                let error = |message| name.place.error(message);
                self.of_baseline(claim, &name.value, cell).map_err(error)?
            }
        };
        let mut tests = Vec::new();
        for (cell, than) in than {
            let mut test = Test {
                cell,
                metric: claim.metric,
                than,
                at_most: claim.at_most.as_ref().map(|bound| bound.value),
                at_least: claim.at_least.as_ref().map(|bound| bound.value),
                hopeless: None,
            };
            self.check_latency(&test).map_err(|message| claim.place.error(message))?;
            let missing = test.cells().find_map(|cell| self.cells[cell].unavailable.clone());
            test.hopeless = missing.map(|reason| format!("it could not be measured here: {reason}"));
            tests.push(test);
        }
        let text = claim.text.clone().unwrap_or_else(|| self.compose(claim, &tests));
        Ok(Question { text, line: claim.place.line, tests })
    }

    /// The cells of a claim about a baseline, with what they cost there.
    fn of_baseline(
        &mut self,
        claim: &ProjectClaim,
        name: &str,
        cell: Option<usize>,
    ) -> Result<Vec<(usize, Than)>, String> {
        let document = self.baselines.get(name).ok_or_else(|| format!("{name} has not been read"))?;
        let metric = if claim.metric == ClaimMetric::Cpu { Metric::Cpu } else { Metric::Wall };
        let (mut found, mut lacking) = (Vec::new(), Vec::new());
        for index in cell.map_or(0..self.cells.len(), |cell| cell..cell + 1) {
            match baseline::log_costs(document, &self.cells[index], metric)
                .map_err(|reason| format!("{name}: {reason}"))?
            {
                Some(log_costs) => {
                    found.push((index, Than::Baseline { name: name.to_owned(), log_costs }));
                }
                None => lacking.push(self.cells[index].id.as_str()),
            }
        }
        if found.is_empty() {
            let has: Vec<&str> = document.cells.iter().map(|cell| cell.id.as_str()).collect();
            return Err(format!(
                "{name} has not measured {}; it has {}; record it again with ipcost check --record",
                lacking.join(", "),
                has.join(", ")
            ));
        }
        if !lacking.is_empty() {
            let line = claim.place.line;
            self.notes.push(format!(
                "{name} has not measured {}; the claim on line {line} is about the other cells only",
                lacking.join(", ")
            ));
        }
        Ok(found)
    }

    fn check_latency(&self, test: &Test) -> Result<(), String> {
        if test.metric.quantile().is_none() {
            return Ok(());
        }
        let metric = test.metric;
        if self.latency == LatencyMode::Off {
            return Err(format!(
                "{metric} is a latency, and latency = \"off\" samples none; take that setting out"
            ));
        }
        match test.cells().find(|cell| self.cells[*cell].cell.pattern == Pattern::Stream) {
            Some(stream) => Err(format!(
                "{metric} is a latency of single operations, and {} is a stream, which has none; use wall",
                self.cells[stream].id
            )),
            None => Ok(()),
        }
    }

    /// A claim in words.
    fn compose(&self, claim: &ProjectClaim, tests: &[Test]) -> String {
        let what = match (&claim.cell, tests) {
            (Some(_), [only]) => self.cells[only.cell].id.as_str(),
            _ => "every cell",
        };
        let times = match tests {
            [Test { than: Than::Cell(b), .. }, ..] => format!(" × {}", self.cells[*b].id),
            [Test { than: Than::Baseline { name, .. }, .. }, ..] => format!(" × {name}"),
            _ => String::new(),
        };
        let bound =
            |words: &str, bound: &Option<Bound>| Some(format!("{words} {}{times}", bound.as_ref()?.written));
        let bounds: Vec<String> = [bound("at least", &claim.at_least), bound("at most", &claim.at_most)]
            .into_iter()
            .flatten()
            .collect();
        format!("{} of {what} is {}", claim.metric, bounds.join(" and "))
    }
}

impl Test {
    /// Its cells in the run.
    fn cells(&self) -> impl Iterator<Item = usize> + use<> {
        let other = match self.than {
            Than::Cell(other) => Some(other),
            Than::Nothing | Than::Baseline { .. } => None,
        };
        std::iter::once(self.cell).chain(other)
    }
}

fn level_of(claims: &[Question]) -> f64 {
    let tests = claims.iter().flat_map(|claim| &claim.tests);
    ALPHA / tests.filter(|test| test.hopeless.is_none()).count().max(1) as f64
}

impl Questions {
    /// How many intervals share alpha.
    pub fn intervals(&self) -> usize {
        self.tests().filter(|test| test.hopeless.is_none()).count()
    }

    /// What each interval is drawn at.
    pub fn level(&self) -> f64 {
        level_of(&self.claims)
    }

    /// The smallest level at which the run itself draws an interval: a comparison with a baseline takes two.
    pub fn level_of_run(&self) -> f64 {
        let of_baseline = |test: &Test| matches!(test.than, Than::Baseline { .. }) && test.hopeless.is_none();
        if self.tests().any(of_baseline) { self.level() / 2.0 } else { self.level() }
    }

    /// The cells that some claim is about, as indices.
    pub fn cells(&self) -> Vec<usize> {
        let mut cells: Vec<usize> = self.tests().flat_map(Test::cells).collect();
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

    fn tests(&self) -> impl Iterator<Item = &Test> {
        self.claims.iter().flat_map(|claim| &claim.tests)
    }
}

/// Whether nothing is left that a longer run could decide.
pub fn settled(claims: &[CheckedClaim]) -> bool {
    claims.iter().all(is_settled)
}

/// Whether a longer run could not tell more of a claim.
pub fn is_settled(claim: &CheckedClaim) -> bool {
    let closed = |test: &CheckedTest| test.word != Word::Undecided || test.reason.is_some();
    claim.word != Word::Undecided || claim.tests.iter().all(closed)
}

/// The word of all claims together.
pub fn together(claims: &[CheckedClaim]) -> Word {
    all_hold(claims.iter().map(|claim| claim.word))
}

/// Decides every claim from what was measured so far; says how long it would likely take only of a run that has ended.
pub fn decide(questions: &Questions, outcome: &Outcome) -> Vec<CheckedClaim> {
    let level = questions.level();
    let claim = |question: &Question| {
        let tests: Vec<CheckedTest> =
            question.tests.iter().map(|test| decide_test(test, outcome, level)).collect();
        CheckedClaim {
            text: question.text.clone(),
            line: question.line as u32,
            word: all_hold(tests.iter().map(|test| test.word)),
            tests,
        }
    };
    questions.claims.iter().map(claim).collect()
}

fn decide_test(test: &Test, outcome: &Outcome, level: f64) -> CheckedTest {
    let id = |cell: usize| outcome.plan.cells[cell].id.clone();
    let mut checked = CheckedTest {
        cell: id(test.cell),
        against: None,
        baseline: None,
        metric: test.metric,
        value: None,
        lo: None,
        hi: None,
        at_most: test.at_most,
        at_least: test.at_least,
        word: Word::Undecided,
        reason: test.hopeless.clone(),
        likely_budget_s: None,
    };
    match &test.than {
        Than::Nothing => {}
        Than::Cell(other) => checked.against = Some(id(*other)),
        Than::Baseline { name, .. } => checked.baseline = Some(name.clone()),
    }
    let epochs = outcome.table.epochs();
    if epochs == 0 || outcome.plan.cells[test.cell].unavailable.is_some() {
        return checked;
    }
    let logs = match log_values(outcome, test) {
        Ok(logs) => logs,
        Err(reason) => {
            checked.reason.get_or_insert(reason);
            return checked;
        }
    };
    let (value, interval) = match &test.than {
        Than::Baseline { log_costs, .. } => {
            let ratio = median(&logs).zip(median(log_costs)).map(|(now, then)| now - then);
            (ratio, ratio_to_baseline(&logs, log_costs, level))
        }
        Than::Nothing | Than::Cell(_) => {
            let found = merged_interval(&logs, level).map(|found| found.interval);
            (found.map(|found| found.median), found.and_then(|found| found.bounds))
        }
    };
    checked.value = value.map(f64::exp);
    let interval = interval.map(|(lo, hi)| (lo.exp(), hi.exp()));
    (checked.lo, checked.hi) = interval.unzip();
    let bounds =
        Bounds { above: test.at_least.map(Bounded::Including), below: test.at_most.map(Bounded::Including) };
    checked.word = bounds.word(interval);
    let ended = !outcome.elapsed.is_zero();
    if ended && checked.word == Word::Undecided && checked.reason.is_none() {
        let each = outcome.elapsed_of_epochs().as_secs_f64() / epochs as f64;
        let before = outcome.elapsed.as_secs_f64() - outcome.elapsed_of_epochs().as_secs_f64();
        checked.likely_budget_s = likely_epochs(test, &logs, interval, level)
            .map(|epochs| before.max(0.0) + each * f64::from(epochs));
    }
    checked
}

/// How many epochs would likely exclude every bound that the interval holds; `None` where that cannot be told.
fn likely_epochs(test: &Test, logs: &[f64], interval: Option<(f64, f64)>, level: f64) -> Option<u32> {
    if matches!(test.than, Than::Baseline { .. }) {
        // The other half of that interval does not narrow however long this run takes.
        return None;
    }
    let within = |bound: &f64| interval.is_none_or(|(lo, hi)| lo <= *bound && *bound <= hi);
    let open = [test.at_most, test.at_least].into_iter().flatten().filter(within);
    let epochs: Vec<u32> =
        open.map(|bound| epochs_to_exclude(logs, bound.ln(), level)).collect::<Option<_>>()?;
    epochs.into_iter().max()
}

/// The logarithm of what a test is about, an epoch each.
///
/// # Errors
/// Why there is none, whatever the budget.
fn log_values(outcome: &Outcome, test: &Test) -> Result<Vec<f64>, String> {
    let table = &outcome.table;
    let bytes = |cell: usize| (outcome.plan.cells[cell].cell.bytes_per_op() as f64).ln();
    let costs = |metric: Metric| match test.than {
        Than::Cell(other) => table.log_ratios(metric, test.cell, other),
        Than::Nothing | Than::Baseline { .. } => table.log_costs(metric, test.cell),
    };
    // A rate is one over a cost; a ratio of rates has no seconds in it.
    let rate = |of_one: f64, of_other: f64| -> Vec<f64> {
        let compared = matches!(test.than, Than::Cell(_));
        let unit = if compared { of_one - of_other } else { of_one + 1e9f64.ln() };
        costs(Metric::Wall).into_iter().map(|log_cost| unit - log_cost).collect()
    };
    let other = test.cells().last().unwrap_or(test.cell);
    let found = match test.metric {
        ClaimMetric::Wall => costs(Metric::Wall),
        ClaimMetric::Cpu => costs(Metric::Cpu),
        ClaimMetric::OpsPerS => rate(0.0, 0.0),
        ClaimMetric::BytesPerS => rate(bytes(test.cell), bytes(other)),
        ClaimMetric::P50 | ClaimMetric::P90 | ClaimMetric::P99 => return log_percentiles(outcome, test),
    };
    if found.is_empty() {
        let why = match test.metric {
            ClaimMetric::Cpu => {
                "in an epoch it used no processor time that the kernel counted; give longer batches (batch = \"200ms\")"
            }
            _ => "an epoch has no cost of it",
        };
        return Err(why.to_owned());
    }
    Ok(found)
}

/// The logarithm of each epoch's own percentile, or of the ratio of two.
fn log_percentiles(outcome: &Outcome, test: &Test) -> Result<Vec<f64>, String> {
    let quantile = test.metric.quantile().unwrap_or(0.5);
    // With fewer operations than this, the percentile would be no more than their largest.
    let least = (1.0 / (1.0 - quantile)).round() as u64;
    let of = |cell: usize| -> Result<Vec<f64>, String> {
        let epochs = &outcome.percentiles[cell];
        let fewest = epochs.iter().map(|epoch| epoch.count).min().unwrap_or(0);
        let (id, metric) = (&outcome.plan.cells[cell].id, test.metric);
        if fewest == 0 {
            return Err(format!("the client of {id} gives no latencies"));
        }
        if fewest < least {
            return Err(format!(
                "an epoch samples {fewest} operations of {id}, and {metric} takes {least}; latency = \"inline\" samples the timed batches, which are longer"
            ));
        }
        let at = |epoch: &crate::Percentiles| match test.metric {
            ClaimMetric::P50 => epoch.p50,
            ClaimMetric::P90 => epoch.p90,
            _ => epoch.p99,
        };
        Ok(epochs.iter().map(|epoch| (at(epoch).max(1) as f64).ln()).collect())
    };
    let own = of(test.cell)?;
    match test.than {
        Than::Cell(other) => Ok(own.iter().zip(of(other)?).map(|(a, b)| a - b).collect()),
        Than::Nothing | Than::Baseline { .. } => Ok(own),
    }
}
