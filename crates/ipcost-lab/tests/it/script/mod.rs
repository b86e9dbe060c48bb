//! A script instead of a machine.

#![allow(dead_code)] // Each test file uses a part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use ipcost_lab::bench::{BatchKind, BatchOutcome, Bench};
use ipcost_lab::progress::{Observer, Progress};
use ipcost_lab::{
    About, Answered, CampaignState, Contrasts, EngineError, HeldPorts, MachineObserver, PlanSettings,
    Question, Snapshot, document, plan, run,
};
use ipcost_model::protocol::{LatencyKind, OPERATIONS, OPERATIONS_NS};
use ipcost_model::{
    BufferLayout, Capabilities, Document, Host, Job, Offers, Plan, Tool, TransportState, Usage, expand,
    parse_job,
};
use ipcost_stats::{Histogram, Random};
use ipcost_sys::clock::Quality;
use ipcost_sys::others::Busy;
use serde_json::{Map, Value};

/// The cost of one operation of a cell in an epoch, nanoseconds.
pub type Cost = Box<dyn FnMut(usize, u32) -> f64>;

/// The usage of both sides together in a batch: cell, epoch, elapsed nanoseconds, operations.
pub type Use = Box<dyn FnMut(usize, u32, u64, u64) -> Usage>;

/// A machine that follows a script; its work advances the clock.
pub struct Script {
    pub now: Duration,
    pub epoch: u32,
    pub started: bool,
    /// How long a cell's processes take to start.
    pub start: Duration,
    pub cost: Cost,
    pub usage: Use,
    /// Cells in the order of their timed batches and lead-ins.
    pub log: Vec<(u32, usize, u64)>,
    /// Epochs with the cells that were verified in them.
    pub verified: BTreeSet<(u32, usize)>,
    /// How many operations each verification was asked for, and how long one takes.
    pub verifications: Vec<u64>,
    pub verified_each: Duration,
    pub fail_in_epoch: Option<(u32, bool)>,
    /// Whether the machine is suspended during the next batch of a cell in an epoch.
    pub sleeps: Box<dyn FnMut(u32, usize) -> bool>,
    /// Latencies per batch, if requested or paced.
    pub latencies: usize,
    /// The peers' additional measures: cell, epoch, operations.
    pub measures: fn(usize, u32, u64) -> BTreeMap<String, f64>,
    /// Softirq time of pinned cores in the next batch, nanoseconds: cell, the elapsed time of the batch.
    pub softirq: Box<dyn FnMut(usize, u64) -> Option<u64>>,
    /// Where buffers begin in an epoch.
    pub layout: fn(u32) -> Option<BufferLayout>,
    /// How long the end of a batch waits unless it is pushed, nanoseconds; `None` if clients do not push.
    pub held_ns: Option<u64>,
    /// The batches by epoch and cell, and whether each was pushed.
    pub pushed: Vec<(u32, usize, bool)>,
}

pub const START: Duration = Duration::from_millis(4);

impl Script {
    pub fn new(cost: impl FnMut(usize, u32) -> f64 + 'static) -> Self {
        Self {
            now: Duration::ZERO,
            epoch: 0,
            started: false,
            start: START,
            cost: Box::new(cost),
            usage: Box::new(|_, _, wall_ns, _| Usage { user_ns: wall_ns, ..Usage::default() }),
            log: Vec::new(),
            verified: BTreeSet::new(),
            verifications: Vec::new(),
            verified_each: Duration::ZERO,
            fail_in_epoch: None,
            sleeps: Box::new(|_, _| false),
            latencies: 10,
            measures: |_, _, _| BTreeMap::new(),
            softirq: Box::new(|_, _| None),
            layout: |_| None,
            held_ns: None,
            pushed: Vec::new(),
        }
    }
}

impl Bench for Script {
    fn elapsed(&self) -> Duration {
        self.now
    }

    fn start_epoch(&mut self, epoch: u32, order: &[usize]) -> Result<(), EngineError> {
        assert!(!self.started, "an epoch begins after the one before has ended");
        (self.epoch, self.started) = (epoch, true);
        self.now += self.start * order.len() as u32;
        Ok(())
    }

    fn verify(&mut self, cell: usize, ops: u64) -> Result<(), EngineError> {
        assert!(self.started);
        self.verified.insert((self.epoch, cell));
        self.verifications.push(ops);
        self.now += self.verified_each * ops as u32;
        Ok(())
    }

