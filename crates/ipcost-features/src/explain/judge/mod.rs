//! Where the time of cells goes, and what makes the difference between them.
//!
//! ```text
//! timed batches ──parts──▶ parts and differences, with intervals ─┐
//! untimed passes ─evidence─▶ system calls, events, the network ───┼─▶ Explanation
//!                                     all of it ──causes──▶ names ┘
//! ```

mod account;
pub mod causes;
pub mod evidence;
pub(crate) mod flames;
pub(crate) mod kinds;
mod pair;
pub mod parts;

use std::time::Duration;

use account::{account, settle};
use causes::{CauseInputs, CellInputs, causes};
use evidence::CellEvidence;
use ipcost_lab::campaign::CampaignState;
use ipcost_lab::document::held_back;
use ipcost_lab::layout_effect::layout_effects;
use ipcost_lab::planning::ALPHA;
use ipcost_lab::system_calls::{SystemCalls, close, take_untraced};
use ipcost_lab::{Answered, Needed};
use ipcost_model::facts::{NetworkFacts, USUAL_PIPE_BYTES};
use ipcost_model::protocol::PeerRole;
use ipcost_model::{Measure, OptionGroup, Plan, PlannedCell, Verdict, Warning};
use ipcost_sys::firewall::Firewall;
use ipcost_sys::idle::IdleState;
use ipcost_sys::transport;
pub use pair::{PairSeen, explain_pair};
use parts::{Estimates, common, division, excludes_zero, parts_of};

use super::MeasuredFloors;
use crate::explain::kinds::calls_are_certain;
use crate::explain::{
    CountDifference, EXPLANATION_SCHEMA, ExplainedCell, ExplainedDifference, Explanation, Purpose,
    SideEvidence, Sides,
};

/// In shorter batches, ticks tell user from system time badly. The median of what ticks count is within ln 2 of a tick of
/// the mean (Hamza, "The smallest uniform upper bound on the distance between the mean and the median of the binomial
/// and Poisson distributions", 1995). With ticks of 4 ms, that is 3 % of such a batch.
const ENOUGH_BATCH: Duration = Duration::from_millis(100);
/// Intervals of a difference: its ratio, its elapsed time, its parts.
const INTERVALS_OF_DIFFERENCE: u32 = 7;
/// Those of them that say whether there is one, and how large it is: its ratio and its elapsed time.
const FIRST_OF_DIFFERENCE: u32 = 2;
/// Intervals of a cell: its elapsed time, its parts and its multiple of the floor.
const INTERVALS_OF_CELL: u32 = 7;
/// An interval that is narrower than this share of the cost on either side of the median is narrow enough.
const NARROW: f64 = 0.02;
/// Switches of two cells that differ by less than this are the same.
const SAME_SWITCHES: f64 = 0.1;
/// Events that differ by less than this share are the same.
const SAME_EVENTS: f64 = 0.05;

/// What is asked about the cells of a plan, as indices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExplainedQuestion {
    /// The cells that were asked about.
    pub asked: Vec<usize>,
    /// Pairs whose difference is asked for.
    pub pairs: Vec<(usize, usize)>,
    /// Asked cells, each with its twin between native peers.
    pub twins: Vec<(usize, usize)>,
}

impl ExplainedQuestion {
    /// How many intervals the answer has, which share alpha.
    pub fn intervals(&self) -> u32 {
        let differences = (self.pairs.len() + self.twins.len()) as u32;
        INTERVALS_OF_DIFFERENCE * differences + INTERVALS_OF_CELL * self.asked.len() as u32
    }

    /// How many of them say whether the cells differ, and by how much; of a cell alone, what it costs.
    fn first(&self) -> u32 {
        match self.first_pairs() {
            [] => self.asked.len() as u32,
            pairs => FIRST_OF_DIFFERENCE * pairs.len() as u32,
        }
    }

    /// The differences that were asked for: of cells, or of a cell alone to its twin.
    fn first_pairs(&self) -> &[(usize, usize)] {
        if self.pairs.is_empty() { &self.twins } else { &self.pairs }
    }

    /// The level of each of those: they have half of alpha, since it is they that were asked for.
    fn first_level(&self) -> f64 {
        ALPHA / 2.0 / f64::from(self.first().max(1))
    }

    /// The level of each of the others.
    pub fn level(&self) -> f64 {
        ALPHA / 2.0 / f64::from(self.intervals().saturating_sub(self.first()).max(1))
    }
}

