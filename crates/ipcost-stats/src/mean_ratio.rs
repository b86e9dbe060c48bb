//! The ratio of two mean costs, next to the median of ratios: what slow starts cost, even rare ones.
//!
//! The mean ratio is the r at which a − r·b is zero on average, over the costs a and b of an epoch. Whether it is can be
//! bet on: a share w of the capital on x = a − r·b being above zero, the rest on below,
//!
//! ```text
//! capital = Π (1 + xᵢ (w/L − (1 − w)/U)),   −L ≤ xᵢ ≤ U
//! ```
//!
//! is a martingale if r is the mean ratio. The universal portfolio, which divides the capital over all w, has at least the best w's
//! capital divided by √π Γ(n + 1) / Γ(n + ½), so this is an e-value; the interval keeps each r with E < 1/α. It adapts to the
//! variance, takes skewed and bimodal epochs, and is valid at every look (Orabona and Jun, "Tight concentrations and confidence
//! sequences from the regret of universal portfolio", IEEE Trans. Inf. Theory 70, 2024; the regret is that of Cover and Ordentlich,
//! "Universal portfolios with side information", 1996).
//!
//! No interval for a mean is free of assumptions, since a start that never occurred may cost anything. This one takes L and U from
//! the epochs, a little widened: it assumes that no epoch is further out than those seen. [`MeanRatio::unseen`] is the share of
//! epochs up to which that may be wrong without having shown.

use crate::dependence::{serial_correlation, worth};
use crate::interval::epochs_needed;
use crate::looks::Start;

/// The ratio of two mean costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanRatio {
    /// The sum of a's costs over the sum of b's.
    pub ratio: f64,
    /// The smallest and the largest ratio kept; `None` while there are too few epochs.
    pub bounds: Option<(f64, f64)>,
    /// Epochs that are rarer than this share, and further out than those seen, would not have been seen (with a probability above alpha).
    pub unseen: f64,
}

/// Bisections: the widest hull of costs is halved to 10⁻⁹ of itself.
const HALVINGS: u32 = 30;

/// The share of epochs that n of them may miss altogether with a probability above `alpha`.
pub fn unseen_share(n: usize, alpha: f64) -> f64 {
    1.0 - alpha.powf(1.0 / n.max(1) as f64)
}

/// The ratio of the mean costs of epochs (a, b), which are positive, and its interval at level 1 − `alpha`. Epochs that resemble their
/// neighbours are discounted as for the median.
///
/// `None` without epochs, or where a cost is not positive.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn mean_ratio(epochs: &[(f64, f64)], alpha: f64) -> Option<MeanRatio> {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let is_cost = |cost: f64| cost > 0.0 && cost.is_finite();
    if epochs.is_empty() || !epochs.iter().all(|(a, b)| is_cost(*a) && is_cost(*b)) {
        return None;
    }
    let n = epochs.len();
    let sum = |of: fn(&(f64, f64)) -> f64| epochs.iter().map(of).sum::<f64>();
    let ratio = sum(|epoch| epoch.0) / sum(|epoch| epoch.1);
    let logs: Vec<f64> = epochs.iter().map(|(a, b)| (a / b).ln()).collect();
    let worth = worth(serial_correlation(&logs), n, &Start::ALWAYS);
    let needed = -alpha.ln() / worth + regret(n);
    let enough = worth > 0.0 && n >= epochs_needed(alpha) as usize;
    let bounds = enough.then(|| {
        let ratios = || epochs.iter().map(|(a, b)| a / b);
        let least = ratios().fold(f64::INFINITY, f64::min);
        let most = ratios().fold(f64::NEG_INFINITY, f64::max);
        let mut excess = vec![0.0; n];
        let mut end = |out: f64| {
            let (mut kept, mut out) = (ratio, out);
            for _ in 0..HALVINGS {
                let tried = f64::midpoint(kept, out);
                excess.iter_mut().zip(epochs).for_each(|(x, (a, b))| *x = a - tried * b);
                if is_evident(&excess, needed) { out = tried } else { kept = tried }
            }
            out
        };
        (end(least), end(most))
    });
    Some(MeanRatio { ratio, bounds, unseen: unseen_share(n, alpha) })
}

