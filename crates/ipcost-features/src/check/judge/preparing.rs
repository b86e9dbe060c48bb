//! From a file of claims to questions about the cells of a run.

use ipcost_lab::planning::DEFAULT_MARGIN;
use ipcost_model::{Document, JobFileError, LatencyMode, Pattern, PlannedCell, Point};

use super::{AskedClaim, Baselines, CellTest, CellTestThan, Questions, Then, level_of};
use crate::FeatureError;
use crate::ab::pairs;
use crate::check::{ClaimMetric, ClaimsFile, Located, ProjectClaim, Reference, TextPosition, WrittenBound};
use crate::claims::CellName;
use crate::compare::{FEWEST_IN_GROUP, groups};

/// Finds the cells of every claim. `baselines` holds the documents that claims name.
pub fn prepare(
    file: &ClaimsFile,
    cells: &[PlannedCell],
    latency: LatencyMode,
    baselines: &Baselines,
) -> Result<Questions, JobFileError> {
    let margin = file.job.margin.unwrap_or(DEFAULT_MARGIN);
    let mut preparation = Preparation { cells, latency, margin, baselines, notes: Vec::new() };
    let mut claims =
        file.claims.iter().map(|claim| preparation.question(claim)).collect::<Result<Vec<_>, _>>()?;
    let level = level_of(&claims);
    for test in claims.iter_mut().flat_map(|claim| &mut claim.tests) {
        let CellTestThan::Baseline(then) = &test.than else { continue };
        if test.hopeless.is_none() {
            test.hopeless = then.too_short(level);
        }
    }
    let mut notes = preparation.notes;
    notes.extend(claims.iter().filter_map(|claim| wanting_runs(claim, level)));
    Ok(Questions { claims, notes, recording: false })
}

/// That a claim about a baseline stays open for equal builds, whatever the budget, because runs are taken to differ too much.
fn wanting_runs(claim: &AskedClaim, level: f64) -> Option<String> {
    let open = |test: &CellTest| {
        let CellTestThan::Baseline(then) = &test.than else { return None };
        let between = then.between_runs(level);
        let within = |bound: f64| bound.max(1.0 / bound) < between.open_within;
        [test.at_most, test.at_least].into_iter().flatten().any(within).then_some(between)
    };
    let of_tests = claim.tests.iter().filter_map(open);
    let widest = of_tests.max_by(|a, b| a.open_within.total_cmp(&b.open_within))?;
    Some(format!(
        "line {}: equal builds stay open at any budget: {}",
        claim.line,
        crate::check::words::between_runs(&widest)
    ))
}

struct Preparation<'a> {
    cells: &'a [PlannedCell],
    latency: LatencyMode,
    margin: f64,
    baselines: &'a Baselines,
    notes: Vec<String>,
}

