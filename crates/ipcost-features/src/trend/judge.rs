//! From gathered runs to a trend.

use std::ops::Range;

use ipcost_model::{Tool, first_few, nearest};
use ipcost_stats::{ChangePoint, ChangePoints, FEWEST_IN_HISTORY, LevelChange, change_points, step};
use thiserror::Error;

use super::gather::{TrendGathered, TrendRequest};
use super::record::{LeftOut, TREND_SCHEMA, Trend, TrendChange, TrendRun};
use crate::compare::{Difference, VOLATILE};
use crate::history::AlikeRuns;

/// The level of the test of each change, of independent runs.
pub const CHANGE_ALPHA: f64 = 0.01;
/// At most this share of histories without a change has one if the machine wanders, as simulated.
pub const WANDERING_ALPHA: f64 = 0.2;
/// The level of the interval of a change.
const STEP_ALPHA: f64 = 0.05;
/// Of the random orders. The same runs have the same changes.
const SEED: u64 = 20_140_301;
/// The newest so many runs are searched: the search takes time with the square of the runs.
pub const MOST_RUNS: usize = 1_000;
/// Ids that an error names.
const MOST_IDS: usize = 4;
/// Why there is no trend.
#[derive(Debug, Error)]
pub enum TrendError {
    /// No run has a figure.
    #[error("no saved run has a cost of {cell}{near} (ipcost show RUN --csv - shows the ids of cells)")]
    NoSuchCell {
        cell: String,
        /// The nearest, if any.
        near: String,
    },
    /// No run has both.
    #[error("no saved run has both {cell} and {against}{near} (a ratio takes cells of one job)")]
    NotBoth {
        cell: String,
        /// What it was to be divided by.
        against: String,
        /// The nearest, if any.
        near: String,
    },
    /// The run to go by does not have it.
    #[error(
        "the run {run} has no cost of {cell}, or has not ended; --like takes a run whose history is wanted: ipcost list shows them"
    )]
    NotThere { run: String, cell: String },
}

impl TrendError {
    /// That no run has what was asked, with the nearest of the ids that there are.
    pub fn no_such_cell(asked: &TrendRequest, known: &[String]) -> Self {
        let missing = asked.cells().find(|name| !known.iter().any(|id| name.is(id)));
        let near = missing.map_or_else(String::new, |name| nearest_of(name.text(), known));
        let cell = asked.cell.text().to_owned();
        match &asked.against {
            None => Self::NoSuchCell { cell, near },
            Some(against) => Self::NotBoth { cell, against: against.text().to_owned(), near },
        }
    }
}

/// The nearest id as a question, one that begins alike, or some of all.
fn nearest_of(text: &str, known: &[String]) -> String {
    let ids = || known.iter().map(String::as_str);
    let near = nearest(text, ids()).or_else(|| ids().find(|id| id.starts_with(text)));
    match near {
        Some(near) => format!("; did you mean {near}?"),
        None if known.is_empty() => String::new(),
        None => format!("; the newest runs have {}", first_few(known, MOST_IDS)),
    }
}

