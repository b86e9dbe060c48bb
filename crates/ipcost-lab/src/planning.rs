//! From cells to a plan: the comparisons and their levels, and how rounds and batches fit the budget.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use ipcost_model::units::{counted, duration_text};
use ipcost_model::{
    Arms, Expanded, Job, LatencyMode, Multiplicity, Pattern, Plan, PlannedArms, PlannedCell, PlannedContrast,
    Point, Workload,
};
use ipcost_stats::{Allocation, Looks, Variances, allocate, planned_epochs_to_expect};

use crate::calibration::lengths;

pub const DEFAULT_BUDGET: Duration = Duration::from_secs(30);
pub const DEFAULT_MARGIN: f64 = 0.05;
/// The probability that any headline interval of a run ever misses.
pub const ALPHA: f64 = 0.05;
/// The default time for a peer to answer a message.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most cells with processes at the same time, without tighter limits: two thousand processes.
pub const CELLS_AT_ONCE: usize = 1_000;
/// Assumed time to start, verify and end a cell's processes, before it has been measured.
const ASSUMED_OVERHEAD: Duration = Duration::from_millis(8);
/// Assumed time to calibrate a cell.
const ASSUMED_CALIBRATION: Duration = Duration::from_millis(45);
/// More contrasts than this are a grid to explore, too many to read as a whole.
const MOST_IN_HEADLINE: u32 = 60;
/// The shortest batch that may be requested.
const SHORTEST_BATCH: Duration = Duration::from_millis(1);
/// The share of the budget that planning leaves free for what it cannot foresee.
const SLACK: f64 = 0.1;

/// Aim for this many times the epochs that an interval needs: the first interval spans the least to the largest
/// epoch, and batches twice as long do not narrow it.
const ROOM: u32 = 3;
/// The share of the contrasts of an explored grid that are expected to be answered at least: the level grows with them.
const ANSWERED: f64 = 0.25;
/// The share that is answered as a rule.
const MOSTLY_ANSWERED: f64 = 0.5;
/// Fallbacks where longer batches leave too few epochs, or no interval: short, but still long against the clock.
const BRIEF: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(5)];
/// The largest plausible ratio of pilots' costs to rates.
const MOST_STRETCH: f64 = 20.0;

/// The target length of a batch's lead-in.
const LEAD_IN: Duration = Duration::from_millis(5);

/// The time of an epoch besides the planned batches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpochCost {
    /// Starting, verifying and ending the processes of a cell.
    pub overhead: Duration,
    /// How much longer batches last on average than operation counts predict, as cells may run in several modes;
    /// `None` before any measurement.
    pub stretch: Option<f64>,
    /// Time that the fixed waits of batches add to a round.
    pub extra: Duration,
}

impl EpochCost {
    /// The length of an epoch.
    fn epoch(self, cells: u32, allocation: &Allocation) -> Duration {
        let stretch = self.stretch.unwrap_or(1.0).clamp(1.0, MOST_STRETCH);
        let round = (cells * (LEAD_IN + allocation.batch)).mul_f64(stretch) + self.extra;
        allocation.rounds * round + cells * self.overhead
    }
}

/// The shortest possible epoch.
fn shortest() -> Allocation {
    allocate(&Variances { within: 0.0, ..Variances::UNKNOWN }, Duration::ZERO)
}

/// How many operations a batch with pauses has, over all its connections: as many of these as there is time for.
const PAUSES: [u32; 4] = [100, 50, 20, 8];

/// Why a job cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Nothing can be measured here.
    #[error("none of the cells can be measured here: {0}")]
    NothingAvailable(String),
    /// The budget ends before the first finite interval.
    #[error(
        "a budget of {} cannot reach an interval: {cells} cells and {contrasts} contrasts take {needed} epochs, \
         about {}; give --budget {enough}s, or fewer cells, or --epochs for a run without intervals",
        duration_text(*.budget), duration_text(Duration::from_secs(*.enough))
    )]
    BudgetTooSmall {
        budget: Duration,
        /// A sufficient budget, seconds.
        enough: u64,
        /// The number of cells.
        cells: u32,
        /// Headline contrasts that share alpha.
        contrasts: u32,
        /// Epochs needed for the first finite interval.
        needed: u32,
    },
    /// A setting out of range.
    #[error("{0}")]
    Setting(String),
}

