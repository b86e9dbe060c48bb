//! The cells that tests name, and what is measured of them.

use std::collections::BTreeSet;

use ipcost_model::{Measure, PlannedCell, Quantity};

use super::{ClaimTest, Condition, Replication, Software, conditions};
use crate::claims::Selector;

/// The cells of which a test takes the time of the sender alone, as indices.
pub fn sender_timed(replication: &Replication, cells: &[PlannedCell]) -> Vec<usize> {
    let sides = all_tests(replication).flat_map(|test| test.sides().map(move |side| (test, side)));
    let of_sender = |(test, side): &(&ClaimTest, &Selector)| quantity_of(test, side).measure == Measure::Sent;
    each_once(sides.filter(of_sender).filter_map(|(_, side)| side.find(cells).ok()))
}

/// Those cells as they are measured, as published and under conditions.
pub(super) fn timed_by_sender(
    replication: &Replication,
    (published, conditions): (&[PlannedCell], &[&Condition]),
    cells: &[PlannedCell],
) -> Vec<usize> {
    let timed = sender_timed(replication, published);
    let under = |condition| {
        timed.iter().map(move |index| conditions::point_under(condition, &published[*index].point))
    };
    let points = conditions::published_and(conditions).flat_map(under);
    each_once(points.filter_map(|point| cells.iter().position(|cell| cell.point == point)))
}

/// The cells of which tests ask system calls alone, as indices: they are traced, and not timed.
pub(super) fn only_traced(
    replication: &Replication,
    software: Software,
    cells: &[PlannedCell],
) -> Vec<usize> {
    let timed = named(all_tests(replication).filter(|test| !test.same_system_calls), cells);
    let mut traced = traced_cells(replication, software, cells);
    traced.retain(|cell| !timed.contains(cell));
    traced
}

/// The cells whose system calls tests compare.
pub fn traced_cells(replication: &Replication, software: Software, cells: &[PlannedCell]) -> Vec<usize> {
    let tests = replication.claims.iter().flat_map(|claim| &claim.tests);
    named(tests.filter(|test| test.same_system_calls && test.is_for(software)), cells)
}

fn all_tests(replication: &Replication) -> impl Iterator<Item = &ClaimTest> {
    replication.claims.iter().flat_map(|claim| &claim.tests).chain(&replication.effects)
}

fn named<'a>(tests: impl Iterator<Item = &'a ClaimTest>, cells: &[PlannedCell]) -> Vec<usize> {
    each_once(tests.flat_map(ClaimTest::sides).filter_map(|side| side.find(cells).ok()))
}

fn each_once(cells: impl Iterator<Item = usize>) -> Vec<usize> {
    cells.collect::<BTreeSet<usize>>().into_iter().collect()
}

/// The cells that a test takes its figures from, as indices, in the order of [`ClaimTest::sides`].
pub fn cells_of(test: &ClaimTest, cells: &[PlannedCell]) -> Option<Vec<usize>> {
    test.sides().map(|side| side.find(cells).ok()).collect()
}

/// What a side of a test measures; what the first side measures if it does not say.
pub fn quantity_of(test: &ClaimTest, side: &Selector) -> Quantity {
    side.measure.as_ref().or(test.measure.as_ref()).or(test.a.measure.as_ref()).cloned().unwrap_or_default()
}
