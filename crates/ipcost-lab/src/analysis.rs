//! From costs to contrasts and verdicts; the same code decides when to stop and fills the document.

use std::cell::RefCell;
use std::collections::HashMap;

use ipcost_model::{Bound, Metric, Multiplicity, Plan, PlannedContrast, Ran, Verdict, Workload};
use ipcost_stats::{
    EpochInterval, MeanRatio, Start, answered_together, epochs_to_exclude, mean_ratio, median,
    planned_interval, shared_shift, spread_ratio,
};

use crate::batches::Batches;
use crate::question::{Answered, Needed};

/// Fewer epochs do not say how long an answer would take.
const ENOUGH_TO_FORESEE: usize = 16;
/// What takes more than so many runs is left open.
const MOST_RUNS: u32 = 10;

/// The ratio of one cell's cost to another's, with its verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// The cell in the numerator, as an index.
    pub a: usize,
    /// The cell in the denominator, as an index.
    pub b: usize,
    /// The median over epochs.
    pub ratio: f64,
    /// The interval; `None` while unbounded.
    pub bounds: Option<(f64, f64)>,
    pub verdict: Verdict,
    /// The least and the largest ratio of an epoch, where many epochs give no interval.
    pub range: Option<(f64, f64)>,
    /// Whether the ratio itself changed during the run, more than chance explains.
    pub wanders: bool,
    /// The epochs in which both were measured, and which count.
    pub epochs: usize,
    /// Epochs of the run that do not count: the machine changed after them, and the ratio with it.
    pub after: u32,
    /// Whether these said the opposite.
    pub changed: bool,
    /// The ratio of mean costs, with its verdict, if the medians are the same within the margin.
    pub mean: Option<(MeanRatio, Verdict)>,
}

impl Contrast {
    /// Whether the costs are known to be the same, in the median and in the mean.
    pub fn is_same(&self) -> bool {
        self.verdict == Verdict::Equivalent
            && self.mean.is_some_and(|(_, verdict)| verdict == Verdict::Equivalent)
    }

    /// What its interval says, verdict or not; nothing where the run was of two minds.
    pub fn bound(&self) -> Option<Bound> {
        Bound::of(self.bounds.filter(|_| !self.changed))
    }

    /// Whether both are known, and say other things.
    fn contradicts(&self, other: &Self) -> bool {
        let word = |found: &Self| match found.verdict {
            Verdict::Undecided => None,
            Verdict::Equivalent => Some(std::cmp::Ordering::Equal),
            Verdict::Different | Verdict::Direction => found.ratio.partial_cmp(&1.0),
        };
        word(self).zip(word(other)).is_some_and(|(own, other)| own != other)
    }

    /// Whether it says all that is asked: how much they differ, or that they do not, in the median and in the mean.
    fn is_answer(&self) -> bool {
        self.verdict == Verdict::Different || self.is_same_in_median()
    }

    /// Whether the medians are known to be the same, and the means to be so or not to be so.
    pub fn is_same_in_median(&self) -> bool {
        self.verdict == Verdict::Equivalent && self.mean.is_some_and(|(_, verdict)| verdict.is_answer())
    }
}

/// The cheapest cell of a table against the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Cheapest {
    /// The cost of the runner-up over that of the cheapest.
    pub contrast: Contrast,
    /// Whether it is known to be cheaper than every other.
    pub claimed: bool,
    /// Cells known to cost the same within the margin, in the median, and with known means.
    pub equals: Vec<usize>,
    /// Whether the mean of one of them is known to differ by more.
    pub means_differ: bool,
    /// Cells that may be cheaper still: known neither to cost more nor to cost the same.
    pub open: Vec<usize>,
    /// The factor by which each of them costs more or less at most; `None` where that is large or unknown.
    pub open_within: Option<f64>,
    /// The factor by which the cheapest costs more than any of them at most, likewise.
    pub open_cheaper_by: Option<f64>,
}