impl ipcost_lab::Question for ExplainedQuestion {
    /// A difference is answered once the intervals of all its parts are narrow.
    fn answered(&self, outcome: &CampaignState) -> Answered {
        let batches = outcome.batches();
        let estimates = Estimates { batches: &batches, level: self.level() };
        let wall = |cell| estimates.of(cell, &Measure::Wall).map(|wall| wall.median);
        let enough = |a: usize, b: Option<usize>| {
            let Some(scale) = wall(a).into_iter().chain(b.and_then(wall)).reduce(f64::max) else {
                return false;
            };
            let cell = |index: usize| division(&outcome.plan.cells[index]);
            let division = b.map_or(cell(a), |b| common(cell(a), cell(b)));
            parts_of(division).iter().all(|part| {
                let estimate = match b {
                    Some(b) => estimates.difference(a, b, &part.measure()),
                    None => estimates.of(a, &part.measure()),
                };
                let narrow = |lo: f64, hi: f64| hi - lo <= 2.0 * NARROW * scale;
                estimate.is_some_and(|found| found.lo.zip(found.hi).is_some_and(|(lo, hi)| narrow(lo, hi)))
            })
        };
        let narrow: Vec<bool> = match self.first_pairs() {
            [] => self.asked.iter().map(|cell| enough(*cell, None)).collect(),
            pairs => pairs.iter().map(|(a, b)| enough(*a, Some(*b))).collect(),
        };
        let resolved = narrow.iter().filter(|is_narrow| **is_narrow).count();
        let needed = if resolved == narrow.len() { Needed::Nothing } else { Needed::Everything };
        Answered { resolved: resolved as u32, of: narrow.len() as u32, needed }
    }
}

/// What the machine is and did, beside what the timed pass itself observed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ObservedMachine {
    /// Physical cores that this program may use.
    pub cores: usize,
    /// How often idle states were entered during the timed pass.
    pub idle: Vec<IdleState>,
    /// Rules that packets go through.
    pub firewall: Firewall,
    /// Ports, TIME_WAIT and tables of the network, right after the timed pass.
    pub network: NetworkFacts,
}

/// Puts everything together. `evidence` is by cell of the plan.
pub fn explain(
    outcome: &CampaignState,
    question: &ExplainedQuestion,
    evidence: &[CellEvidence],
    machine: &ObservedMachine,
    floors: Option<&MeasuredFloors>,
    debug_build: bool,
) -> Explanation {
    let plan = &outcome.plan;
    let batches = outcome.batches();
    let first = Estimates { batches: &batches, level: question.first_level() };
    let others = Estimates { batches: &batches, level: question.level() };
    let elapsed = if question.first_pairs().is_empty() { &first } else { &others };
    let twins: Vec<usize> = question.twins.iter().map(|(_, twin)| *twin).collect();
    let shown: Vec<usize> =
        (0..plan.cells.len()).filter(|cell| question.asked.contains(cell) || twins.contains(cell)).collect();
    let cells: Vec<ExplainedCell> = shown
        .iter()
        .map(|index| {
            let asked = question.asked.contains(index);
            let purpose = if asked { Purpose::Asked } else { Purpose::Twin };
            let cell = cell(plan, *index, purpose, elapsed, &others, &evidence[*index]);
            with_floor(cell, outcome, *index, floors)
        })
        .collect();
    let find = |index: usize| shown.iter().position(|known| *known == index).map(|place| &cells[place]);
    let all = |first: &Estimates<'_>, pairs: &[(usize, usize)]| -> Vec<ExplainedDifference> {
        let pair = |(a, b): &(usize, usize)| {
            Some(difference(first, &others, (*a, find(*a)?), (*b, find(*b)?), plan.margin))
        };
        pairs.iter().filter_map(pair).collect()
    };
    let of_twins = if question.pairs.is_empty() { &first } else { &others };
    let (mut differences, mut twins) = (all(&first, &question.pairs), all(of_twins, &question.twins));
    let failure = outcome.failure.as_ref().map(ToString::to_string);
    let mut layouts = layout_effects(plan, &batches);
    let of_cell = |index: &usize| CellInputs {
        incidents: outcome.incidents[*index].clone(),
        buffer: buffer(outcome, *index),
        usual_buffer: larger_by_default(&plan.cells[*index]),
        layout: layouts[*index].take(),
    };
    let facts = CauseInputs {
        cells: &cells,
        of_cells: &shown.iter().map(of_cell).collect::<Vec<_>>(),
        differences: &differences,
        twins: &twins,
        ops: ops_with_lead_ins(outcome),
        observed: &outcome.observed,
        machine,
        failure: failure.as_deref(),
    };
    let (causes, left) = (causes(&facts), causes::left_in_time_wait(&facts));
    for differences in [&mut differences, &mut twins] {
        settle(differences, &cells, &causes);
    }
    Explanation {
        schema: EXPLANATION_SCHEMA.to_owned(),
        intervals: question.intervals(),
        causes,
        tried: None,
        cells,
        differences,
        twins,
        missing: Vec::new(),
        warnings: warnings(outcome, question, debug_build).into_iter().chain(left).collect(),
        failure,
    }
}

