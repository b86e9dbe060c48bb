//! Epochs that depend on each other: detecting the dependence, and discounting them.
//!
//! The e-sign interval treats the epochs' signs as tosses of a fair coin. A drifting machine does not make them less
//! fair: each round measures its cells in a fresh random order, so which of two neighbours in time is cell A is
//! itself a fair toss. A *contrast* that wanders does. Neighbouring epochs then resemble each other, which the serial
//! correlation ρ shows, and n of them are worth only λ·n independent ones:
//!
//! ```text
//! λ = (1 − ρ − c/n) / (1 + ρ + c/n)
//! ```
//!
//! with c = 2 where the measured ρ exceeds half its standard error, 1/√n, and else with ρ = 0 and c = 1,
//! as for the mean of a first-order autoregressive series (Bayley and Hammersley, "The 'effective' number of
//! independent observations in an autocorrelated time series", 1946). So the e-value counts as E^λ: the interval is
//! that of level α^(1/λ).
//!
//! Independent epochs keep the full guarantee of the e-sign interval, since λ ≤ 1 only widens it.
//! `tests/simulation.rs` simulates what remains of it for dependent ones.
//!
//! Where looks are planned ([`crate::Looks`]), they are part of the same evidence.

use crate::interval::{Interval, e_values, sign_e_value};
use crate::looks::{Start, most_on_one_side};
use crate::median::median;

/// The interval from epochs whose neighbours may resemble each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpochInterval {
    /// The median of the epochs, and its bounds.
    pub interval: Interval,
    /// The share of independent epochs these are worth (λ).
    pub worth: f64,
    /// Whether neighbours resemble each other more than chance explains: the contrast changes during the run.
    pub wanders: bool,
    /// The least and the largest epoch, where many epochs give no interval: an observation, not a guarantee.
    pub range: Option<(f64, f64)>,
}

/// From this many epochs on without an interval, report their range.
const MANY_EPOCHS: usize = 25;

/// Correlations above this many standard errors (1/√n) are not put down to chance.
const SIGNIFICANT: f64 = 2.0;
/// With fewer epochs, the correlation says nothing.
const FEWEST: usize = 6;
/// Divided by n, this is added to the measured correlation of n epochs, which is too low by (1 + 4ρ)/n (Kendall,
/// "Note on bias in the estimation of autocorrelation", 1954), of which [`serial_correlation`] already corrects 1/n.
const CAUTION: f64 = 2.0;
/// The same where the measured correlation shows nothing: it is at most this many standard errors.
const CAUTION_WITHOUT: f64 = 1.0;
const SHOWS: f64 = 0.5;

/// Relative differences below this are rounding.
const ROUNDING: f64 = 1e-12;

/// What n epochs with this measured correlation are worth, as a share of n independent epochs.
pub(crate) fn worth(measured: f64, n: usize, start: &Start) -> f64 {
    let n = n as f64;
    let shows = measured > SHOWS / n.sqrt();
    let caution = start.caution();
    let feared =
        if shows { measured + CAUTION * caution / n } else { CAUTION_WITHOUT * caution / n }.min(1.0);
    (1.0 - feared) / (1.0 + feared)
}

/// The number of epochs after which the first interval at `alpha` is finite, if neighbours do not resemble each
/// other.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn epochs_to_expect(alpha: f64) -> u32 {
    first_interval(alpha, &Start::ALWAYS)
}

/// The same in a run with planned looks, whichever they are, without the help of one.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn planned_epochs_to_expect(alpha: f64) -> u32 {
    first_interval(alpha, &Start::LEAST)
}

fn first_interval(alpha: f64, start: &Start) -> u32 {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let enough =
        |n: &u32| start.ln_always() + worth(0.0, *n as usize, start) * sign_e_value(*n, 0) >= -alpha.ln();
    (1..).find(enough).expect("E(n, 0) grows without bound")
}

/// The correlation of neighbours (lag 1), corrected for its bias of −1/n; 0 if nothing varies.
pub fn serial_correlation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // What equal values differ by is rounding.
    if variance <= n * (ROUNDING * mean).powi(2) {
        return 0.0;
    }
    let covariance: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    covariance / variance + 1.0 / n
}

