//! Documents of before, as what cells are compared with.
//!
//! The run now and those of before share nothing: their difference contains how much runs of one build differ (layout,
//! neighbours, temperature), which no number of epochs shows. Several baselines show it, or saved runs; else it is assumed, as
//! [`compare`](crate::compare) does.

use ipcost_lab::Batches;
use ipcost_model::{Document, Host, PlannedCell};
use ipcost_stats::{SpreadBetweenRuns, epoch_interval, epochs_to_expect, median, student_quantile};

use super::Baselines;
use crate::FeatureError;
use crate::check::BetweenRuns;
use crate::compare::{ComparedBy, PastFigures, SpreadSource};

/// So many baselines tell by themselves how much runs differ.
const ENOUGH_BASELINES: usize = 3;

/// What a cell cost in documents of before.
#[derive(Debug, Clone)]
pub(super) struct Then {
    /// What the documents are called.
    pub name: String,
    /// Logarithms of its costs by run and epoch.
    pub runs: Vec<Vec<f64>>,
    /// How runs of one build differ by its cost.
    between: SpreadBetweenRuns,
    source: SpreadSource,
}

impl Then {
    /// Of a cell, from the documents that have measured it; `None` if none has.
    pub fn of(
        documents: &[(&str, &Document)],
        planned: &PlannedCell,
        by: ComparedBy,
        baselines: &Baselines,
    ) -> Result<Option<Self>, FeatureError> {
        let (mut names, mut runs, mut modes) = (Vec::new(), Vec::new(), 0.0f64);
        for (name, document) in documents {
            let found = logs(document, planned, by).map_err(|error| error.at(*name))?;
            let Some((logs, apart)) = found else { continue };
            names.push(*name);
            runs.push(logs);
            modes = modes.max(apart);
        }
        if runs.is_empty() {
            return Ok(None);
        }
        let saved = baselines.past.of(by).and_then(|past| of_cell(past, &planned.id));
        Ok(Some(Self::new(names.join(", "), runs, saved, by.assumed(baselines.assumed_spread), modes)))
    }

    fn new(
        name: String,
        runs: Vec<Vec<f64>>,
        saved: Option<SpreadBetweenRuns>,
        assumed: f64,
        modes: f64,
    ) -> Self {
        let medians: Vec<f64> = runs.iter().filter_map(|run| median(run)).collect();
        let own = own_spread(&medians);
        let together = [saved, own].into_iter().flatten().reduce(pooled);
        let measured = medians.len() >= ENOUGH_BASELINES;
        let (between, source) = match (together, saved) {
            (Some(between), _) if measured => (between, SpreadSource::Measured),
            (Some(between), Some(_)) => (between, SpreadSource::Saved),
            (Some(own), None) => (SpreadBetweenRuns::assumed(own.sd.max(assumed)), SpreadSource::Assumed),
            (None, _) => (SpreadBetweenRuns::assumed(assumed), SpreadSource::Assumed),
        };
        // Half the distance of two modes is the standard deviation of runs that have either as often as the other.
        let sd = if measured { between.sd } else { between.sd.max(modes / 2.0) };
        Self { name, runs, between: SpreadBetweenRuns { sd, ..between }, source }
    }

    /// The mean of the runs' medians.
    pub fn mean(&self) -> Option<f64> {
        let medians: Option<Vec<f64>> = self.runs.iter().map(|run| median(run)).collect();
        let medians = medians.filter(|medians| !medians.is_empty())?;
        Some(medians.iter().sum::<f64>() / medians.len() as f64)
    }

