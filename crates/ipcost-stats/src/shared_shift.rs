//! Whether cells changed once: at least half of them cost something else since.
//!
//! The change is looked for in the costs of all given cells at once, between the same two epochs for all. For each cell, the standard score of the rank sum
//! of the epochs before (Wilcoxon); for each moment, the mean of their squares; of all moments, the largest. Epochs in random orders, the same for all
//! cells, say how large it gets by chance, since cells of an epoch resemble each other.
//!
//! A cost that wanders looks like one that changed. So this only says where to look: what is claimed of the epochs since holds whichever moment
//! is chosen ([`crate::Start`]).

use std::collections::{BTreeMap, BTreeSet};

use crate::random::Random;

/// The fewest epochs of a cell before and after a change.
const FEWEST: usize = 3;
/// Random orders, of which at most one may look as much like a change.
const ORDERS: u32 = 199;
const MOST_ALIKE: u32 = 1;
/// A score as large as this shows in a cell.
const SHOWS: f64 = 2.0;
/// The share of cells in which a change shows at least.
const LEAST_SHARE: f64 = 0.5;
const SEED: u64 = 0x0005_4817;

/// After which of these epochs half of the cells or more changed, judging by each one's values by epoch; `None` if that is no more than chance.
pub fn shared_shift(cells: &[BTreeMap<u32, f64>], moments: &[u32]) -> Option<u32> {
    let epochs: BTreeSet<u32> = cells.iter().flat_map(BTreeMap::keys).copied().collect();
    let epochs: Vec<u32> = epochs.into_iter().collect();
    let ranked: Vec<Vec<(usize, f64)>> = cells.iter().map(|values| ranked(values, &epochs)).collect();
    let scores = |place: &[u32], after: u32| -> Vec<f64> {
        ranked.iter().filter_map(|cell| score(cell, |epoch| place[epoch] <= after)).collect()
    };
    let of =
        |scores: &[f64]| scores.iter().map(|score| score * score).sum::<f64>() / scores.len().max(1) as f64;
    let strongest = |place: &[u32]| {
        let all = moments.iter().map(|after| (*after, of(&scores(place, *after))));
        all.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let (after, found) = strongest(&epochs)?;
    let shows = scores(&epochs, after);
    let many = shows.iter().filter(|score| score.abs() >= SHOWS).count();
    if shows.is_empty() || (many as f64) < LEAST_SHARE * shows.len() as f64 {
        return None;
    }
    let mut random = Random::new(SEED);
    let mut place = epochs.clone();
    let mut alike = 0;
    for _ in 0..ORDERS {
        random.shuffle(&mut place);
        alike += u32::from(strongest(&place).is_some_and(|(_, by_chance)| by_chance >= found));
    }
    (alike <= MOST_ALIKE).then_some(after)
}

/// For each epoch of a cell, which of all it is, and the rank of its value.
fn ranked(values: &BTreeMap<u32, f64>, epochs: &[u32]) -> Vec<(usize, f64)> {
    let mut sorted: Vec<f64> = values.values().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let rank = |value: f64| {
        let below = sorted.partition_point(|other| *other < value);
        let up_to = sorted.partition_point(|other| *other <= value);
        (below + up_to + 1) as f64 / 2.0
    };
    let place = |epoch: &u32| epochs.binary_search(epoch).ok();
    values.iter().filter_map(|(epoch, value)| Some((place(epoch)?, rank(*value)))).collect()
}

/// The standard score of the rank sum of those before; `None` of too few.
fn score(cell: &[(usize, f64)], is_before: impl Fn(usize) -> bool) -> Option<f64> {
    let all = cell.len() as f64;
    let before: Vec<f64> =
        cell.iter().filter(|(epoch, _)| is_before(*epoch)).map(|(_, rank)| *rank).collect();
    let (count, rest) = (before.len(), cell.len() - before.len());
    if count.min(rest) < FEWEST {
        return None;
    }
    let expected = count as f64 * (all + 1.0) / 2.0;
    let deviation = (count as f64 * rest as f64 * (all + 1.0) / 12.0).sqrt();
    Some((before.iter().sum::<f64>() - expected) / deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells whose costs vary with the machine and by themselves, and in a share of them by 30 % since an epoch.
    fn cells(
        many: usize,
        changed: usize,
        since: u32,
        epochs: u32,
        random: &mut Random,
    ) -> Vec<BTreeMap<u32, f64>> {
        let machine: Vec<f64> = (0..epochs).map(|_| 0.03 * random.normal()).collect();
        let cell = |place: usize, random: &mut Random| {
            let value = |epoch: u32, random: &mut Random| {
                let shift = if place < changed && epoch > since { 0.3 } else { 0.0 };
                machine[epoch as usize - 1] + shift + 0.1 * random.normal()
            };
            // Some leave.
            let last = if place.is_multiple_of(3) { epochs / 2 } else { epochs };
            (1..=last).map(|epoch| (epoch, value(epoch, random))).collect()
        };
        (0..many).map(|place| cell(place, random)).collect()
    }

    const MOMENTS: [u32; 3] = [4, 8, 16];

    #[test]
    fn a_change_of_most_cells_is_found_at_its_moment() {
        let mut random = Random::new(2);
        let found = (0..50).filter(|_| shared_shift(&cells(40, 34, 8, 31, &mut random), &MOMENTS) == Some(8));
        assert!(found.count() >= 48);
    }

    #[test]
    fn chance_and_a_change_of_few_cells_are_none() {
        let mut random = Random::new(4);
        let found = (0..100).filter(|_| shared_shift(&cells(40, 0, 8, 31, &mut random), &MOMENTS).is_some());
        assert!(found.count() <= 4);
        assert_eq!(shared_shift(&cells(40, 5, 8, 31, &mut random), &MOMENTS), None);
        assert_eq!(shared_shift(&[], &MOMENTS), None);
        assert_eq!(shared_shift(&cells(40, 40, 2, 5, &mut random), &MOMENTS), None, "too few epochs");
        assert_eq!(shared_shift(&cells(40, 40, 8, 31, &mut random), &[]), None);
    }
}