/// All settings except the cells.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSettings {
    /// How long the run may take.
    pub budget: Option<Duration>,
    /// The relative difference that matters.
    pub margin: f64,
    /// Exactly this many epochs.
    pub epochs: Option<u32>,
    /// The level at which the run must reach finite intervals, if it answers questions other than its own contrasts.
    pub level: Option<f64>,
    /// How many intervals share alpha, if there are more than the run's own contrasts.
    pub family: Option<u32>,
    /// The cells whose sender time is requested, as indices.
    pub sender_timed: Vec<usize>,
    /// The seed of every random order.
    pub seed: u64,
    /// The target length of a timed batch.
    pub batch: Option<Duration>,
    /// Batches may get as short as this where otherwise there would be too few epochs.
    pub batch_least: Option<Duration>,
    /// Whether every cell is measured to the end.
    pub keep_all: bool,
    /// Whether to count other events of the machine and the processes around every batch, besides usage.
    pub counted: bool,
    /// How latency is sampled.
    pub latency: LatencyMode,
    /// How long a peer may take to answer a message.
    pub timeout: Duration,
    /// Two arms, if the run compares two.
    pub arms: Option<Arms>,
    /// Whether cells may be offered more than they carry.
    pub may_overload: bool,
    /// Where connections over TCP go whose clients have one source address.
    pub ports_to: Option<SocketAddr>,
    /// Operations that take longer than this are counted, nanoseconds.
    pub limit_ns: Option<u64>,
    /// So many operations a batch at an offered rate has, unless they take longer than this.
    pub offered: Option<(u64, Duration)>,
}

impl PlanSettings {
    /// The settings of a job; `fresh_seed` is used if it has none.
    pub fn of(job: &Job, fresh_seed: u64) -> Self {
        Self {
            budget: job.budget,
            margin: job.margin.unwrap_or(DEFAULT_MARGIN),
            epochs: job.epochs,
            level: None,
            family: None,
            sender_timed: Vec::new(),
            seed: job.seed.unwrap_or(fresh_seed),
            batch: job.batch,
            batch_least: None,
            keep_all: job.keep_all,
            counted: false,
            latency: job.latency.unwrap_or(LatencyMode::Tail),
            timeout: job.timeout.unwrap_or(DEFAULT_TIMEOUT),
            arms: job.ab.clone(),
            may_overload: false,
            ports_to: None,
            limit_ns: None,
            offered: None,
        }
    }
}

