//! The bench of real peers: two processes for every cell and epoch.

mod arm_command;
mod awake;
mod buffer_offsets;
mod machine_state;
mod meeting;
mod needs;
mod pair;
mod playing;
mod services;
mod setting_files;
pub(crate) mod watching;
mod whereabouts;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use awake::WakeState;
use buffer_offsets::DrawnOffsets;
use ipcost_model::pace::PACER;
use ipcost_model::protocol::{Address, FromEngine, PeerRole, processes_of};
use ipcost_model::{
    ArmName, ArmsRecord, BufferLayout, Cell, Lasts, OptionGroup, OptionValue, Pattern, Placement, Plan,
    PlannedCell, ServiceCommand, WatchedBatches, choices,
};
use ipcost_sys::counters::{self};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::net_namespace::Entrance;
use ipcost_sys::placement::{Topology, processors_online};
use ipcost_sys::private_dir::PrivateDir;
use ipcost_sys::process::Spawn;
use ipcost_sys::transport::{self, Provision, Rendezvous, uses_tcp};
use ipcost_sys::{Context, SysError, driven_program, quota};
use machine_state::MachineState;
pub(crate) use machine_state::{Restoration, before};
use pair::{CLIENT, PeerPair, SERVER};
use serde_json::{Map, Value};
use services::{Services, user_in};
pub(crate) use setting_files::{holds, read, setting};

use crate::bench::{BatchKind, BatchOutcome, Bench};
use crate::error::EngineError;
use crate::guard::Guard;
use crate::peer_control::{Patience, PeerProgram, RunningPeer};

/// How long peers have to exit once asked to.
const FAREWELL: Duration = Duration::from_secs(2);
/// Time that each process beyond the first may add until all have answered.
const PER_PROCESS: Duration = Duration::from_millis(200);
/// The kernel's counter of acknowledgements that it delayed (`TcpExt` in `/proc/net/netstat`).
const DELAYED_ACKNOWLEDGEMENTS: &str = "DelayedACKs";
pub struct ProcessBench {
    // Dropped in this order: processes, then the directory they use, then the guard over both.
    pairs: Vec<Option<PeerPair>>,
    services: Services,
    dir: PrivateDir,
    guard: Guard,
    cells: Vec<PlannedCell>,
    programs: BTreeMap<(Option<ArmName>, String), PeerProgram>,
    state: Option<MachineState>,
    topology: Topology,
    /// Topology of the whole machine: a peer may run where this program may not.
    processors: u64,
    interrupt: Interrupt,
    timeout: Duration,
    network: Option<Entrance>,
    counted: bool,
    began: Instant,
    seed: u64,
    /// The peers that place their buffers where they are told to.
    placing: BTreeSet<String>,
    /// The peers that push what Nagle's algorithm holds back.
    pushing: BTreeSet<String>,
    /// The peers that can spin until an operation is due.
    spinning: BTreeSet<String>,
    /// The options that the hello of each peer lists.
    listed: BTreeMap<String, Vec<String>>,
    epoch: u32,
    /// The number of process starts: pilots also have epoch numbers, and need distinct names.
    starts: u32,
    last_id: u64,
    /// As whom servers ran, by what they are.
    ran_as: BTreeMap<String, String>,
}

impl ProcessBench {
    /// A bench for the cells of a plan, after every peer they need has introduced itself.
    ///
    /// `programs` holds every peer that the cells name; `guard` is the command of the guard.
    ///
    /// # Errors
    /// If a peer cannot be started, is not a peer, or cannot do what its cells require.
    pub fn new(
        plan: &Plan,
        programs: Vec<PeerProgram>,
        guard: &[String],
        interrupt: Interrupt,
    ) -> Result<Self, EngineError> {
        let began = Instant::now();
        quota::sweep();
        let state = MachineState::new(plan.arms.as_ref())?;
        let lock = state.as_ref().map(MachineState::lock);
        let mut guard = Guard::start(guard, lock).map_err(|source| EngineError::PeerStart {
            name: "guard".to_owned(),
            command: guard.join(" "),
            source,
        })?;
        let dir = PrivateDir::announced(&mut |path| guard.watch_dir(path))?;
        let mut bench = Self {
            pairs: plan.cells.iter().map(|_| None).collect(),
            services: Services::default(),
            dir,
            guard,
            cells: plan.cells.clone(),
            programs: programs
                .into_iter()
                .map(|program| ((program.arm, program.name.clone()), program))
                .collect(),
            state,
            topology: Topology::read(),
            processors: processors_online(),
            interrupt,
            timeout: plan.timeout,
            network: None,
            counted: plan.counted,
            began,
            seed: plan.seed,
            placing: BTreeSet::new(),
            pushing: BTreeSet::new(),
            spinning: BTreeSet::new(),
            listed: BTreeMap::new(),
            epoch: 0,
            starts: 0,
            last_id: 0,
            ran_as: BTreeMap::new(),
        };
        bench.check_placements()?;
        bench.meet_peers()?;
        bench.check_provisions()?;
        Ok(bench)
    }

