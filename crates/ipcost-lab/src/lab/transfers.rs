//! Which streams cost otherwise in one long transfer than in bursts: connections of some transports learn over time.

use ipcost_model::{Counts, Job, Matrix, OptionName, Pattern, PlannedCell, Point, STEADY, parse_cell_id};
use ipcost_stats::median;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::transport;

use super::{Lab, LabError, fresh_seed};
use crate::bench::{BatchKind, BatchOutcome, Bench};
use crate::calibration::{Rate, counts_of, rate};
use crate::campaign::{ends_of, retry_if_suspended, sample};
use crate::error::EngineError;
use crate::planning::Settings;

/// Bursts of each cell, in turn with those of the others, so that connections rest as they do in a run.
const BURSTS: usize = 6;
/// The difference that makes it two questions: 5 %.
const LEAST: f64 = 1.05;
/// Long transfers of each.
const LONG_ONES: usize = 4;
/// More cells are not tried: they would take longer than the run.
const MOST: usize = 6;

impl Lab {
    /// The streams of a job that cost at least 5 % more or less in one long transfer than in bursts, as cells with the option
    /// `steady`. Only cells without options are tried, half a dozen at most, for about a second each.
    ///
    /// # Errors
    /// If a peer fails, or the program is asked to stop.
    pub fn long_transfers(&self, job: &Job, interrupt: &Interrupt) -> Result<Vec<Matrix>, LabError> {
        let mut expanded = self.cells(job)?;
        expanded.cells.retain(learns);
        expanded.cells.truncate(MOST);
        if expanded.cells.is_empty() || job.batch.is_some() {
            return Ok(Vec::new());
        }
        let job = Job {
            cells: expanded.cells.iter().map(|cell| matrix(&cell.point)).collect(),
            baseline: None,
            epochs: Some(1),
            floor: false,
            ..job.clone()
        };
        let plan = self.plan(self.cells(&job)?, &Settings::of(&job, fresh_seed()))?;
        let mut bench = self.bench(&plan, interrupt)?;
        let cells: Vec<usize> = plan.measurable().collect();
        bench.start_epoch(0, &cells)?;
        let mut counts = Vec::new();
        for cell in &cells {
            let planned = &plan.cells[*cell];
            let found = rate(&mut bench, *cell, u64::from(planned.cell.concurrency), true)?;
            let ends = ends_of(&planned.cell, bench.pushes(*cell));
            let of = |planned: &PlannedCell, rate: Rate| counts_of(&plan, planned, rate, ends, 0);
            counts.push((of(planned, found), of(&steady(planned), found)));
        }
        let mut bursts = vec![Vec::new(); cells.len()];
        for _ in 0..BURSTS {
            for (index, cell) in cells.iter().enumerate() {
                bursts[index].extend(cost(&mut bench, *cell, counts[index].0)?);
            }
        }
        let mut found = Vec::new();
        for (index, cell) in cells.iter().enumerate() {
            let (of_burst, of_long) = counts[index];
            let mut ratios = Vec::new();
            // A single one may differ by chance: each must, in the same direction.
            while ratios.len() < LONG_ONES && all_differ(&ratios) {
                let long = cost(&mut bench, *cell, of_long)?;
                ratios.push(median(&bursts[index]).zip(long).map_or(1.0, |(burst, long)| long / burst));
                bursts[index].extend(cost(&mut bench, *cell, of_burst)?);
            }
            if all_differ(&ratios) {
                found.push(matrix(&plan.cells[*cell].steady()));
            }
        }
        bench.end_epoch()?;
        Ok(found)
    }
}

/// Whether each of some ratios is above 1 by enough, or each below; true of none.
fn all_differ(ratios: &[f64]) -> bool {
    ratios.iter().all(|ratio| *ratio >= LEAST) || ratios.iter().all(|ratio| *ratio <= 1.0 / LEAST)
}

/// Whether a cell streams over a transport whose connections learn, with nothing set.
fn learns(cell: &PlannedCell) -> bool {
    let option = OptionName::find(STEADY).expect("an option of the catalogue").spec();
    let known = transport::find(&cell.cell.transport).map(|transport| transport.capabilities());
    cell.cell.pattern == Pattern::Stream
        && cell.unavailable.is_none()
        && cell.cell.options.is_empty()
        && cell.lead_in.is_none()
        && known.is_some_and(|known| option.acts_on(known, cell.cell.pattern))
}

/// The same cell as one long transfer.
fn steady(cell: &PlannedCell) -> PlannedCell {
    PlannedCell { point: cell.point.steady(), ..cell.clone() }
}

/// The matrix of one cell.
fn matrix(point: &Point) -> Matrix {
    parse_cell_id(&point.id()).expect("the id of a cell is one")
}

/// The cost of one operation in a batch after its lead-in, nanoseconds; `None` if the batch told nothing.
fn cost(bench: &mut dyn Bench, cell: usize, counts: Counts) -> Result<Option<f64>, EngineError> {
    let kind = BatchKind::of(counts, false, 0);
    let time = |bench: &mut dyn Bench, ops: u64| -> Result<BatchOutcome, EngineError> {
        Ok(retry_if_suspended(bench, cell, ops, kind)?.0)
    };
    let (lead_in, batch) = (time(bench, counts.lead_in)?, time(bench, counts.batch)?);
    Ok(sample(counts, &lead_in, &batch).map(|sample| sample.wall_ns as f64 / sample.ops as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_once_by_chance_does_not_differ() {
        assert!(all_differ(&[1.2, 1.06, 1.1, 1.3]) && all_differ(&[0.7, 0.9]) && all_differ(&[]));
        assert!(!all_differ(&[1.2, 1.02]) && !all_differ(&[1.2, 0.8]) && !all_differ(&[1.0]));
    }
}
