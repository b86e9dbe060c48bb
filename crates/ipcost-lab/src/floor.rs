//! A cell's cost as a multiple of the least cost of its parts in the same rounds.

use ipcost_model::{FloorPart, FloorRecord, Metric, PlannedCell};

use crate::batches::Batches;
use crate::estimate::estimate_of_logs;

/// The floor of a cell; `None` if it is not known, or a part could not be measured.
///
/// In each round m = ln(cost) − ln(Σ count × cost of part); in each epoch the median of m; over epochs the median,
/// with the interval of every other cost, at `alpha`.
pub fn floor(cells: &[PlannedCell], batches: &Batches<'_>, cell: usize, alpha: f64) -> Option<FloorRecord> {
    let recipe = cells[cell].floor.as_ref()?;
    let shares: Vec<(usize, f64)> = recipe.parts.iter().map(|share| (share.cell, share.count)).collect();
    let part = |(cell, count): &(usize, f64)| {
        let cost = estimate_of_logs(&batches.log_costs(Metric::Wall, *cell), alpha)?;
        Some(FloorPart { cell: cells[*cell].id.clone(), count: *count, ns: count * cost.median })
    };
    Some(FloorRecord {
        ns_per_op: estimate_of_logs(&batches.log_sums(&shares), alpha)?.median,
        multiple: estimate_of_logs(&batches.log_multiples(cell, &shares), alpha)?,
        parts: shares.iter().map(part).collect::<Option<_>>()?,
        made_of: recipe.made_of.clone(),
    })
}
