//! Whether values depend on a place on a circle, such as where a buffer begins within a page.

use crate::median::median;
use crate::random::Random;

/// The fewest values on either side of a split.
const FEWEST: usize = 3;
/// Shuffles that reach the statistic before the p-value is known well enough.
const ENOUGH: u32 = 20;
const MOST: u32 = 50_000;

/// The part of a circle on which values are larger than elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Arc {
    /// Where it begins, inclusive.
    pub from: u64,
    /// Where it ends, inclusive; below `from` if it passes 0.
    pub to: u64,
    /// The values on it, by index.
    pub members: Vec<usize>,
    /// The median on it minus the median elsewhere.
    pub shift: f64,
    /// The probability of such a contrast, or a sharper one, on any arc, if places do not matter.
    pub p: f64,
}

/// Finds the arc on which values are larger than elsewhere, if that is surer than `level`.
///
/// The statistic is the largest standardised sum over all arcs, as in a scan (Kulldorff, "A spatial scan statistic",
/// *Comm. Statist.* 26, 1997); its p-value is that of shuffled values, which stops early where it is large (Besag and
/// Clifford, "Sequential Monte Carlo p-values", *Biometrika* 78, 1991). So it holds for any distribution and any number of
/// arcs tried.
///
/// # Panics
/// If there are not as many places as values.
pub fn arc(places: &[u64], values: &[f64], level: f64, random: &mut Random) -> Option<Arc> {
    assert_eq!(places.len(), values.len(), "a place for each value");
    if values.len() < 2 * FEWEST {
        return None;
    }
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|index| places[*index]);
    let around: Vec<u64> = order.iter().map(|index| places[*index]).collect();
    let mut scores = standardised(&order.iter().map(|index| values[*index]).collect::<Vec<_>>())?;
    let (score, first, count) = sharpest(&around, &scores)?;
    // On the shorter side of the split values may be smaller: the arc is then the other side.
    let n = order.len();
    let (first, count) = if score > 0.0 { (first, count) } else { ((first + count) % n, n - count) };
    let members: Vec<usize> = (0..count).map(|step| order[(first + step) % n]).collect();
    let pick = |is_in: bool| {
        let side = (0..n).filter(|index| members.contains(index) == is_in);
        median(&side.map(|index| values[index]).collect::<Vec<_>>())
    };
    let shift = pick(true)? - pick(false)?;
    let (from, to) = (around[first], around[(first + count - 1) % n]);

    let most = ((f64::from(ENOUGH) / level) as u32).clamp(ENOUGH, MOST);
    let (mut reached, mut shuffles) = (0, 0);
    while reached < ENOUGH && shuffles < most {
        random.shuffle(&mut scores);
        shuffles += 1;
        reached += u32::from(sharpest(&around, &scores).is_some_and(|found| found.0.abs() >= score.abs()));
    }
    let p = if reached == ENOUGH {
        f64::from(reached) / f64::from(shuffles)
    } else {
        f64::from(reached + 1) / f64::from(shuffles + 1)
    };
    (p < level).then_some(Arc { from, to, members, shift, p })
}

/// The standardised sum furthest from 0, with the first of its arc and how many are on it: at most half of them.
fn sharpest(around: &[u64], scores: &[f64]) -> Option<(f64, usize, usize)> {
    let n = scores.len();
    let all = n as f64;
    let mut best: Option<(f64, usize, usize)> = None;
    for first in 0..n {
        // What begins at one place is on one side.
        if around[first] == around[(first + n - 1) % n] {
            continue;
        }
        let mut sum = 0.0;
        for count in 1..=n / 2 {
            let last = (first + count - 1) % n;
            sum += scores[last];
            if count < FEWEST || around[last] == around[(last + 1) % n] {
                continue;
            }
            let inside = count as f64;
            let score = sum / (inside * (all - inside) / (all - 1.0)).sqrt();
            if best.is_none_or(|(known, ..)| score.abs() > known.abs()) {
                best = Some((score, first, count));
            }
        }
    }
    best
}

/// Values with mean 0 and variance 1; `None` if all are equal.
fn standardised(values: &[f64]) -> Option<Vec<f64>> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (variance > 0.0).then(|| values.iter().map(|value| (value - mean) / variance.sqrt()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random places in a page.
    fn places(random: &mut Random, count: usize) -> Vec<u64> {
        (0..count).map(|_| random.below(256) * 16).collect()
    }

    #[test]
    fn a_slow_arc_is_found_also_across_zero_and_if_it_is_most_of_the_circle() {
        let mut random = Random::new(4);
        for (from, to) in [(1024, 2048), (3584, 768), (512, 3584)] {
            let is_slow = |place: u64| {
                if from < to { (from..to).contains(&place) } else { place >= from || place < to }
            };
            let places = places(&mut random, 40);
            let values: Vec<f64> = places
                .iter()
                .map(|place| if is_slow(*place) { 1.0 } else { 0.0 } + 0.05 * random.normal())
                .collect();
            let found = arc(&places, &values, 0.001, &mut random).expect("an arc");
            assert!(found.members.iter().all(|index| is_slow(places[*index])), "{found:?}");
            assert_eq!(found.members.len(), places.iter().filter(|place| is_slow(**place)).count());
            assert!((found.shift - 1.0).abs() < 0.1 && is_slow(found.from) && is_slow(found.to), "{found:?}");
        }
    }

    #[test]
    fn where_places_do_not_matter_an_arc_is_as_rare_as_the_level() {
        let mut random = Random::new(8);
        let mut found = 0;
        for _ in 0..600 {
            let places = places(&mut random, 24);
            // Two modes that have nothing to do with places.
            let values: Vec<f64> = (0..24)
                .map(|_| if random.unit() < 0.25 { 1.0 } else { 0.0 } + 0.05 * random.normal())
                .collect();
            found += usize::from(arc(&places, &values, 0.05, &mut random).is_some());
        }
        // 30 expected, standard deviation 5.3.
        assert!((12..=50).contains(&found), "{found} of 600");
    }

    #[test]
    fn few_values_or_one_place_tell_nothing() {
        let mut random = Random::new(1);
        assert_eq!(arc(&[0, 16, 32], &[1.0, 2.0, 3.0], 0.5, &mut random), None);
        assert_eq!(arc(&[16; 20], &[1.0; 20], 0.5, &mut random), None);
        let places: Vec<u64> = (0..20).map(|step| step * 16).collect();
        assert_eq!(arc(&places, &[1.0; 20], 0.5, &mut random), None);
    }
}