/// Plans a run.
///
/// # Errors
/// If nothing can be measured, a setting is out of range, or the budget cannot reach an interval.
pub fn plan(expanded: Expanded, settings: &PlanSettings) -> Result<Plan, PlanError> {
    let Expanded { cells, workloads, notes } = expanded;
    let measurable = cells.iter().filter(|cell| cell.unavailable.is_none()).count() as u32;
    if measurable == 0 {
        let first = cells.first().and_then(|cell| cell.unavailable.clone()).unwrap_or_default();
        return Err(PlanError::NothingAvailable(first));
    }
    check(&cells, settings)?;
    let available = |index: &usize| cells[*index].unavailable.is_none();
    let contrasts = contrasts(&workloads);
    let over_pace = over_pace(&cells, &workloads);
    let (multiplicity, family) = match settings.family {
        Some(family) => (Multiplicity::Headline, family),
        None => family(&workloads, over_pace.len(), available),
    };
    let alpha_each = ALPHA / f64::from(family.max(1));
    // Most are answered, or looks are worth less than the level; the first interval is to come where fewer are.
    let (first, level) = match (settings.level, multiplicity) {
        (Some(level), _) => (level, level),
        (None, Multiplicity::Headline) => (alpha_each, alpha_each),
        (None, Multiplicity::Explored) => (ALPHA * ANSWERED, ALPHA * MOSTLY_ANSWERED),
    };
    let epochs_needed = planned_epochs_to_expect(first);
    let budget = settings.budget.unwrap_or(DEFAULT_BUDGET);
    // Costs are multiples of floors measured in the same rounds.
    let has_floors = cells.iter().any(|cell| cell.cell.pattern == Pattern::Floor);
    let mut plan = Plan {
        cells,
        workloads,
        contrasts,
        over_pace,
        notes,
        seed: settings.seed,
        margin: settings.margin,
        alpha: ALPHA,
        family,
        multiplicity,
        alpha_each,
        level,
        epochs_needed,
        epochs_exact: settings.epochs,
        epochs_expected: 0,
        looks: Looks::NONE,
        budget,
        rounds: 0,
        batch: Duration::ZERO,
        lead_in: Duration::ZERO,
        batch_exact: settings.batch,
        batch_least: settings.batch_least,
        // Questions about groups of cells take all of them.
        keep_all: settings.keep_all || has_floors || settings.arms.is_some(),
        counted: settings.counted,
        sender_timed: settings.sender_timed.clone(),
        latency: settings.latency,
        timeout: settings.timeout,
        arms: settings.arms.clone().map(|arms| PlannedArms { arms, before: Vec::new() }),
        may_overload: settings.may_overload,
        ports_to: settings.ports_to,
        limit_ns: settings.limit_ns,
        offered: settings.offered,
        pauses: PAUSES[0],
        cells_at_once: CELLS_AT_ONCE,
        tasks_at_once: u64::MAX,
    };
    fit_assumed(&mut plan)?;
    if let Some(epochs) = settings.epochs
        && epochs < epochs_needed
    {
        let given = counted(epochs, "epoch");
        let verb = if epochs == 1 { "gives" } else { "give" };
        plan.notes.push(format!("{given} {verb} no intervals; they need {epochs_needed}"));
    }
    Ok(plan)
}

/// Refuses settings that are out of range.
fn check(cells: &[PlannedCell], settings: &PlanSettings) -> Result<(), PlanError> {
    let batches = || settings.batch.into_iter().chain(cells.iter().filter_map(|cell| cell.batch));
    if batches().any(|batch| batch < SHORTEST_BATCH) {
        return Err(PlanError::Setting(
            "a batch of less than 1 ms is too short to time; give at least 1ms (--batch, or batch in a job)"
                .to_owned(),
        ));
    }
    if settings.timeout.is_zero() {
        return Err(PlanError::Setting("--timeout 0 kills every peer; give at least 1s".to_owned()));
    }
    // A peer that is still busy would be killed.
    if let Some(batch) = batches().find(|batch| *batch >= settings.timeout) {
        return Err(PlanError::Setting(format!(
            "a batch of {} does not end within the timeout of {}; give --timeout {}s",
            duration_text(batch),
            duration_text(settings.timeout),
            batch.as_secs().saturating_mul(2).max(1)
        )));
    }
    if settings.epochs == Some(0) {
        return Err(PlanError::Setting("--epochs 0 measures nothing; give at least 1".to_owned()));
    }
    Ok(())
}

/// Chooses rounds, batches and pauses before anything is measured; refuses a budget that reaches no interval.
fn fit_assumed(plan: &mut Plan) -> Result<(), PlanError> {
    let (measurable, budget) = (plan.measurable().count() as u32, plan.budget);
    let calibration = measurable * ASSUMED_CALIBRATION;
    let cost_of = |plan: &Plan| EpochCost {
        overhead: ASSUMED_OVERHEAD,
        stretch: None,
        extra: plan.measurable().map(|cell| beyond_usual(plan, cell)).sum(),
    };
    let fits = |plan: &mut Plan| {
        let cost = cost_of(plan);
        fit(plan, budget.saturating_sub(calibration), cost, &Variances::UNKNOWN)
    };
    let pauses = |plan: &Plan| {
        plan.measurable().find(|cell| plan.cells[*cell].cell.pause().is_some_and(|it| it.mean_ns > 0))
    };
    // Rather fewer epochs than shorter batches; but rather shorter ones than no interval.
    let fewer = if pauses(plan).is_some() { &PAUSES[..] } else { &PAUSES[..1] };
    let is_planned = fewer.iter().any(|pauses| {
        plan.pauses = *pauses;
        fits(plan)
    });
    if let Some(cell) = pauses(plan).filter(|_| is_planned && plan.pauses < PAUSES[0]) {
        plan.notes.push(format!(
            "there is time for {} operations in a batch of {}, and {} would say more: of few, the first ones of a process, which take longer, are a large part; a larger --budget, or fewer cells",
            plan.pauses, plan.cells[cell].id, PAUSES[0]
        ));
    }
    if !is_planned {
        let cost = cost_of(plan);
        let allocation = Allocation { rounds: plan.rounds, batch: plan.batch };
        let epoch = cost.epoch(measurable, &allocation);
        let enough = (epoch * plan.epochs_needed).div_f64(1.0 - SLACK) + calibration;
        return Err(PlanError::BudgetTooSmall {
            budget,
            enough: enough.as_secs() + 1,
            cells: measurable,
            contrasts: plan.family,
            needed: plan.epochs_needed,
        });
    }
    Ok(())
}

