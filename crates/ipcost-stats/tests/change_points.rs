//! How often histories of runs are told a change that they do not have, and how often one that they have is found.
//!
//! `cargo test --package ipcost-stats --test change_points -- --ignored --nocapture` prints the table of the documentation.

use ipcost_stats::{Random, change_points, clopper_pearson, step};

const ALPHA: f64 = 0.01;
/// Ten per cent more.
const STEP: f64 = 1.1;

/// Noise from run to run; logarithms with a standard deviation of about 3 %.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Noise {
    Normal,
    /// Student's t with two degrees of freedom, scaled by 2 %: no variance exists.
    HeavyTails,
    /// Each run resembles the one before it.
    Wandering(f64),
    /// A slow drift of 2 % under independent noise of 3 %.
    Hidden,
}

impl Noise {
    fn history(self, runs: usize, random: &mut Random) -> Vec<f64> {
        let mut state = random.normal();
        let mut wander = |coefficient: f64, random: &mut Random| {
            state = coefficient * state + (1.0 - coefficient * coefficient).sqrt() * random.normal();
            state
        };
        let value = |_| match self {
            Self::Normal => 0.03 * random.normal(),
            Self::HeavyTails => 0.02 * student_with_two_degrees(random),
            Self::Wandering(coefficient) => 0.03 * wander(coefficient, random),
            Self::Hidden => 0.02 * wander(0.9, random) + 0.03 * random.normal(),
        };
        (0..runs).map(value).collect()
    }
}

/// From the inverse of its distribution function.
fn student_with_two_degrees(random: &mut Random) -> f64 {
    let u = random.unit().max(1e-12);
    (2.0 * u - 1.0) / (2.0 * u * (1.0 - u)).sqrt()
}

fn flat(noise: Noise, runs: usize, seed: u64) -> Vec<f64> {
    noise.history(runs, &mut Random::new(seed))
}

/// With steps of 10 % up or down from these runs on.
fn stepped(noise: Noise, runs: usize, steps: &[(usize, f64)], seed: u64) -> Vec<f64> {
    let level =
        |run: usize| -> f64 { steps.iter().filter(|(at, _)| run >= *at).map(|(_, up)| up * STEP.ln()).sum() };
    flat(noise, runs, seed).into_iter().enumerate().map(|(run, value)| value + level(run)).collect()
}

fn count(histories: u64, is: impl Fn(u64) -> bool) -> u64 {
    (1..=histories).filter(|seed| is(*seed)).count() as u64
}

fn alarms(noise: Noise, runs: usize, histories: u64) -> u64 {
    count(histories, |seed| !change_points(&flat(noise, runs, seed), ALPHA, seed).points.is_empty())
}

/// Histories of which exactly these steps were found, each at most one run off.
fn found(noise: Noise, runs: usize, steps: &[(usize, f64)], histories: u64) -> u64 {
    count(histories, |seed| {
        let points = change_points(&stepped(noise, runs, steps, seed), ALPHA, seed).points;
        let close = points.iter().zip(steps).all(|(point, (at, _))| point.at.abs_diff(*at) <= 1);
        points.len() == steps.len() && close
    })
}

/// Of the histories in which the step was found, how many intervals have the truth.
fn covered(noise: Noise, runs: usize, at: usize, histories: u64) -> (u64, u64) {
    let mut counts = (0, 0);
    for seed in 1..=histories {
        let values = stepped(noise, runs, &[(at, 1.0)], seed);
        let changes = change_points(&values, ALPHA, seed);
        let [point] = changes.points[..] else { continue };
        let (before, after) = values.split_at(point.at);
        let found = step(before, after, changes.correlation, 0.05).expect("levels are long enough");
        counts.0 += u64::from((found.lo..=found.hi).contains(&STEP.ln()));
        counts.1 += 1;
    }
    counts
}

#[test]
fn a_flat_history_seldom_has_a_change() {
    for noise in [Noise::Normal, Noise::HeavyTails] {
        for runs in [10, 30] {
            let alarms = alarms(noise, runs, 100);
            assert!(alarms <= 5, "{noise:?}: {alarms} of 100 histories of {runs} runs");
        }
    }
    // A machine that wanders looks like one that changed; the words of a trend say "in up to 20 %".
    let hidden = alarms(Noise::Hidden, 60, 100);
    assert!(hidden <= 29, "hidden: {hidden} of 100");
    for (coefficient, most) in [(0.3, 10), (0.6, 15), (0.9, 25)] {
        let alarms = alarms(Noise::Wandering(coefficient), 30, 100);
        assert!(alarms <= most, "{coefficient}: {alarms} of 100");
    }
}

#[test]
fn a_planted_step_is_found_where_it_is() {
    let once = found(Noise::Normal, 30, &[(17, 1.0)], 100);
    assert!(once >= 90, "{once} of 100");
    let there_and_back = found(Noise::Normal, 45, &[(15, 1.0), (30, -1.0)], 50);
    assert!(there_and_back >= 40, "{there_and_back} of 50");
}

#[test]
fn intervals_of_steps_have_the_truth() {
    let (held, all) = covered(Noise::Normal, 30, 17, 100);
    assert!(held * 100 >= all * 88, "{held} of {all}");
}

#[test]
#[ignore = "four minutes; prints the table of the documentation"]
fn table() {
    const HISTORIES: u64 = 1_000;
    let share = |count: u64, of: u64| {
        let (lo, hi) = clopper_pearson(count, of, 0.95);
        format!("{:5.1} % ({:.1}–{:.1})", 100.0 * count as f64 / of as f64, 100.0 * lo, 100.0 * hi)
    };
    let kinds = [
        ("normal", Noise::Normal),
        ("heavy tails", Noise::HeavyTails),
        ("AR(1) 0.3", Noise::Wandering(0.3)),
        ("AR(1) 0.6", Noise::Wandering(0.6)),
        ("AR(1) 0.9", Noise::Wandering(0.9)),
        ("hidden AR(1) 0.9", Noise::Hidden),
    ];
    println!(
        "| noise | runs | flat, told a change | step of 10 % found (±1) | of their intervals, with the truth |"
    );
    for (name, noise) in kinds {
        for runs in [30, 60] {
            let at = runs * 17 / 30;
            let (held, all) = covered(noise, runs, at, HISTORIES);
            println!(
                "| {name} | {runs} | {} | {} | {} |",
                share(alarms(noise, runs, HISTORIES), HISTORIES),
                share(found(noise, runs, &[(at, 1.0)], HISTORIES), HISTORIES),
                share(held, all.max(1)),
            );
        }
    }
    for (name, steps) in [
        ("the last 4 of 30 runs", &[(26, 1.0)][..]),
        ("up and back, 30 runs", &[(10, 1.0), (20, -1.0)]),
        ("up and up, 30 runs", &[(10, 1.0), (20, 1.0)]),
        ("up and back, 60 runs", &[(20, 1.0), (40, -1.0)]),
    ] {
        let runs = if name.ends_with("60 runs") { 60 } else { 30 };
        println!("{name}: {}", share(found(Noise::Normal, runs, steps, HISTORIES), HISTORIES));
    }
}
