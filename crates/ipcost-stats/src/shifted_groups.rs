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
//!
//! The middle of a group also moves if only a part of it did: TCP on one core, and so "everything on one core". A group is
//! therefore reported only if its change hangs on none of its parts: without any part, and without the cells of groups that were
//! reported before, the others show it, too, and no part is known to do otherwise. All of these tests must reject, so they need
//! no share of alpha (an intersection-union test: Berger, "Multiparameter hypothesis testing and acceptance sampling",
//! *Technometrics* 24, 1982). Otherwise the interval takes in what the part shows.

use crate::median::median;
use crate::shift::Shift;

/// Of how far the middle of all cells lies from 0, so much counts as unexplained: of two explanations that leave as much between
/// cells, the one that needs no move of all the others is taken.
const OF_MIDDLE: f64 = 0.25;

/// What is known of cells' logarithmic ratios.
pub trait GroupEvidence {
    fn cells(&self) -> usize;

    /// How far the cells `inside` moved relative to those `outside`, at level 1 − `alpha`; `moved` is taken off each cell
    /// first. `None` if too little is known.
    fn relative(&self, inside: &[usize], outside: &[usize], moved: &[f64], alpha: f64) -> Option<Shift>;

    /// The same of a part of a group that moved: whether it shows the change by itself.
    fn of_part(&self, inside: &[usize], outside: &[usize], moved: &[f64], alpha: f64) -> Option<Shift> {
        self.relative(inside, outside, moved, alpha)
    }

    /// The fewest cells of which anything is known.
    fn fewest(&self) -> usize;

    /// The logarithmic ratio of a cell.
    fn of_cell(&self, cell: usize) -> f64;
}

/// Cells that may have moved together, as indices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CellSet {
    pub cells: Vec<usize>,
    /// Those of them that may have moved without the others.
    pub parts: Vec<Vec<usize>>,
}

/// What is known of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupShift {
    /// How far it moved relative to the rest, once groups that were found before are taken off.
    pub shift: Shift,
    /// Its place among those that moved, from 0; `None` if it is not known to have moved.
    pub found: Option<usize>,
    /// Which of the two sides of the question it is.
    pub side: usize,
    /// Its parts that do not show the change by themselves, by index.
    pub unshown: Vec<usize>,
}

/// Asks of each group, at `alpha_each`, whether it moved; `None` for groups without enough evidence. A group comes first in its
/// question. The cells outside it may be the other side: whichever moved farther is said to have moved.
pub fn shifted_groups(
    evidence: &impl GroupEvidence,
    groups: &[Vec<CellSet>],
    alpha_each: f64,
) -> Vec<Option<GroupShift>> {
    let cells = evidence.cells();
    let mut moved = vec![0.0; cells];
    let mut explained = vec![false; cells];
    let mut known: Vec<Option<GroupShift>> = vec![None; groups.len()];
    for place in 0..=groups.len() {
        let mut best: Option<(f64, usize)> = None;
        for (index, sides) in groups.iter().enumerate() {
            if known[index].as_ref().is_some_and(|group| group.found.is_some()) {
                continue;
            }
            let asked = SearchStep { evidence, moved: &moved, explained: &explained, alpha: alpha_each };
            let Some(found) = asked.of(sides) else { continue };
            if found.shift.is_known() {
                let left = unexplained(evidence, &sides[found.side].cells, &moved, found.shift.by);
                if best.is_none_or(|(least, _)| left < least) {
                    best = Some((left, index));
                }
            }
            known[index] = Some(found);
        }
        let Some((_, index)) = best else { break };
        let Some(found) = known[index].as_mut() else { break };
        found.found = Some(place);
        for cell in &groups[index][found.side].cells {
            moved[*cell] += found.shift.by;
            explained[*cell] = true;
        }
    }
    known
}

/// Every cell that is not among these.
pub fn all_but(cells: &[usize], all: usize) -> Vec<usize> {
    (0..all).filter(|cell| !cells.contains(cell)).collect()
}

