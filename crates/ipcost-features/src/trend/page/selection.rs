//! Which runs a table shows, so that it fits a screen.

use std::collections::BTreeSet;

use crate::trend::Trend;

/// Runs to either side of a change.
const AROUND: usize = 2;
const LATEST: usize = 4;
/// Lines besides the runs: titles, bars, sentences, and the prompt.
const OTHER_LINES: usize = 15;
/// Lines besides the runs that a change takes.
const OF_CHANGE: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLine {
    /// A run, by index.
    Run(usize),
    /// So many runs are not shown.
    Gap(usize),
}

/// The lines: all runs if they fit into so many; else the latest and those around changes, newer changes first.
pub fn shown(trend: &Trend, lines: usize) -> Vec<TableLine> {
    let runs = trend.runs.len();
    let rows = lines.saturating_sub(OTHER_LINES + OF_CHANGE * trend.changes.len());
    let chosen = if runs <= rows { (0..runs).collect() } else { chosen(trend, rows) };
    let mut lines = Vec::new();
    let mut gap = 0;
    let end_gap = |lines: &mut Vec<TableLine>, gap: &mut usize| {
        if *gap > 0 {
            lines.push(TableLine::Gap(std::mem::take(gap)));
        }
    };
    for run in 0..runs {
        if chosen.contains(&run) {
            end_gap(&mut lines, &mut gap);
            lines.push(TableLine::Run(run));
        } else {
            gap += 1;
        }
    }
    end_gap(&mut lines, &mut gap);
    lines
}

fn chosen(trend: &Trend, rows: usize) -> BTreeSet<usize> {
    let runs = trend.runs.len();
    let mut chosen: BTreeSet<usize> = (runs.saturating_sub(LATEST)..runs).collect();
    for change in trend.changes.iter().rev() {
        let at = change.at as usize;
        let around: BTreeSet<usize> = (at.saturating_sub(AROUND)..(at + AROUND).min(runs)).collect();
        if (&chosen | &around).len() <= rows {
            chosen.extend(around);
        }
    }
    chosen
}