/// The interval for the median of epochs that may depend on their neighbours, at level 1 − `alpha`.
///
/// `None` without epochs. The bounds are `None` while the epochs are not worth enough.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn epoch_interval(values: &[f64], alpha: f64) -> Option<EpochInterval> {
    planned_interval(values, alpha, &Start::ALWAYS)
}

/// The same with the evidence of planned looks, for the epochs from one of its moments on: at any time, for all moments
/// together, and for whichever of them is chosen after looking.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn planned_interval(values: &[f64], alpha: f64, start: &Start) -> Option<EpochInterval> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let median = median(values)?;
    let n = values.len();
    let correlation = serial_correlation(values);
    let against = Against::gaps(values, start);
    let kept = |evidence: &f64| *evidence < -alpha.ln();
    let bounds = against.hull(kept);
    // No median fits all looks: what was seen first is not what was seen later.
    let contradicts = !against.evidence.iter().any(kept);
    let wanders = n >= FEWEST && correlation > SIGNIFICANT / (n as f64).sqrt() || contradicts;
    let range = (bounds.is_none() && n >= MANY_EPOCHS).then(|| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    });
    let worth = worth(correlation, n, start);
    Some(EpochInterval { interval: Interval { median, bounds }, worth, wanders, range })
}

/// The intervals that [`planned_interval`] gives for these epochs, from the widest to the narrowest, each with the strictest level
/// at which it does.
pub fn nested_intervals(values: &[f64], start: &Start) -> Vec<(f64, (f64, f64))> {
    let against = Against::gaps(values, start);
    let mut strictest = against.evidence.clone();
    strictest.sort_by(|a, b| b.total_cmp(a));
    strictest.dedup();
    let mut nested: Vec<(f64, (f64, f64))> = Vec::new();
    for evidence in strictest.into_iter().take_while(|evidence| *evidence > 0.0) {
        let Some(bounds) = against.hull(|other| *other < evidence) else { continue };
        // A gap amid those that are kept changes nothing.
        if nested.last().is_none_or(|(_, wider)| *wider != bounds) {
            nested.push(((-evidence).exp(), bounds));
        }
    }
    nested
}

/// What speaks against a median, for the medians between each two neighbours among sorted epochs.
struct Against {
    sorted: Vec<f64>,
    /// Logarithms of e-values against a median below all epochs, between the first two, and so on.
    evidence: Vec<f64>,
}

impl Against {
    fn gaps(values: &[f64], start: &Start) -> Self {
        let n = values.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let sorted = order.iter().map(|index| values[*index]).collect();
        let worth = worth(serial_correlation(values), n, start);
        let few: Vec<f64> = e_values(n as u32).take(n / 2 + 1).collect();
        let of_gap = |gap: usize| start.ln_always() + worth * few[gap.min(n - gap)];
        let mut evidence: Vec<f64> = (0..=n).map(of_gap).collect();
        let mut passed = vec![false; n + 1];
        for look in start.looks.iter().filter(|look| look.epochs as usize <= n) {
            let first = look.epochs as usize;
            let worth = worth_at_a_look(&values[..first]);
            let Some(most) = most_on_one_side(look.epochs, look.level.powf(1.0 / worth)) else { continue };
            let mut below = 0;
            for (gap, passed) in passed.iter_mut().enumerate() {
                if gap > 0 && order[gap - 1] < first {
                    below += 1;
                }
                *passed |= below.min(look.epochs - below) <= most;
            }
        }
        let gain = start.ln_passed();
        for (log, _) in evidence.iter_mut().zip(passed).filter(|(_, passed)| *passed) {
            *log = log.max(gain) + (log.min(gain) - log.max(gain)).exp().ln_1p();
        }
        Self { sorted, evidence }
    }

    /// From the first to the last median that is kept; `None` if that has no end on a side, or none is kept.
    fn hull(&self, kept: impl Fn(&f64) -> bool) -> Option<(f64, f64)> {
        let first = self.evidence.iter().position(&kept)?;
        let last = self.evidence.iter().rposition(&kept)?;
        let median = median(&self.sorted)?;
        // An early look may exclude what all epochs together are most like.
        let ends = || (self.sorted[first - 1].min(median), self.sorted[last].max(median));
        (first > 0 && last < self.sorted.len()).then(ends)
    }
}