    /// The interval of ln(cost now / cost then) at level 1 − `alpha`, from the logarithms of costs of the run now by epoch; `None`
    /// while it is unbounded.
    ///
    /// Half of `alpha` is for the difference of runs: Student's interval with the spread between them. The other half is for
    /// what epochs leave uncertain of their medians, which intervals of their own cover, so that it holds at every moment of the run
    /// now. That is more careful than need be. Where the baselines themselves tell the spread, it contains what their epochs
    /// leave uncertain.
    pub fn interval(&self, now: &[f64], alpha: f64) -> Option<(f64, f64)> {
        let now = interval(now, self.level_of_run(alpha))?;
        let then = match self.source {
            SpreadSource::Measured => self.mean().map(|mean| (mean, mean))?,
            SpreadSource::Saved | SpreadSource::Assumed => {
                let level = self.level_of_baselines(alpha);
                let ends: Option<Vec<(f64, f64)>> =
                    self.runs.iter().map(|run| interval(run, level)).collect();
                let (lo, hi) = ends?.into_iter().fold((0.0, 0.0), |sum, end| (sum.0 + end.0, sum.1 + end.1));
                (lo / self.runs.len() as f64, hi / self.runs.len() as f64)
            }
        };
        let half = self.half_of_runs(alpha);
        Some((now.0 - then.1 - half, now.1 - then.0 + half))
    }

    /// What the difference of runs leaves uncertain, either way.
    fn half_of_runs(&self, alpha: f64) -> f64 {
        let per_run = 1.0 + 1.0 / self.runs.len() as f64;
        student_quantile(1.0 - alpha / 4.0, self.between.degrees) * self.between.sd * per_run.sqrt()
    }

    /// The level of the interval of the run now.
    pub fn level_of_run(&self, alpha: f64) -> f64 {
        match self.source {
            SpreadSource::Measured => alpha / 2.0,
            SpreadSource::Saved | SpreadSource::Assumed => alpha / 4.0,
        }
    }

    /// The level of the interval of each baseline.
    fn level_of_baselines(&self, alpha: f64) -> f64 {
        alpha / (4.0 * self.runs.len() as f64)
    }

    /// How much runs differ, as outputs show it.
    pub fn between_runs(&self, alpha: f64) -> BetweenRuns {
        BetweenRuns {
            spread: self.between.sd,
            source: self.source,
            open_within: self.half_of_runs(alpha).exp(),
        }
    }

    /// That a baseline has too few epochs for an interval, if so.
    pub fn too_short(&self, alpha: f64) -> Option<String> {
        if self.source == SpreadSource::Measured {
            return None;
        }
        let level = self.level_of_baselines(alpha);
        let short = self.runs.iter().find(|run| interval(run, level).is_none())?;
        let (name, epochs, enough) = (&self.name, short.len(), epochs_to_expect(level));
        Some(match epochs < enough as usize {
            true => format!(
                "{name} has too few epochs of it ({epochs}): it takes about {enough}; record it again with a larger budget"
            ),
            false => format!(
                "the {epochs} epochs of it in {name} depend on one another, so that they are too few for an interval; record it again with a larger budget"
            ),
        })
    }
}

/// How saved runs differ by the cost of a cell, if enough tell it.
fn of_cell(past: &PastFigures, cell: &str) -> Option<SpreadBetweenRuns> {
    past.between(&[cell], |rests| rests.first().copied())
}

fn own_spread(medians: &[f64]) -> Option<SpreadBetweenRuns> {
    let degrees = medians.len().checked_sub(1).filter(|degrees| *degrees > 0)? as f64;
    let mean = medians.iter().sum::<f64>() / medians.len() as f64;
    let squares = medians.iter().map(|median| (median - mean).powi(2)).sum::<f64>();
    Some(SpreadBetweenRuns { sd: (squares / degrees).sqrt(), degrees })
}

/// One estimate from two.
fn pooled(a: SpreadBetweenRuns, b: SpreadBetweenRuns) -> SpreadBetweenRuns {
    let degrees = a.degrees + b.degrees;
    let square = (a.degrees * a.sd * a.sd + b.degrees * b.sd * b.sd) / degrees;
    SpreadBetweenRuns { sd: square.sqrt(), degrees }
}

/// The interval of a run's median.
fn interval(log_costs: &[f64], alpha: f64) -> Option<(f64, f64)> {
    epoch_interval(log_costs, alpha)?.interval.bounds
}

/// For each epoch of a document, the logarithm of a cell's cost or percentile, and how far its modes lie apart; `None` where it was not
/// measured.
fn logs(
    document: &Document,
    planned: &PlannedCell,
    by: ComparedBy,
) -> Result<Option<(Vec<f64>, f64)>, FeatureError> {
    let found = document.cells.iter().enumerate().find(|(_, cell)| cell.id == planned.id);
    let Some((index, cell)) = found else { return Ok(None) };
    if let Some((what, there, here)) = cell.difference(planned) {
        return Err(FeatureError::OtherCell { cell: cell.id.clone(), what, there, here });
    }
    let logs = by.logs(document, &Batches::new(&document.samples, document.cells.len()), index);
    Ok((!logs.is_empty()).then(|| (logs, by.modes_apart(cell))))
}