    fn batch(&mut self, cell: usize, ops: u64, kind: BatchKind) -> Result<BatchOutcome, EngineError> {
        assert!(self.started);
        match self.fail_in_epoch {
            Some((epoch, true)) if epoch == self.epoch => return Err(EngineError::Interrupted),
            Some((epoch, false)) if epoch == self.epoch => {
                let (who, reason) = ("the server".to_owned(), "is gone".to_owned());
                return Err(EngineError::PeerFailed { who, reason, complaint: String::new() });
            }
            _ => {}
        }
        let per_op = (self.cost)(cell, self.epoch);
        let held_ns = self.held_ns.filter(|_| kind != BatchKind::Pushed && ops > 1).unwrap_or(0);
        let wall_ns = (per_op * ops as f64) as u64 + held_ns;
        self.pushed.push((self.epoch, cell, kind == BatchKind::Pushed));
        self.now += Duration::from_nanos(wall_ns);
        self.log.push((self.epoch, cell, ops));
        let used = (self.usage)(cell, self.epoch, wall_ns, ops);
        let is_clocked = matches!(kind, BatchKind::Latency | BatchKind::Paced(_));
        let latency_ns = if is_clocked { vec![per_op as u64; self.latencies] } else { Vec::new() };
        let mut measures = (self.measures)(cell, self.epoch, ops);
        if matches!(kind, BatchKind::Paced(_)) {
            measures.insert(OPERATIONS.to_owned(), ops as f64);
            measures.insert(OPERATIONS_NS.to_owned(), per_op * ops as f64);
        }
        let softirq_ns = (self.softirq)(cell, wall_ns);
        let suspended = (self.sleeps)(self.epoch, cell);
        // A batch during which the machine was suspended may take any time.
        let wall_ns = if suspended { wall_ns * 1000 } else { wall_ns };
        Ok(BatchOutcome {
            wall_ns,
            client: used,
            latencies: [(LatencyKind::Latency, Histogram::of(latency_ns))].into(),
            measures,
            suspended,
            softirq_ns,
            layout: (self.layout)(self.epoch),
            ..BatchOutcome::default()
        })
    }

    fn pushes(&self, _cell: usize) -> bool {
        self.held_ns.is_some()
    }

    fn end_epoch(&mut self) -> Result<(), EngineError> {
        self.started = false;
        Ok(())
    }

    fn effective(&self, _cell: usize) -> Map<String, Value> {
        Map::new()
    }
}

/// Surroundings with known states.
#[derive(Default)]
pub struct Known {
    /// The state at each request; the last one repeats.
    pub snapshots: Vec<Snapshot>,
    pub clock: Quality,
    pub busiest: Option<Busy>,
    pub neighbours: Vec<u32>,
    pub asked: usize,
    /// Local ports that are held: at first, how many more each time, and all that there are.
    pub ports: Option<[u64; 3]>,
}

impl MachineObserver for Known {
    fn snapshot(&mut self) -> Snapshot {
        let now = self.snapshots.get(self.asked).or(self.snapshots.last());
        self.asked += 1;
        now.copied().unwrap_or_default()
    }

    fn clock(&mut self) -> Quality {
        self.clock
    }

    fn clock_source(&mut self) -> Option<String> {
        Some("a sundial".to_owned())
    }

    fn watch_others(&mut self) {}

    fn busiest_other(&mut self) -> Option<Busy> {
        self.busiest.clone()
    }

    fn neighbours(&mut self) -> Vec<u32> {
        self.neighbours.clone()
    }

    fn ports_held(&mut self, _: SocketAddr) -> Option<HeldPorts> {
        let [held, more, of] = self.ports?;
        self.ports = Some([held + more, more, of]);
        Some(HeldPorts { held, of })
    }
}

#[derive(Default)]
pub struct Witness(pub Vec<Progress>);

impl Observer for Witness {
    fn progress(&mut self, progress: &Progress) {
        self.0.push(*progress);
    }
}

pub const NULL: Capabilities =
    Capabilities { name: "one", summary: "", os: &[], in_default_suite: true, ..Capabilities::PLAIN };
pub const TWO: Capabilities = Capabilities { name: "two", ..NULL };
pub const THREE: Capabilities = Capabilities { name: "three", ..NULL };
/// Named as one that goes through TCP.
pub const TCP: Capabilities = Capabilities { name: "tcp", in_default_suite: false, connects: true, ..NULL };
pub const GONE: Capabilities = Capabilities { name: "gone", ..NULL };
pub fn planned(job: &str) -> Plan {
    let state = |capabilities| TransportState { capabilities, unavailable: None };
    let gone = TransportState { capabilities: &GONE, unavailable: Some("not on this machine".into()) };
    let transports = [state(&NULL), state(&TWO), state(&THREE), state(&TCP), gone];
    let job = parse_job(job).unwrap();
    let expanded = expand(
        &job,
        &Offers {
            transports: &transports,
            placements_unavailable: &[],
            peers: &[],
            lacks: Offers::LACKS_NOTHING,
        },
    )
    .unwrap();
    plan(expanded, &PlanSettings::of(&job, 1)).unwrap()
}
/// Gives up the last cell that can be measured, but never one of the first two.
pub struct LastIsSpared;

impl Question for LastIsSpared {
    fn answered(&self, so_far: &CampaignState) -> Answered {
        Contrasts.answered(so_far)
    }

    fn spared(&self, plan: &Plan) -> Vec<usize> {
        plan.measurable().skip(2).last().into_iter().collect()
    }
}

pub fn campaign(job: &str, script: &mut Script) -> CampaignState {
    run(planned(job), &Contrasts, script, &mut Known::default(), &mut Witness::default())
}
pub fn report(outcome: CampaignState) -> Document {
    report_from(Host::default(), outcome)
}
/// The document of a run on a machine of which something is known.
pub fn report_from(host: Host, outcome: CampaignState) -> Document {
    let about = About {
        tool: Tool::of_version("0"),
        host,
        job: Job::default(),
        started: "2026-01-01T00:00:00Z".into(),
        debug_build: false,
    };
    document(outcome, about)
}

pub const PAIR: &str = "baseline = \"two\"\nseed = 3\n[[cells]]\ntransport = [\"one\", \"two\"]\n";

pub fn noisy(costs: &'static [f64], noise: f64) -> Script {
    let mut random = Random::new(11);
    Script::new(move |cell, _| costs[cell] * (noise * random.normal()).exp())
}