impl Preparation<'_> {
    fn question(&mut self, claim: &ProjectClaim) -> Result<AskedClaim, JobFileError> {
        let named = |name: &Located<CellName>| {
            name.value.find(self.cells).map_err(|message| name.place.error(message))
        };
        let of_arms = matches!(claim.reference, Reference::Arms(_));
        let cell = claim.cell.as_ref().filter(|_| !of_arms).map(named).transpose()?;
        let than: Vec<(usize, CellTestThan)> = match &claim.reference {
            Reference::Nothing => cell.map(|cell| (cell, CellTestThan::Nothing)).into_iter().collect(),
            Reference::Cell(other) => {
                let b = named(other)?;
                if Some(b) == cell {
                    let message = format!("{} is compared with itself; name another cell", self.cells[b].id);
                    return Err(other.place.error(message));
                }
                cell.map(|cell| (cell, CellTestThan::Cell(b))).into_iter().collect()
            }
            Reference::Arms(place) => self.of_arms(claim, *place)?,
            Reference::Baseline(names) => {
                self.of_baseline(claim, &names.value, cell).map_err(|error| names.place.error(error))?
            }
        };
        let mut tests = Vec::new();
        for (cell, than) in than {
            let mut test = CellTest {
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
            let tells = FEWEST_IN_GROUP..=tests.len().saturating_sub(FEWEST_IN_GROUP);
            groups.retain(|group| tells.contains(&group.first().set.cells.len()));
        }
        let past = self.baselines.past.of(claim.metric.compared_by()).cloned().unwrap_or_default();
        let assumed_spread = self.baselines.assumed_spread;
        Ok(AskedClaim { text, line: claim.place.line, tests, groups, past, assumed_spread })
    }

    /// The cells of a claim about two arms: those of arm B, each with the same of arm A.
    fn of_arms(
        &self,
        claim: &ProjectClaim,
        place: TextPosition,
    ) -> Result<Vec<(usize, CellTestThan)>, JobFileError> {
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
                let found = name.value.find(&rows).map_err(|message| name.place.error(message))?;
                found..found + 1
            }
        };
        Ok(pairs[wanted].iter().map(|pair| (pair.b, CellTestThan::Cell(pair.a))).collect())
    }

    /// The cells of a claim about a baseline, with what they cost there.
    fn of_baseline(
        &mut self,
        claim: &ProjectClaim,
        names: &[String],
        cell: Option<usize>,
    ) -> Result<Vec<(usize, CellTestThan)>, FeatureError> {
        let documents = self.baselines.named(names)?;
        let name = names.join(", ");
        let by = claim.metric.compared_by();
        let (mut found, mut lacking) = (Vec::new(), Vec::new());
        for index in cell.map_or(0..self.cells.len(), |cell| cell..cell + 1) {
            match Then::of(&documents, &self.cells[index], by, self.baselines)? {
                Some(then) => found.push((index, CellTestThan::Baseline(then))),
                None => lacking.push(self.cells[index].id.clone()),
            }
        }
        let has_cell = |(_, run): &(&str, &Document)| run.cells.iter().any(|cell| cell.id == lacking[0]);
        if let Some(percentile) = claim.metric.percentile()
            && found.is_empty()
            && documents.iter().any(has_cell)
        {
            return Err(FeatureError::BaselineLacksPercentile { name, percentile, lacking });
        }
        if found.is_empty() {
            let has = documents.iter().flat_map(|(_, run)| &run.cells).map(|cell| cell.id.clone()).collect();
            return Err(FeatureError::BaselineLacks { name, lacking, has });
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

    fn check_latency(&self, test: &CellTest) -> Result<(), FeatureError> {
        let metric = test.metric;
        if metric.percentile().is_none() {
            return Ok(());
        }
        // Where a cell keeps a pace, each operation is timed by itself, and each message of a stream one way.
        for planned in test.cells().map(|cell| &self.cells[cell]).filter(|cell| !cell.cell.pace().is_paced())
        {
            if self.latency == LatencyMode::Off {
                return Err(FeatureError::LatencyOff(metric));
            }
            if planned.cell.pattern == Pattern::Stream {
                return Err(FeatureError::LatencyOfStream { metric, cell: planned.id.clone() });
            }
        }
        let CellTestThan::Cell(other) = test.than else { return Ok(()) };
        let [own, other] = [test.cell, other].map(|cell| &self.cells[cell]);
        if own.cell.pace().is_open() != other.cell.pace().is_open() {
            let (open, closed) = if own.cell.pace().is_open() { (own, other) } else { (other, own) };
            let (open, closed) = (open.id.clone(), closed.id.clone());
            return Err(FeatureError::OpenAndClosed { metric, open, closed });
        }
        Ok(())
    }

    /// A cell by its id, with its rate in words.
    fn named(&self, cell: usize) -> String {
        let PlannedCell { id, point, .. } = &self.cells[cell];
        if *id == point.id() { point.id_at_rate() } else { id.clone() }
    }

    /// A claim in words.
    fn compose(&self, claim: &ProjectClaim, tests: &[CellTest]) -> String {
        let what = match (&claim.cell, tests) {
            (Some(_), [only]) => self.named(only.cell),
            _ => "every cell".to_owned(),
        };
        let times = match tests {
            _ if matches!(claim.reference, Reference::Arms(_)) => " × arm A".to_owned(),
            [CellTest { than: CellTestThan::Cell(b), .. }, ..] => format!(" × {}", self.named(*b)),
            [CellTest { than: CellTestThan::Baseline(then), .. }, ..] => format!(" × {}", then.name),
            _ => String::new(),
        };
        let bound = |words: &str, bound: &Option<WrittenBound>| {
            Some(format!("{words} {}{times}", bound.as_ref()?.written))
        };
        let bounds: Vec<String> = [bound("at least", &claim.at_least), bound("at most", &claim.at_most)]
            .into_iter()
            .flatten()
            .collect();
        format!("{} of {what}: {}", claim.metric.title(), bounds.join(" and "))
    }
}