fn with_floor(
    cell: ExplainedCell,
    outcome: &CampaignState,
    index: usize,
    floors: Option<&MeasuredFloors>,
) -> ExplainedCell {
    let floor = floors.and_then(|floors| floors.of_cell(&cell.id, cell.wall_ns.as_ref()?));
    let watched = outcome.incidents[index].watched.as_ref();
    let held_back = held_back(outcome.plan.cells[index].cell.pattern, watched, cell.wall_ns.as_ref());
    ExplainedCell { floor, held_back, ..cell }
}

fn ops_with_lead_ins(outcome: &CampaignState) -> u64 {
    let plan = &outcome.plan;
    let lead_ins = 1.0 + plan.lead_in.as_secs_f64() / plan.batch.as_secs_f64().max(1e-9);
    let ops: u64 = outcome.samples.iter().map(|sample| sample.ops).sum();
    (ops as f64 * lead_ins) as u64
}

/// What calls alone tell of a side.
fn of_calls(calls: &SystemCalls) -> SideEvidence {
    SideEvidence {
        system_calls: Some(calls.records()),
        threads: calls.threads().to_vec(),
        traced_call: calls.traced_call(),
        sends: calls.sends().to_vec(),
        receives: calls.receives().to_vec(),
        lookups: calls.lookups().clone(),
        ..SideEvidence::default()
    }
}

fn cell(
    plan: &Plan,
    index: usize,
    purpose: Purpose,
    elapsed: &Estimates<'_>,
    others: &Estimates<'_>,
    evidence: &CellEvidence,
) -> ExplainedCell {
    let planned = &plan.cells[index];
    let division = division(planned);
    let busy = others.busy(index);
    let limited_by = busy
        .filter(|_| division == crate::explain::Division::Overlap)
        .map(|busy| if busy.client > busy.server { PeerRole::Client } else { PeerRole::Server });
    let side = |side: PeerRole| {
        let calls = evidence.calls.as_ref().map(|calls| calls.of(side));
        let records = |calls: &SystemCalls| {
            let mut records = calls.records();
            take_untraced(&mut records, evidence.untraced.of(side));
            records
        };
        SideEvidence {
            voluntary_switches: others.counted(index, |sample| usage(sample, side).voluntary_switches),
            involuntary_switches: others.counted(index, |sample| usage(sample, side).involuntary_switches),
            table_sharers: *evidence.table_sharers.of(side),
            events: evidence.events.of(side).clone(),
            system_calls: calls.map(records),
            ..calls.map(of_calls).unwrap_or_default()
        }
    };
    ExplainedCell {
        id: planned.id.clone(),
        label: label(plan, planned),
        purpose,
        point: planned.point.clone(),
        division,
        wall_ns: elapsed.of(index, &Measure::Wall),
        cpu_ns: others.of(index, &Measure::Cpu),
        wait_ns: others.wait_ns(index),
        parts: others.parts(index, division),
        floor: None,
        busy,
        limited_by,
        wake: evidence.wake.clone(),
        sides: Sides { client: side(PeerRole::Client), server: side(PeerRole::Server) },
        network: evidence.network.clone(),
        held_back: Vec::new(),
        machine: evidence.machine.clone(),
        alone: evidence.alone,
        traced_ops: evidence.traced_ops,
        counted_ops: evidence.counted_ops,
    }
}

fn usage(sample: &ipcost_model::Sample, side: PeerRole) -> ipcost_model::Usage {
    if side == PeerRole::Client { sample.client } else { sample.server }
}

/// What a cell is called: its label, unless others of its placement have the same.
fn label(plan: &Plan, cell: &PlannedCell) -> String {
    let namesake = |other: &&PlannedCell| other.label == cell.label && other.placement == cell.placement;
    let namesakes = plan.cells.iter().filter(namesake).count();
    if namesakes > 1 { cell.id.clone() } else { cell.label.clone() }
}

