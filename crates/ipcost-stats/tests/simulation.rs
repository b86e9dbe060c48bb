//! The guarantee, tested: under any disturbance of the machine, the share of campaigns whose interval ever misses the
//! truth stays under alpha, even with a look after every epoch.
//!
//! Hundreds of campaigns for each kind of noise, and thousands every night: this crate is optimised for its tests, too (`Cargo.toml` of
//! the workspace).

use ipcost_stats::clopper_pearson;
use ipcost_stats::simulation::{CampaignOutcome, Design, Noise, Rival, campaign};

/// The same seeds each time, so that what these find is the same until the statistics change.
fn campaigns() -> u64 {
    if ipcost_testing::is_nightly() { 5_000 } else { 500 }
}

const ALPHA: f64 = 0.05;

fn count(
    noise: Noise,
    log_ratio: f64,
    design: &Design,
    first_seed: u64,
    is: impl Fn(&CampaignOutcome) -> bool,
) -> u64 {
    let seeds = first_seed..first_seed + campaigns();
    seeds.filter(|seed| is(&campaign(noise, log_ratio, design, *seed))).count() as u64
}

fn misses(noise: Noise, log_ratio: f64, design: &Design, first_seed: u64) -> u64 {
    count(noise, log_ratio, design, first_seed, |found| found.ever_missed)
}

#[track_caller]
fn assert_under_alpha(name: &str, missed: u64, all: u64) {
    // Either bound is one-sided at 95 %.
    let (lo, hi) = clopper_pearson(missed, all, 0.9);
    println!(
        "{name:<20} {missed:>4} of {all}: {:.2} % ({:.2}–{:.2} %)",
        100.0 * missed as f64 / all as f64,
        lo * 100.0,
        hi * 100.0
    );
    assert!(hi < ALPHA, "{name}: {missed} of {all}");
}

#[test]
fn the_truth_is_seldom_ever_missed_whatever_the_noise() {
    let design = Design { epochs: 120, rounds: 1, alpha: ALPHA };
    for (noise, name) in Noise::ALL {
        assert_under_alpha(name, misses(noise, 0.0, &design, 1), campaigns());
    }
}

#[test]
fn nor_with_a_true_difference_and_several_rounds() {
    let design = Design { epochs: 60, rounds: 3, alpha: ALPHA };
    for (noise, name) in Noise::ALL {
        assert_under_alpha(name, misses(noise, 0.1, &design, 100_001), campaigns());
    }
}

#[test]
fn a_ratio_that_wanders_is_seldom_missed_once_there_are_many_epochs() {
    let design = Design { epochs: 120, rounds: 1, alpha: ALPHA };
    for (noise, name) in Noise::LATER {
        assert_under_alpha(
            name,
            in_four(|first| count(noise, 0.0, &design, first, |found| found.missed_later)),
            4 * campaigns(),
        );
    }
}

/// Four times as many campaigns, where what is promised is nearly used up.
fn in_four(count_from: impl Fn(u64) -> u64) -> u64 {
    (0..4).map(|block| count_from(1 + block * campaigns())).sum()
}

/// Neighbouring epochs that resemble each other a little, too little to show.
#[test]
fn a_ratio_that_wanders_a_little_is_seldom_missed_at_any_time() {
    let design = Design { epochs: 120, rounds: 1, alpha: ALPHA };
    let (noise, name) = Noise::SLIGHT;
    assert_under_alpha(name, in_four(|first| misses(noise, 0.0, &design, first)), 4 * campaigns());
}

/// Many contrasts share the level; each then lies far out in the tails, where the discount for dependence is too small.
#[test]
fn at_a_shared_level_a_ratio_that_wanders_breaks_the_promise() {
    const CONTRASTS: i32 = 31;
    let design = Design { epochs: 120, rounds: 1, alpha: ALPHA / f64::from(CONTRASTS) };
    let missed = count(Noise::Contrast06, 0.0, &design, 1, |found| found.missed_later);
    let all = campaigns();
    let each = missed as f64 / all as f64;
    let any = 1.0 - (1.0 - each).powi(CONTRASTS);
    println!(
        "contrast AR(1) 0.6 at 0.05/{CONTRASTS}: {missed} of {all}, some of {CONTRASTS} in {:.0} % of runs",
        any * 100.0
    );
    // docs/trust.md says that it is about one run in ten.
    assert!((0.05..0.25).contains(&any), "{any}");
}

#[test]
fn a_ratio_that_wanders_slowly_is_told_of() {
    let design = Design { epochs: 60, rounds: 1, alpha: ALPHA };
    let warned = count(Noise::Contrast09, 0.0, &design, 1, |found| found.warned);
    assert!(clopper_pearson(warned, campaigns(), 0.9).0 > 0.95, "{warned}");
}

#[test]
fn what_is_promised_is_used() {
    let design = Design { epochs: 120, rounds: 1, alpha: ALPHA };
    let missed = misses(Noise::Independent, 0.0, &design, 1);
    assert!(clopper_pearson(missed, campaigns(), 0.9).1 > 0.01, "too cautious: {missed}");
}

#[test]
fn what_cannot_be_promised_is_known() {
    let design = Design { epochs: 120, rounds: 1, alpha: ALPHA };
    for (noise, name) in Noise::BEYOND {
        let missed = misses(noise, 0.0, &design, 1);
        assert!(clopper_pearson(missed, campaigns(), 0.95).0 > ALPHA, "{name}: promise it, then: {missed}");
    }
}

#[test]
fn a_difference_is_found_where_there_is_one() {
    let design = Design { epochs: 120, rounds: 1, alpha: ALPHA };
    let found =
        (0..200).filter(|seed| campaign(Noise::Independent, 0.05, &design, *seed).told_apart_after.is_some());
    assert!(found.count() >= 180);
}

#[test]
fn others_are_fooled_more_often_than_they_promise() {
    let fooled = |rival: Rival, noise: Noise| {
        let count = (1..=campaigns()).filter(|seed| rival.is_fooled(noise, *seed)).count() as u64;
        clopper_pearson(count, campaigns(), 0.95).0
    };
    // Rounds of one process are not independent; repeated looks find something in the end; machines drift.
    assert!(fooled(Rival::PooledRounds, Noise::BetweenEpochs) > 0.3);
    assert!(fooled(Rival::Peeking, Noise::Independent) > 0.15);
    assert!(fooled(Rival::TenSequentialRuns, Noise::Drift) > 0.15);
    assert!(fooled(Rival::MeanAndError, Noise::Drift) > 0.9);
}
