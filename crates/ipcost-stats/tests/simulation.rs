//! The guarantee, tested: under any disturbance of the machine, the share of campaigns whose interval ever misses the
//! truth stays under alpha, even with a look after every epoch.
//!
//! Hundreds of campaigns for each kind of noise, and thousands every night: this crate is optimised for its tests, too (`Cargo.toml` of
//! the workspace).

use ipcost_stats::simulation::{CampaignOutcome, Design, Noise, Rival, campaign, contrast_of_epochs};
use ipcost_stats::{Looks, Random, Verdict, answered_together, clopper_pearson, planned_interval};

/// The same seeds each time, so that what these find is the same until the statistics change.
fn campaigns() -> u64 {
    if ipcost_testing::is_nightly() { 5_000 } else { 500 }
}

const ALPHA: f64 = 0.05;

/// With all looks of a run within its epochs.
fn design(epochs: usize, rounds: usize, alpha: f64) -> Design {
    Design { epochs, rounds, alpha, looks: Looks::around(epochs as u32 / 2, alpha) }
}

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
    let design = design(120, 1, ALPHA);
    for (noise, name) in Noise::ALL {
        assert_under_alpha(name, misses(noise, 0.0, &design, 1), campaigns());
    }
}

#[test]
fn nor_with_a_true_difference_and_several_rounds() {
    let design = design(60, 3, ALPHA);
    for (noise, name) in Noise::ALL {
        assert_under_alpha(name, misses(noise, 0.1, &design, 100_001), campaigns());
    }
}

#[test]
fn a_ratio_that_wanders_is_seldom_missed_once_there_are_many_epochs() {
    let design = design(120, 1, ALPHA);
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
    let design = design(120, 1, ALPHA);
    let (noise, name) = Noise::SLIGHT;
    assert_under_alpha(name, in_four(|first| misses(noise, 0.0, &design, first)), 4 * campaigns());
}

/// Many contrasts share the level; each then lies far out in the tails, where the discount for dependence may be too small.
#[test]
fn at_a_shared_level_a_ratio_that_wanders_seldom_breaks_the_promise() {
    const CONTRASTS: i32 = 31;
    let design = design(120, 1, ALPHA / f64::from(CONTRASTS));
    let missed = count(Noise::Contrast06, 0.0, &design, 1, |found| found.missed_later);
    let all = campaigns();
    let each = missed as f64 / all as f64;
    let any = 1.0 - (1.0 - each).powi(CONTRASTS);
    println!(
        "contrast AR(1) 0.6 at 0.05/31: {missed} of {all}, some of {CONTRASTS} in {:.0} % of runs",
        any * 100.0
    );
    assert!(any < 0.15, "{any}");
}

#[test]
fn a_ratio_that_wanders_slowly_is_told_of() {
    let design = design(60, 1, ALPHA);
    let warned = count(Noise::Contrast09, 0.0, &design, 1, |found| found.warned);
    assert!(clopper_pearson(warned, campaigns(), 0.9).0 > 0.95, "{warned}");
}

#[test]
fn what_is_promised_is_used() {
    let design = design(120, 1, ALPHA);
    let missed = misses(Noise::Independent, 0.0, &design, 1);
    assert!(clopper_pearson(missed, campaigns(), 0.9).1 > 0.01, "too cautious: {missed}");
}

#[test]
fn what_cannot_be_promised_is_known() {
    let design = design(120, 1, ALPHA);
    for (noise, name) in Noise::BEYOND {
        let missed = misses(noise, 0.0, &design, 1);
        assert!(clopper_pearson(missed, campaigns(), 0.95).0 > ALPHA, "{name}: promise it, then: {missed}");
    }
}

