//! Which rates to measure next, and where the knee lies.

use ipcost_lab::Percentiles;
use ipcost_lab::estimate::estimate;
use ipcost_model::Percentile;
use ipcost_stats::{exceeds_share, unseen_share};

use super::record::TAIL;
use super::{Capacity, Knee, LoadPoint, Tail};

/// The shares of what a transport does back to back at which it is measured first.
pub(super) const LADDER: [f64; 5] = [0.05, 0.2, 0.5, 0.8, 0.95];
/// At the rates of the slowest transport that lie at these places of its ladder, all are compared.
const COMPARED: [usize; 2] = [1, 3];
/// The shares at which transports are compared. Beyond them a little more load is much more waiting, so that what each does back to back
/// would have to be known better than it is.
pub(super) const SHARES: [f64; 4] = [0.05, 0.2, 0.5, 0.8];
/// How many percentiles of two transports are compared at most: at each rate and at each share.
pub(super) const COMPARISONS: usize = Percentile::COMPARED.len() * (COMPARED.len() + SHARES.len());
/// An epoch that tells how many operations exceed a limit has so many of them and lasts so many times the limit: a queue has time to form.
pub(super) const LEAST_OPS: u64 = 1_000;
pub(super) const LEAST_LIMITS: f64 = 50.0;
/// The part of a batch that is recorded: the first tenth is not.
pub(super) const RECORDED: f64 = 0.9;
/// A rate of which so many epochs do not tell on which side of the limit it lies is too close to it.
const ENOUGH: u32 = 60;
/// Where no rate of the ladder exceeds the limit: how much further up the next one lies, up to all that is done back to back.
const FURTHER: f64 = 1.025;
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

/// A rate with four digits: with fewer, a share of what is done back to back would be another.
pub(super) fn rounded(per_s: f64) -> u64 {
    let per_s = per_s.max(1.0);
    let unit = 10_f64.powf(per_s.log10().floor() - 3.0).max(1.0);
    ((per_s / unit).round() * unit) as u64
}

/// How many operations of a rate take longer than the limit, from its epochs; `None` where that was not counted.
///
/// It is known to stay under at the 99th percentile if neither the epoch in the middle nor all operations together have more than 1 %
/// beyond the limit: stalls of a few epochs show in the latter alone. It is known not to if the epoch in the middle has more, or evidently
/// all together.
pub(super) fn tail(epochs: &[Percentiles], per_s: u64, limit_ns: u64, level: f64) -> Option<Tail> {
    let least = (LEAST_OPS as f64).max(LEAST_LIMITS * limit_ns as f64 / 1e9 * per_s as f64 * RECORDED) as u64;
    let mut counted: Vec<(u64, u64)> = Vec::new();
    let mut part = (0, 0);
    for epoch in epochs.iter().filter(|epoch| epoch.count > 0) {
        part = (part.0 + epoch.over_limit?, part.1 + epoch.count);
        if part.1 >= least {
            counted.push(std::mem::take(&mut part));
        }
    }
    let of_all = |of: fn(&Percentiles) -> u64| epochs.iter().map(of).sum::<u64>() as f64;
    let all = of_all(|epoch| epoch.count);
    let share = of_all(|epoch| epoch.over_limit.unwrap_or_default()) / all.max(1.0);
    let shares: Vec<f64> = counted.iter().map(|(over, all)| *over as f64 / *all as f64).collect();
    let in_epoch = estimate(&shares, level)?;
    let is_over = in_epoch.lo.is_some_and(|lo| lo > TAIL) || exceeds_share(&counted, TAIL, level / 2.0);
    let is_under = share <= TAIL && in_epoch.hi.is_some_and(|hi| hi <= TAIL);
    let ops = counted.iter().map(|(_, ops)| *ops as f64).sum::<f64>() / counted.len() as f64;
    Some(Tail {
        share,
        in_epoch,
        epochs: counted.len() as u32,
        epoch_s: ops / RECORDED / per_s as f64,
        unseen: unseen_share(counted.len(), level),
        is_under: if is_over { Some(false) } else { is_under.then_some(true) },
    })
}

