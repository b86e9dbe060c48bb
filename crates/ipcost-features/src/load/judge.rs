//! Which rates to measure next, and where the knee lies.

use ipcost_model::Percentile;

use super::{Capacity, Knee, LoadPoint};

/// The shares of what a transport does back to back at which it is measured first.
pub(super) const LADDER: [f64; 5] = [0.05, 0.2, 0.5, 0.8, 0.95];
/// At the rates of the slowest transport that lie at these places of its ladder, all are compared.
const COMPARED: [usize; 2] = [1, 3];
/// How many percentiles of two transports are compared at most: at each rate and at each share.
pub(super) const COMPARISONS: usize = Percentile::COMPARED.len() * (COMPARED.len() + LADDER.len());
/// A rate of which so many epochs do not tell on which side of the limit it lies is too close to it.
const ENOUGH: u32 = 60;
/// Where no rate of the ladder exceeds the limit: how much further up the next one lies, and how far up is looked.
const FURTHER: f64 = 1.08;
const FURTHEST: f64 = 1.3;
/// Where the lowest exceeds it: how much further down the next one lies, and how far down is looked, as a share of what is done back to back.
const LESS: f64 = 3.0;
const LEAST: f64 = 0.01;
/// Rates between the ends of a knee's range that are measured at a time.
const BETWEEN: u32 = 2;

/// The rates at which each transport is measured first: its own ladder, and the rates at which all are compared.
pub(super) fn first_rates(capacities: &[&Capacity]) -> Vec<(String, Vec<u64>)> {
    let slowest = capacities.iter().map(|capacity| capacity.per_s.median).fold(f64::INFINITY, f64::min);
    let common: Vec<u64> = COMPARED.iter().map(|place| rounded(slowest * LADDER[*place])).collect();
    let of = |capacity: &&Capacity| {
        let mut rates: Vec<u64> = LADDER.iter().map(|share| rounded(capacity.per_s.median * share)).collect();
        rates.extend(&common);
        rates.sort_unstable();
        rates.dedup();
        (capacity.transport.clone(), rates)
    };
    capacities.iter().map(of).collect()
}

/// A rate with two digits, which people can type and read.
pub(super) fn rounded(per_s: f64) -> u64 {
    let per_s = per_s.max(1.0);
    let unit = 10_f64.powf(per_s.log10().floor() - 1.0).max(1.0);
    ((per_s / unit).round() * unit) as u64
}

/// Where the knee of a transport lies: between the highest rate below which all that is known stays under the limit, and the lowest that
/// is known not to.
pub(super) fn knee(transport: &str, points: &[LoadPoint], limit_ns: u64) -> Knee {
    let own = || points.iter().filter(|point| point.transport == transport);
    let known = |under: bool| {
        own().filter(move |point| point.is_under(limit_ns) == Some(under)).map(|point| point.per_s)
    };
    let hi = known(false).min();
    let lo = known(true).filter(|rate| hi.is_none_or(|hi| *rate < hi)).max();
    Knee { transport: transport.to_owned(), lo, hi }
}

