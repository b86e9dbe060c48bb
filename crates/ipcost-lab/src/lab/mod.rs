//! This machine's lab, and the one way to measure here: capabilities, a plan that fits, the run, the record.
//!
//! Every command that measures uses [`Lab`], so that all of them respect what the machine lacks or has no room for.

mod peers;
mod room;
mod stalls;
mod tool;
mod transfers;
mod wall_clock;

pub use self::stalls::Stalls;

use std::collections::BTreeMap;
use std::io;

use ipcost_foreign::{BuiltIn, Cache, Unavailable};
use ipcost_model::{
    Begun, Envelope, Expanded, Job, ModelError, NATIVE, Offers, PeerState, Placement, Plan, Resumed, Samples,
    ServiceCommand, expand,
};
use ipcost_sys::SysError;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::net_namespace::{Entrance, NetNamespace};
use ipcost_sys::placement::Topology;
use ipcost_sys::{host, transport};

pub use self::tool::{set_tool, tool};
use self::transfers::bursts_alone;
pub use self::transfers::has_long_transfers;
pub use self::wall_clock::{fresh_seed, now};
use crate::campaign::{CampaignState, resume, run};
use crate::document::About;
use crate::error::EngineError;
use crate::machine_observer::System;
use crate::peer_control::PeerProgram;
use crate::planning::{PlanError, PlanSettings, plan};
use crate::processes::{ProcessBench, before};
use crate::progress::Observer;
use crate::question::Question;
use crate::tracing::TraceSetup;

/// Why something cannot be measured here.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The job, or a word, an id or an option in it, is wrong.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Its settings are wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Something else failed; one line.
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{cell}: {error}")]
    Cell { cell: String, error: SysError },
    #[error(
        "this run needs about {needed} open descriptors, and the limit is {limit}; raise it with ulimit -n {needed}, or take less concurrency"
    )]
    Descriptors { needed: u64, limit: u64 },
    #[error(
        "{cell}: a concurrency of {asked} does not fit: {name} allows {most} here; {remedy}, or take less concurrency"
    )]
    Concurrency { cell: String, asked: u64, name: String, most: u64, remedy: String },
    /// The commands of arms or what they leave contradict each other.
    #[error("{0}")]
    Arms(&'static str),
    #[error(
        "ipcost cannot tell how to undo \"{rest}\"{of}; give the command that does (--restore), the files that hold all it sets (--keep), or --restore true if there is nothing to undo"
    )]
    NoUndo { rest: String, of: String },
    #[error("{0} cannot be read as text, so it cannot be put back")]
    NotText(String),
    #[error(
        "{path} cannot be written: {error}{}",
        if error.kind() == io::ErrorKind::PermissionDenied { "; it takes root: sudo ipcost ab …" } else { "" }
    )]
    ReadOnly { path: String, error: io::Error },
    /// The request is wrong, or this system lacks something it needs; one line that says what to do.
    #[error("{0}")]
    Refused(String),
}

/// This machine with the peers of a job.
pub struct Lab {
    states: Vec<PeerState>,
    programs: Vec<PeerProgram>,
    services: BTreeMap<String, ServiceCommand>,
    guard: Vec<String>,
    namespace: Vec<String>,
    /// The network of its own that peers and servers run in, if they do.
    network: Option<NetNamespace>,
}

impl Lab {
    /// Prepares the peers that the job's cells name, reporting slow builds to `tell`. The user's peer takes
    /// precedence over a built-in one of the same name. A peer that cannot be used makes its cells unavailable.
    pub fn open(job: &Job, tell: &mut dyn FnMut(&str)) -> Result<Self, LabError> {
        let (states, mut programs) = peers::prepare(job, tell);
        programs.push(PeerProgram::new(NATIVE, own_command("peer")?));
        if let Some(arms) = &job.ab {
            programs = peers::in_both_arms(&programs, arms);
        }
        let services =
            job.peers.iter().filter_map(|(name, peer)| Some((name.clone(), peer.service.clone()?)));
        let services = services.collect();
        Ok(Self {
            states,
            programs,
            services,
            guard: own_command("guard")?,
            namespace: own_command("namespace")?,
            network: None,
        })
    }

