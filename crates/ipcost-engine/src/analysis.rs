//! From costs to contrasts and verdicts; the same code decides when to stop and fills the document.

use ipcost_model::{Metric, Plan, Verdict, Workload};
use ipcost_stats::{Judgement, MergedInterval, judge, merged_interval};

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

/// The contrast of two cells; `None` before the first epoch, or where a cost is zero.
pub fn contrast(plan: &Plan, table: &CostTable, metric: Metric, a: usize, b: usize) -> Option<Contrast> {
    let found = merged_interval(&table.log_ratios(metric, a, b), plan.alpha_each)?;
    let MergedInterval { interval, block, .. } = found;
    let bounds = interval.bounds.map(|(lo, hi)| (lo.exp(), hi.exp()));
    let verdict = match judge(bounds, plan.margin) {
        Judgement::Different => Verdict::Different,
        Judgement::Equivalent => Verdict::Equivalent,
        Judgement::Direction => Verdict::Direction,
        Judgement::Undecided => Verdict::Undecided,
    };
    Some(Contrast { a, b, ratio: interval.median.exp(), bounds, verdict, merged: block })
}

/// The cheapest cell of a table, by its median cost, against the next; `None` below two cells.
pub fn cheapest(plan: &Plan, table: &CostTable, workload: &Workload) -> Option<Cheapest> {
    let cost = |cell: usize| ipcost_stats::median(&table.log_costs(Metric::Wall, cell));
    let mut costs: Vec<(f64, usize)> =
        workload.cells.iter().filter_map(|cell| Some((cost(*cell)?, *cell))).collect();
    costs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (_, first) = *costs.first()?;
    let rivals = costs[1..].iter();
    let beats: Vec<Contrast> =
        rivals.filter_map(|(_, rival)| contrast(plan, table, Metric::Wall, *rival, first)).collect();
    // The rival it beats by least: two close ones may swap places between cost and paired ratio.
    let runner_up = beats.iter().min_by(|x, y| x.ratio.total_cmp(&y.ratio))?;
    let claimed = beats.iter().all(|contrast| contrast.bounds.is_some_and(|(lo, _)| lo > 1.0));
    Some(Cheapest { contrast: *runner_up, claimed })
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

/// Counts the answers so far. `direction` is none yet: more epochs may say whether it matters.
pub fn answered(plan: &Plan, table: &CostTable) -> Answered {
    let settled = |verdict: Verdict| matches!(verdict, Verdict::Different | Verdict::Equivalent);
    let contrasts = plan.contrasts.iter();
    let resolved = contrasts
        .filter_map(|planned| contrast(plan, table, Metric::Wall, planned.a, planned.b))
        .filter(|contrast| settled(contrast.verdict))
        .count();
    let tables: Vec<bool> = plan
        .workloads
        .iter()
        .filter(|workload| plan.contrasts.iter().any(|planned| workload.cells.contains(&planned.a)))
        .map(|workload| {
            cheapest(plan, table, workload)
                .is_some_and(|cheapest| cheapest.claimed || cheapest.contrast.verdict == Verdict::Equivalent)
        })
        .collect();
    Answered {
        resolved: (resolved + tables.iter().filter(|known| **known).count()) as u32,
        of: (plan.contrasts.len() + tables.len()) as u32,
    }
}