/// What makes a document's machine another than this one, in words; empty where nothing does.
pub fn differences(document: &Document, here: &Host) -> Vec<String> {
    let there = &document.host;
    let facts = [
        ("kernel", there.kernel.clone(), here.kernel.clone()),
        ("processor", there.cpu.clone(), here.cpu.clone()),
        ("architecture", there.arch.clone(), here.arch.clone()),
        ("cores", there.cores.to_string(), here.cores.to_string()),
    ];
    let differing = facts.into_iter().filter(|(_, there, here)| there != here);
    differing.map(|(what, there, here)| format!("{what} {there} there, {here} here")).collect()
}

#[cfg(test)]
mod tests {
    use ipcost_stats::Random;

    use super::*;
    use crate::claims::{Bounded, ClaimBounds};
    use ipcost_model::ClaimVerdict;

    fn of(runs: Vec<Vec<f64>>, saved: Option<SpreadBetweenRuns>) -> Then {
        Then::new("before.json".to_owned(), runs, saved, 0.05, 0.0)
    }

    #[test]
    fn runs_that_share_nothing_widen_the_interval() {
        let mut random = Random::new(5);
        let mut epochs =
            |center: f64| -> Vec<f64> { (0..60).map(|_| center + 0.02 * random.normal()).collect() };
        let (now, then) = (epochs(9.1), epochs(9.0));
        let assumed = of(vec![then.clone()], None);
        let (lo, hi) = assumed.interval(&now, 0.05).unwrap();
        assert!(lo < 0.1 && 0.1 < hi && hi - lo > 0.3 && hi - lo < 0.5, "{lo} to {hi}");
        let told = assumed.between_runs(0.05);
        assert_eq!((told.spread, told.source), (0.05, SpreadSource::Assumed));
        let saved = of(vec![then.clone()], Some(SpreadBetweenRuns { sd: 0.01, degrees: 10.0 }));
        let (saved_lo, saved_hi) = saved.interval(&now, 0.05).unwrap();
        assert!(lo < saved_lo && saved_hi < hi && saved.source == SpreadSource::Saved);
        let five = of((0..5).map(|run| epochs(9.0 + 0.002 * f64::from(run))).collect(), None);
        let (lo, hi) = five.interval(&now, 0.05).unwrap();
        assert!(hi - lo < 0.06 && lo < 0.1 && five.source == SpreadSource::Measured, "{lo} to {hi}");
        assert_eq!(assumed.interval(&now[..5], 0.05), None);
        assert!(of(vec![then[..5].to_vec()], None).too_short(0.05).unwrap().contains("(5)"));
        // Two modes say how much runs may differ.
        let modes = Then::new(String::new(), vec![then], None, 0.05, 0.4);
        assert_eq!(modes.between_runs(0.05).spread, 0.2);
    }

    /// Runs of one build.
    struct Simulated {
        /// The standard deviation between runs, and whether all cells of a run share its luck.
        sd: f64,
        shared: bool,
        /// The standard deviation of epochs, and how many each run has.
        noise: f64,
        epochs: usize,
        cells: usize,
        baselines: usize,
        /// Saved runs of the same build.
        saved: usize,
    }

    impl Simulated {
        /// A run: the logarithms of costs by cell and epoch.
        fn run(&self, random: &mut Random) -> Vec<Vec<f64>> {
            let of_run = random.normal();
            let cell = |random: &mut Random| {
                let luck = self.sd * if self.shared { of_run } else { random.normal() };
                (0..self.epochs).map(|_| luck + self.noise * random.normal()).collect()
            };
            (0..self.cells).map(|_| cell(random)).collect()
        }