    /// The cells of a job; those that this machine cannot run are unavailable, with the reason.
    pub fn cells(&self, job: &Job) -> Result<Expanded, LabError> {
        let topology = Topology::read();
        let unavailable =
            |placement: &Placement| Some((*placement, topology.pair(*placement).err()?.to_string()));
        let placements_unavailable: Vec<_> = Placement::ALL.iter().filter_map(unavailable).collect();
        let transports = transport::states();
        let offers = Offers {
            transports: &transports,
            placements_unavailable: &placements_unavailable,
            peers: &self.states,
            lacks: transport::lacks,
        };
        let mut expanded = expand(job, &offers)?;
        let processors = topology.cores.concat();
        for cell in &mut expanded.cells {
            let options = &cell.cell.options;
            let bound = [("client_cpu", options.client_cpu()), ("server_cpu", options.server_cpu())];
            let is_absent = |cpu: &u64| !processors.contains(&(*cpu as usize));
            let absent = bound.into_iter().find_map(|(name, cpu)| Some((name, cpu.filter(is_absent)?)));
            if let Some((name, cpu)) = absent.filter(|_| cell.unavailable.is_none()) {
                let all: Vec<String> = processors.iter().map(usize::to_string).collect();
                cell.unavailable =
                    Some(format!("{name}={cpu}: this program may use the processors {}", all.join(", ")));
            }
        }
        Ok(expanded)
    }

    /// Plans cells, and fits the plan into the limits of this system.
    pub fn plan(&self, cells: Expanded, settings: &PlanSettings) -> Result<Plan, LabError> {
        let mut plan = plan(cells, settings)?;
        if let Some(burst) = bursts_alone(&plan.cells).first() {
            let found = format!(
                "streams over {} are measured in bursts; its congestion control paces, so that one long transfer may cost several times as much: the option steady measures it",
                burst.cell.transport
            );
            plan.notes.push(found);
        }
        if let Some(planned) = &mut plan.arms {
            planned.before = before(&planned.arms)?;
        }
        room::fitted(plan)
    }

    /// Plans a job with its own settings.
    pub fn plan_job(&self, job: &Job, seed: u64) -> Result<Plan, LabError> {
        self.plan(self.cells(job)?, &PlanSettings::of(job, seed))
    }

    /// Checks that an earlier run can be resumed: its peers, placements and limits.
    pub fn check(&self, begun: &Begun) -> Result<(), LabError> {
        self.check_peers(&begun.plan)?;
        let topology = Topology::read();
        for cell in begun.plan.measurable().map(|index| &begun.plan.cells[index]) {
            topology.pair(cell.placement).map_err(|error| LabError::Cell { cell: cell.id.clone(), error })?;
        }
        room::check(&begun.plan)
    }

    fn check_peers(&self, plan: &Plan) -> Result<(), LabError> {
        let cells = plan.measurable().map(|index| &plan.cells[index]);
        for name in cells.flat_map(|cell| [&cell.client, &cell.server]) {
            if self.programs.iter().any(|program| program.name == *name) {
                continue;
            }
            let reason = self.states.iter().find(|state| state.name == *name);
            let reason = reason.and_then(|state| state.unavailable.as_deref()).unwrap_or("it is not known");
            return Err(LabError::Refused(format!(
                "peer {name} can no longer be used: {reason}; make it available again, then resume"
            )));
        }
        Ok(())
    }

    /// Appends arguments to the commands of the peers that `which` selects by name.
    pub fn give(&mut self, which: impl Fn(&str) -> bool, words: &[String]) {
        let chosen = self.programs.iter_mut().filter(|program| which(&program.name));
        chosen.for_each(|program| program.command.extend_from_slice(words));
    }

    /// Real processes for a plan, for callers with their own loop.
    pub fn bench(&self, plan: &Plan, interrupt: &Interrupt) -> Result<ProcessBench, EngineError> {
        let bench = ProcessBench::new(plan, self.programs.clone(), &self.guard, interrupt.clone())?;
        bench.within(self.entrance()).with_services(self.services.clone())
    }

    /// From now on, peers and servers run in a network of their own, which no one else of this machine reaches; the names of
    /// settings that differ there.
    pub fn in_own_network(&mut self) -> Result<Vec<String>, LabError> {
        let network = NetNamespace::start(&self.namespace).map_err(EngineError::from)?;
        let lost = network.lost().to_vec();
        self.network = Some(network);
        Ok(lost)
    }

    pub fn has_own_network(&self) -> bool {
        self.network.is_some()
    }