/// The share of independent epochs that these are worth at a planned look: all of them, unless a correlation shows.
fn worth_at_a_look(values: &[f64]) -> f64 {
    let shows = serial_correlation(values) > 1.0 / (values.len() as f64).sqrt();
    if shows { worth_at_once(values).unwrap_or(0.0) } else { 1.0 }
}

/// The share of independent epochs that these are worth for a single look; `None` for too few epochs.
///
/// Looking after every epoch takes more caution ([`epoch_interval`]); this only corrects the bias of (1 + 4ρ)/n.
pub(crate) fn worth_at_once(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let measured = serial_correlation(values).max(0.0);
    let feared = (measured + 4.0 * measured / n as f64).min(1.0);
    (n >= FEWEST).then_some((1.0 - feared) / (1.0 + feared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::sign_interval;
    use crate::looks::Looks;
    use crate::random::Random;

    fn autoregressive(phi: f64, n: usize, random: &mut Random) -> Vec<f64> {
        let mut state = random.normal();
        let step = |_| {
            state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
            state
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn correlation_is_measured_without_bias() {
        let mut random = Random::new(2);
        for phi in [0.0, 0.6] {
            let mean =
                (0..2_000).map(|_| serial_correlation(&autoregressive(phi, 40, &mut random))).sum::<f64>()
                    / 2e3;
            // Estimates of a positive correlation are still a little low: (1 + 4φ)/n is Kendall's bias.
            assert!((mean - (phi - 4.0 * phi / 40.0)).abs() < 0.02, "{phi}: {mean}");
        }
        assert_eq!(serial_correlation(&[3.0, 3.0, 3.0]), 0.0);
        assert_eq!(serial_correlation(&[1.5f64.ln(); 20]), 0.0, "not for rounding either");
        assert!(serial_correlation(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) < -0.5);
    }

    #[test]
    fn what_changes_during_the_run_is_noticed() {
        let alternating: Vec<f64> =
            (0..30).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 } + f64::from(i % 7) / 100.0).collect();
        assert!(!epoch_interval(&alternating, 0.05).unwrap().wanders);
        let mut random = Random::new(9);
        let wandering = autoregressive(0.9, 100, &mut random);
        let found = epoch_interval(&wandering, 0.05).unwrap();
        assert!(found.wanders && found.worth < 0.2, "{found:?}");
    }

    #[test]
    fn many_independent_epochs_are_worth_nearly_as_many() {
        let mut random = Random::new(5);
        let values: Vec<f64> = (0..2_000).map(|_| random.normal()).collect();
        let found = epoch_interval(&values, 0.05).unwrap();
        assert!(found.worth > 0.9, "{found:?}");
        let (lo, hi) = found.interval.bounds.unwrap();
        let (exact_lo, exact_hi) = sign_interval(&values, 0.05).unwrap().bounds.unwrap();
        assert!(lo <= exact_lo && hi >= exact_hi, "it is never narrower than the e-sign interval");
        assert!(hi - lo < 1.2 * (exact_hi - exact_lo));
    }

    #[test]
    fn known_numbers_of_epochs() {
        assert_eq!([0.05, 0.01, 0.05 / 31.0].map(epochs_to_expect), [8, 11, 14]);
        assert_eq!([0.05, 0.01, 0.05 / 31.0].map(planned_epochs_to_expect), [9, 12, 14]);
    }

    #[test]
    fn most_independent_series_have_an_interval_soon_after() {
        let mut random = Random::new(4);
        for (alpha, epochs) in [(0.05, 15), (0.0016, 25)] {
            let done = (0..1_000).filter(|_| {
                let values = autoregressive(0.0, epochs, &mut random);
                epoch_interval(&values, alpha).unwrap().interval.bounds.is_some()
            });
            let done = done.count();
            assert!(done >= 850, "{done} of 1 000 at {alpha}");
        }
    }

    #[test]
    fn nested_intervals_are_those_of_their_levels() {
        let mut random = Random::new(11);
        let looks = Looks::around(20, 0.025);
        for (phi, n, start) in [
            (0.0, 1, &Start::ALWAYS),
            (0.0, 9, &Start::ALWAYS),
            (0.0, 40, &Start::ALWAYS),
            (0.6, 40, &Start::ALWAYS),
            (0.0, 27, looks.of_all()),
            (0.3, 40, looks.of_all()),
        ] {
            let values = autoregressive(phi, n, &mut random);
            let nested = nested_intervals(&values, start);
            assert!(nested.is_sorted_by(|(strict, wide), (level, narrow)| {
                strict < level && wide.0 <= narrow.0 && narrow.1 <= wide.1
            }));
            for (level, bounds) in nested.iter().filter(|(level, _)| *level < 0.99) {
                let at = |level: f64| planned_interval(&values, level, start).unwrap().interval.bounds;
                assert_eq!(at(level * 1.001), Some(*bounds), "{phi} {n} {level}");
                assert_ne!(at(level * 0.999), Some(*bounds), "{phi} {n} {level}");
            }
        }
        assert!(nested_intervals(&[], &Start::ALWAYS).is_empty());
    }

    #[test]
    fn a_look_narrows_once_its_epochs_are_there_and_what_it_saw_stays() {
        let mut random = Random::new(6);
        let values = autoregressive(0.0, 60, &mut random);
        let looks = Looks::once(31, 0.037);
        let width = |n: usize, start: &Start| {
            let (lo, hi) = planned_interval(&values[..n], 0.037, start).unwrap().interval.bounds.unwrap();
            hi - lo
        };
        assert!(width(30, looks.of_all()) >= width(30, &Start::ALWAYS), "half is kept for the look");
        assert!(width(31, looks.of_all()) < 0.9 * width(31, &Start::ALWAYS));
        assert!(width(40, looks.of_all()) <= width(31, looks.of_all()));
    }

    /// The ratio doubles after the eighth epoch: all epochs resemble their neighbours, and those since do not.
    #[test]
    fn a_regime_is_told_from_its_start_on_and_may_be_chosen_after_looking() {
        let looks = Looks::around(24, 0.025);
        let later = looks.starts().find(|start| start.after == 8).unwrap();
        let mut random = Random::new(3);
        let mut told = 0;
        for _ in 0..200 {
            let values: Vec<f64> =
                (0..36).map(|epoch| 0.1 * random.normal() + if epoch < 8 { 0.0 } else { 0.7 }).collect();
            let whole = planned_interval(&values, 0.037, looks.of_all()).unwrap();
            assert!(whole.wanders && whole.worth < 0.3, "{whole:?}");
            let since = planned_interval(&values[8..], 0.037, later).unwrap();
            told += u32::from(since.interval.bounds.is_some_and(|(lo, hi)| lo > 0.5 && hi < 0.9));
        }
        assert!(told > 180, "{told}");
        // Without a change, whichever start looks best misses as seldom as is promised.
        let missed = (0..2_000).filter(|_| {
            let values = autoregressive(0.0, 36, &mut random);
            looks.starts().any(|start| {
                let found = planned_interval(&values[start.after as usize..], 0.05, start).unwrap();
                found.interval.bounds.is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0)
            })
        });
        let missed = missed.count();
        assert!(missed < 100, "{missed}");
    }

    /// What a look saw first is not what was seen later: no median fits both.
    #[test]
    fn a_median_that_changes_sides_has_no_interval() {
        let values: Vec<f64> =
            (0..60).map(|epoch| if epoch < 24 { 1.0 } else { -1.0 } + f64::from(epoch % 5) / 50.0).collect();
        let found = planned_interval(&values, 0.05, Looks::around(24, 0.05).of_all()).unwrap();
        assert!(
            found.wanders && found.interval.bounds.is_none_or(|(lo, hi)| lo < 0.0 && hi > 0.0),
            "{found:?}"
        );
    }

    #[test]
    fn what_cannot_be_told_is_unbounded() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        let found = epoch_interval(&rising, 0.05).unwrap();
        assert_eq!((found.interval.bounds, found.interval.median), (None, 9.5));
        assert_eq!(found.range, None);
        let longer: Vec<f64> = (0..30).map(f64::from).collect();
        assert_eq!(epoch_interval(&longer, 0.05).unwrap().range, Some((0.0, 29.0)));
        assert_eq!(epoch_interval(&[], 0.05), None);
        assert_eq!(epoch_interval(&[1.0], 0.05).unwrap().interval.bounds, None);
    }
}