/// A step: what was found before is taken off.
struct SearchStep<'a, E> {
    evidence: &'a E,
    moved: &'a [f64],
    explained: &'a [bool],
    alpha: f64,
}

impl<E: GroupEvidence> SearchStep<'_, E> {
    fn of(&self, sides: &[CellSet]) -> Option<GroupShift> {
        let first = sides.first()?;
        let outside = all_but(&first.cells, self.evidence.cells());
        let shift = self.evidence.relative(&first.cells, &outside, self.moved, self.alpha)?;
        let other =
            sides.get(1).filter(|other| shift.is_known() && self.far(&other.cells) > self.far(&first.cells));
        let (side, shift, set, outside) = match other {
            Some(other) => (1, shift.reversed(), other, &first.cells),
            None => (0, shift, first, &outside),
        };
        let (shift, unshown) =
            if shift.is_known() { self.without_parts(set, outside, shift) } else { (shift, Vec::new()) };
        Some(GroupShift { shift, found: None, side, unshown })
    }

    /// How far the middle of these cells moved by itself.
    fn far(&self, cells: &[usize]) -> f64 {
        let rests: Vec<f64> =
            cells.iter().map(|cell| self.evidence.of_cell(*cell) - self.moved[*cell]).collect();
        median(&rests).unwrap_or_default().abs()
    }

    /// The shift with what parts show that do not share it, and the parts that do not show it.
    fn without_parts(&self, set: &CellSet, outside: &[usize], shift: Shift) -> (Shift, Vec<usize>) {
        let fewest = self.evidence.fewest();
        let of = |inside: &[usize], outside: &[usize]| {
            self.evidence.of_part(inside, outside, self.moved, self.alpha)
        };
        let shows = |found: Option<Shift>| {
            found.is_some_and(|found| found.is_known() && found.by.signum() == shift.by.signum())
        };
        let (mut joined, mut unshown) = (shift, Vec::new());
        let mut must_show = |inside: &[usize]| {
            let found = of(inside, outside);
            if !shows(found) {
                joined = joined.joined(found);
            }
        };
        // A group that was reported before is no reason to report another that has its cells.
        let new: Vec<usize> = set.cells.iter().copied().filter(|cell| !self.explained[*cell]).collect();
        if new.len() < set.cells.len() {
            if new.len() < fewest {
                return (joined.joined(None), unshown);
            }
            must_show(&new);
        }
        for (index, part) in set.parts.iter().enumerate() {
            let others: Vec<usize> = set.cells.iter().copied().filter(|cell| !part.contains(cell)).collect();
            if others.len() >= fewest {
                must_show(&others);
            }
            if part.len() >= fewest && shows(of(part, outside)) {
                continue;
            }
            unshown.push(index);
            let differs = part.len() >= fewest && others.len() >= fewest && {
                let from_others = of(part, &others);
                from_others.is_some_and(|found| found.is_known() && found.by.signum() != shift.by.signum())
            };
            if differs {
                must_show(part);
            }
        }
        (joined, unshown)
    }
}