    /// The same, with peers in another network namespace, which must outlive this bench.
    pub fn within(mut self, network: Option<Entrance>) -> Self {
        self.network = network;
        self
    }

    /// The same, with the real servers that peers need.
    pub fn with_services(mut self, services: BTreeMap<String, ServiceCommand>) -> Result<Self, EngineError> {
        if !services.is_empty() {
            let passed = self.dir.let_others_pass();
            passed.context(|| format!("cannot open {} for a server", self.dir.path().display()))?;
        }
        self.services = Services::new(services);
        Ok(self)
    }

    /// Starts the server of a peer, which then runs on into the first epoch.
    pub fn serve(&mut self, peer: &str) -> Result<(), EngineError> {
        self.start_services(&BTreeSet::from([peer]))
    }

    fn start_services(&mut self, peers: &BTreeSet<&str>) -> Result<(), EngineError> {
        let place = (self.dir.path(), self.network);
        for (peer, user) in self.services.start(peers, place, &mut self.guard, &self.interrupt)? {
            self.ran_as.insert(format!("the server of {peer}"), user);
        }
        Ok(())
    }

    /// Where the server of a peer listens over a transport, while it runs.
    pub fn address_of_service(&self, peer: &str, transport: &str) -> Option<Address> {
        self.services.address(peer, transport)
    }

    /// How long the server of a peer took until it answered, once everything it needs was there.
    pub fn service_took(&self, peer: &str) -> Option<Duration> {
        self.services.took(peer)
    }

    /// As which user each kind of process has run so far.
    pub fn ran_as(&self) -> BTreeMap<String, String> {
        let own = driven_program::name_of(None);
        let mut all = self.ran_as.clone();
        let peers = !self.programs.is_empty();
        let arms = self.state.is_some();
        let kinds = [("ipcost", true), ("peers", peers), ("commands of the arms", arms)];
        let kinds = kinds.into_iter().filter(|(_, there)| *there && !own.is_empty());
        all.extend(kinds.map(|(kind, _)| (kind.to_owned(), own.clone())));
        all
    }

    /// Sets how long the servers last.
    pub fn services_last(&mut self, lasts: Lasts) {
        self.services.set_lasts(lasts);
    }

    /// Where a cell's buffers begin, while its processes run and if they have any.
    pub fn layout_of(&self, cell: usize) -> Option<BufferLayout> {
        self.pairs[cell].as_ref()?.layout
    }

    /// The process groups of a cell's server and client, while they run.
    pub fn groups(&self, cell: usize) -> Option<(u32, u32)> {
        self.pairs[cell].as_ref().map(|pair| (pair.server.id(), pair.client.id()))
    }

    /// The process group of the real server that a peer talks to, where this bench started one.
    pub fn group_of_service(&self, peer: &str) -> Option<u32> {
        self.services.group(peer)
    }

    /// An unavailable placement makes a cell unavailable in planning; refuse a plan that overlooks it.
    fn check_placements(&self) -> Result<(), EngineError> {
        let mut measurable = self.cells.iter().filter(|cell| cell.unavailable.is_none());
        measurable.try_for_each(|cell| self.places(cell).map(drop))
    }

    /// Sets up every transport once, so that errors show before measuring.
    fn check_provisions(&self) -> Result<(), EngineError> {
        let mut seen = BTreeSet::new();
        for (index, cell) in self.cells.iter().enumerate().filter(|(_, cell)| cell.unavailable.is_none()) {
            if seen.insert(&cell.cell.transport) {
                self.provision(index, &cell.cell, "probe")?;
            }
        }
        Ok(())
    }

    /// The processors of a cell's client and server; none if the scheduler decides.
    fn places(&self, cell: &PlannedCell) -> Result<Option<(usize, usize)>, EngineError> {
        let refused = |source| EngineError::Placement { cell: cell.id.clone(), source };
        self.topology.pair(cell.placement).map_err(refused)
    }