/// How much longer a long transfer takes than a usual batch with its lead-in.
fn beyond_usual(plan: &Plan, cell: usize) -> Duration {
    let (batch, lead_in) = lengths(plan, &plan.cells[cell]);
    (batch + lead_in).saturating_sub(plan.batch.max(SHORTEST_BATCH) + LEAD_IN)
}

/// The looks at the contrasts of a plan whose epochs are known to fit.
pub(crate) fn looks(plan: &Plan) -> Looks {
    match plan.epochs_exact {
        Some(exact) => Looks::once(exact, plan.level),
        None => Looks::around(plan.epochs_expected, plan.level),
    }
}

/// The epochs after which a plan's own contrasts have intervals, whatever else it is to answer.
pub fn epochs_for_contrasts(plan: &Plan) -> u32 {
    planned_epochs_to_expect(plan.alpha_each)
}

/// Whether the time left allows more than the shortest batches, so that it matters how contrasts vary.
pub(crate) fn has_choice(plan: &Plan, left: Duration, overhead: Duration) -> bool {
    let cost = EpochCost { overhead, stretch: None, extra: Duration::ZERO };
    let epoch = cost.epoch(plan.measurable().count() as u32, &shortest());
    plan.epochs_exact.is_none()
        && plan.batch_exact.is_none()
        && left.mul_f64(1.0 - SLACK) >= epoch * plan.epochs_needed.saturating_mul(ROOM)
}

/// Chooses rounds and batches for the time left, given the epoch overhead here and how contrasts vary; `false` if no
/// choice reaches an interval.
pub fn fit(plan: &mut Plan, left: Duration, cost: EpochCost, variances: &Variances) -> bool {
    let cells = plan.measurable().count() as u32;
    let usable = left.mul_f64(1.0 - SLACK).as_secs_f64();
    let epochs = |allocation: &Allocation| (usable / cost.epoch(cells, allocation).as_secs_f64()) as u32;
    // A requested length is kept, unless it may be shortened.
    let asked = plan.batch_exact.map(|batch| Allocation {
        rounds: 1,
        batch: plan.batch_least.map_or(batch, |least| shortened(plan, usable, cost, batch, least)),
    });
    let best = asked.unwrap_or_else(|| allocate(variances, cost.overhead + LEAD_IN));
    // Processes do something for the first time only once.
    let once = plan.measurable().any(|index| plan.cells[index].starts_cold());
    let best = if once { Allocation { rounds: 1, ..best } } else { best };
    let shortest = asked.unwrap_or_else(shortest);
    let (needed, roomy) = match plan.epochs_exact {
        Some(exact) => (exact, exact),
        None => (plan.epochs_needed, plan.epochs_needed.saturating_mul(ROOM)),
    };
    // Fewer and shorter rounds than the best are better than few epochs, and far better than no interval.
    let fewer = (1..=best.rounds).rev().map(|rounds| Allocation { rounds, ..best });
    let brief = BRIEF.map(|batch| Allocation { rounds: 1, batch });
    let briefer = brief.into_iter().filter(|_| asked.is_none() && cost.stretch.is_some());
    let allocation = fewer
        .chain([shortest])
        .find(|allocation| epochs(allocation) >= roomy)
        .or_else(|| briefer.chain([shortest]).find(|allocation| epochs(allocation) >= needed))
        .unwrap_or(shortest);
    (plan.rounds, plan.batch, plan.lead_in) = (allocation.rounds, allocation.batch, LEAD_IN);
    plan.epochs_expected = plan.epochs_exact.unwrap_or_else(|| epochs(&allocation));
    plan.epochs_exact.is_some() || plan.epochs_expected >= plan.epochs_needed
}

