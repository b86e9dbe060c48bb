//! Which streams cost otherwise in one long transfer than in bursts: connections of some transports learn over time.

use ipcost_model::{
    BatchOperations, Job, Matrix, OptionName, Pattern, PlannedCell, Point, STEADY, paces, parse_cell_id,
};
use ipcost_stats::median;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::transport::{self, usual_congestion};

use super::{Lab, LabError, fresh_seed};
use crate::bench::{BatchKind, BatchOutcome, Bench};
use crate::calibration::{Rate, counts_of, rate};
use crate::campaign::{ends_of, retry_if_suspended, sample};
use crate::error::EngineError;
use crate::planning::PlanSettings;

/// Bursts of each cell, in turn with those of the others, so that connections rest as they do in a run.
const BURSTS: usize = 6;
/// The difference that makes it two questions: 5 %.
const LEAST: f64 = 1.05;
/// So much more, or less, in all is no chance.
const MUCH: f64 = 1.25;
/// Long transfers of each.
const LONG_ONES: usize = 4;
/// More cells are not tried: they would take longer than the run.
const MOST: usize = 6;

impl Lab {
    /// The streams of a job over connections that pace what they send, as long transfers, which need no trial: they cost several times
    /// as much as bursts. Those that the job has already are left out.
    pub fn paced_transfers(&self, job: &Job) -> Result<Vec<Matrix>, LabError> {
        Ok(bursts_alone(&self.cells(job)?.cells).iter().map(|cell| matrix(&cell.steady())).collect())
    }

    /// The streams of a job that cost at least 5 % more or less in one long transfer than in bursts, as cells with the option
    /// `steady`. Only cells without options are tried, half a dozen at most, for about a second each, and none of which both are measured.
    pub fn long_transfers(&self, job: &Job, interrupt: &Interrupt) -> Result<Vec<Matrix>, LabError> {
        let mut expanded = self.cells(job)?;
        let known: Vec<Point> = expanded.cells.iter().map(|cell| cell.point.clone()).collect();
        expanded.cells.retain(|cell| learns(cell) && !known.contains(&cell.steady()));
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
        let plan = self.plan(self.cells(&job)?, &PlanSettings::of(&job, fresh_seed()))?;
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
            while ratios.len() < LONG_ONES && !is_alike(&ratios) {
                let long = cost(&mut bench, *cell, of_long)?;
                ratios.push(median(&bursts[index]).zip(long).map_or(1.0, |(burst, long)| long / burst));
                bursts[index].extend(cost(&mut bench, *cell, of_burst)?);
            }
            if differs(&ratios) {
                found.push(matrix(&plan.cells[*cell].steady()));
            }
        }
        bench.end_epoch()?;
        Ok(found)
    }
}

/// The streams among some cells that pace what they send and of which no long transfer is there.
pub(super) fn bursts_alone(cells: &[PlannedCell]) -> Vec<&PlannedCell> {
    let usual = usual_congestion();
    let points: Vec<&Point> = cells.iter().map(|cell| &cell.point).collect();
    let is_paced = |cell: &PlannedCell| {
        let own = cell.cell.options.tcp_congestion().or(usual.as_deref());
        may_learn(cell) && !cell.is_steady() && own.is_some_and(paces)
    };
    // Of a row that differs in Nagle's algorithm alone, the long transfer would be a third.
    let is_beside = |point: &Point| {
        let mut plain = point.clone();
        plain.cell.options = plain.cell.options.except("tcp_nodelay");
        plain != *point && points.contains(&&plain)
    };
    let is_alone =
        |cell: &PlannedCell| is_paced(cell) && !is_beside(&cell.point) && !points.contains(&&cell.steady());
    cells.iter().filter(|cell| is_alone(cell)).collect()
}

/// Whether the first long transfers cost what bursts do, so that no more are tried.
fn is_alike(ratios: &[f64]) -> bool {
    let is_alike = |ratio: &f64| *ratio < LEAST && *ratio > 1.0 / LEAST;
    ratios.len() >= LONG_ONES / 2 && ratios.iter().all(is_alike)
}

/// Whether long transfers cost otherwise than bursts, from the ratio of each. A single one may differ by chance: either each does, in the
/// same direction, or all together do by so much that chance is no reason. The latter is what a connection with two regimes does.
fn differs(ratios: &[f64]) -> bool {
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    ratios.iter().all(|ratio| *ratio >= LEAST)
        || ratios.iter().all(|ratio| *ratio <= 1.0 / LEAST)
        || mean >= MUCH
        || mean <= 1.0 / MUCH
}

/// Whether a cell streams over a transport whose connections learn, with nothing set.
fn learns(cell: &PlannedCell) -> bool {
    may_learn(cell) && cell.cell.options.is_empty()
}

/// The same, whatever is set.
fn may_learn(cell: &PlannedCell) -> bool {
    cell.cell.pattern == Pattern::Stream
        && cell.unavailable.is_none()
        && cell.lead_in.is_none()
        && has_long_transfers(&cell.cell.transport)
}

/// Whether streams over a transport may cost otherwise in one long transfer than in bursts, so that the option `steady` acts on them.
pub fn has_long_transfers(transport: &str) -> bool {
    let option = OptionName::find(STEADY).expect("an option of the catalogue").spec();
    transport::find(transport).is_some_and(|known| option.acts_on(known.capabilities(), Pattern::Stream))
}

/// The same cell as one long transfer.
fn steady(cell: &PlannedCell) -> PlannedCell {
    PlannedCell { point: cell.point.steady(), ..cell.clone() }
}

/// The matrix of one cell, with its placement: one that names none would be measured on one core and on two.
fn matrix(point: &Point) -> Matrix {
    let matrix = parse_cell_id(&point.id()).expect("the id of a cell is one");
    Matrix { placement: vec![point.placement].into(), ..matrix }
}

/// The cost of one operation in a batch after its lead-in, nanoseconds; `None` if the batch told nothing.
fn cost(bench: &mut dyn Bench, cell: usize, counts: BatchOperations) -> Result<Option<f64>, EngineError> {
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
        assert!(differs(&[1.2, 1.06, 1.1, 1.3]) && differs(&[0.7, 0.9, 0.94, 0.9]));
        assert!(!differs(&[1.2, 1.02, 1.1, 1.1]) && !differs(&[1.2, 0.8, 1.0, 1.1]));
        assert!(is_alike(&[1.04, 0.97]) && !is_alike(&[1.04]) && !is_alike(&[1.04, 1.1]));
    }

    #[test]
    fn a_connection_with_two_regimes_differs() {
        // Bursts of 9 µs; a long transfer takes 8 µs in one regime and 28 µs in the other.
        assert!(differs(&[0.88, 3.1, 0.88, 3.1]) && !is_alike(&[0.88, 3.1]));
        assert!(differs(&[0.3, 0.98, 0.35, 0.9]));
    }
}
