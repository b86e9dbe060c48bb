//! From a file of claims to questions about the cells of a run.

use std::collections::BTreeMap;

use ipcost_lab::planning::{ALPHA, DEFAULT_MARGIN};
use ipcost_model::{Document, JobFileError, LatencyMode, Metric, Pattern, PlannedCell, Point};
use ipcost_stats::epochs_to_expect;

use super::{AskedClaim, Questions, Test, Than, baseline, level_of};
use crate::ab::pairs;
use crate::check::{Bound, ClaimMetric, ClaimsFile, Located, Place, ProjectClaim, Reference};
use crate::claims::find_named;
use crate::compare::{groups, least_alpha};

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
    let margin = file.job.margin.unwrap_or(DEFAULT_MARGIN);
    let mut preparation = Preparation { cells, latency, margin, baselines, notes: Vec::new() };
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
    Ok(Questions { claims, notes: preparation.notes, recording: false })
}

struct Preparation<'a> {
    cells: &'a [PlannedCell],
    latency: LatencyMode,
    margin: f64,
    baselines: &'a BTreeMap<String, Document>,
    notes: Vec<String>,
}

impl Preparation<'_> {
    fn question(&mut self, claim: &ProjectClaim) -> Result<AskedClaim, JobFileError> {
        let named = |name: &Located<_>| {
            find_named(self.cells, &name.value).map_err(|message| name.place.error(message))
        };
        let of_arms = matches!(claim.reference, Reference::Arms(_));
        let cell = claim.cell.as_ref().filter(|_| !of_arms).map(named).transpose()?;
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
            Reference::Arms(place) => self.of_arms(claim, *place)?,
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
                margin: self.margin,
                hopeless: None,
            };
            self.check_latency(&test).map_err(|message| claim.place.error(message))?;
            let missing = test.cells().find_map(|cell| self.cells[cell].unavailable.clone());
            test.hopeless = missing.map(|reason| format!("it cannot be measured here: {reason}"));
            tests.push(test);
        }
        let text = claim.text.clone().unwrap_or_else(|| self.compose(claim, &tests));
        let measurable = tests.iter().all(|test| test.hopeless.is_none());
        let is_change = matches!(claim.reference, Reference::Baseline(_) | Reference::Arms(_))
            && matches!(claim.metric, ClaimMetric::Wall | ClaimMetric::Cpu);
        let mut groups = match is_change && measurable && claim.cell.is_none() {
            true => groups(&tests.iter().map(|test| &self.cells[test.cell].point).collect::<Vec<&Point>>()),
            false => Vec::new(),
        };
        if matches!(claim.reference, Reference::Baseline(_)) {
            // Of separate runs the cells are the units, and few of them tell nothing.
            let level = ALPHA / (tests.len() + groups.len() + 1) as f64;
            groups.retain(|group| least_alpha(group.cells.len(), tests.len() - group.cells.len()) <= level);
        }
        Ok(AskedClaim { text, line: claim.place.line, tests, groups })
    }

    /// The cells of a claim about two arms: those of arm B, each with the same of arm A.
    fn of_arms(&self, claim: &ProjectClaim, place: Place) -> Result<Vec<(usize, Than)>, JobFileError> {
        let pairs = pairs(&self.cells.iter().map(|cell| &cell.point).collect::<Vec<&Point>>());
        if pairs.is_empty() {
            return Err(
                place.error("the job has no two arms; add a table [ab.a] or [ab.b], as for ipcost ab")
            );
        }
        // Cells are named without their arm.
        let in_row = |index: usize| {
            let cell = &self.cells[index];
            let mut row = cell.clone();
            row.point.arm = None;
            row.id = cell.id_without_arm(&cell.id).to_owned();
            row.label = cell.row.clone().unwrap_or_else(|| cell.label.clone());
            row
        };
        let rows: Vec<PlannedCell> = pairs.iter().map(|pair| in_row(pair.b)).collect();
        let wanted = match &claim.cell {
            None => 0..pairs.len(),
            Some(name) => {
                let found = find_named(&rows, &name.value).map_err(|message| name.place.error(message))?;
                found..found + 1
            }
        };
        Ok(pairs[wanted].iter().map(|pair| (pair.b, Than::Cell(pair.a))).collect())
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
            _ if matches!(claim.reference, Reference::Arms(_)) => " × arm A".to_owned(),
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