    /// The processors that its client and its server are pinned to: by an option, else by its placement.
    fn pinned(&self, cell: &PlannedCell) -> Result<(Option<usize>, Option<usize>), EngineError> {
        let (client, server) = self.places(cell)?.unzip();
        let bound = |cpu: Option<u64>| cpu.map(|cpu| cpu as usize);
        let options = &cell.cell.options;
        Ok((bound(options.client_cpu()).or(client), bound(options.server_cpu()).or(server)))
    }

    fn provision(&self, index: usize, cell: &Cell, name: &str) -> Result<Provision, EngineError> {
        let planned = &self.cells[index];
        let failed = |source: SysError| EngineError::Provision { cell: planned.id.clone(), source };
        let transport = transport::find(&planned.cell.transport)
            .ok_or_else(|| failed(SysError::Invalid("there is no such transport")))?;
        transport.provision(&Rendezvous { dir: self.dir.path(), name, cell }).map_err(failed)
    }

    /// Starts both processes of a cell, without waiting for messages.
    fn start_pair(&mut self, cell: usize) -> Result<(PeerPair, Provision), EngineError> {
        let planned = &self.cells[cell];
        let layout = self.layout(planned);
        let mut placed = planned.cell.clone();
        if let Some(offset) = layout.and_then(|layout| layout.ring_offset) {
            placed
                .options
                .set("ring_offset", OptionValue::Int(offset.into()))
                .expect("an offset within a page");
        }
        let name = format!("e{}s{}c{cell}", self.epoch, self.starts);
        let mut provision = self.provision(cell, &placed, &name)?;
        if let Some(address) = self.services.address(&planned.server, &planned.cell.transport) {
            provision.server = address;
        }
        let (client_cpu, server_cpu) = self.pinned(planned)?;
        let own_session = planned.cell.options.session() == Some(choices::Session::Own);
        let (epoch, network, programs) = (self.epoch, self.network, &self.programs);
        let mut start = |role: PeerRole, name: &str, inherit, cpu| {
            let who = format!("{role} {name} of {} in epoch {epoch}", planned.id);
            self.guard.watch(|guard| {
                let spawn = Spawn { inherit, cpu, network, own_session, guard, ..Spawn::default() };
                RunningPeer::start(&programs[&(planned.arm, name.to_owned())], who, spawn)
            })
        };
        let inherit = std::mem::take(&mut provision.server_inherits);
        let server = start(PeerRole::Server, &planned.server, inherit, server_cpu)?;
        let inherit = std::mem::take(&mut provision.client_inherits);
        let client = start(PeerRole::Client, &planned.client, inherit, client_cpu)?;
        let capabilities = transport::find(&planned.cell.transport).map(|transport| transport.capabilities());
        let watched = planned.cell.pattern == Pattern::Connect;
        let trouble_counters =
            capabilities.filter(|_| watched).map_or(&[][..], |known| known.trouble_counters);
        let mut effective = Map::new();
        for option in &provision.effective {
            effective.insert(option.name.to_owned(), option.became.into());
        }
        let effective = if effective.is_empty() {
            effective
        } else {
            Map::from_iter([("engine".to_owned(), effective.into())])
        };
        let pinned = client_cpu.zip(server_cpu).map(|(client, server)| BTreeSet::from([client, server]));
        let (served_by, answering) = (Vec::new(), None);
        let pair =
            PeerPair { server, client, trouble_counters, effective, layout, pinned, served_by, answering };
        Ok((pair, provision))
    }

    /// Where a cell's buffers begin in this epoch; `None` if it has none.
    fn layout(&self, planned: &PlannedCell) -> Option<BufferLayout> {
        let known = transport::find(&planned.cell.transport)?.capabilities();
        if !known.has_buffers {
            return None;
        }
        let layout = DrawnOffsets::of(self.seed, self.epoch, self.starts).of_cell(&planned.cell.options);
        let has_ring = known.option_groups.contains(&OptionGroup::SharedMemory);
        Some(BufferLayout {
            client: layout.client.filter(|_| self.placing.contains(&planned.client)),
            server: layout.server.filter(|_| self.placing.contains(&planned.server)),
            ring_offset: layout.ring_offset.filter(|_| has_ring),
        })
    }

