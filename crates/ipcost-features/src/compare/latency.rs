//! Percentiles of latency, of separate runs: of cells that have the same pace on both sides.
//!
//! A closed loop sends nothing while an operation is stuck; at an offered rate, what waits meanwhile is late as well. Percentiles of
//! the two are different things, and are never compared.

use ipcost_lab::planning::ALPHA;
use ipcost_model::Percentile;
use ipcost_model::pace::Pace;

use super::compared_by::ComparedBy;
use super::judge::{CompareSettings, ComparedRuns, JudgedCell, Spreads, judged, measured_changes};
use super::record::LatencyChange;
use super::sides::RunsOfSide;

/// How percentiles of these cells changed, those that every epoch of every run has; the largest change first. They share alpha.
pub(super) fn latency(
    cells: &[&str],
    sides: &[RunsOfSide<'_>; 2],
    settings: &CompareSettings,
    spreads: &Spreads<'_>,
) -> Vec<LatencyChange> {
    let [a, b] = sides;
    let alike = |cell: &&&str| a.pace(cell).is_some_and(|pace| b.pace(cell) == Some(pace));
    let alike: Vec<&str> = cells.iter().filter(alike).copied().collect();
    let of = |percentile: Percentile| {
        let by = ComparedBy::Latency(percentile);
        (percentile, measured_changes(&alike, sides, |side, cell| side.logs(by, cell)))
    };
    let found: Vec<(Percentile, Vec<ComparedRuns<&str>>)> =
        Percentile::COMPARED.into_iter().map(of).collect();
    let all: usize = found.iter().map(|(_, cells)| cells.len()).sum();
    let changes = found.into_iter().flat_map(|(percentile, cells)| {
        let named = |cell: &str| JudgedCell {
            cell: cell.to_owned(),
            baseline: None,
            alpha: ALPHA / all as f64,
            spread: spreads.of_cell(ComparedBy::Latency(percentile), cell),
        };
        judged(cells, settings, named).into_iter().map(move |change| {
            let pace = a.pace(&change.cell);
            LatencyChange { percentile, offered_per_s: pace.and_then(Pace::offered_per_s), change }
        })
    });
    sorted(changes.collect())
}

/// The largest change first.
pub(crate) fn sorted(mut changes: Vec<LatencyChange>) -> Vec<LatencyChange> {
    changes.sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
    changes
}