fn difference(
    first: &Estimates<'_>,
    others: &Estimates<'_>,
    (a, cell_a): (usize, &ExplainedCell),
    (b, cell_b): (usize, &ExplainedCell),
    margin: f64,
) -> ExplainedDifference {
    let division = common(cell_a.division, cell_b.division);
    let ratio = first.ratio(a, b);
    let wall_ns = first.difference(a, b, &Measure::Wall);
    let parts = others.part_differences(a, b, division);
    ExplainedDifference {
        a: cell_a.id.clone(),
        b: cell_b.id.clone(),
        verdict: ratio.map_or(Verdict::Undecided, |ratio| Verdict::of(ratio.lo.zip(ratio.hi), margin)),
        ratio,
        wall_ns,
        differs: wall_ns.is_some_and(|wall| excludes_zero(&wall)),
        division,
        account: account(cell_a, cell_b, wall_ns.as_ref(), division, &parts),
        parts,
        counts: counts(cell_a, cell_b),
    }
}

/// What both cells have counts of, side by side.
fn counts(a: &ExplainedCell, b: &ExplainedCell) -> Vec<CountDifference> {
    let mut found = Vec::new();
    for side in [PeerRole::Client, PeerRole::Server] {
        let (of_a, of_b) = (a.sides.of(side), b.sides.of(side));
        let mut add = |what: &str, a: Option<f64>, b: Option<f64>, same: &dyn Fn(f64, f64) -> bool| {
            if let Some((a, b)) = a.zip(b) {
                found.push(CountDifference {
                    side: Some(side),
                    what: what.to_owned(),
                    a,
                    b,
                    differs: !same(a, b),
                });
            }
        };
        let calls = |cell: &ExplainedCell| {
            let calls =
                cell.sides.of(side).system_calls.as_ref().filter(|_| calls_are_certain(cell, side))?;
            Some(calls.iter().map(|call| call.count).sum::<f64>())
        };
        add("system calls", calls(a), calls(b), &close);
        let same = |a: f64, b: f64| (a - b).abs() <= SAME_SWITCHES * a.max(b).max(1.0);
        add("voluntary switches", of_a.voluntary_switches, of_b.voluntary_switches, &same);
        add("involuntary switches", of_a.involuntary_switches, of_b.involuntary_switches, &same);
        let same = |a: f64, b: f64| (a - b).abs() <= (SAME_EVENTS * a.max(b)).max(0.1);
        for (name, count) in &of_a.events {
            add(name, Some(*count), of_b.events.get(name).copied(), &same);
        }
    }
    found
}

/// How many bytes may lie between the sides of a cell, as far as it is known.
fn buffer(outcome: &CampaignState, cell: usize) -> Option<u64> {
    let planned = &outcome.plan.cells[cell];
    let names = ["pipe_size", "so_sndbuf"];
    let became = outcome.effective[cell]
        .values()
        .find_map(|role| names.iter().find_map(|name| role.get(name).and_then(serde_json::Value::as_u64)));
    let asked = names.iter().find_map(|name| planned.cell.options.number(name));
    let is_pipe = transport::find(&planned.cell.transport)
        .is_some_and(|known| known.capabilities().option_groups.contains(&OptionGroup::PipeBuffer));
    became.or(asked).or(is_pipe.then_some(USUAL_PIPE_BYTES))
}

/// How many bytes lie between the sides of the same cell whose buffers are not set, if that is more: what someone made smaller.
fn larger_by_default(planned: &PlannedCell) -> Option<u64> {
    let transport = transport::find(&planned.cell.transport)?;
    let mut unset = planned.cell.clone();
    unset.options = planned.cell.options.without(OptionGroup::Socket).without(OptionGroup::PipeBuffer);
    let (now, usual) = (transport.capacity_bytes(&planned.cell)?, transport.capacity_bytes(&unset)?);
    (now < usual).then_some(usual)
}

fn warnings(outcome: &CampaignState, question: &ExplainedQuestion, debug_build: bool) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |code: &str, message: String| {
        found.push(Warning { code: code.to_owned(), message });
    };
    let epochs = outcome.epochs;
    if epochs < outcome.plan.epochs_needed {
        warn(
            "no-intervals",
            format!(
                "{epochs} epochs are too few for intervals, so nothing can be told from noise; about {} are needed: give a larger --budget",
                outcome.plan.epochs_needed
            ),
        );
    }
    for cell in question.asked.iter().map(|cell| &outcome.plan.cells[*cell]) {
        if let Some(reason) = &cell.unavailable {
            warn("unavailable", format!("{} cannot be measured here: {reason}", cell.id));
        }
    }
    if epochs > 0 && outcome.plan.batch < ENOUGH_BATCH {
        warn(
            "rough-parts",
            format!(
                "batches of {} ms are so short that user and system time, which the kernel tells apart by ticks, are rough; processor time as a whole is exact, and a larger --budget makes batches longer",
                outcome.plan.batch.as_millis()
            ),
        );
    }
    if debug_build {
        warn(
            "debug-build",
            "this program was built without optimisation, and so was its native peer; build with --release"
                .to_owned(),
        );
    }
    found
}