/// Where the knee of a transport lies: between the highest rate that is known to stay under the limit, and the lowest above it that is known
/// not to. That more load takes longer is not assumed.
pub(super) fn knee(transport: &str, points: &[LoadPoint]) -> Knee {
    let own = || points.iter().filter(|point| point.transport == transport);
    let known =
        |under: bool| own().filter(move |point| point.is_under() == Some(under)).map(|point| point.per_s);
    let lo = known(true).max();
    let hi = known(false).filter(|rate| lo.is_none_or(|lo| *rate > lo)).min();
    let not_at = lo.and_then(|lo| known(false).filter(|rate| *rate < lo).max());
    let from = known(true).filter(|rate| not_at.is_none_or(|not_at| *rate > not_at)).min();
    Knee { transport: transport.to_owned(), lo, hi, from, not_at }
}

/// The rates to measure next: those of which it is open on which side of the limit they lie and which lie next to it as far as anything
/// is known, else such as narrow the range down. Empty where it is narrow enough, or nothing more is to be tried.
pub(super) fn next_rates(knee: &Knee, points: &[LoadPoint], capacity: f64, resolution: f64) -> Vec<u64> {
    let is_narrow = |lo: u64, hi: u64| hi as f64 <= lo as f64 * (1.0 + resolution);
    if knee.lo.zip(knee.hi).is_some_and(|(lo, hi)| is_narrow(lo, hi)) {
        return Vec::new();
    }
    let own = || points.iter().filter(|point| point.transport == knee.transport);
    let is_inside = |rate: u64| knee.lo.is_none_or(|lo| rate > lo) && knee.hi.is_none_or(|hi| rate < hi);
    let open =
        |under: bool| own().filter(move |point| is_inside(point.per_s) && point.seems_under() == Some(under));
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
            next.extend(further.into_iter().filter(|rate| *rate as f64 <= capacity));
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

/// Between which rates the limit seems to be crossed: the highest that seems to stay under it, and the lowest above that does not.
pub(super) fn crossing(transport: &str, points: &[LoadPoint]) -> (Option<u64>, Option<u64>) {
    let own = || points.iter().filter(|point| point.transport == transport);
    let seems =
        |under: bool| own().filter(move |point| point.seems_under() == Some(under)).map(|point| point.per_s);
    let below = seems(true).max();
    (below, seems(false).filter(|rate| below.is_none_or(|below| *rate > below)).min())
}

/// How much more load one knee carries than another, with the least and the most that their ranges allow.
pub(super) fn ratio(a: &Knee, b: &Knee) -> Option<(f64, f64)> {
    let [a_lo, a_hi, b_lo, b_hi] = [a.lo?, a.hi?, b.lo?, b.hi?].map(|rate| rate as f64);
    Some((a_lo / b_hi, a_hi / b_lo))
}

/// How long each of some epochs may last that are to fit in so much time together: those that want less get what they want.
pub(super) fn most_each(wanted: &[f64], room: f64) -> f64 {
    let mut sorted = wanted.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut left = room;
    for (index, want) in sorted.iter().enumerate() {
        let fair = left / (sorted.len() - index) as f64;
        if *want > fair {
            return fair;
        }
        left -= want;
    }
    sorted.last().copied().unwrap_or(room)
}

#[cfg(test)]
mod tests {
    use ipcost_model::Estimate;
    use ipcost_stats::Random;
    use proptest::prelude::*;

    use super::*;

    /// A server of which times are those of M/M/1 with a mean service of 10 µs, known to `blur`.
    fn point(per_s: u64, blur: f64, limit_ns: u64) -> LoadPoint {
        let load = per_s as f64 * 10e-6;
        let beyond = |ns: f64| if load < 1.0 { (-(1.0 - load) * ns / 10_000.0).exp() } else { 1.0 };
        let limit = limit_ns as f64;
        let in_epoch = Estimate {
            median: beyond(limit),
            lo: Some(beyond(limit * blur)),
            hi: Some(beyond(limit / blur)),
        };
        let is_under = match in_epoch {
            Estimate { lo: Some(lo), .. } if lo > TAIL => Some(false),
            Estimate { hi: Some(hi), .. } if hi <= TAIL => Some(true),
            _ => None,
        };
        let tail =
            Tail { share: in_epoch.median, in_epoch, epochs: ENOUGH, epoch_s: 1.0, unseen: 0.05, is_under };
        LoadPoint {
            transport: "unix".to_owned(),
            per_s,
            utilisation: load,
            mean_ns: in_epoch,
            epochs: ENOUGH,
            tail: Some(tail),
            ..LoadPoint::default()
        }
    }

    fn capacity(per_s: f64) -> Capacity {
        let per_s = Estimate { median: per_s, lo: None, hi: None };
        Capacity { transport: "unix".to_owned(), concurrency: 1, per_s }
    }

    /// The knee that a search finds, and how many rates it measured.
    fn search(limit_ns: u64, blur: f64, resolution: f64) -> (Knee, usize) {
        let capacity = capacity(100_000.0);
        let mut points: Vec<LoadPoint> =
            first_rates(&[&capacity])[0].1.iter().map(|per_s| point(*per_s, blur, limit_ns)).collect();
        for _ in 0..40 {
            let found = knee("unix", &points);
            let next = next_rates(&found, &points, 100_000.0, resolution);
            if next.is_empty() {
                return (found, points.len());
            }
            assert!(next.iter().all(|rate| points.iter().all(|point| point.per_s != *rate)), "{next:?}");
            points.extend(next.into_iter().map(|per_s| point(per_s, blur, limit_ns)));
        }
        panic!("no end");
    }

    #[test]
    fn what_is_open_next_to_the_limit_is_measured_again() {
        let few = |per_s, blur| LoadPoint { epochs: 10, ..point(per_s, blur, 100_000) };
        let points = [few(20_000, 1.01), few(50_000, 1.5), few(80_000, 10.0), few(95_000, 1.01)];
        let found = knee("unix", &points);
        assert_eq!((found.lo, found.hi), (Some(20_000), Some(95_000)));
        assert_eq!(next_rates(&found, &points, 100_000.0, 0.1), [50_000, 80_000]);
        assert_eq!(crossing("unix", &points), (Some(50_000), Some(80_000)));
        // Those that so many epochs leave open are too close to it: it is narrowed down around them.
        let points = points.map(|point| LoadPoint { epochs: ENOUGH, ..point });
        assert_eq!(next_rates(&found, &points, 100_000.0, 0.1), [27_140, 36_840, 84_720, 89_710]);
    }

    #[test]
    fn a_knee_is_found_where_it_is() {
        // 10 µs / (1 − ρ) · ln 100 = 1 ms at ρ = 0.954; at 100 µs it is 0.539.
        for (limit_ns, expected) in [(1_000_000, 95_400.0), (100_000, 53_900.0)] {
            let (Knee { lo, hi, .. }, measured) = search(limit_ns, 1.01, 0.1);
            let (lo, hi) = (lo.unwrap() as f64, hi.unwrap() as f64);
            assert!(lo <= expected && expected <= hi && hi <= lo * 1.11, "{limit_ns}: {lo} {hi}");
            assert!(measured <= 20, "{measured}");
            // A range that is asked to be finer is.
            let (Knee { lo, hi, .. }, _) = search(limit_ns, 1.001, 0.02);
            let (lo, hi) = (lo.unwrap() as f64, hi.unwrap() as f64);
            assert!(lo <= expected && expected <= hi && hi <= lo * 1.03, "{limit_ns}: {lo} {hi}");
        }
    }

    #[test]
    fn a_rate_is_the_share_that_it_is_told_as() {
        // With two digits a rate at 95 % was another by up to 5 %, and its p99 by a quarter.
        for carried in [1_234.0, 10_499.0, 95_951.0, 187_650.0, 1_049_999.0] {
            for (transport, rates) in first_rates(&[&capacity(carried)]) {
                let shares = rates.iter().map(|rate| *rate as f64 / carried);
                let nearest =
                    |share: f64| LADDER.iter().map(|told| (share / told - 1.0).abs()).fold(1.0, f64::min);
                assert!(
                    shares.clone().all(|share| nearest(share) < 0.01),
                    "{transport}: {rates:?} of {carried}"
                );
            }
        }
        assert!(
            SHARES.iter().all(|share| *share < 0.9),
            "nothing is compared where little more load is much more waiting"
        );
    }

    #[test]
    fn more_load_may_take_less_long() {
        // Both sleep between operations at little load, and take 2 ms to wake.
        let slow = |per_s| LoadPoint { per_s, ..point(120_000, 1.01, 1_000_000) };
        let points =
            [slow(1_000), point(20_000, 1.01, 1_000_000), point(90_000, 1.01, 1_000_000), slow(97_000)];
        let Knee { lo, hi, from, not_at, .. } = knee("unix", &points);
        assert_eq!((not_at, from, lo, hi), (Some(1_000), Some(20_000), Some(90_000), Some(97_000)));
    }

    /// Epochs of so many operations, of which in a share of the epochs a part exceeds the limit.
    fn epochs(count: u32, ops: u64, share: f64, part: f64, random: &mut Random) -> Vec<Percentiles> {
        let mut epoch = |epoch| {
            let is_slow = random.unit() < share;
            let over = if is_slow { (part * ops as f64) as u64 } else { 0 };
            Percentiles { epoch, count: ops, over_limit: Some(over), ..Percentiles::default() }
        };
        (1..=count).map(&mut epoch).collect()
    }

    /// Of many searches, in what share a rate was said to stay under the limit, and in what share not to.
    fn certified(count: u32, share: f64, part: f64) -> (f64, f64) {
        const SEARCHES: u64 = 400;
        let found = |is_under| {
            let is_it = |seed: &u64| {
                let epochs = epochs(count, 3_000, share, part, &mut Random::new(seed * 7_919 + 1));
                tail(&epochs, 50_000, 1_000_000, 0.001).unwrap().is_under == Some(is_under)
            };
            (0..SEARCHES).filter(is_it).count() as f64 / SEARCHES as f64
        };
        (found(true), found(false))
    }

    #[test]
    fn stalls_in_a_minority_of_epochs_are_not_certified_away() {
        // 1.5 % of all operations in 6 % of the epochs, of which the epoch in the middle shows nothing: by that alone nearly every search
        // says that the rate stays under the limit. Those that do now have met four such epochs of a hundred or fewer.
        let (under, _) = certified(100, 0.06, 0.25);
        assert!((0.2..0.35).contains(&under), "{under}");
        let by_the_middle = |seed: &u64| {
            let epochs = epochs(100, 3_000, 0.06, 0.25, &mut Random::new(seed * 7_919 + 1));
            tail(&epochs, 50_000, 1_000_000, 0.001).unwrap().in_epoch.hi.is_some_and(|hi| hi <= TAIL)
        };
        assert!((0..400).filter(by_the_middle).count() > 390);
        // Many of them are evident.
        assert!(certified(100, 0.3, 0.25).1 > 0.9, "{:?}", certified(100, 0.3, 0.25));
        // None, or so few that all together stay below 1 %, are no obstacle.
        assert!(certified(60, 0.0, 0.25).0 > 0.99 && certified(60, 1.0, 0.005).0 > 0.99);
        // A share of 2 % in every epoch is known not to stay under.
        assert!(certified(60, 1.0, 0.02).1 > 0.99);
    }

    #[test]
    fn what_was_not_seen_is_bounded_by_how_many_were() {
        let of = |count| {
            let epochs = epochs(count, 3_000, 0.0, 0.0, &mut Random::new(1));
            tail(&epochs, 50_000, 1_000_000, 0.05).unwrap()
        };
        assert!((of(14).unseen - 0.193).abs() < 1e-3 && (of(60).unseen - 0.049).abs() < 1e-3);
        // Epochs of few operations count together: 1000 of 50 000 a second and 50 ms, of which the first tenth is not recorded.
        let short = epochs(30, 1_125, 0.0, 0.0, &mut Random::new(1));
        let found = tail(&short, 50_000, 1_000_000, 0.05).unwrap();
        assert_eq!(found.epochs, 15);
        assert!((found.epoch_s - 0.05).abs() < 1e-6, "{found:?}");
    }

    /// The rate at which 1 % of the operations of M/M/1 exceed a limit, in batches of this module's length that begin with an empty queue.
    fn found_knee(service_s: f64, limit_s: f64) -> f64 {
        let share = |per_s: f64| {
            let ops = ((LEAST_OPS as f64).max(LEAST_LIMITS * limit_s * per_s) / RECORDED) as usize;
            let mut random = Random::new(5);
            let (mut over, mut all) = (0, 0);
            for _ in 0..(2_000_000 / ops) {
                let mut waits = 0.0_f64;
                for index in 0..ops {
                    let served = -service_s * (1.0 - random.unit()).ln();
                    if index >= ops / 10 {
                        all += 1;
                        over += usize::from(waits + served > limit_s);
                    }
                    waits = (waits + served + (1.0 - random.unit()).ln() / per_s).max(0.0);
                }
            }
            over as f64 / all as f64
        };
        let (mut lo, mut hi) = (0.2 / service_s, 1.0 / service_s);
        for _ in 0..10 {
            let middle = f64::midpoint(lo, hi);
            if share(middle) <= TAIL { lo = middle } else { hi = middle }
        }
        f64::midpoint(lo, hi)
    }

    #[test]
    fn a_queue_has_time_to_form() {
        for (service_s, limit_s) in [(10e-6, 1e-3), (100e-6, 5e-3), (500e-6, 5e-3)] {
            // 1 − ρ = ln 100 · service / limit.
            let truth = (1.0 - 100_f64.ln() * service_s / limit_s) / service_s;
            let ratio = found_knee(service_s, limit_s) / truth;
            println!("{service_s} s, {limit_s} s: {ratio:.3}");
            assert!((0.97..1.08).contains(&ratio), "{service_s} {limit_s}: {ratio}");
        }
    }

    #[test]
    fn rates_share_the_time_that_there_is() {
        assert_eq!(most_each(&[1.0, 1.0, 6.0], 5.0), 3.0);
        assert_eq!(most_each(&[4.0, 4.0], 4.0), 2.0);
        assert_eq!(most_each(&[0.5, 1.0], 4.0), 1.0);
    }

    #[test]
    fn a_limit_that_nothing_meets_has_no_knee() {
        let (found, _) = search(10_000, 1.01, 0.1);
        assert_eq!(found.lo, None);
    }

    #[test]
    fn what_is_not_known_widens_the_range() {
        let ((sharp, _), (blurred, _)) = (search(100_000, 1.01, 0.1), search(100_000, 1.5, 0.1));
        assert!(blurred.lo <= sharp.lo && blurred.hi >= sharp.hi, "{sharp:?} {blurred:?}");
    }

    #[test]
    fn ratios_of_knees_are_as_wide_as_their_ranges() {
        let knee = |lo, hi| Knee { transport: String::new(), lo, hi, from: lo, not_at: None };
        let (least, most) = ratio(&knee(Some(80), Some(100)), &knee(Some(40), Some(50))).unwrap();
        assert_eq!((least, most), (1.6, 2.5));
        assert_eq!(ratio(&knee(None, Some(100)), &knee(Some(40), Some(50))), None);
        assert_eq!([1.0, 9.4, 123.0, 98_765.0].map(rounded), [1, 9, 123, 98_770]);
    }

    proptest! {
        #[test]
        fn every_search_ends(limit_ns in 1_000_u64..10_000_000_000, blur in 1.0_f64..3.0) {
            let (found, measured) = search(limit_ns, blur, 0.1);
            prop_assert!(measured < 60);
            if let (Some(lo), Some(hi)) = (found.lo, found.hi) {
                prop_assert!(lo < hi);
            }
        }
    }
}
