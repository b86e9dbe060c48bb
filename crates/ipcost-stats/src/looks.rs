//! Looks that are fixed before a run begins, and moments from which a regime may count.
//!
//! An interval that is valid at every moment pays for moments at which nothing is decided. So half of the evidence against a median is
//! kept for a few looks at counts of epochs that are planned before the first one is measured. Against each median there is one e-value,
//!
//! ```text
//! E = ½ · E_t^λ + ½ · [pⱼ^λⱼ ≤ aⱼ at one of the looks so far] / a
//! ```
//!
//! with E_t of all epochs so far ([`crate::sign_e_value`]), and pⱼ the sign test's p-value of the first nⱼ epochs, once there are as many. The nominal
//! levels aⱼ are such that a fair coin passes any of the looks with a probability of a at most. So E has an expectation of 1 at most whenever the
//! run stops and for whatever reason: neither the budget nor who left chooses a look, and what e-values allow (families, selection)
//! stays allowed. λ is the discount for epochs that resemble their neighbours.
//!
//! A regime: a machine that changes once makes all epochs resemble their neighbours. A small share of the evidence is kept for each of a
//! few moments, fixed beforehand too, from which on epochs may be counted alone. An interval since any of them stands at its share of the
//! level, so that it may be chosen after looking.
//!
//! Sources: Armitage, McPherson and Rowe, "Repeated significance tests on accumulating data", J. R. Stat. Soc. A 132 (1969); Vovk and Wang,
//! "E-values: calibration, combination and applications", Annals of Statistics 49 (2021).

use serde::{Deserialize, Serialize};

/// The share of the evidence that holds at every moment, where looks are planned.
const AT_EVERY_MOMENT: f64 = 0.5;
/// Looks, as multiples of the epochs that are expected, with the ratios of their levels: cells that leave give their time to the others.
const MULTIPLES: [(f64, f64); 5] = [(1.0, 0.5), (1.2, 1.0), (1.4, 1.0), (1.6, 1.0), (2.0, 0.5)];
/// Epochs after which a regime may begin.
const STARTS: [u32; 4] = [4, 8, 16, 32];
/// The share of the evidence that is kept for each of them.
const SHARE_OF_START: f64 = 0.05;
/// The least that is left for all epochs.
const LEAST_OF_ALL: f64 = 1.0 - SHARE_OF_START * STARTS.len() as f64;
/// Where looks have half of the evidence, what neighbours that resemble each other feign is worth half as well.
const CAUTION: f64 = 0.5;
/// The least share of a level that has a look which is surely reached.
pub(crate) const LEAST_AT_A_LOOK: f64 =
    (1.0 - AT_EVERY_MOMENT) * LEAST_OF_ALL * MULTIPLES[0].1 / MULTIPLES[1].1;
/// A start is this share of all epochs at most.
const LATEST_START: f64 = 0.4;
/// Counts further from the middle than so many standard deviations have a probability below 10⁻¹⁴.
const FAR: f64 = 8.0;

/// What a sum of rounded shares may exceed 1 by.
const ROUNDING: f64 = 1e-9;

/// A look at the first epochs of a contrast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Look {
    /// After so many epochs, of which the contrast has all.
    pub epochs: u32,
    /// The p-value that passes (aⱼ).
    pub level: f64,
}

/// The evidence of epochs from one moment on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Start {
    /// After so many epochs of the run.
    pub after: u32,
    /// Its share of all evidence.
    pub share: f64,
    /// The probability that a fair coin passes a look (a).
    pub size: f64,
    /// The looks.
    pub looks: Vec<Look>,
}

/// The looks at a run's contrasts, fixed before its first epoch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Looks {
    /// The run as a whole, then later moments; empty where all evidence holds at every moment.
    starts: Vec<Start>,
}

impl Start {
    /// All evidence, at every moment.
    pub const ALWAYS: Self = Self { after: 0, share: 1.0, size: 1.0, looks: Vec::new() };

    /// The smallest share that a run as a whole has, at every moment.
    pub(crate) const LEAST: Self = Self { after: 0, share: LEAST_OF_ALL, size: 0.0, looks: Vec::new() };

    fn has_looks(&self) -> bool {
        self.size < 1.0
    }

    /// ln of the weight of what holds at every moment.
    pub(crate) fn ln_always(&self) -> f64 {
        (self.share * if self.has_looks() { AT_EVERY_MOMENT } else { 1.0 }).ln()
    }

    /// How much of the caution for epochs that resemble their neighbours what holds at every moment takes.
    pub(crate) fn caution(&self) -> f64 {
        if self.has_looks() { CAUTION } else { 1.0 }
    }