/// How far the cells lie from their median altogether, once a shift of one more group is taken off, and the median from 0.
fn unexplained(evidence: &impl GroupEvidence, group: &[usize], moved: &[f64], by: f64) -> f64 {
    let rest = |cell: usize| {
        let of_group = if group.contains(&cell) { by } else { 0.0 };
        evidence.of_cell(cell) - moved[cell] - of_group
    };
    let rests: Vec<f64> = (0..evidence.cells()).map(rest).collect();
    let middle = median(&rests).unwrap_or_default();
    rests.iter().map(|rest| (rest - middle).abs() + OF_MIDDLE * middle.abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::shift::{FEWEST_UNEQUAL, shift, shift_of_unequal};

    struct Values(Vec<f64>);

    impl Values {
        fn rests(&self, cells: &[usize], moved: &[f64]) -> Vec<f64> {
            cells.iter().map(|cell| self.0[*cell] - moved[*cell]).collect()
        }
    }

    impl GroupEvidence for Values {
        fn cells(&self) -> usize {
            self.0.len()
        }

        fn relative(&self, inside: &[usize], outside: &[usize], moved: &[f64], alpha: f64) -> Option<Shift> {
            let [a, b] = [inside, outside].map(|cells| self.rests(cells, moved));
            shift_of_unequal(&a, &b, alpha)
        }

        fn of_part(&self, inside: &[usize], outside: &[usize], moved: &[f64], _alpha: f64) -> Option<Shift> {
            let [a, b] = [inside, outside].map(|cells| self.rests(cells, moved));
            shift(&a, &b, 0.02)
        }

        fn fewest(&self) -> usize {
            FEWEST_UNEQUAL
        }

        fn of_cell(&self, cell: usize) -> f64 {
            self.0[cell]
        }
    }

    /// Six transports by eight works of two kinds: the groups by transport, the two kinds, and each transport's cells of a
    /// kind, with what each has of the other as parts.
    fn groups() -> Vec<Vec<CellSet>> {
        let of = |wanted: &dyn Fn(usize, usize) -> bool| -> Vec<usize> {
            (0..48).filter(|cell| wanted(cell / 8, cell % 8)).collect()
        };
        let part = |one: usize, first: bool| of(&|transport, work| transport == one && (work < 4) == first);
        let transports = (0..6).map(|one| CellSet {
            cells: of(&|transport, _| transport == one),
            parts: vec![part(one, true), part(one, false)],
        });
        let kind =
            CellSet { cells: of(&|_, work| work < 4), parts: (0..6).map(|one| part(one, true)).collect() };
        let parts = (0..6).map(|one| CellSet { cells: part(one, true), parts: Vec::new() });
        transports.chain([kind]).chain(parts).map(|set| vec![set]).collect()
    }

    fn found(values: &[f64]) -> Vec<(usize, f64)> {
        let all = shifted_groups(&Values(values.to_vec()), &groups(), 0.025 / 13.0);
        let mut found: Vec<(usize, usize, f64)> = all
            .iter()
            .enumerate()
            .filter_map(|(index, group)| {
                let group = group.as_ref()?;
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
            (0..8).for_each(|cell| values[cell] += 1.3f64.ln());
            let found = found(&values);
            named += u32::from(found.iter().any(|(index, by)| *index == 0 && *by > 0.1));
            alone += u32::from(found.len() == 1);
        }
        assert!(named >= 135 && alone >= 175, "{named} and {alone} of 200");
    }

    #[test]
    fn two_changes_are_two() {
        let mut values = noise(&mut Random::new(5));
        (0..8).for_each(|cell| values[cell] += 0.5);
        (24..32).for_each(|cell| values[cell] -= 0.3);
        let mut indices: Vec<usize> = found(&values).iter().map(|(index, _)| *index).collect();
        indices.sort_unstable();
        assert_eq!(indices, [0, 3]);
    }

    #[test]
    fn a_group_of_which_a_part_moved_is_not_named() {
        let mut random = Random::new(4);
        let (mut whole, mut part) = (0, 0);
        for _ in 0..200 {
            let mut values = noise(&mut random);
            (8..12).for_each(|cell| values[cell] += 2.5f64.ln());
            let found = found(&values);
            whole += u32::from(found.iter().any(|(index, _)| *index == 1 || *index == 6));
            part += u32::from(found.iter().any(|(index, by)| *index == 8 && *by > 0.5));
        }
        assert!(whole <= 3 && part >= 150, "{whole} and {part} of 200");
    }

    #[test]
    fn where_nothing_moved_nothing_is_found() {
        let mut random = Random::new(3);
        let alarms = (0..1_000).filter(|_| !found(&noise(&mut random)).is_empty()).count();
        assert!(alarms <= 25, "{alarms} of 1 000");
    }
}