/// The questions of a table which cell is the cheapest: of long transfers, and of bursts, where it has both.
fn questions(plan: &Plan, table: &Workload) -> Vec<Workload> {
    table.long_and_bursts(&plan.cells).map_or_else(|| vec![table.clone()], Vec::from)
}

/// Judges the contrasts of one state of a run, each at its proper level.
pub struct Judge<'a> {
    plan: &'a Plan,
    batches: &'a Batches<'a>,
    /// The tables with comparisons.
    compared: Vec<Workload>,
    /// The level of contrasts with a baseline.
    level: f64,
    /// How many of them have a verdict at that level; 0 if all are guaranteed instead of selected.
    discoveries: u32,
    /// The level at which a cell is called the cheapest of its table.
    level_of_cheapest: f64,
    /// The level of ratios of means, which say that costs are the same.
    level_of_means: f64,
    /// After which epoch the costs of pairs of cells changed, of those that were asked about.
    shifts: RefCell<HashMap<(usize, usize), Option<u32>>>,
}

impl<'a> Judge<'a> {
    /// A judge of the measurements so far.
    ///
    /// In a headline every contrast stands at α/m. In an explored grid every interval is drawn at α·R/m, with the largest R for
    /// which as many contrasts have a verdict, and so are tables whose cheapest is known, or shared ([`answered_together`]). A
    /// table's statement is false only if the interval of a pair of its cells misses; so for tables, m counts the pairs of all.
    pub fn new(plan: &'a Plan, batches: &'a Batches<'a>) -> Self {
        // A table's contrasts are adjacent.
        let tables = plan.contrasts.chunk_by(|one, next| one.workload == next.workload);
        let tables = tables.map(|contrasts| &plan.workloads[contrasts[0].workload]);
        let compared = tables.flat_map(|table| questions(plan, table)).collect();
        let level = plan.alpha_each;
        let judge = Self {
            plan,
            batches,
            compared,
            level,
            discoveries: 0,
            level_of_cheapest: level,
            level_of_means: level,
            shifts: RefCell::default(),
        };
        match plan.multiplicity {
            Multiplicity::Headline => judge,
            Multiplicity::Explored => judge.selecting(),
        }
    }

    /// The same, at the levels that the number of answers allows.
    fn selecting(self) -> Self {
        let share = |alpha: f64, many: usize, all: usize| alpha * many.max(1) as f64 / all.max(1) as f64;
        let (plan, all) = (self.plan, self.plan.all_contrasts().count());
        let has_verdict = |planned: &PlannedContrast, level: f64| {
            let found = self.since_it_changed(level, Metric::Wall, planned.a, planned.b);
            found.is_some_and(|found| found.verdict != Verdict::Undecided)
        };
        let discovered = answered_together(all, |many| {
            let level = share(plan.alpha, many, all);
            plan.all_contrasts().filter(|planned| has_verdict(planned, level)).count()
        });
        let pairs = |workload: &Workload| workload.cells.len() * (workload.cells.len().saturating_sub(1)) / 2;
        let pairs: usize = self.compared.iter().map(pairs).sum();
        let tables = answered_together(self.compared.len(), |many| {
            let level = share(plan.alpha, many, pairs);
            let is_told = |workload: &&Workload| {
                self.cheapest_at(level, workload).is_some_and(|found| found.open.is_empty())
            };
            self.compared.iter().filter(is_told).count()
        });
        let level = share(plan.alpha, discovered, all);
        // Means are asked for where medians are the same.
        let is_same = |planned: &&PlannedContrast| {
            let found = self.since_it_changed(level, Metric::Wall, planned.a, planned.b);
            found.is_some_and(|found| found.verdict == Verdict::Equivalent)
        };
        let same = plan.all_contrasts().filter(is_same).count();
        Self {
            level,
            level_of_means: share(plan.alpha, same, all),
            discoveries: discovered as u32,
            level_of_cheapest: share(plan.alpha, tables, pairs),
            ..self
        }
    }