    /// ln of the e-value of what passes a look.
    pub(crate) fn ln_passed(&self) -> f64 {
        (self.share * (1.0 - AT_EVERY_MOMENT) / self.size).ln()
    }
}

impl Looks {
    /// No look: what is known holds at every moment.
    pub const NONE: Self = Self { starts: Vec::new() };

    /// Whether none is planned.
    pub fn is_none(&self) -> bool {
        self.starts.is_empty()
    }

    /// Whether shares and levels are such, and no more than all evidence is shared.
    pub fn is_sound(&self) -> bool {
        let shares: f64 = self.starts.iter().map(|start| start.share).sum();
        let is_share = |value: f64| value > 0.0 && value <= 1.0;
        let is_start = |start: &Start| {
            let looks = start.looks.iter().map(|look| look.level);
            is_share(start.share)
                && is_share(start.size)
                && looks.into_iter().all(|level| (0.0..=1.0).contains(&level))
        };
        shares <= 1.0 + ROUNDING && self.starts.iter().all(is_start)
    }

    /// For a run of about so many epochs, whose intervals are to stand at `level`.
    ///
    /// # Panics
    /// If `level` is not between 0 and 1.
    pub fn around(epochs: u32, level: f64) -> Self {
        let looks = MULTIPLES.map(|(multiple, ratio)| ((multiple * f64::from(epochs)).round() as u32, ratio));
        Self::at(&looks, level)
    }

    /// One look after exactly so many epochs.
    ///
    /// # Panics
    /// As [`Looks::around`].
    pub fn once(epochs: u32, level: f64) -> Self {
        Self::at(&[(epochs, 1.0)], level)
    }

    fn at(looks: &[(u32, f64)], level: f64) -> Self {
        assert!(level > 0.0 && level < 1.0, "the level is {level}");
        let most = looks.iter().map(|(epochs, _)| *epochs).max().unwrap_or_default();
        let later: Vec<u32> =
            STARTS.into_iter().filter(|start| f64::from(*start) <= LATEST_START * f64::from(most)).collect();
        let of_all = 1.0 - SHARE_OF_START * later.len() as f64;
        let start = |(after, share): (u32, f64)| {
            let size = (1.0 - AT_EVERY_MOMENT) * share * level;
            let left = looks.iter().filter(|(epochs, _)| *epochs > after);
            let left: Vec<(u32, f64)> = left.map(|(epochs, ratio)| (epochs - after, *ratio)).collect();
            Start { after, share, size, looks: nominal(&left, size) }
        };
        let starts = [(0, of_all)].into_iter().chain(later.into_iter().map(|after| (after, SHARE_OF_START)));
        Self { starts: starts.map(start).collect() }
    }

    /// The moments, in epochs of the run, since which contrasts may be judged.
    pub fn starts(&self) -> impl Iterator<Item = &Start> {
        self.starts.iter()
    }

    /// What judges the run as a whole.
    pub fn of_all(&self) -> &Start {
        const ALWAYS: &Start = &Start::ALWAYS;
        self.starts.first().unwrap_or(ALWAYS)
    }
}

/// Levels of looks in these ratios, all of which a fair coin passes with a probability of `size` at most.
fn nominal(looks: &[(u32, f64)], size: f64) -> Vec<Look> {
    let scaled = |factor: f64| -> Vec<Look> {
        looks.iter().map(|(epochs, ratio)| Look { epochs: *epochs, level: factor * ratio }).collect()
    };
    if let [(_, ratio)] = looks {
        return scaled(size / ratio);
    }
    let (mut kept, mut exceeded) =
        (0.0, size / looks.iter().map(|(_, ratio)| *ratio).fold(f64::INFINITY, f64::min).min(1.0));
    for _ in 0..40 {
        let middle = f64::midpoint(kept, exceeded);
        if chance_to_pass(&scaled(middle)) <= size { kept = middle } else { exceeded = middle }
    }
    scaled(kept)
}

/// The probability that a fair coin passes one of the looks, which are in the order of time.
fn chance_to_pass(looks: &[Look]) -> f64 {
    // Of each count of heads so far, the probability of it without having passed.
    let (mut tossed, mut passed) = (0, 0.0);
    let mut chances = vec![1.0];
    for look in looks {
        let more = look.epochs - tossed;
        let (least, of_more) = middle_of_binomial(more);
        let mut next = vec![0.0; look.epochs as usize + 1];
        for (heads, chance) in chances.iter().enumerate().filter(|(_, chance)| **chance > 0.0) {
            next[heads + least..].iter_mut().zip(&of_more).for_each(|(sum, other)| *sum += chance * other);
        }
        if let Some(most) = most_on_one_side(look.epochs, look.level) {
            let most = most as usize;
            let sides = (0..=most).chain(look.epochs as usize - most..=look.epochs as usize);
            passed += sides.map(|heads| std::mem::take(&mut next[heads])).sum::<f64>();
        }
        (tossed, chances) = (look.epochs, next);
    }
    passed
}