    fn entrance(&self) -> Option<Entrance> {
        self.network.as_ref().map(NetNamespace::entrance)
    }

    /// Measures until the question is answered or the budget is spent. Calls `begin` once every peer has introduced itself.
    pub fn run<O: Observer>(
        &self,
        plan: Plan,
        question: &dyn Question,
        interrupt: &Interrupt,
        begin: impl FnOnce(&Plan) -> O,
    ) -> Result<(CampaignState, O), EngineError> {
        self.run_on(self.bench(&plan, interrupt)?, plan, question, begin)
    }

    /// The same, with a bench that was made for the plan.
    pub fn run_on<O: Observer>(
        &self,
        mut bench: ProcessBench,
        plan: Plan,
        question: &dyn Question,
        begin: impl FnOnce(&Plan) -> O,
    ) -> Result<(CampaignState, O), EngineError> {
        let mut observer = begin(&plan);
        let outcome = run(plan, question, &mut bench, &mut System::default(), &mut observer);
        Ok((put_back(outcome, &mut bench), observer))
    }

    /// Resumes a run that was killed.
    pub fn resume(
        &self,
        samples: Samples,
        resumed: Resumed,
        question: &dyn Question,
        interrupt: &Interrupt,
        observer: &mut dyn Observer,
    ) -> Result<CampaignState, EngineError> {
        let bench = self.bench(&samples.begun.plan, interrupt)?;
        self.resume_on(bench, samples, resumed, question, observer)
    }

    /// The same, with a bench that was made for its plan.
    pub fn resume_on(
        &self,
        mut bench: ProcessBench,
        samples: Samples,
        resumed: Resumed,
        question: &dyn Question,
        observer: &mut dyn Observer,
    ) -> Result<CampaignState, EngineError> {
        let outcome = resume(samples, resumed, question, &mut bench, &mut System::default(), observer);
        Ok(put_back(outcome, &mut bench))
    }

    /// Everything needed to trace cells of a plan.
    pub fn tracing<'a>(&'a self, plan: &'a Plan, interrupt: &'a Interrupt) -> TraceSetup<'a> {
        TraceSetup {
            plan,
            programs: &self.programs,
            services: &self.services,
            guard: &self.guard,
            interrupt,
            network: self.entrance(),
        }
    }

    /// The command that holds a network namespace.
    pub fn namespace(&self) -> &[String] {
        &self.namespace
    }
}

/// Puts the machine back; that it cannot be is graver than any other failure.
fn put_back(mut outcome: CampaignState, bench: &mut ProcessBench) -> CampaignState {
    let restored = bench.restore();
    outcome.arms = bench.arms(restored.is_ok());
    outcome.ran_as = bench.ran_as();
    if let Err(error) = restored {
        outcome.failure = Some(error);
    }
    outcome
}

/// The cells of a job as if this machine offered every placement, for questions about the job alone.
pub fn cells_anywhere(job: &Job, peers: &[PeerState]) -> Result<Expanded, LabError> {
    let transports = transport::states();
    Ok(expand(
        job,
        &Offers { transports: &transports, placements_unavailable: &[], peers, lacks: Offers::LACKS_NOTHING },
    )?)
}

/// The parts of a run's record that are not measured.
pub fn about(job: &Job, seed: u64) -> About {
    About {
        tool: tool(),
        host: host::read(),
        job: Job { seed: Some(seed), ..job.clone() },
        started: now(),
        debug_build: cfg!(debug_assertions),
    }
}

/// The beginning of every record, with the current time.
pub fn envelope(schema: &str) -> Envelope {
    Envelope { schema: schema.to_owned(), tool: tool(), host: host::read(), started: now() }
}

/// The command that starts a built-in peer; reports slow steps to `tell`.
pub fn command_of(built_in: &BuiltIn, tell: &mut dyn FnMut(&str)) -> Result<Vec<String>, Unavailable> {
    Cache::of_user().and_then(|cache| built_in.prepare(&cache, tell))
}

/// The command that starts this program in another role.
pub fn own_command(role: &str) -> Result<Vec<String>, LabError> {
    let own = std::env::current_exe();
    let own =
        own.map_err(|error| LabError::Failed(format!("cannot find the path of this program: {error}")))?;
    Ok(vec![own.to_string_lossy().into_owned(), role.to_owned()])
}
