//! The floors of cells, measured at the begin and at the end: where the two differ, the machine changed meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use ipcost_lab::progress::Silent;
use ipcost_lab::{Answered, CampaignState, EngineError, Lab, LabError, PlanSettings};
use ipcost_model::{Estimate, FloorPart, FloorRecipe, FloorRecord, Job, LatencyMode, Metric, Pattern, Plan};
use ipcost_stats::median;
use ipcost_sys::interrupt::Interrupt;

use super::ExplainedFloor;

/// Epochs of each of the two passes; their median is told, without an interval.
const EPOCHS: u32 = 7;
/// How long a batch of a floor lasts.
const BATCH: Duration = Duration::from_millis(12);
/// Where the two passes differ by more than this share, neither is told as the floor.
const STEADY: f64 = 0.2;

/// What cells' floors are made of, and how to measure that.
pub struct Floors {
    plan: Plan,
    recipes: BTreeMap<String, FloorRecipe>,
}

/// What each cell of the plan of floors cost, nanoseconds; `None` of those that are no floors.
pub type Costs = Vec<Option<f64>>;

impl Floors {
    /// Those of a job's cells; `None` where no floor is known, or none can be measured here.
    pub fn of(job: &Job, seed: u64, lab: &Lab) -> Result<Option<Self>, LabError> {
        let mut expanded = lab.cells(&Job { floor: true, ..job.clone() })?;
        let known = expanded.cells.iter().filter_map(|cell| Some((cell.id.clone(), cell.floor.clone()?)));
        let recipes: BTreeMap<String, FloorRecipe> = known.collect();
        for cell in expanded.cells.iter_mut().filter(|cell| cell.cell.pattern != Pattern::Floor) {
            cell.unavailable = Some("only floors are measured now".to_owned());
        }
        if recipes.is_empty() || expanded.cells.iter().all(|cell| cell.unavailable.is_some()) {
            return Ok(None);
        }
        let settings = PlanSettings {
            epochs: Some(EPOCHS),
            batch: Some(BATCH),
            latency: LatencyMode::Off,
            ..PlanSettings::of(job, seed)
        };
        Ok(Some(Self { plan: lab.plan(expanded, &settings)?, recipes }))
    }

    pub fn measure(&self, lab: &Lab, interrupt: &Interrupt) -> Result<Costs, EngineError> {
        let (outcome, _) = lab.run(self.plan.clone(), &Unasked, interrupt, |_| Silent)?;
        match outcome.failure {
            Some(failure) => Err(failure),
            None if outcome.epochs < EPOCHS => Err(EngineError::Interrupted),
            None => Ok(self.costs(&outcome)),
        }
    }

    fn costs(&self, outcome: &CampaignState) -> Costs {
        let batches = outcome.batches();
        let cost = |cell| median(&batches.log_costs(Metric::Wall, cell)).map(f64::exp);
        (0..self.plan.cells.len()).map(cost).collect()
    }
}

/// Floors, with what they cost in both passes.
pub struct MeasuredFloors {
    pub floors: Floors,
    pub begin: Costs,
    pub end: Costs,
}

impl MeasuredFloors {
    /// The floor of the cell with this id, and the cell's multiple of it.
    pub fn of_cell(&self, id: &str, wall_ns: &Estimate) -> Option<ExplainedFloor> {
        let Self { floors, begin, end } = self;
        let recipe = floors.recipes.get(id)?;
        let sum = |costs: &Costs| {
            recipe.parts.iter().map(|part| Some(part.count * costs[part.cell]?)).sum::<Option<f64>>()
        };
        let (begin_ns, end_ns) = (sum(begin)?, sum(end)?);
        let part = |share: &ipcost_model::FloorShare| {
            let ns = (begin[share.cell]? + end[share.cell]?) / 2.0 * share.count;
            Some(FloorPart { cell: floors.plan.cells[share.cell].id.clone(), count: share.count, ns })
        };
        Some(ExplainedFloor::new(
            begin_ns,
            end_ns,
            wall_ns,
            recipe.parts.iter().map(part).collect::<Option<_>>()?,
            recipe.made_of.clone(),
        ))
    }
}

impl ExplainedFloor {
    /// Of what the parts cost at the begin and at the end, nanoseconds, and the cell's elapsed time.
    pub(super) fn new(
        begin_ns: f64,
        end_ns: f64,
        wall_ns: &Estimate,
        parts: Vec<FloorPart>,
        made_of: String,
    ) -> Self {
        let (least, most) = (begin_ns.min(end_ns), begin_ns.max(end_ns));
        let ns_per_op = (begin_ns + end_ns) / 2.0;
        let multiple = Estimate {
            median: wall_ns.median / ns_per_op,
            lo: wall_ns.lo.map(|lo| lo / most),
            hi: wall_ns.hi.map(|hi| hi / least),
        };
        let record = FloorRecord { ns_per_op, multiple, parts, made_of };
        Self { record, begin_ns, end_ns, steady: most <= (1.0 + STEADY) * least }
    }
}

/// Nothing is asked: all epochs are measured.
struct Unasked;

impl ipcost_lab::Question for Unasked {
    fn answered(&self, _so_far: &CampaignState) -> Answered {
        Answered::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(begin_ns: f64, end_ns: f64) -> ExplainedFloor {
        let wall_ns = Estimate { median: 20_000.0, lo: Some(19_000.0), hi: Some(21_000.0) };
        ExplainedFloor::new(begin_ns, end_ns, &wall_ns, Vec::new(), String::new())
    }

    #[test]
    fn a_multiple_is_as_uncertain_as_the_floor() {
        let steady = floor(10_000.0, 9_000.0);
        assert!(steady.steady);
        assert_eq!(steady.record.ns_per_op, 9_500.0);
        let multiple = steady.record.multiple;
        assert_eq!((multiple.lo, multiple.hi), (Some(1.9), Some(21_000.0 / 9_000.0)));
    }

    #[test]
    fn a_floor_that_moved_by_more_than_a_fifth_is_not_steady() {
        assert!(floor(10_000.0, 12_000.0).steady);
        assert!(!floor(10_000.0, 12_100.0).steady);
        assert!(!floor(24_000.0, 10_700.0).steady);
    }
}