/// The rates to measure next: those of which it is open on which side of the limit they lie and which lie next to it as far as anything
/// is known, else such as narrow the range down. Empty where it is narrow enough, or nothing more is to be tried.
pub(super) fn next_rates(
    knee: &Knee,
    points: &[LoadPoint],
    limit_ns: u64,
    capacity: f64,
    resolution: f64,
) -> Vec<u64> {
    let is_narrow = |lo: u64, hi: u64| hi as f64 <= lo as f64 * (1.0 + resolution);
    if knee.lo.zip(knee.hi).is_some_and(|(lo, hi)| is_narrow(lo, hi)) {
        return Vec::new();
    }
    let own = || points.iter().filter(|point| point.transport == knee.transport);
    let is_inside = |rate: u64| knee.lo.is_none_or(|lo| rate > lo) && knee.hi.is_none_or(|hi| rate < hi);
    let open = |under: bool| {
        own().filter(move |point| is_inside(point.per_s) && point.seems_under(limit_ns) == Some(under))
    };
    let (below, above) =
        (open(true).max_by_key(|point| point.per_s), open(false).min_by_key(|point| point.per_s));
    let mut next = Vec::new();
    let mut narrow = |lo: Option<u64>, hi: Option<u64>| match (lo, hi) {
        (Some(lo), Some(hi)) if is_narrow(lo, hi) => {}
        (Some(lo), Some(hi)) => {
            let step = (hi as f64 / lo as f64).ln() / f64::from(BETWEEN + 1);
            next.extend((1..=BETWEEN).map(|index| rounded(lo as f64 * (step * f64::from(index)).exp())));
        }
        // Nothing that was offered was too much.
        (Some(lo), None) => {
            let further = [1, 2].map(|steps| rounded(lo as f64 * FURTHER.powi(steps)));
            next.extend(further.into_iter().filter(|rate| *rate as f64 <= capacity * FURTHEST));
        }
        // Everything was: less shows whether anything is not.
        (None, Some(hi)) => {
            let less = hi as f64 / LESS;
            next.extend((less >= capacity * LEAST).then(|| rounded(less)));
        }
        (None, None) => {}
    };
    match (below, above) {
        (None, None) => narrow(knee.lo, knee.hi),
        (Some(below), None) => narrow(Some(below.per_s), knee.hi),
        (None, Some(above)) => narrow(knee.lo, Some(above.per_s)),
        (Some(below), Some(above)) => {
            if below.epochs >= ENOUGH {
                narrow(knee.lo, Some(below.per_s));
            }
            if above.epochs >= ENOUGH {
                narrow(Some(above.per_s), knee.hi);
            }
        }
    }
    next.retain(|rate| own().all(|point| point.per_s != *rate));
    next.extend(
        [below, above].into_iter().flatten().filter(|point| point.epochs < ENOUGH).map(|point| point.per_s),
    );
    next.sort_unstable();
    next.dedup();
    next
}

/// Between which rates the medians of 99th percentiles cross the limit: the highest that seems below it with all that are lower, and the next.
pub(super) fn crossing(transport: &str, points: &[LoadPoint], limit_ns: u64) -> (Option<u64>, Option<u64>) {
    let own = || points.iter().filter(|point| point.transport == transport);
    let seems = |under: bool| {
        own().filter(move |point| point.seems_under(limit_ns) == Some(under)).map(|point| point.per_s)
    };
    let above = seems(false).min();
    (seems(true).filter(|rate| above.is_none_or(|above| *rate < above)).max(), above)
}

/// How much more load one knee carries than another, with the least and the most that their ranges allow.
pub(super) fn ratio(a: &Knee, b: &Knee) -> Option<(f64, f64)> {
    let [a_lo, a_hi, b_lo, b_hi] = [a.lo?, a.hi?, b.lo?, b.hi?].map(|rate| rate as f64);
    Some((a_lo / b_hi, a_hi / b_lo))
}

#[cfg(test)]
mod tests {
    use ipcost_model::Estimate;
    use proptest::prelude::*;

    use super::*;

    /// A server of which the 99th percentile is that of M/M/1 with a mean service of 10 µs, known to `blur`.
    fn point(per_s: u64, blur: f64) -> LoadPoint {
        let load = per_s as f64 * 10e-6;
        let p99 = if load < 1.0 { 10_000.0 / (1.0 - load) * 100_f64.ln() } else { 1e9 };
        let known = Estimate { median: p99, lo: Some(p99 / blur), hi: Some(p99 * blur) };
        LoadPoint {
            transport: "unix".to_owned(),
            per_s,
            utilisation: load,
            achieved_per_s: None,
            mean_ns: known,
            p50_ns: None,
            p99_ns: Some(known),
            p999_ns: None,
            cpu_ns_per_op: None,
            wakeups_per_op: None,
            late_p99_ns: None,
            epochs: ENOUGH,
        }
    }

    fn capacity(per_s: f64) -> Capacity {
        let per_s = Estimate { median: per_s, lo: None, hi: None };
        Capacity { transport: "unix".to_owned(), concurrency: 1, per_s }
    }