    /// The level at which contrasts with a baseline are judged.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// How many contrasts of an explored grid have a verdict at that level.
    pub fn discoveries(&self) -> u32 {
        self.discoveries
    }

    /// The contrast of two cells; `None` before the first epoch, or where a cost is zero.
    pub fn contrast(&self, metric: Metric, a: usize, b: usize) -> Option<Contrast> {
        self.contrast_at(self.level, metric, a, b)
    }

    /// The contrast of any two cells of a table, in elapsed time, at a level that holds for all pairs.
    pub fn pair(&self, a: usize, b: usize) -> Option<Contrast> {
        self.contrast_at(self.level.min(self.level_of_cheapest), Metric::Wall, a, b)
    }

    fn contrast_at(&self, level: f64, metric: Metric, a: usize, b: usize) -> Option<Contrast> {
        let found = self.since_it_changed(level, metric, a, b)?;
        let needed = found.verdict == Verdict::Equivalent;
        let level = level.min(self.level_of_means);
        Some(Contrast { mean: needed.then(|| self.mean_at(level, metric, &found)).flatten(), ..found })
    }

    /// The contrast over the whole run; where the ratio changed with the machine, over the epochs since.
    fn since_it_changed(&self, level: f64, metric: Metric, a: usize, b: usize) -> Option<Contrast> {
        let looks = &self.plan.looks;
        let all = self.batches.log_ratios(metric, a, b);
        let whole = self.judged(level, a, b, &all, looks.of_all())?;
        let shift = if whole.wanders { self.shift(a, b) } else { None };
        let Some(start) = shift.and_then(|after| looks.starts().find(|start| start.after == after)) else {
            return Some(whole);
        };
        let (before, since) =
            all.split_at(all.len() - self.batches.log_ratios_since(start.after, metric, a, b).len());
        let Some(found) = self.judged(level, a, b, since, start) else { return Some(whole) };
        let found = Contrast { after: start.after, ..found };
        // At a milder level, so that a stricter one of a family only takes verdicts away.
        let before = self.judged(self.plan.alpha, a, b, before, looks.of_all());
        if before.is_some_and(|before| before.contradicts(&found)) {
            return Some(Contrast { verdict: Verdict::Undecided, changed: true, ..found });
        }
        Some(if found.bounds.is_some() { found } else { whole })
    }

    /// After which of the planned moments the cost of one of two cells changed; `None` where neither did.
    fn shift(&self, a: usize, b: usize) -> Option<u32> {
        let known = self.shifts.borrow().get(&(a, b)).copied();
        known.unwrap_or_else(|| {
            let moments: Vec<u32> = self.plan.looks.starts().skip(1).map(|start| start.after).collect();
            let costs = [a, b].map(|cell| self.batches.log_costs_by_epoch(Metric::Wall, cell));
            let found = shared_shift(&costs, &moments);
            self.shifts.borrow_mut().insert((a, b), found);
            found
        })
    }

    /// The ratio of the mean costs over the epochs of a contrast, with its verdict.
    pub fn mean(&self, metric: Metric, found: &Contrast) -> Option<(MeanRatio, Verdict)> {
        self.mean_at(self.level_of_means, metric, found)
    }

    fn mean_at(&self, level: f64, metric: Metric, of: &Contrast) -> Option<(MeanRatio, Verdict)> {
        let found = mean_ratio(&self.batches.costs_since(of.after, metric, of.a, of.b), level)?;
        Some((found, Verdict::of(found.bounds, self.plan.margin)))
    }

    /// The share of epochs whose ratio lies further from the median's than the margin, on the side of the mean's.
    pub fn share_beyond(&self, metric: Metric, found: &Contrast, mean: f64, margin: f64) -> f64 {
        let logs = self.batches.log_ratios_since(found.after, metric, found.a, found.b);
        let side = if mean >= found.ratio { 1.0 } else { -1.0 };
        let beyond = |log: &&f64| side * (*log - found.ratio.ln()) > margin.ln_1p();
        logs.iter().filter(beyond).count() as f64 / logs.len().max(1) as f64
    }