/// The longest batch up to `batch` that leaves time for one and a half times the epochs of an interval, and at least `least`.
fn shortened(plan: &Plan, usable: f64, cost: EpochCost, batch: Duration, least: Duration) -> Duration {
    let wanted = plan.epochs_exact.unwrap_or(plan.epochs_needed + plan.epochs_needed / 2);
    let cells = plan.measurable().count() as f64;
    let round = usable / f64::from(wanted) - cells * cost.overhead.as_secs_f64() - cost.extra.as_secs_f64();
    let stretch = cost.stretch.unwrap_or(1.0).clamp(1.0, MOST_STRETCH);
    let fits = round / cells / stretch - LEAD_IN.as_secs_f64();
    Duration::from_secs_f64(fits.max(0.0)).clamp(least.min(batch), batch)
}

/// Every cell against its comparison cell.
fn contrasts(workloads: &[Workload]) -> Vec<PlannedContrast> {
    let pairs = |(index, workload): (usize, &Workload)| -> Vec<PlannedContrast> {
        let compared = workload.cells.iter().zip(&workload.against);
        compared.filter_map(|(a, b)| Some(PlannedContrast { workload: index, a: *a, b: (*b)? })).collect()
    };
    workloads.iter().enumerate().flat_map(pairs).collect()
}

/// Every cell with a pause against the same work, over the same transport and between the same peers, at the shortest pause, and with
/// the least memory gone through in between.
fn over_pace(cells: &[PlannedCell], workloads: &[Workload]) -> Vec<PlannedContrast> {
    let without = |cell: usize| cells[cell].point.without_pace();
    let pauses = |cell: usize| {
        cells[cell].cell.pause().filter(|_| cells[cell].unavailable.is_none() && cells[cell].arm.is_none())
    };
    let mut shortest: HashMap<Point, usize> = HashMap::new();
    for cell in (0..cells.len()).filter(|cell| pauses(*cell).is_some()) {
        let known = shortest.entry(without(cell)).or_insert(cell);
        if pauses(cell) < pauses(*known) {
            *known = cell;
        }
    }
    let mut found = Vec::new();
    for (index, workload) in workloads.iter().enumerate() {
        for a in workload.cells.iter().copied().filter(|cell| pauses(*cell).is_some()) {
            let b = shortest[&without(a)];
            if a != b {
                found.push(PlannedContrast { workload: index, a, b });
            }
        }
    }
    found
}

/// How many contrasts share alpha, and in which way.
///
/// A table of k cells asks 2k − 3 questions: k − 1 contrasts with the baseline and k − 1 with the truly cheapest
/// cell, one of them counted twice. A table may name any two cells as equal, though, and the data decide which; so in
/// a headline all k (k − 1) / 2 pairs share alpha.
fn family(
    workloads: &[Workload],
    over_pace: usize,
    available: impl Fn(&usize) -> bool,
) -> (Multiplicity, u32) {
    let compared = workloads.iter().filter(|workload| workload.baseline.is_some());
    let sizes: Vec<u32> = compared
        .map(|workload| workload.cells.iter().filter(|cell| available(cell)).count() as u32)
        .collect();
    let over_pace = over_pace as u32;
    let questions = over_pace + sizes.iter().map(|k| (2 * k).saturating_sub(3)).sum::<u32>();
    match questions > MOST_IN_HEADLINE {
        true => (Multiplicity::Explored, questions),
        false => (
            Multiplicity::Headline,
            over_pace + sizes.iter().map(|k| k * k.saturating_sub(1) / 2).sum::<u32>(),
        ),
    }
}