    /// The knee that a search finds, and how many rates it measured.
    fn search(limit_ns: u64, blur: f64) -> (Knee, usize) {
        let capacity = capacity(100_000.0);
        let mut points: Vec<LoadPoint> =
            first_rates(&[&capacity])[0].1.iter().map(|per_s| point(*per_s, blur)).collect();
        for _ in 0..40 {
            let found = knee("unix", &points, limit_ns);
            let next = next_rates(&found, &points, limit_ns, 100_000.0, 0.1);
            if next.is_empty() {
                return (found, points.len());
            }
            assert!(next.iter().all(|rate| points.iter().all(|point| point.per_s != *rate)), "{next:?}");
            points.extend(next.into_iter().map(|per_s| point(per_s, blur)));
        }
        panic!("no end");
    }

    #[test]
    fn what_is_open_next_to_the_limit_is_measured_again() {
        let few = |per_s, blur| LoadPoint { epochs: 10, ..point(per_s, blur) };
        let points = [few(20_000, 1.01), few(50_000, 1.5), few(80_000, 10.0), few(95_000, 1.01)];
        let found = knee("unix", &points, 100_000);
        assert_eq!((found.lo, found.hi), (Some(20_000), Some(95_000)));
        assert_eq!(next_rates(&found, &points, 100_000, 100_000.0, 0.1), [50_000, 80_000]);
        assert_eq!(crossing("unix", &points, 100_000), (Some(50_000), Some(80_000)));
        // Those that so many epochs leave open are too close to it: it is narrowed down around them.
        let points = points.map(|point| LoadPoint { epochs: ENOUGH, ..point });
        assert_eq!(next_rates(&found, &points, 100_000, 100_000.0, 0.1), [27_000, 37_000, 85_000, 90_000]);
    }

    #[test]
    fn a_knee_is_found_where_it_is() {
        // 10 µs / (1 − ρ) · ln 100 = 1 ms at ρ = 0.954; at 100 µs it is 0.539.
        for (limit_ns, expected) in [(1_000_000, 95_400.0), (100_000, 53_900.0)] {
            let (Knee { lo, hi, .. }, measured) = search(limit_ns, 1.01);
            let (lo, hi) = (lo.unwrap() as f64, hi.unwrap() as f64);
            assert!(lo <= expected && expected <= hi && hi <= lo * 1.11, "{limit_ns}: {lo} {hi}");
            assert!(measured <= 20, "{measured}");
        }
    }

    #[test]
    fn a_limit_that_nothing_meets_has_no_knee() {
        let (found, _) = search(10_000, 1.01);
        assert_eq!(found.lo, None);
    }

    #[test]
    fn what_is_not_known_widens_the_range() {
        let ((sharp, _), (blurred, _)) = (search(100_000, 1.01), search(100_000, 1.5));
        assert!(blurred.lo <= sharp.lo && blurred.hi >= sharp.hi, "{sharp:?} {blurred:?}");
    }

    #[test]
    fn ratios_of_knees_are_as_wide_as_their_ranges() {
        let knee = |lo, hi| Knee { transport: String::new(), lo, hi };
        let (least, most) = ratio(&knee(Some(80), Some(100)), &knee(Some(40), Some(50))).unwrap();
        assert_eq!((least, most), (1.6, 2.5));
        assert_eq!(ratio(&knee(None, Some(100)), &knee(Some(40), Some(50))), None);
        assert_eq!([1.0, 9.4, 123.0, 98_765.0].map(rounded), [1, 9, 120, 99_000]);
    }

    proptest! {
        #[test]
        fn every_search_ends(limit_ns in 1_000_u64..10_000_000_000, blur in 1.0_f64..3.0) {
            let (found, measured) = search(limit_ns, blur);
            prop_assert!(measured < 60);
            if let (Some(lo), Some(hi)) = (found.lo, found.hi) {
                prop_assert!(lo < hi);
            }
        }
    }
}
