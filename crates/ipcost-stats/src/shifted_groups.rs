//! Which groups of cells moved relative to the rest.
//!
//! Every group is tested at its share of alpha against the cells outside it. If some differ, the one whose shift leaves
//! the least unexplained is taken to have moved; its shift is taken off its cells, and the others are tested again. So a
//! slowdown of everything over one transport is reported as that alone, and not also as a speed-up of all others.
//!
//! If nothing moved, any report takes a rejection in the first step, so that Bonferroni's inequality bounds the chance of
//! one by alpha. Stepwise rejections at constant levels keep that bound for the groups that did not move, as long as those
//! that did were reported first (Romano and Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing",
//! JASA 100, 2005). `tests/simulation.rs` measures both.

use crate::median::median;
use crate::shift::Shift;

/// What is known of cells' logarithmic ratios.
pub trait GroupEvidence {
    /// How many cells there are.
    fn cells(&self) -> usize;

    /// How far the cells `inside` moved relative to those `outside`, at level 1 − `alpha`; `moved` is taken off each cell
    /// first. `None` if too little is known.
    fn relative(&self, inside: &[usize], outside: &[usize], moved: &[f64], alpha: f64) -> Option<Shift>;

    /// The logarithmic ratio of a cell.
    fn of_cell(&self, cell: usize) -> f64;
}

/// What is known of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupShift {
    /// How far it moved relative to the rest, once groups that were found before are taken off.
    pub shift: Shift,
    /// Its place among those that moved, from 0; `None` if it is not known to have moved.
    pub found: Option<usize>,
}

/// Tests `groups` of cells, as indices, each at `alpha_each`; `None` for groups without enough evidence.
pub fn shifted_groups(
    evidence: &impl GroupEvidence,
    groups: &[Vec<usize>],
    alpha_each: f64,
) -> Vec<Option<GroupShift>> {
    let cells = evidence.cells();
    let mut moved = vec![0.0; cells];
    let mut known: Vec<Option<GroupShift>> = vec![None; groups.len()];
    for found in 0..=groups.len() {
        let mut best: Option<(f64, usize, Shift)> = None;
        for (index, group) in groups.iter().enumerate() {
            if known[index].is_some_and(|group| group.found.is_some()) {
                continue;
            }
            let outside: Vec<usize> = (0..cells).filter(|cell| !group.contains(cell)).collect();
            let Some(shift) = evidence.relative(group, &outside, &moved, alpha_each) else { continue };
            known[index] = Some(GroupShift { shift, found: None });
            if shift.is_known() {
                let left = unexplained(evidence, group, &moved, shift.by);
                if best.is_none_or(|(least, ..)| left < least) {
                    best = Some((left, index, shift));
                }
            }
        }
        let Some((_, index, shift)) = best else { break };
        known[index] = Some(GroupShift { shift, found: Some(found) });
        groups[index].iter().for_each(|cell| moved[*cell] += shift.by);
    }
    known
}

/// How far the cells lie from their median altogether, once a shift of one more group is taken off.
fn unexplained(evidence: &impl GroupEvidence, group: &[usize], moved: &[f64], by: f64) -> f64 {
    let rest = |cell: usize| {
        let of_group = if group.contains(&cell) { by } else { 0.0 };
        evidence.of_cell(cell) - moved[cell] - of_group
    };
    let rests: Vec<f64> = (0..evidence.cells()).map(rest).collect();
    let middle = median(&rests).unwrap_or_default();
    rests.iter().map(|rest| (rest - middle).abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::shift::shift;

    struct Values(Vec<f64>);

    impl GroupEvidence for Values {
        fn cells(&self) -> usize {
            self.0.len()
        }

        fn relative(&self, inside: &[usize], outside: &[usize], moved: &[f64], alpha: f64) -> Option<Shift> {
            let of = |cells: &[usize]| -> Vec<f64> {
                cells.iter().map(|cell| self.0[*cell] - moved[*cell]).collect()
            };
            shift(&of(inside), &of(outside), alpha)
        }

        fn of_cell(&self, cell: usize) -> f64 {
            self.0[cell]
        }
    }

    /// Six transports by eight works of two kinds: the groups by transport, the two kinds, and each transport's cells of a
    /// kind.
    fn groups() -> Vec<Vec<usize>> {
        let of = |wanted: &dyn Fn(usize, usize) -> bool| -> Vec<usize> {
            (0..48).filter(|cell| wanted(cell / 8, cell % 8)).collect()
        };
        let transports = (0..6).map(|one| of(&|transport, _| transport == one));
        let kind = of(&|_, work| work < 4);
        let parts = (0..6).map(|one| of(&|transport, work| transport == one && work < 4));
        transports.chain([kind]).chain(parts).collect()
    }

    fn found(values: &[f64]) -> Vec<(usize, f64)> {
        let all = shifted_groups(&Values(values.to_vec()), &groups(), 0.025 / 13.0);
        let mut found: Vec<(usize, usize, f64)> = all
            .iter()
            .enumerate()
            .filter_map(|(index, group)| {
                let group = (*group)?;
                Some((group.found?, index, group.shift.by))
            })
            .collect();
        found.sort_by_key(|(place, ..)| *place);
        found.into_iter().map(|(_, index, by)| (index, by)).collect()
    }

    fn noise(random: &mut Random) -> Vec<f64> {
        // A cell in twelve wanders far from run to run.
        (0..48).map(|cell| random.normal() * if cell % 12 == 5 { 0.4 } else { 0.03 }).collect()
    }

    #[test]
    fn one_transport_is_named_alone() {
        let mut random = Random::new(2);
        let (mut named, mut alone) = (0, 0);
        for _ in 0..200 {
            let mut values = noise(&mut random);
            (0..8).for_each(|cell| values[cell] += 1.2f64.ln());
            let found = found(&values);
            named += u32::from(found.iter().any(|(index, by)| *index == 0 && *by > 0.1));
            alone += u32::from(found.len() == 1);
        }
        assert!(named >= 180 && alone >= 175, "{named} and {alone} of 200");
    }

    #[test]
    fn two_changes_are_two() {
        let mut values = noise(&mut Random::new(5));
        (0..8).for_each(|cell| values[cell] += 0.5);
        (0..6).flat_map(|transport| transport * 8..transport * 8 + 4).for_each(|cell| values[cell] -= 0.3);
        let mut indices: Vec<usize> = found(&values).iter().map(|(index, _)| *index).collect();
        indices.sort_unstable();
        assert_eq!(indices, [0, 6]);
    }

    #[test]
    fn where_nothing_moved_nothing_is_found() {
        let mut random = Random::new(3);
        let alarms = (0..1_000).filter(|_| !found(&noise(&mut random)).is_empty()).count();
        assert!(alarms <= 25, "{alarms} of 1 000");
    }
}