/// The probabilities of counts of heads, from the first count on that is not far from the middle.
fn middle_of_binomial(tosses: u32) -> (usize, Vec<f64>) {
    let far = FAR * f64::from(tosses).sqrt() / 2.0 + 1.0;
    let least = (f64::from(tosses) / 2.0 - far).max(0.0) as usize;
    let most = tosses as usize - least;
    let chances = ln_binomial(tosses).skip(least).take(most - least + 1).map(f64::exp).collect();
    (least, chances)
}

/// ln of the probabilities of 0, 1, … heads.
fn ln_binomial(tosses: u32) -> impl Iterator<Item = f64> {
    let none = -f64::from(tosses) * std::f64::consts::LN_2;
    let steps = (0..tosses).map(move |k| (f64::from(tosses - k) / f64::from(k + 1)).ln());
    std::iter::once(0.0).chain(steps).scan(none, |ln, step| {
        *ln += step;
        Some(*ln)
    })
}

/// The largest k for which at most k of n epochs on one side of a median are as unlikely as `level` in the two-sided sign test; `None` if even
/// none is likelier.
pub(crate) fn most_on_one_side(n: u32, level: f64) -> Option<u32> {
    let tails = ln_binomial(n).take(n as usize / 2).scan(0.0, |tail, ln| {
        *tail += 2.0 * ln.exp();
        Some(*tail)
    });
    (0..).zip(tails).take_while(|(_, p)| *p <= level).last().map(|(k, _)| k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn tails_are_those_of_the_sign_test() {
        // 2 · P(at most k of 31 tosses): 0.0107 for 8, 0.0294 for 9.
        assert_eq!(most_on_one_side(31, 0.0106), Some(7));
        assert_eq!(most_on_one_side(31, 0.0108), Some(8));
        assert_eq!(most_on_one_side(5, 0.06), None);
        assert_eq!(most_on_one_side(5, 0.07), Some(0));
        assert_eq!(most_on_one_side(0, 0.5), None);
        for (n, level) in [(31, 0.02), (500, 0.001), (5_000, 0.01)] {
            let k = most_on_one_side(n, level).unwrap() as usize;
            assert!(crate::sign_test(k, n as usize) <= level);
            assert!(crate::sign_test(k + 1, n as usize) > level);
        }
    }

    #[test]
    fn looks_are_passed_by_chance_as_seldom_as_they_may() {
        const SIZE: f64 = 0.05;
        let looks = nominal(&[(24, 0.5), (34, 1.0), (48, 0.5)], SIZE);
        let exact = chance_to_pass(&looks);
        assert!(exact <= SIZE && exact > 0.6 * SIZE, "{exact}");
        assert!(looks[1].level > 0.5 * SIZE, "{looks:?} are worth more than their shares");
        let mut random = Random::new(5);
        const TIMES: u32 = 40_000;
        let passes = |random: &mut Random| {
            let tosses: Vec<u32> = (0..48).map(|_| random.below(2) as u32).collect();
            looks.iter().any(|look| {
                let heads: u32 = tosses[..look.epochs as usize].iter().sum();
                most_on_one_side(look.epochs, look.level)
                    .is_some_and(|most| heads.min(look.epochs - heads) <= most)
            })
        };
        let passed =
            f64::from((0..TIMES).map(|_| u32::from(passes(&mut random))).sum::<u32>()) / f64::from(TIMES);
        assert!((passed - exact).abs() < 0.004, "{passed}, not {exact}");
        // Thousands of epochs take no time.
        let many = nominal(&[(5_000, 1.0), (7_000, 1.0)], SIZE);
        assert!((0.025..0.05).contains(&many[0].level), "{many:?}");
    }

    #[test]
    fn what_passes_a_look_reaches_the_level_and_shares_are_one() {
        for (epochs, starts) in [(5, &[0][..]), (12, &[0, 4]), (31, &[0, 4, 8]), (200, &[0, 4, 8, 16, 32])] {
            let looks = Looks::once(epochs, 0.05);
            assert_eq!(looks.starts().map(|start| start.after).collect::<Vec<_>>(), starts);
            assert!((looks.starts().map(|start| start.share).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(looks.starts().all(|start| (start.ln_passed().exp() - 20.0).abs() < 1e-9));
            assert!(looks.is_sound() && Looks::around(epochs, 0.001).is_sound() && Looks::NONE.is_sound());
        }
        assert_eq!(Looks::NONE.of_all().ln_always(), 0.0);
    }
}
