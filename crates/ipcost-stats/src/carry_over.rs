//! What a cell leaves behind for the next one.

use std::collections::BTreeSet;

use crate::median::median;
use crate::ranks::sign_test;

/// A batch and its place in the order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    pub cell: usize,
    /// The cell of the batch just before, if any.
    pub after: Option<usize>,
    /// The logarithm of the batch's cost.
    pub log_cost: f64,
}

/// A cell after which others cost more, or less, than usual.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CarryOver {
    /// The cell that affects the next one.
    pub from: usize,
    /// The two-sided p-value of the effect.
    pub p: f64,
    /// The median excess of the next batch's logarithmic cost over the median of its own cell.
    pub shift: f64,
}

/// For every cell, compares the batches right after it with other batches of the same cells.
///
/// Each batch is taken relative to the median of its own cell over all its other predecessors. If the order does not
/// matter, above and below are equally likely, since orders are random (the sign test).
pub fn carry_over(batches: &[Placed]) -> Vec<CarryOver> {
    let cells = batches.iter().map(|batch| batch.cell.max(batch.after.unwrap_or(0)) + 1).max().unwrap_or(0);
    let mut by_cell: Vec<Vec<&Placed>> = vec![Vec::new(); cells];
    for batch in batches {
        by_cell[batch.cell].push(batch);
    }
    // With many cells, few ever ran before a given one: look only at those.
    let mut excesses: Vec<Vec<f64>> = vec![Vec::new(); cells];
    for (cell, own) in by_cell.iter().enumerate() {
        let before: BTreeSet<usize> = own.iter().filter_map(|batch| batch.after).collect();
        for from in before.into_iter().filter(|from| *from != cell) {
            let (after, else_where): (Vec<&&Placed>, Vec<&&Placed>) =
                own.iter().partition(|batch| batch.after == Some(from));
            let Some(usual) = median(&logs(&else_where)) else { continue };
            excesses[from].extend(logs(&after).iter().map(|log_cost| log_cost - usual));
        }
    }
    let of_cell = |(from, excess): (usize, Vec<f64>)| {
        let shift = median(&excess)?;
        let above = excess.iter().filter(|value| **value > 0.0).count();
        Some(CarryOver { from, p: sign_test(above, excess.len()), shift })
    };
    excesses.into_iter().enumerate().filter_map(of_cell).collect()
}

fn logs(batches: &[&&Placed]) -> Vec<f64> {
    batches.iter().map(|batch| batch.log_cost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Rounds of four cells in random order; a batch that follows cell 2 costs `planted` more.
    fn rounds(planted: f64, count: usize, seed: u64) -> Vec<Placed> {
        let mut random = Random::new(seed);
        let mut batches = Vec::new();
        for _ in 0..count {
            let mut order = [0, 1, 2, 3];
            random.shuffle(&mut order);
            let mut after = None;
            for cell in order {
                let disturbed = if after == Some(2) { planted } else { 0.0 };
                let log_cost = cell as f64 + 0.05 * random.normal() + disturbed;
                batches.push(Placed { cell, after, log_cost });
                after = Some(cell);
            }
        }
        batches
    }

    #[test]
    fn finds_who_leaves_something_behind() {
        let found = carry_over(&rounds(0.2, 40, 1));
        assert_eq!(found.len(), 4);
        let culprit = found.iter().min_by(|a, b| a.p.total_cmp(&b.p)).unwrap();
        assert_eq!(culprit.from, 2);
        assert!(culprit.p < 1e-4 && (culprit.shift - 0.2).abs() < 0.04, "{culprit:?}");
    }

    #[test]
    fn accuses_nobody_where_order_does_not_matter() {
        let alarms =
            (0..500).flat_map(|seed| carry_over(&rounds(0.0, 40, seed))).filter(|found| found.p < 0.01);
        let alarms = alarms.count();
        assert!(alarms <= 40, "{alarms} of 2 000 at 1 %");
        assert!(carry_over(&[]).is_empty());
    }
}