/// Whether it is evident, at level 1 − `alpha`, that more than a share of all counted things is of a kind: of the kind and counted in each
/// epoch. It assumes, as the interval of a ratio of means does, that no epoch is further out than those seen.
///
/// # Panics
/// If `alpha` is not between 0 and 1.
pub fn exceeds_share(epochs: &[(u64, u64)], share: f64, alpha: f64) -> bool {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha is {alpha}");
    let n = epochs.len();
    let excess: Vec<f64> =
        epochs.iter().map(|(of_kind, all)| *of_kind as f64 - share * *all as f64).collect();
    let worth = worth(serial_correlation(&excess), n, &Start::ALWAYS);
    let is_enough = n >= epochs_needed(alpha) as usize && worth > 0.0;
    is_enough && excess.iter().sum::<f64>() > 0.0 && is_evident(&excess, -alpha.ln() / worth + regret(n))
}

/// ln(√π Γ(n + 1) / Γ(n + ½)): what the universal portfolio gives away at most.
fn regret(n: usize) -> f64 {
    // Γ(k + 1) / Γ(k + ½) = Γ(k) / Γ(k − ½) · k / (k − ½), from Γ(1) / Γ(½) = 1 / √π.
    (1..=n).map(|k| (k as f64 / (k as f64 - 0.5)).ln()).sum()
}