    /// Receives hello and prepares the server, then the client, for all pairs at once.
    fn introduce(&mut self, started: Vec<(usize, PeerPair, Provision)>) -> Result<(), EngineError> {
        let interrupt = self.interrupt.clone();
        let time = self.timeout + PER_PROCESS * 2 * started.len() as u32;
        let patience = &mut Patience::of(time, &interrupt);
        let mut waiting = Vec::new();
        for (cell, mut pair, provision) in started {
            pair.expect_hello(SERVER, patience, &interrupt)?;
            pair.expect_hello(CLIENT, patience, &interrupt)?;
            let planned = &self.cells[cell];
            let mut work = planned.cell.clone();
            if let Some(listed) = self.listed.get(&planned.server) {
                // A server that only answers needs no pace, and may know none.
                work.options = work.options.for_peer_that_lists(listed);
            }
            pair.prepare(SERVER, &work, provision.server, patience)?;
            waiting.push((cell, pair, provision.client));
        }
        for (cell, pair, client_address) in &mut waiting {
            let address = pair.expect_ready(SERVER, patience, &interrupt)?;
            pair.served_by = processes_of(&address);
            if let Some(user) = user_in(&address) {
                self.ran_as.insert(format!("the server of {}", self.cells[*cell].server), user);
            }
            let work = self.with_pacer(*cell);
            pair.prepare(CLIENT, &work, client_address.take().unwrap_or(address), patience)?;
        }
        for (cell, mut pair, _) in waiting {
            pair.expect_ready(CLIENT, patience, &interrupt)?;
            self.pairs[cell] = Some(pair);
        }
        Ok(())
    }

    /// The work of a cell, with a sender that spins where it has a core of its own and the cell does not say otherwise.
    fn with_pacer(&self, cell: usize) -> Cell {
        let planned = &self.cells[cell];
        let mut work = planned.cell.clone();
        let has_own_core = planned.placement == Placement::Apart && self.spinning.contains(&planned.client);
        if work.pace().is_open() && work.options.pacer().is_none() && has_own_core {
            work.options.set(PACER, OptionValue::Text("spin".to_owned())).expect("a word of the catalogue");
        }
        work
    }

    /// Puts the machine back as it was before the first arm.
    pub fn restore(&mut self) -> Result<(), EngineError> {
        self.state.as_mut().map_or(Ok(()), |state| state.restore(&mut self.guard))
    }

    /// What the commands of the arms changed; `None` without such commands.
    pub fn arms(&self, restored: bool) -> Option<ArmsRecord> {
        Some(ArmsRecord { settings: self.state.as_ref()?.seen(), restored })
    }

    fn forget_all(&mut self) {
        let groups: Vec<u32> = self.pairs.iter().flatten().flat_map(PeerPair::ids).collect();
        self.guard.forget(&groups);
        self.pairs.iter_mut().for_each(|pair| *pair = None);
    }
}

impl Drop for ProcessBench {
    /// Servers that last the run end with it, and the guard forgets them: their numbers may soon belong to other processes.
    fn drop(&mut self) {
        // Anyone who cares for a failure has asked before.
        let _ = self.restore();
        let gone = self.services.end(true, Instant::now() + FAREWELL);
        self.guard.forget(&gone);
    }
}

impl Bench for ProcessBench {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn start_epoch(&mut self, epoch: u32, order: &[usize]) -> Result<(), EngineError> {
        self.epoch = epoch;
        self.starts += 1;
        let arm = order.first().and_then(|cell| self.cells[*cell].arm);
        if let (Some(state), Some(arm)) = (&mut self.state, arm) {
            state.enter(arm, &mut self.guard, &self.interrupt)?;
        }
        if !self.services.is_empty() {
            let peers: BTreeSet<String> = order.iter().map(|cell| self.cells[*cell].server.clone()).collect();
            self.start_services(&peers.iter().map(String::as_str).collect())?;
        }
        let mut started = Vec::with_capacity(order.len());
        for cell in order {
            if self.interrupt.asked() {
                return Err(EngineError::Interrupted);
            }
            let (pair, provision) = self.start_pair(*cell)?;
            started.push((*cell, pair, provision));
        }
        self.introduce(started)
    }

    fn verify(&mut self, cell: usize, ops: u64) -> Result<(), EngineError> {
        let transport = transport::find(&self.cells[cell].cell.transport);
        if transport.is_some_and(|transport| !transport.capabilities().carries_payload) {
            return Ok(());
        }
        self.play(cell, ops, |id| FromEngine::Verify { id, ops }).map(drop)
    }

