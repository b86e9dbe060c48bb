//! The tool under test: campaigns whose truth is known, and how often it is found.

use std::time::Duration;

use ipcost_lab::campaign::CampaignState;
use ipcost_lab::planning::{ALPHA, DEFAULT_MARGIN};
use ipcost_model::Metric;
use ipcost_stats::{Looks, Random, Verdict, clopper_pearson, epoch_interval, median, planned_interval};

use crate::selftest::{Detection, Promise, SelftestRate};

/// Epochs in a campaign: some more than the first finite interval takes at the level of a single contrast.
pub const EPOCHS: u32 = 20;
/// The slowdowns that are planted, in per cent.
pub const SLOWDOWNS: [u64; 4] = [1, 2, 5, 10];
/// How many campaigns are made by relabelling.
const RELABELLED: u64 = 4_000;
/// How many epochs each of those has.
const RELABELLED_EPOCHS: usize = 40;
/// How long a user is taken to wait for a slowdown to be found.
const PATIENCE: Duration = Duration::from_secs(60);
/// Each end of a rate's interval holds at 95 %.
const TWO_ENDS: f64 = 0.9;

/// The job of an A/A campaign: one cell under two labels.
pub fn equal_job() -> String {
    format!("{}{}", cell("a", None), cell("b", None))
}

/// The job of a campaign with planted slowdowns: each beside a cell of its own that is not slowed down.
pub fn slowed_job() -> String {
    let pair = |percent: &u64| {
        cell(&format!("base {percent}"), None) + &cell(&format!("slow {percent}"), Some(*percent))
    };
    SLOWDOWNS.iter().map(pair).collect()
}

fn cell(label: &str, extra_work: Option<u64>) -> String {
    let options =
        extra_work.map_or_else(String::new, |percent| format!("options = {{ extra_work = {percent} }}\n"));
    format!("[[cells]]\nlabel = \"{label}\"\npattern = \"rr\"\ntransport = \"unix\"\nsize = 64\n{options}")
}

/// Everything that campaigns have shown so far.
#[derive(Debug, Default)]
pub struct SelftestTally {
    /// Whether each A/A campaign ever raised an alarm.
    alarms: Vec<bool>,
    /// ln ratios of all A/A epochs, one after the other.
    equal: Vec<f64>,
    /// By slowdown: every campaign.
    slowed: [Vec<Slowed>; SLOWDOWNS.len()],
    /// How long an epoch of two cells takes, by campaign.
    pair_epoch_s: Vec<f64>,
}

/// A campaign with a planted slowdown.
#[derive(Debug)]
struct Slowed {
    /// The logarithm of the ratio that was planted; operations are whole, so it differs a little from the per cent.
    truth: f64,
    /// ln ratios of its epochs.
    ratios: Vec<f64>,
}

impl SelftestTally {
    /// Adds an A/A campaign.
    pub fn add_equal(&mut self, outcome: &CampaignState) {
        let ratios = outcome.batches().log_ratios(Metric::Wall, 1, 0);
        self.alarms.push(alarm(&ratios));
        self.equal.extend(ratios);
        self.add_time(outcome);
    }

    /// Adds a campaign with planted slowdowns.
    pub fn add_slowed(&mut self, outcome: &CampaignState) {
        let batches = outcome.batches();
        for (index, (percent, campaigns)) in SLOWDOWNS.iter().zip(&mut self.slowed).enumerate() {
            let (base, slow) = (2 * index, 2 * index + 1);
            let Some(sample) = batches.of(slow).first() else {
                return;
            };
            let truth = (1.0 + (sample.ops * percent / 100) as f64 / sample.ops as f64).ln();
            campaigns.push(Slowed { truth, ratios: batches.log_ratios(Metric::Wall, slow, base) });
        }
        self.add_time(outcome);
    }

    fn add_time(&mut self, outcome: &CampaignState) {
        let epochs = f64::from(outcome.epochs);
        let cells = outcome.plan.cells.len() as f64;
        let measuring = outcome.elapsed.as_secs_f64() - outcome.timing.calibration_s;
        if epochs > 0.0 {
            self.pair_epoch_s.push(measuring / epochs * 2.0 / cells);
        }
    }

    /// A/A campaigns so far, and how many of them raised an alarm.
    pub fn alarms(&self) -> (u64, u64) {
        (self.alarms.iter().filter(|alarm| **alarm).count() as u64, self.alarms.len() as u64)
    }