    /// The ratios of something else of two cells, from its logarithm in each epoch, of all contrasts and so many for each. They have an
    /// alpha of their own: in a headline all share it, and of an explored grid those that have a verdict.
    pub fn of_logs(&self, all: &[(usize, usize, Vec<f64>)], each: usize) -> Vec<Option<Contrast>> {
        let many = self.plan.all_contrasts().count().max(1) * each;
        let level = match self.plan.multiplicity {
            Multiplicity::Headline => self.plan.alpha_each / each as f64,
            Multiplicity::Explored => {
                let has_verdict = |level: f64, (a, b, logs): &(usize, usize, Vec<f64>)| {
                    let found = self.judged(level, *a, *b, logs, &Start::ALWAYS);
                    found.is_some_and(|found| found.verdict != Verdict::Undecided)
                };
                let at = |discovered: usize| self.plan.alpha * discovered.max(1) as f64 / many as f64;
                let discovered = answered_together(many, |discovered| {
                    all.iter().filter(|one| has_verdict(at(discovered), one)).count()
                });
                at(discovered)
            }
        };
        all.iter().map(|(a, b, logs)| self.judged(level, *a, *b, logs, &Start::ALWAYS)).collect()
    }

    /// How much more the costs of one vary from epoch to epoch than those of the other, with an interval at the run's alpha.
    pub fn spread(&self, metric: Metric, a: usize, b: usize) -> Option<(f64, (f64, f64))> {
        let found = spread_ratio(&self.batches.log_costs_of_both(metric, a, b), self.plan.alpha)?;
        let (lo, hi) = found.bounds?;
        Some((found.median.exp(), (lo.exp(), hi.exp())))
    }

    /// The contrast of two cells over the rounds in which both ran with this placement; `None` if there were none.
    pub fn contrast_where(&self, ran: Ran, a: usize, b: usize) -> Option<Contrast> {
        self.judged(self.level, a, b, &self.batches.log_ratios_where(ran, a, b), &Start::ALWAYS)
    }

    fn judged(&self, level: f64, a: usize, b: usize, values: &[f64], start: &Start) -> Option<Contrast> {
        let EpochInterval { interval, wanders, range, .. } = planned_interval(values, level, start)?;
        let ratios = |(least, most): (f64, f64)| (least.exp(), most.exp());
        let (bounds, range) = (interval.bounds.map(ratios), range.map(ratios));
        let epochs = values.len();
        // The range of epochs that depend on each other is a fact about this run, and no verdict.
        let verdict = Verdict::of(bounds, self.plan.margin);
        Some(Contrast {
            a,
            b,
            ratio: interval.median.exp(),
            bounds,
            verdict,
            range,
            wanders,
            epochs,
            after: 0,
            changed: false,
            mean: None,
        })
    }

    /// The cheapest cell of a table against the others; `None` below two cells, and among floors.
    ///
    /// The cell is chosen after looking, so a headline uses α/m, where m includes every pair with the truly cheapest.
    pub fn cheapest(&self, workload: &Workload) -> Option<Cheapest> {
        self.cheapest_at(self.level_of_cheapest, workload)
    }