    fn batch(&mut self, cell: usize, ops: u64, kind: BatchKind) -> Result<BatchOutcome, EngineError> {
        if self.follows(cell) {
            self.follow(cell, ops)?;
        }
        let watched = self.pairs[cell].as_ref().map_or(&[][..], |pair| pair.trouble_counters);
        let counts = self.counted.then(|| self.count(cell));
        let before = if watched.is_empty() { BTreeMap::new() } else { counters::of_connections() };
        let places = self.seen(cell);
        let softirq = self.softirq_ns(cell);
        let awake = WakeState::now(&self.interrupt);
        let (latency, push) = (kind == BatchKind::Latency, kind == BatchKind::Pushed);
        let seed = if let BatchKind::Paced(seed) = kind { Some(seed) } else { None };
        let (client, server) =
            self.play(cell, ops, |id| FromEngine::Batch { id, ops, latency, push, seed })?;
        let suspended = awake != WakeState::now(&self.interrupt);
        let softirq_ns =
            softirq.zip(self.softirq_ns(cell)).map(|(before, after)| after.saturating_sub(before));
        let after = if watched.is_empty() { BTreeMap::new() } else { counters::of_connections() };
        let rose = |name: &&str| {
            let risen = after.get(*name)?.saturating_sub(*before.get(*name)?);
            (risen > 0).then(|| ((*name).to_owned(), risen))
        };
        let cpu_ns = [server.usage.cpu_ns(), client.usage.cpu_ns()];
        let layout = self.layout_of(cell);
        let whereabouts = places
            .zip(self.seen(cell))
            .and_then(|(before, after)| whereabouts::ran(&self.topology, &before, &after, cpu_ns));
        let most = if latency || seed.is_some() { self.cells[cell].cell.work_for(ops) } else { 0 };
        let latencies = self.latencies(cell, (&client, &server), most, seed.is_some())?;
        let mut measures = client.measures;
        measures.extend(server.measures);
        if let Some(before) = counts {
            measures.extend(self.count(cell).since(&before));
        }
        Ok(BatchOutcome {
            measures,
            wall_ns: client.wall_ns,
            sent_ns: client.sent_ns,
            client: client.usage,
            server: server.usage,
            latencies,
            retries: client.retries,
            troubles: watched.iter().filter_map(rose).collect(),
            softirq_ns,
            whereabouts,
            layout,
            suspended,
        })
    }

    fn pushes(&self, cell: usize) -> bool {
        self.pushing.contains(&self.cells[cell].client)
    }

    fn watch(&mut self, cell: usize, ops: u64) -> Result<Option<WatchedBatches>, EngineError> {
        let group = self.groups(cell).map(|(_, client)| client);
        let Some(client) = group.filter(|_| uses_tcp(&self.cells[cell].cell.transport)) else {
            return Ok(None);
        };
        let delayed = || counters::of_connections().get(DELAYED_ACKNOWLEDGEMENTS).copied();
        let before = delayed();
        let (done, seen) = watching::watch(client, || {
            self.play(cell, ops, |id| FromEngine::Batch { id, ops, latency: false, push: false, seed: None })
        });
        let (done, _) = done?;
        Ok(seen.map(|seen| WatchedBatches {
            batches: 1,
            ops,
            wall_ns: done.wall_ns,
            delayed_acknowledgements: before
                .zip(delayed())
                .map(|(before, after)| after.saturating_sub(before)),
            client: seen.client,
            server: seen.server,
        }))
    }

    fn end_epoch(&mut self) -> Result<(), EngineError> {
        let deadline = Instant::now() + FAREWELL;
        for pair in self.pairs.iter_mut().flatten() {
            pair.client.dismiss(deadline);
            pair.server.dismiss(deadline);
        }
        for pair in self.pairs.iter_mut().flatten() {
            pair.client.see_off(deadline);
            pair.server.see_off(deadline);
        }
        let gone = self.services.end(false, deadline);
        self.guard.forget(&gone);
        self.forget_all();
        if self.interrupt.asked() { Err(EngineError::Interrupted) } else { Ok(()) }
    }

    fn effective(&self, cell: usize) -> Map<String, Value> {
        self.pairs[cell].as_ref().map(|pair| pair.effective.clone()).unwrap_or_default()
    }
}
