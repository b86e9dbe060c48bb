//! Where to measure next, to find the size at which one transport overtakes another.

use crate::sweep::{Crossing, SweepPoint};

/// Sizes of the first grid: enough to see more than one crossing, few enough for a first answer soon.
const GRID: u32 = 7;
/// New sizes at a time: they share rounds, and the next step wants to know what they say.
const AT_A_TIME: usize = 4;

/// The first sizes: evenly spaced in their logarithm, both ends among them.
///
/// # Panics
/// Where `from` is 0 or above `to`.
pub fn first_sizes(from: u64, to: u64) -> Vec<u64> {
    assert!(from > 0 && from <= to, "{from} to {to}");
    let step = (to as f64 / from as f64).ln() / f64::from(GRID - 1);
    let mut sizes: Vec<u64> =
        (0..GRID).map(|i| (from as f64 * (f64::from(i) * step).exp()).round() as u64).collect();
    sizes.dedup();
    sizes
}

/// Where the order is known at two sizes, differs, and is not known between.
///
/// `points` ascend in size.
pub fn crossings(points: &[SweepPoint]) -> Vec<Crossing> {
    let known: Vec<(u64, bool)> =
        points.iter().filter_map(|point| Some((point.size, point.a_is_cheaper()?))).collect();
    let changes = known.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    changes.map(|pair| Crossing { from: pair[0].0, to: pair[1].0, a_cheaper_below: pair[0].1 }).collect()
}

/// The sizes that would narrow the crossings down: for each, the middle of the gap above its lower end and of that below
/// its upper end, where they are wider than `resolution` (1.1 is 10 %). Empty where nothing is left to narrow.
pub fn next_sizes(points: &[SweepPoint], resolution: f64) -> Vec<u64> {
    let mut gaps: Vec<(u64, u64)> = Vec::new();
    for crossing in crossings(points) {
        let mut within =
            points.iter().map(|point| point.size).filter(|size| (crossing.from..=crossing.to).contains(size));
        let sizes: Vec<u64> = within.by_ref().collect();
        let wide = |gap: &(u64, u64)| gap.1 as f64 > gap.0 as f64 * resolution && gap.1 - gap.0 > 1;
        let ends = [(sizes[0], sizes[1]), (sizes[sizes.len() - 2], sizes[sizes.len() - 1])];
        gaps.extend(ends.into_iter().filter(wide));
    }
    gaps.dedup();
    // The widest first, should there be more than can be measured at a time.
    gaps.sort_by(|one, other| {
        let width = |gap: &(u64, u64)| gap.1 as f64 / gap.0 as f64;
        width(other).total_cmp(&width(one))
    });
    let mut sizes: Vec<u64> = gaps.into_iter().take(AT_A_TIME).map(|(lo, hi)| middle(lo, hi)).collect();
    sizes.sort_unstable();
    sizes
}

/// The sizes of which nothing is known yet, neither which is cheaper nor that both cost the same.
pub fn open_sizes(points: &[SweepPoint]) -> Vec<u64> {
    let open = points.iter().filter(|point| point.a_is_cheaper().is_none() && !point.is_same());
    open.map(|point| point.size).collect()
}

/// The size in the middle of two in its logarithm, and neither of them.
fn middle(lo: u64, hi: u64) -> u64 {
    let middle = (lo as f64 * hi as f64).sqrt().round() as u64;
    middle.clamp(lo + 1, hi - 1)
}

#[cfg(test)]
mod tests {
    use ipcost_model::Verdict;
    use proptest::prelude::*;

    use super::*;

    /// A machine on which `a` costs a fixed price and `b` one for each byte: they meet at `crossing`, and nearer to it than
    /// `blur` nothing is known.
    fn point(size: u64, crossing: f64, blur: f64) -> SweepPoint {
        let ratio = crossing / size as f64;
        let (lo, hi) = (ratio / blur, ratio * blur);
        let bounds = (Some(lo), Some(hi));
        SweepPoint {
            size,
            a_ns: crossing,
            b_ns: size as f64,
            ratio,
            lo: bounds.0,
            hi: bounds.1,
            verdict: Verdict::Undecided,
            mean: None,
            epochs: 20,
        }
    }

    fn search(from: u64, to: u64, crossing: f64, blur: f64) -> (Vec<SweepPoint>, usize) {
        let mut points: Vec<SweepPoint> =
            first_sizes(from, to).into_iter().map(|size| point(size, crossing, blur)).collect();
        for steps in 0..64 {
            let sizes = next_sizes(&points, 1.1);
            if sizes.is_empty() {
                return (points, steps);
            }
            points.extend(sizes.into_iter().map(|size| point(size, crossing, blur)));
            points.sort_by_key(|point| point.size);
        }
        panic!("no end");
    }

    #[test]
    fn a_crossing_is_found_where_it_is() {
        let (points, steps) = search(64, 1 << 20, 5_000.0, 1.001);
        let found = crossings(&points);
        assert_eq!(found.len(), 1);
        assert!(found[0].from < 5_000 && 5_000 < found[0].to && !found[0].a_cheaper_below, "{found:?}");
        assert!(found[0].to as f64 <= found[0].from as f64 * 1.1 * 1.1 && steps <= 6, "{found:?} {steps}");
    }

    #[test]
    fn what_is_too_close_to_tell_stays_within_the_range() {
        let (points, _) = search(64, 1 << 20, 5_000.0, 1.5);
        let found = crossings(&points)[0];
        assert!((found.from as f64) < 5_000.0 / 1.5 && found.to as f64 > 5_000.0 * 1.5, "{found:?}");
        assert!(
            found.to as f64 / (found.from as f64) < 1.5 * 1.5 * 1.3,
            "no wider than it must be: {found:?}"
        );
    }

    #[test]
    fn without_a_crossing_there_is_nothing_to_look_for() {
        let (points, steps) = search(64, 1 << 20, 3.0, 1.1);
        assert_eq!((crossings(&points).len(), steps), (0, 0));
        assert_eq!(first_sizes(5, 5), [5]);
    }

    proptest! {
        #[test]
        fn every_search_ends_and_keeps_the_crossing(from in 1u64..10_000, factor in 2u64..10_000, place in 0.0f64..1.0, blur in 1.0f64..2.0) {
            let to = from * factor;
            let crossing = from as f64 * (factor as f64).powf(place) + 0.5;
            let (points, _) = search(from, to, crossing, blur);
            for found in crossings(&points) {
                prop_assert!((found.from as f64) < crossing && crossing < found.to as f64);
            }
        }
    }
}