    fn cheapest_at(&self, level: f64, workload: &Workload) -> Option<Cheapest> {
        // Without a baseline these are floors, which are not compared.
        workload.baseline?;
        let first = self.lowest(workload)?;
        let rivals = workload.cells.iter().filter(|cell| **cell != first);
        let beats: Vec<Contrast> =
            rivals.filter_map(|rival| self.contrast_at(level, Metric::Wall, *rival, first)).collect();
        // The rival it beats by least: two close ones may swap places between cost and paired ratio.
        let runner_up = *beats.iter().min_by(|x, y| x.ratio.total_cmp(&y.ratio))?;
        let dearer = self.dearer_than_another(workload);
        let is_dearer = |contrast: &Contrast| {
            dearer.contains(&contrast.a)
                || (!contrast.changed && contrast.bounds.is_some_and(|(lo, _)| lo > 1.0))
        };
        let is_open = |contrast: &Contrast| !contrast.is_same_in_median() && !is_dearer(contrast);
        let within = |contrast: &Contrast| contrast.bound()?.within();
        let cheaper_by = |contrast: &Contrast| Some(1.0 / contrast.bound()?.at_least?);
        let more = |one: Option<f64>, other: Option<f64>| Some(one?.max(other?));
        let most = |of: &dyn Fn(&Contrast) -> Option<f64>| {
            beats.iter().filter(|it| is_open(it)).map(of).reduce(more).flatten()
        };
        let ids = |wanted: &dyn Fn(&Contrast) -> bool| {
            beats.iter().filter(|contrast| wanted(contrast)).map(|contrast| contrast.a).collect()
        };
        Some(Cheapest {
            contrast: runner_up,
            claimed: beats.iter().all(is_dearer),
            equals: ids(&Contrast::is_same_in_median),
            means_differ: beats.iter().any(|contrast| contrast.is_same_in_median() && !contrast.is_same()),
            open: ids(&is_open),
            open_within: most(&within),
            open_cheaper_by: most(&cheaper_by),
        })
    }

    /// The cells of a table of which its verdicts say already that another one costs less: their whole interval to the baseline lies above
    /// another's. That is right whenever these intervals are.
    fn dearer_than_another(&self, workload: &Workload) -> Vec<usize> {
        let is_of_table = |planned: &&PlannedContrast| {
            Some(planned.b) == workload.baseline && workload.cells.contains(&planned.a)
        };
        let bounds = |planned: &PlannedContrast| {
            let found = self.contrast(Metric::Wall, planned.a, planned.b).filter(|found| !found.changed)?;
            Some((planned.a, found.bounds?))
        };
        let baseline = workload.baseline.filter(|baseline| workload.cells.contains(baseline));
        let contrasts = self.plan.all_contrasts().filter(is_of_table).filter_map(bounds);
        let known: Vec<(usize, (f64, f64))> =
            contrasts.chain(baseline.map(|baseline| (baseline, (1.0, 1.0)))).collect();
        let least = known.iter().map(|(_, (_, hi))| *hi).fold(f64::INFINITY, f64::min);
        known.into_iter().filter(|(_, (lo, _))| *lo > least).map(|(cell, _)| cell).collect()
    }