    /// The rates so far; `seed` is that of the relabelling.
    pub fn rates(&self, seed: u64) -> Vec<SelftestRate> {
        let (alarms, campaigns) = self.alarms();
        let mut rates = vec![
            rate(
                "aa",
                "equal cells reported as different, ever in a campaign",
                alarms,
                campaigns,
                Some(ALPHA),
            ),
            self.relabelled(seed),
        ];
        let (mut missed, mut of) = (0, 0);
        for campaign in self.slowed.iter().flatten() {
            missed += u64::from(ever_misses(&campaign.ratios, campaign.truth));
            of += 1;
        }
        let what = "the interval misses the planted slowdown, ever in a campaign";
        rates.push(rate("coverage", what, missed, of, Some(ALPHA)));
        rates.push(self.repeatability());
        rates
    }

    /// A/A epochs relabelled at random: whole campaigns for the price of arithmetic.
    fn relabelled(&self, seed: u64) -> SelftestRate {
        let what = "the same on recorded epochs with labels swapped at random";
        let count = self.equal.len();
        if count < RELABELLED_EPOCHS {
            return rate("relabelled", what, 0, 0, Some(ALPHA));
        }
        let mut random = Random::new(seed);
        let mut alarms = 0;
        for _ in 0..RELABELLED {
            let start = random.below(count as u64) as usize;
            let epochs = (start..start + RELABELLED_EPOCHS).map(|index| self.equal[index % count]);
            let swapped: Vec<f64> =
                epochs.map(|ratio| if random.below(2) == 0 { ratio } else { -ratio }).collect();
            alarms += u64::from(alarm(&swapped));
        }
        rate("relabelled", what, alarms, RELABELLED, Some(ALPHA))
    }

    /// How often two runs, one after the other, agree on the largest slowdown.
    fn repeatability(&self) -> SelftestRate {
        let campaigns = self.slowed.last().map_or(&[][..], Vec::as_slice);
        let bounds: Vec<(f64, f64)> = campaigns
            .iter()
            .filter_map(|campaign| epoch_interval(&campaign.ratios, ALPHA)?.interval.bounds)
            .collect();
        let pairs = bounds.chunks_exact(2);
        let of = pairs.len() as u64;
        let apart = pairs.filter(|pair| pair[0].1 < pair[1].0 || pair[1].1 < pair[0].0).count() as u64;
        rate("repeatability", "two runs' intervals for the same contrast lie apart", apart, of, None)
    }

    /// How soon slowdowns are found, in campaigns of two cells that begin again whenever one was found.
    pub fn detections(&self) -> Vec<Detection> {
        let pair_epoch_s = median(&self.pair_epoch_s).unwrap_or(0.0);
        let most = if pair_epoch_s > 0.0 { (PATIENCE.as_secs_f64() / pair_epoch_s) as usize } else { 0 };
        SLOWDOWNS
            .iter()
            .zip(&self.slowed)
            .map(|(percent, campaigns)| {
                let ratios: Vec<f64> =
                    campaigns.iter().flat_map(|campaign| &campaign.ratios).copied().collect();
                let (times, unfound) = searches(&ratios, most);
                let whole = epoch_interval(&ratios, ALPHA);
                let bounds = whole.and_then(|found| found.interval.bounds);
                Detection {
                    slowdown: *percent as f64 / 100.0,
                    found: times.len() as u64,
                    of: times.len() as u64 + unfound,
                    within_s: most.min(ratios.len()) as f64 * pair_epoch_s,
                    median_s: median(
                        &times.iter().map(|epochs| *epochs as f64 * pair_epoch_s).collect::<Vec<_>>(),
                    ),
                    ratio: whole.map(|found| found.interval.median.exp()),
                    lo: bounds.map(|bounds| bounds.0.exp()),
                    hi: bounds.map(|bounds| bounds.1.exp()),
                }
            })
            .collect()
    }
}

/// Whether a campaign would ever have said that the two differ.
fn alarm(log_ratios: &[f64]) -> bool {
    prefixes(log_ratios).any(|bounds| {
        let bounds = bounds.map(|(lo, hi)| (lo.exp(), hi.exp()));
        matches!(Verdict::of(bounds, DEFAULT_MARGIN), Verdict::Different | Verdict::Direction)
    })
}

fn ever_misses(log_ratios: &[f64], truth: f64) -> bool {
    prefixes(log_ratios).flatten().any(|(lo, hi)| truth < lo || truth > hi)
}

/// The bounds after every epoch, with the look that a run of so many epochs has at its end.
fn prefixes(log_ratios: &[f64]) -> impl Iterator<Item = Option<(f64, f64)>> + '_ {
    let looks = Looks::once(log_ratios.len() as u32, ALPHA);
    (1..=log_ratios.len())
        .map(move |epochs| planned_interval(&log_ratios[..epochs], ALPHA, looks.of_all())?.interval.bounds)
}