/// The trend of the runs that are like one of them, the newest `limit` at most. `runs` are in the order of time. They are
/// like the run with the id `like`; without one, like the newest that a release build measured.
pub fn trend(
    runs: Vec<TrendGathered>,
    asked: &TrendRequest,
    like: Option<&str>,
    limit: usize,
    tool: Tool,
) -> Result<Trend, TrendError> {
    let model = model(&runs, like).cloned().ok_or_else(|| {
        let cell = asked.cell.text().to_owned();
        match like {
            Some(run) => TrendError::NotThere { run: run.to_owned(), cell },
            None => TrendError::no_such_cell(asked, &[]),
        }
    })?;
    let left_out = left_out(&runs, &model.alike);
    let mut runs: Vec<TrendGathered> =
        runs.into_iter().filter(|run| run.alike.is_like(&model.alike)).collect();
    runs.drain(..runs.len().saturating_sub(limit.clamp(1, MOST_RUNS)));
    let logs: Vec<f64> = runs.iter().map(|run| run.value.median.ln()).collect();
    let found = change_points(&logs, CHANGE_ALPHA, SEED);
    let levels = levels(&logs, &found);
    let of_level = |level: &Range<usize>| vec![mean(&logs[level.clone()]).exp(); level.len()];
    let each = levels.iter().flat_map(of_level);
    let changes = found.points.iter().zip(levels.windows(2)).filter_map(|(point, levels)| {
        let (old, new) = (&logs[levels[0].clone()], &logs[levels[1].clone()]);
        let step = step(old, new, found.correlation, STEP_ALPHA)?;
        Some(change(point, &step, &runs[point.at - 1], &runs[point.at]))
    });
    Ok(Trend {
        schema: TREND_SCHEMA.to_owned(),
        tool,
        cell: model.cell,
        against: model.against,
        metric: asked.metric,
        host: model.alike.host,
        job: model.job,
        changes: changes.collect(),
        runs: runs.into_iter().zip(each).map(|(run, level)| TrendRun { level, ..run.run }).collect(),
        correlation: found.correlation,
        alpha: CHANGE_ALPHA,
        wandering_alpha: WANDERING_ALPHA,
        fewest: FEWEST_IN_HISTORY as u64,
        left_out,
    })
}

/// The run that the others must be like.
fn model<'a>(runs: &'a [TrendGathered], like: Option<&str>) -> Option<&'a TrendGathered> {
    match like {
        Some(id) => runs.iter().find(|run| run.id == id),
        None => runs.iter().rev().find(|run| !run.alike.debug).or(runs.last()),
    }
}

/// The values of each level, by index.
fn levels(logs: &[f64], found: &ChangePoints) -> Vec<Range<usize>> {
    let edges = found.points.iter().map(|point| point.at);
    let edges: Vec<usize> = std::iter::once(0).chain(edges).chain([logs.len()]).collect();
    edges.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn change(
    point: &ChangePoint,
    step: &LevelChange,
    last: &TrendGathered,
    first: &TrendGathered,
) -> TrendChange {
    TrendChange {
        at: point.at as u64,
        run: first.id.clone(),
        after: last.id.clone(),
        ratio: step.difference.exp(),
        lo: step.lo.exp(),
        hi: step.hi.exp(),
        p: point.p,
        differences: differences(last, first),
    }
}

/// Whether a run is not like the one that is followed.
type Differs = fn(&AlikeRuns, &AlikeRuns) -> bool;

/// How many runs are not like these, by the first reason.
fn left_out(runs: &[TrendGathered], model: &AlikeRuns) -> Vec<LeftOut> {
    let build = if model.debug { "of a release build" } else { "of a debug build" };
    let reasons: [(&str, Differs); 5] = [
        ("of another host", |run, model| run.host != model.host),
        ("of another job", |run, model| run.job != model.job),
        ("of another version of the server", |run, model| run.server != model.server),
        ("with batches of another length", |run, model| !run.has_batches_like(model)),
        (build, |run, model| run.debug != model.debug),
    ];
    let first = |run: &TrendGathered| reasons.iter().position(|(_, differs)| differs(&run.alike, model));
    let found: Vec<usize> = runs.iter().filter_map(first).collect();
    let counted = reasons.iter().enumerate().map(|(index, (reason, _))| LeftOut {
        reason: (*reason).to_owned(),
        runs: found.iter().filter(|place| **place == index).count() as u64,
    });
    counted.filter(|left| left.runs > 0).collect()
}

/// What the documents of two runs record differently, of what stays the same by itself.
fn differences(a: &TrendGathered, b: &TrendGathered) -> Vec<Difference> {
    let stays = |what: &str| !VOLATILE.contains(&what);
    let found = crate::compare::differing(std::slice::from_ref(&a.facts), std::slice::from_ref(&b.facts));
    found.into_iter().filter(|difference| stays(&difference.what)).collect()
}

#[cfg(test)]
mod tests;