    /// The cell of a table with the lowest cost. Once cells of answered questions have left, cells are measured in
    /// different epochs, so they are ordered by their ratio to the baseline within the same rounds.
    fn lowest(&self, workload: &Workload) -> Option<usize> {
        let baseline = workload.baseline?;
        let cost = |cell: usize| {
            if cell == baseline && !self.batches.log_costs(Metric::Wall, cell).is_empty() {
                return Some(0.0);
            }
            median(&self.batches.log_ratios(Metric::Wall, cell, baseline))
        };
        let costs = workload.cells.iter().filter_map(|cell| Some((cost(*cell)?, *cell)));
        costs.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, cell)| cell)
    }

    /// Counts the answers so far: contrasts that are `different`, or `equivalent` with a known mean, and tables whose
    /// cheapest is known or shared. `direction` is not an answer yet: more epochs may show whether the difference matters.
    ///
    /// What would take ten times the run and more needs nothing, unless all that is open would: its time goes to the others.
    pub fn answered(&self) -> Answered {
        let (mut resolved, mut of) = (0, 0);
        let (mut needed, mut hopeless) = (Vec::new(), Vec::new());
        for planned in self.plan.all_contrasts() {
            let cells = [planned.a, planned.b];
            match self.contrast(Metric::Wall, planned.a, planned.b) {
                Some(found) if found.is_answer() => resolved += 1,
                _ if self.is_hopeless(self.level, planned.a, planned.b) => hopeless.extend(cells),
                _ => needed.extend(cells),
            }
            of += 1;
        }
        for workload in &self.compared {
            match self.cheapest(workload) {
                Some(found) if found.open.is_empty() => resolved += 1,
                Some(found) => {
                    for rival in &found.open {
                        let cells = [*rival, found.contrast.b];
                        match self.is_hopeless(self.level_of_cheapest, *rival, found.contrast.b) {
                            true => hopeless.extend(cells),
                            false => needed.extend(cells),
                        }
                    }
                }
                None => needed.extend(&workload.cells),
            }
            of += 1;
        }
        let all = of > 0 && resolved == of;
        let needed = if needed.is_empty() { hopeless } else { needed };
        Answered { resolved, of, needed: if all { Needed::Nothing } else { Needed::Cells(needed) } }
    }

    /// The contrasts that are open, each with the epochs that it would likely take in all, ten times the run at most; `None` where it would
    /// take more, or no honest number can be given.
    pub fn open(&self) -> Vec<(PlannedContrast, Option<u32>)> {
        let all = self.plan.all_contrasts();
        let found = all.map(|planned| (*planned, self.contrast(Metric::Wall, planned.a, planned.b)));
        let open = found.filter(|(_, found)| !found.is_some_and(|found| found.is_answer()));
        let likely = |found: Option<Contrast>| self.likely_epochs_of(self.level, &found?, 1.0);
        open.map(|(planned, found)| (planned, likely(found))).collect()
    }

    /// How many epochs would likely show that two cells differ by more than the margin, or that they do not. `None` where that is
    /// known of the medians: how long the means take cannot be told.
    fn likely_epochs_of(&self, level: f64, found: &Contrast, caution: f64) -> Option<u32> {
        if found.verdict == Verdict::Equivalent {
            return None;
        }
        let (at, margin) = (found.ratio.ln(), self.plan.margin.ln_1p());
        let excluding = |bound: f64| self.epochs_to_exclude(level, found, bound, caution);
        match at.abs() > margin {
            true => excluding(margin.copysign(at)),
            false => Some(excluding(margin)?.max(excluding(-margin)?)),
        }
    }

    fn epochs_to_exclude(&self, level: f64, found: &Contrast, bound: f64, caution: f64) -> Option<u32> {
        let logs = self.batches.log_ratios_since(found.after, Metric::Wall, found.a, found.b);
        let most = self.plan.epochs_expected.max(self.batches.epochs() as u32).saturating_mul(MOST_RUNS);
        epochs_to_exclude(&logs, bound, level, caution, most, true)
    }

    /// Whether an answer would likely take many times the run, judging by enough epochs; so would a bound, unless there is one.
    fn is_hopeless(&self, level: f64, a: usize, b: usize) -> bool {
        let found = self.since_it_changed(level, Metric::Wall, a, b);
        found.is_some_and(|found| {
            let is_far = || {
                found.epochs >= ENOUGH_TO_FORESEE
                    && found.verdict != Verdict::Equivalent
                    && self.likely_epochs_of(level, &found, 0.0).is_none()
                    && !self.may_be_bounded(level, &found)
            };
            // What was the opposite before has no verdict however long it goes on.
            found.changed || is_far()
        })
    }

    /// Whether both ends of an interval that is wide would likely come near 1 in time.
    fn may_be_bounded(&self, level: f64, found: &Contrast) -> bool {
        let loosest = Bound::LOOSEST.ln();
        found.ratio.ln().abs() < loosest
            && found.bound().and_then(|bound| bound.within()).is_none()
            && [-loosest, loosest]
                .iter()
                .all(|bound| self.epochs_to_exclude(level, found, *bound, 0.0).is_some())
    }
}