        /// The words of "slower by at most 5 %" of each cell, now truly slower by a factor; the run now is looked at three times.
        fn words(&self, random: &mut Random, factor: f64) -> Vec<ClaimVerdict> {
            let before: Vec<Vec<Vec<f64>>> = (0..self.baselines).map(|_| self.run(random)).collect();
            let saved: Vec<Vec<Vec<f64>>> = (0..self.saved).map(|_| self.run(random)).collect();
            let now = self.run(random);
            let level = 0.05 / self.cells as f64;
            let bounds = ClaimBounds { below: Some(Bounded::Including(1.05)), ..ClaimBounds::default() };
            let of_cell = |cell: usize| {
                let of = |runs: &[Vec<Vec<f64>>]| runs.iter().map(|run| run[cell].clone()).collect();
                let saved: Vec<Vec<f64>> = of(&saved);
                let saved = own_spread(&saved.iter().filter_map(|run| median(run)).collect::<Vec<f64>>())
                    .filter(|saved| saved.degrees >= 4.0);
                let then = self::of(of(&before), saved);
                let now: Vec<f64> = now[cell].iter().map(|log| log + factor.ln()).collect();
                let after = |epochs: usize| {
                    let interval = then.interval(&now[..epochs], level);
                    bounds.decide(interval.map(|(lo, hi)| (lo.exp(), hi.exp())))
                };
                let looks = [self.epochs / 2, self.epochs * 3 / 4, self.epochs];
                looks.into_iter().map(after).find(|word| !word.is_open()).unwrap_or(ClaimVerdict::Open)
            };
            (0..self.cells).map(of_cell).collect()
        }

        /// How many of so many checks fail, of a build that is slower by a factor.
        fn false_failures(&self, factor: f64, checks: u32, seed: u64) -> u32 {
            let mut random = Random::new(seed);
            let fails = |_: &u32| self.words(&mut random, factor).contains(&ClaimVerdict::Fails);
            (0..checks).filter(fails).count() as u32
        }
    }

    /// Builds that are slower by just what is allowed, over a grid of spreads, noises, epochs, cells, baselines and saved runs; at
    /// most 5 % may fail, and more of few checks do by chance.
    fn allowed_builds(checks: u32, most: u32) {
        for (sd, noise) in [(0.0, 0.1), (0.01, 0.02), (0.03, 0.02), (0.04, 0.1), (0.05, 0.02)] {
            for (cells, epochs) in [(1, 20), (30, 60)] {
                for (baselines, saved) in [(1, 0), (2, 0), (1, 6), (3, 0), (5, 0), (3, 6)] {
                    for shared in [false, true] {
                        let runs = Simulated { sd, shared, noise, epochs, cells, baselines, saved };
                        let failed = runs.false_failures(1.05, checks, 7);
                        assert!(
                            failed <= most,
                            "{failed} of {checks}: spread {sd} (shared {shared}), noise {noise}, {epochs} epochs, {cells} cells, {baselines} baselines, {saved} saved runs"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn allowed_builds_seldom_fail() {
        allowed_builds(20, 3);
    }

    #[test]
    #[ignore = "takes minutes; docs/did-it-change.md names the command"]
    fn allowed_builds_fail_in_one_check_of_twenty_at_most() {
        allowed_builds(400, 20);
    }

    #[test]
    fn what_decides_a_small_bound_and_what_leaves_it_open() {
        let runs =
            Simulated { sd: 0.003, shared: false, noise: 0.01, epochs: 60, cells: 1, baselines: 1, saved: 0 };
        let words = |runs: &Simulated, factor| runs.words(&mut Random::new(3), factor)[0];
        assert_eq!(words(&runs, 1.0), ClaimVerdict::Open, "an assumption of 5 % decides no bound of 5 %");
        assert_eq!(words(&runs, 1.5), ClaimVerdict::Fails, "but half as slow again is found");
        for runs in [Simulated { baselines: 3, ..runs }, Simulated { saved: 6, baselines: 1, ..runs }] {
            let decided = (0..20)
                .filter(|seed| {
                    runs.words(&mut Random::new(*seed), 1.0)[0] == ClaimVerdict::Holds
                        && runs.words(&mut Random::new(*seed), 1.15)[0] == ClaimVerdict::Fails
                })
                .count();
            assert!(decided >= 17, "{decided} of 20 with {} baselines", runs.baselines);
        }
    }
}
