//! From costs to contrasts and verdicts; the same code decides when to stop and fills the document.

use ipcost_model::{Metric, Multiplicity, Plan, PlannedContrast, Verdict, Workload};
use ipcost_stats::{Judgement, MergedInterval, e_bh, judge, merged_e_value, merged_interval};

use crate::cost_table::CostTable;

/// What is known of the ratio of one cell's cost to another's.
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
    /// What is known.
    pub verdict: Verdict,
    /// How many neighbouring epochs were merged into one, since neighbours resembled each other; mostly 1.
    pub merged: usize,
}

/// The cheapest cell of a table against the runner-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cheapest {
    /// The cost of the runner-up over that of the cheapest.
    pub contrast: Contrast,
    /// Whether it is known to be cheaper than every other.
    pub claimed: bool,
}

/// How many of the headline's questions are answered, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// Contrasts that are `different` or `equivalent`, and tables whose cheapest is known or shared.
    pub resolved: u32,
    /// All of them.
    pub of: u32,
}

impl Answered {
    /// Whether nothing is left to find out.
    pub fn all(&self) -> bool {
        self.of > 0 && self.resolved == self.of
    }
}

/// Judges contrasts of one state of a run, each at the level that it is due.
pub struct Judge<'a> {
    plan: &'a Plan,
    table: &'a CostTable,
    /// The level of contrasts with a baseline.
    level: f64,
    /// How many of them are discoveries; 0 where they are not selected but all promised.
    discoveries: u32,
}

impl<'a> Judge<'a> {
    /// A judge of what has been measured so far.
    ///
    /// In a headline every contrast stands at α/m. In an explored grid, those whose e-values against equality are
    /// discoveries by e-BH are counted, R of them, and every interval is drawn at α·R/m: of the intervals of
    /// selected contrasts, the share expected to miss is then at most α (e-BY: Xu, Wang and Ramdas,
    /// "Post-selection inference for e-value based confidence intervals", EJS 18, 2024).
    pub fn new(plan: &'a Plan, table: &'a CostTable) -> Self {
        let (discoveries, level) = match plan.multiplicity {
            Multiplicity::Headline => (0, plan.alpha_each),
            Multiplicity::Explored => {
                let evidence = |planned: &PlannedContrast| {
                    merged_e_value(&table.log_ratios(Metric::Wall, planned.a, planned.b), 0.0)
                };
                let evidence: Vec<f64> = plan.contrasts.iter().map(evidence).collect();
                let discoveries =
                    e_bh(&evidence, plan.alpha).into_iter().filter(|discovery| *discovery).count();
                (discoveries as u32, plan.alpha * discoveries.max(1) as f64 / evidence.len() as f64)
            }
        };
        Self { plan, table, level, discoveries }
    }

    /// The level at which contrasts with a baseline are judged.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// How many contrasts of an explored grid are discoveries.
    pub fn discoveries(&self) -> u32 {
        self.discoveries
    }

    /// The contrast of two cells; `None` before the first epoch, or where a cost is zero.
    pub fn contrast(&self, metric: Metric, a: usize, b: usize) -> Option<Contrast> {
        self.contrast_at(self.level, metric, a, b)
    }

    fn contrast_at(&self, level: f64, metric: Metric, a: usize, b: usize) -> Option<Contrast> {
        let found = merged_interval(&self.table.log_ratios(metric, a, b), level)?;
        let MergedInterval { interval, block, .. } = found;
        let bounds = interval.bounds.map(|(lo, hi)| (lo.exp(), hi.exp()));
        let verdict = verdict(bounds, self.plan.margin);
        Some(Contrast { a, b, ratio: interval.median.exp(), bounds, verdict, merged: block })
    }

    /// The cheapest cell of a table, by its median cost, against the next; `None` below two cells, and among floors.
    ///
    /// The cell is chosen after looking, so this stands at α/m in an explored grid, too.
    pub fn cheapest(&self, workload: &Workload) -> Option<Cheapest> {
        // Without a baseline nothing is compared: these are floors.
        workload.baseline?;
        let cost = |cell: usize| ipcost_stats::median(&self.table.log_costs(Metric::Wall, cell));
        let mut costs: Vec<(f64, usize)> =
            workload.cells.iter().filter_map(|cell| Some((cost(*cell)?, *cell))).collect();
        costs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (_, first) = *costs.first()?;
        let level = self.plan.alpha_each;
        let rivals = costs[1..].iter();
        let beats: Vec<Contrast> =
            rivals.filter_map(|(_, rival)| self.contrast_at(level, Metric::Wall, *rival, first)).collect();
        // The rival it beats by least: two close ones may swap places between cost and paired ratio.
        let runner_up = beats.iter().min_by(|x, y| x.ratio.total_cmp(&y.ratio))?;
        let claimed = beats.iter().all(|contrast| contrast.bounds.is_some_and(|(lo, _)| lo > 1.0));
        Some(Cheapest { contrast: *runner_up, claimed })
    }

    /// Counts the answers so far. `direction` is none yet: more epochs may say whether it matters.
    pub fn answered(&self) -> Answered {
        let settled = |verdict: Verdict| matches!(verdict, Verdict::Different | Verdict::Equivalent);
        let contrasts = &self.plan.contrasts;
        let resolved = contrasts
            .iter()
            .filter_map(|planned| self.contrast(Metric::Wall, planned.a, planned.b))
            .filter(|contrast| settled(contrast.verdict))
            .count();
        let compared = |workload: &&Workload| contrasts.iter().any(|known| workload.cells.contains(&known.a));
        let known = |workload: &Workload| {
            self.cheapest(workload)
                .is_some_and(|cheapest| cheapest.claimed || cheapest.contrast.verdict == Verdict::Equivalent)
        };
        let tables: Vec<bool> = self.plan.workloads.iter().filter(compared).map(known).collect();
        Answered {
            resolved: (resolved + tables.iter().filter(|known| **known).count()) as u32,
            of: (contrasts.len() + tables.len()) as u32,
        }
    }
}

/// What an interval for a ratio says, in the document's words.
pub fn verdict(bounds: Option<(f64, f64)>, margin: f64) -> Verdict {
    match judge(bounds, margin) {
        Judgement::Different => Verdict::Different,
        Judgement::Equivalent => Verdict::Equivalent,
        Judgement::Direction => Verdict::Direction,
        Judgement::Undecided => Verdict::Undecided,
    }
}