/// Searches that start again whenever one has found that the two differ: after how many epochs each did, and how
/// many went on for `most` without finding it. One that is cut short by the end of the epochs does not count.
fn searches(log_ratios: &[f64], most: usize) -> (Vec<usize>, u64) {
    let (mut found, mut unfound, mut start) = (Vec::new(), 0, 0);
    while start < log_ratios.len() {
        let ahead = &log_ratios[start..(start + most).min(log_ratios.len())];
        match prefixes(ahead).position(|bounds| bounds.is_some_and(|(lo, hi)| lo > 0.0 || hi < 0.0)) {
            Some(last) => {
                found.push(last + 1);
                start += last + 1;
            }
            None if ahead.len() == most => {
                unfound += 1;
                start += most;
            }
            None => break,
        }
    }
    (found, unfound)
}

fn rate(code: &str, what: &str, count: u64, of: u64, at_most: Option<f64>) -> SelftestRate {
    let bounds = (of > 0).then(|| clopper_pearson(count, of, TWO_ENDS));
    let judged = |at_most: f64| match bounds {
        Some((lo, _)) if lo > at_most => Promise::Broken,
        Some((_, hi)) if hi <= at_most => Promise::Kept,
        _ => Promise::Undecided,
    };
    SelftestRate {
        code: code.to_owned(),
        what: what.to_owned(),
        count,
        of,
        lo: bounds.map(|bounds| bounds.0),
        hi: bounds.map(|bounds| bounds.1),
        at_most,
        promise: at_most.map(judged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(shift: f64, noise: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| shift + noise * random.normal()).collect()
    }

    #[test]
    fn alarms_are_raised_by_differences_alone() {
        assert!(alarm(&noisy(0.3, 0.02, 30, 1)));
        let equal = (0..200).filter(|seed| alarm(&noisy(0.0, 0.05, 20, *seed))).count();
        assert!(equal <= 6, "{equal} of 200");
        assert!(!ever_misses(&noisy(0.1, 0.01, 40, 2), 0.1));
        assert!(ever_misses(&noisy(0.1, 0.01, 40, 2), 0.2));
    }

    #[test]
    fn rates_are_kept_broken_or_undecided() {
        let promise = |count, of| rate("", "", count, of, Some(0.05)).promise.unwrap();
        assert_eq!(promise(0, 59), Promise::Kept);
        assert_eq!(promise(0, 50), Promise::Undecided);
        assert_eq!(promise(10, 60), Promise::Broken);
        assert_eq!(promise(0, 0), Promise::Undecided);
        assert_eq!(rate("", "", 1, 2, None).promise, None);
    }

    #[test]
    fn a_tally_counts() {
        let mut tally = SelftestTally::default();
        for seed in 0..150 {
            let ratios = noisy(0.0, 0.05, 20, seed);
            tally.alarms.push(alarm(&ratios));
            tally.equal.extend(ratios);
        }
        for seed in 0..30 {
            for (percent, campaigns) in SLOWDOWNS.iter().zip(&mut tally.slowed) {
                let truth = (1.0 + *percent as f64 / 100.0).ln();
                campaigns.push(Slowed { truth, ratios: noisy(truth, 0.02, 20, 1_000 * percent + seed) });
            }
        }
        tally.pair_epoch_s = vec![0.06; 3];
        let rates = tally.rates(1);
        assert_eq!(
            rates.iter().map(|rate| rate.code.as_str()).collect::<Vec<_>>(),
            ["aa", "relabelled", "coverage", "repeatability"]
        );
        assert!(rates[..3].iter().all(|rate| rate.promise == Some(Promise::Kept)), "{rates:?}");
        let found = tally.detections();
        assert_eq!(found.len(), 4);
        let ten = &found[3];
        assert!(ten.found >= 20 && ten.found == ten.of && ten.median_s.unwrap() < 2.0, "{ten:?}");
        assert!((ten.ratio.unwrap() - 1.1).abs() < 0.01, "{ten:?}");
        assert!((ten.within_s - 36.0).abs() < 0.1, "{ten:?}");
    }

    #[test]
    fn searches_that_find_nothing_are_counted_when_their_time_is_over() {
        assert_eq!(searches(&noisy(0.0, 0.05, 130, 7), 60), (vec![], 2));
        assert_eq!(searches(&[], 60), (vec![], 0));
    }
}