/// Whether the best bet against a mean of zero has a capital of `needed` or more (its logarithm).
fn is_evident(values: &[f64], needed: f64) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // The largest of n is a little short of the largest there is.
    let wider = (most - least) / values.len() as f64;
    let (below, above) = (wider - least, most + wider);
    if below <= 0.0 || above <= 0.0 {
        return true;
    }
    // Stakes at which the capital cannot become negative.
    let (mut low, mut high) = (-1.0 / above, 1.0 / below);
    // The capital's logarithm is concave in the stake: its slope falls.
    let slope = |stake: f64| values.iter().map(|x| x / (1.0 + stake * x)).sum::<f64>();
    for _ in 0..HALVINGS {
        let stake = f64::midpoint(low, high);
        if slope(stake) > 0.0 { low = stake } else { high = stake }
    }
    let stake = f64::midpoint(low, high);
    values.iter().map(|x| (stake * x).ln_1p()).sum::<f64>() >= needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dependence::epoch_interval;
    use crate::random::Random;
    use crate::verdict::Verdict;

    /// Epochs of a against b: b varies by a normal of `sd` in logarithms, a likewise, and in a share of its starts it costs `factor` as
    /// much.
    struct Planted {
        sd: f64,
        share: f64,
        factor: f64,
    }

    impl Planted {
        fn epoch(&self, random: &mut Random) -> (f64, f64) {
            let machine = (0.1 * random.normal()).exp();
            let slow = if random.unit() < self.share { self.factor } else { 1.0 };
            (machine * slow * (self.sd * random.normal()).exp(), machine * (self.sd * random.normal()).exp())
        }

        fn truth(&self) -> f64 {
            1.0 + self.share * (self.factor - 1.0)
        }
    }

    const ALPHA: f64 = 0.05;
    const CAMPAIGNS: u64 = 300;

    /// Of many campaigns: in how many the last interval missed the truth, in how many the median alone says that the two are the
    /// same, and in how many the mean agrees.
    fn simulate(planted: &Planted, epochs: usize) -> [u64; 3] {
        let mut counts = [0; 3];
        for seed in 0..CAMPAIGNS {
            let mut random = Random::new(seed * 7_919 + 1);
            let all: Vec<(f64, f64)> = (0..epochs).map(|_| planted.epoch(&mut random)).collect();
            let mean = mean_ratio(&all, ALPHA).unwrap();
            let misses = mean.bounds.is_some_and(|(lo, hi)| planted.truth() < lo || planted.truth() > hi);
            let logs: Vec<f64> = all.iter().map(|(a, b)| (a / b).ln()).collect();
            let bounds = epoch_interval(&logs, ALPHA).unwrap().interval.bounds;
            let is_same = |bounds| Verdict::of(bounds, 0.05) == Verdict::Equivalent;
            let by_median = is_same(bounds.map(|(lo, hi)| (lo.exp(), hi.exp())));
            let flags = [misses, by_median, by_median && is_same(mean.bounds)];
            counts.iter_mut().zip(flags).for_each(|(count, flag)| *count += u64::from(flag));
        }
        counts
    }

    /// Slow starts that are frequent enough to be seen, by their share and how much slower they are: the mean is outside ± 5 %.
    #[test]
    fn slow_starts_are_in_the_mean_though_the_median_does_not_see_them() {
        let mut blind = 0;
        for epochs in [20, 40, 80] {
            for sd in [0.01, 0.03, 0.1] {
                for (share, factor) in [(0.08, 3.0), (0.15, 2.0), (0.25, 1.5), (0.3, 1.2), (0.5, 1.3)] {
                    if share < unseen_share(epochs, ALPHA) {
                        continue;
                    }
                    let [missed, by_median, same] = simulate(&Planted { sd, share, factor }, epochs);
                    let case = format!("{epochs} epochs, sd {sd}, {share} of them × {factor}");
                    println!(
                        "{case}: missed {missed}, same by the median {by_median}, by the mean {same} of {CAMPAIGNS}"
                    );
                    let most = |count: u64| crate::clopper_pearson(count, CAMPAIGNS, 0.9).0 <= ALPHA;
                    assert!(
                        most(missed) && most(same),
                        "{case}: missed {missed}, same {same} of {CAMPAIGNS}"
                    );
                    blind += by_median;
                }
            }
        }
        assert!(blind > 1_000, "the median alone is fooled: {blind}");
    }

    #[test]
    fn equal_costs_are_known_to_be_the_same() {
        for (sd, epochs) in [(0.01, 20), (0.03, 40)] {
            let [missed, by_median, same] = simulate(&Planted { sd, share: 0.0, factor: 1.0 }, epochs);
            assert!(missed <= CAMPAIGNS / 20 && same >= CAMPAIGNS * 9 / 10, "{missed} {by_median} {same}");
        }
    }

    #[test]
    fn looking_after_every_epoch_costs_no_honesty() {
        let planted = Planted { sd: 0.1, share: 0.5, factor: 1.3 };
        let ever = (0..CAMPAIGNS).filter(|seed| {
            let mut random = Random::new(*seed);
            let mut all = Vec::new();
            (0..60).any(|_| {
                all.push(planted.epoch(&mut random));
                let bounds = mean_ratio(&all, ALPHA).unwrap().bounds;
                bounds.is_some_and(|(lo, hi)| planted.truth() < lo || planted.truth() > hi)
            })
        });
        let ever = ever.count() as u64;
        assert!(crate::clopper_pearson(ever, CAMPAIGNS, 0.9).0 <= ALPHA, "{ever} of {CAMPAIGNS}");
    }

    #[test]
    fn it_is_the_ratio_of_sums_and_swapping_the_cells_inverts_it() {
        let mut random = Random::new(4);
        let planted = Planted { sd: 0.05, share: 0.2, factor: 2.0 };
        let epochs: Vec<(f64, f64)> = (0..30).map(|_| planted.epoch(&mut random)).collect();
        let swapped: Vec<(f64, f64)> = epochs.iter().map(|(a, b)| (*b, *a)).collect();
        let (one, other) = (mean_ratio(&epochs, ALPHA).unwrap(), mean_ratio(&swapped, ALPHA).unwrap());
        let ((lo, hi), (low, high)) = (one.bounds.unwrap(), other.bounds.unwrap());
        assert!((one.ratio * other.ratio - 1.0).abs() < 1e-9);
        assert!((lo * high - 1.0).abs() < 1e-6 && (hi * low - 1.0).abs() < 1e-6, "{lo} {hi} {low} {high}");
        assert!(lo < one.ratio && one.ratio < hi);
    }

    #[test]
    fn few_epochs_say_nothing_and_costs_are_positive() {
        assert_eq!(mean_ratio(&[], ALPHA), None);
        assert_eq!(mean_ratio(&[(0.0, 1.0)], ALPHA), None);
        assert_eq!(mean_ratio(&[(1.0, f64::INFINITY)], ALPHA), None);
        assert_eq!(mean_ratio(&[(3.0, 2.0), (3.0, 2.0)], ALPHA).unwrap().bounds, None);
        let (lo, hi) = mean_ratio(&[(3.0, 2.0); 20], ALPHA).unwrap().bounds.unwrap();
        assert!((lo - 1.5).abs() < 1e-6 && (hi - 1.5).abs() < 1e-6);
        assert!(
            (unseen_share(26, ALPHA) - 0.109).abs() < 0.001,
            "slow starts rarer than 1 in 9 are not seen in 26"
        );
        // Where 38 of them are promised together: a fifth of the starts of one may be slow.
        assert!((unseen_share(31, ALPHA / 38.0) - 0.193).abs() < 0.001);
    }
}