#[test]
fn a_difference_is_found_where_there_is_one() {
    let design = design(120, 1, ALPHA);
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

/// Of campaigns of 31 epochs of two cells that are 20 % apart, whose ratio varies by 0.2 from epoch to epoch: the share that says so.
fn told_apart(looks: &Looks) -> f64 {
    let told = (0..campaigns()).filter(|seed| {
        let mut random = Random::new(*seed);
        let logs: Vec<f64> = (0..31).map(|_| 1.2f64.ln() + 0.2 * random.normal()).collect();
        let bounds = planned_interval(&logs, 0.037, looks.of_all()).unwrap().interval.bounds;
        Verdict::of(bounds.map(|(lo, hi)| (lo.exp(), hi.exp())), 0.05) == Verdict::Different
    });
    told.count() as f64 / campaigns() as f64
}

#[test]
fn looks_tell_apart_what_evidence_at_every_moment_does_not() {
    let [never, once, around] =
        [Looks::NONE, Looks::once(31, 0.037), Looks::around(22, 0.025)].map(|looks| told_apart(&looks));
    println!(
        "20 % apart, sd 0.2, 31 epochs: without a look {never:.2}, with one {once:.2}, with five {around:.2}"
    );
    assert!(never < 0.35 && once > 0.5 && around > 0.38);
}

/// Contrasts of one run, which share a level as in an explored grid: the mean share of wrong ones among those with a verdict, and of those that are
/// planted how many were told. A contrast with an answer leaves.
fn family(members: &[(Noise, f64)], runs: u64) -> (f64, f64) {
    const EPOCHS: usize = 45;
    let looks = Looks::around(30, ALPHA / 2.0);
    let (mut wrong_shares, mut told) = (0.0, 0);
    for run in 0..runs {
        let all: Vec<Vec<f64>> = (0..)
            .zip(members)
            .map(|(place, (noise, log_ratio))| {
                contrast_of_epochs(*noise, *log_ratio, EPOCHS, run * 1_000 + place)
            })
            .collect();
        let mut epochs = vec![0; members.len()];
        let mut verdicts = vec![(Verdict::Undecided, false); members.len()];
        for epoch in 1..=EPOCHS {
            let stays = |(verdict, _): &(Verdict, bool)| !verdict.is_answer();
            epochs
                .iter_mut()
                .zip(&verdicts)
                .filter(|(_, it)| stays(it))
                .for_each(|(count, _)| *count = epoch);
            let judged = |level: f64| -> Vec<(Verdict, bool)> {
                let of = |((logs, epochs), (_, truth)): ((&Vec<f64>, &usize), &(Noise, f64))| {
                    let found = planned_interval(&logs[..*epochs], level, looks.of_all()).unwrap();
                    let bounds = found.interval.bounds.map(|(lo, hi)| (lo.exp(), hi.exp()));
                    let misses = bounds.is_some_and(|(lo, hi)| truth.exp() < lo || truth.exp() > hi);
                    (Verdict::of(bounds, 0.05), misses)
                };
                all.iter().zip(&epochs).zip(members).map(of).collect()
            };
            let share = |many: usize| ALPHA * many.max(1) as f64 / members.len() as f64;
            let has_verdict = |found: &&(Verdict, bool)| found.0 != Verdict::Undecided;
            let many = answered_together(members.len(), |many| {
                judged(share(many)).iter().filter(has_verdict).count()
            });
            verdicts = judged(share(many));
        }
        let with_verdict = verdicts.iter().filter(|found| found.0 != Verdict::Undecided);
        let (count, wrong) =
            with_verdict.fold((0, 0), |(count, wrong), found| (count + 1, wrong + u32::from(found.1)));
        wrong_shares += f64::from(wrong) / f64::from(count.max(1));
        told += verdicts.iter().zip(members).filter(|(found, it)| found.0.is_answer() && it.1 != 0.0).count();
    }
    let planted = members.iter().filter(|(_, truth)| *truth != 0.0).count() as u64 * runs;
    (wrong_shares / runs as f64, told as f64 / planted.max(1) as f64)
}

#[test]
fn of_the_verdicts_of_a_family_few_are_wrong() {
    for size in [1, 10, 66] {
        let runs = campaigns() / 4 / size as u64 + 5;
        for noise in [Noise::Independent, Noise::Contrast03, Noise::Bimodal] {
            for planted in [0, size / 2] {
                let members: Vec<(Noise, f64)> =
                    (0..size).map(|place| (noise, if place < planted { 0.2 } else { 0.0 })).collect();
                let (wrong, told) = family(&members, runs);
                println!(
                    "{size} contrasts, {planted} planted, {noise:?}: {:.1} % of the verdicts wrong, {:.0} % of the planted told in {runs} runs",
                    wrong * 100.0,
                    told * 100.0
                );
                // The mean of shares of which most are 0.
                assert!(
                    wrong < ALPHA + 1.5 * (ALPHA / runs as f64).sqrt(),
                    "{size}, {planted}, {noise:?}: {wrong}"
                );
            }
        }
    }
}
