//! What cells do, seen in passes that are not timed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ipcost_lab::ProcessBench;
use ipcost_lab::bench::{BatchKind, Bench};
use ipcost_lab::error::EngineError;
use ipcost_lab::profile::{ProfileError, Profiler};
use ipcost_lab::stacks::Stacks;
use ipcost_lab::strace::{Direction, POLLS};
use ipcost_lab::system_calls::SystemCalls;
use ipcost_lab::tracing::{Lengths, TraceError, TraceSetup, alone, trace, traced_ns};
use ipcost_model::Placement;
use ipcost_model::protocol::{PeerRole, RECEIVES};
use ipcost_sys::disk::DiskBytes;
use ipcost_sys::net_namespace::NetNamespace;
use ipcost_sys::perf::{Counters, Refusal};
use ipcost_sys::placement::Topology;
use ipcost_sys::transport::uses_tcp;
use ipcost_sys::{counters, descriptor_table, idle, wake};

use super::kinds::depends_on_pace;
use crate::explain::{ExplainedWake, MissingEvidence, Sides};

/// How long a traced batch may take, nanoseconds, as far as that can be foreseen.
const TRACED_NS: f64 = 0.7e9;
/// The most and the fewest operations of the longer traced batch, for each worker.
const MOST_TRACED: f64 = 2_500.0;
const FEWEST_TRACED: f64 = 12.0;
/// Operations for each worker that tell how long one takes while it is traced.
const PILOT: u64 = 4;
/// How long a counted batch is meant to last, nanoseconds.
const COUNTED_NS: f64 = 0.3e9;
/// A rest in which a processor does not begin to sleep, and the longest that is tried, nanoseconds.
const SHORT_REST_NS: f64 = 2_000.0;
const LONG_REST_NS: f64 = 1e6;
/// How long all rests of one length take together, nanoseconds.
const WAKES_NS: f64 = 50e6;
/// How long a sampled batch is meant to last, nanoseconds: a few thousand samples.
const SAMPLED_NS: f64 = 1e9;

/// What was seen of a cell; figures are for one operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CellEvidence {
    /// System calls of each side; `None` where they could not be traced.
    pub calls: Option<Sides<SystemCalls>>,
    /// Calls whose number depends on how fast a side is, by name, counted while nothing traced it.
    pub untraced: Sides<BTreeMap<String, f64>>,
    /// Operations of the longer traced batch.
    pub traced_ops: u64,
    /// Events of each side.
    pub events: Sides<BTreeMap<String, f64>>,
    /// How many threads share a table of descriptors on each side, where that is known.
    pub table_sharers: Sides<Option<u32>>,
    /// What the network did.
    pub network: BTreeMap<String, f64>,
    /// What the whole machine did.
    pub machine: BTreeMap<String, f64>,
    /// Whether no one else was in that network.
    pub alone: bool,
    /// Operations of the counted batch.
    pub counted_ops: u64,
    /// How long the cell's cores take to wake, where it has two.
    pub wake: Option<ExplainedWake>,
    /// Sampled stacks of each side, where they were asked for and could be had.
    pub stacks: Option<Sides<Stacks>>,
}

/// How often both groups make those of their traced calls whose number depends on how fast they are.
fn count_calls(
    [client, server]: [u32; 2],
    lengths: Lengths,
    mut batch: impl FnMut(u64) -> Result<(), EngineError>,
    evidence: &mut CellEvidence,
) -> Result<(), EngineError> {
    let Some(calls) = &evidence.calls else { return Ok(()) };
    let names = |side: PeerRole| -> BTreeSet<String> {
        let records = calls.of(side).records();
        records
            .into_iter()
            .filter(|call| is_paced(&call.name) || Direction::of(&call.name).is_some())
            .map(|call| call.name)
            .collect()
    };
    let counters = |side, group| Counters::of_calls(group, names(side).iter().map(String::as_str));
    let counters =
        Sides { client: counters(PeerRole::Client, client), server: counters(PeerRole::Server, server) };
    [&counters.client, &counters.server].into_iter().for_each(Counters::enable);
    let read = || Sides { client: counters.client.read(), server: counters.server.read() };
    let begin = read();
    batch(lengths.fewer)?;
    let between = read();
    batch(lengths.many)?;
    let end = read();
    // What belongs to a batch and not to its operations is in both.
    let more = (lengths.many - lengths.fewer) as f64;
    let rates = |side: PeerRole| -> BTreeMap<String, f64> {
        let at = |counts: &Sides<BTreeMap<String, f64>>, name: &str| counts.of(side).get(name).copied();
        let rate = |name: &String| {
            let (begin, between, end) = (at(&begin, name)?, at(&between, name)?, at(&end, name)?);
            Some((name.clone(), ((end - between) - (between - begin)).max(0.0) / more))
        };
        end.of(side).keys().filter_map(rate).collect()
    };
    if more > 0.0 {
        evidence.untraced = Sides { client: rates(PeerRole::Client), server: rates(PeerRole::Server) };
    }
    Ok(())
}

/// What both groups and the machine do in a batch of so many operations, and the network of a process if there is one.
fn count_events(
    counters: &Sides<Counters>,
    [client, server]: [u32; 2],
    network: Option<u32>,
    ops: u64,
    batch: impl FnOnce() -> Result<(), EngineError>,
    evidence: &mut CellEvidence,
) -> Result<(), EngineError> {
    [&counters.client, &counters.server].into_iter().for_each(Counters::enable);
    let disk = || Sides { client: DiskBytes::of_group(client), server: DiskBytes::of_group(server) };
    let network = || network.map(counters::network).unwrap_or_default();
    let (before, disk_before, huge_before) = (network(), disk(), counters::huge_page_faults());
    batch()?;
    let (after, disk_after, huge_after) = (network(), disk(), counters::huge_page_faults());
    let per_op = |count: f64| count / ops as f64;
    let side = |counters: &Counters, before: Option<DiskBytes>, after: Option<DiskBytes>| {
        let mut counted = counters.read();
        if let Some(moved) = after.zip(before).map(|(after, before)| after - before) {
            counted.insert("disk_bytes_read".to_owned(), moved.read as f64);
            counted.insert("disk_bytes_written".to_owned(), moved.written as f64);
        }
        counted.into_iter().map(|(name, count)| (name, per_op(count))).collect()
    };
    evidence.events = Sides {
        client: side(&counters.client, disk_before.client, disk_after.client),
        server: side(&counters.server, disk_before.server, disk_after.server),
    };
    // One that could not be read before has counted since the system started.
    let risen = |(name, now): (String, u64)| {
        let risen = now.saturating_sub(*before.get(&name)?);
        Some((name, per_op(risen as f64)))
    };
    evidence.network = after.into_iter().filter_map(risen).collect();
    let huge = huge_after.zip(huge_before).map(|(after, before)| per_op(after.saturating_sub(before) as f64));
    evidence.machine = huge.into_iter().map(|rate| ("huge_page_faults".to_owned(), rate)).collect();
    evidence.counted_ops = ops;
    Ok(())
}

/// Whether how often a call is made may depend on how fast its side is.
fn is_paced(name: &str) -> bool {
    Direction::of(name) == Some(Direction::Read) || POLLS.contains(&name)
}

/// Whether each call whose number may depend on that was counted while nothing traced it.
fn all_untraced(evidence: &CellEvidence) -> bool {
    [PeerRole::Client, PeerRole::Server].into_iter().all(|side| {
        let records = evidence.calls.iter().flat_map(|calls| calls.of(side).records());
        let counted = evidence.untraced.of(side);
        records.into_iter().all(|call| !is_paced(&call.name) || counted.contains_key(&call.name))
    })
}

/// Where the kernel counts no calls for this user, the server may know how many of its own received something.
fn take_received(received: Option<f64>, evidence: &mut CellEvidence) {
    let Some((received, calls)) = received.zip(evidence.calls.as_ref()) else { return };
    let records = calls.server.records();
    let mut receive = records.iter().filter(|call| {
        Direction::of(&call.name) == Some(Direction::Read) && call.moved.is_some_and(|moved| moved > 0.0)
    });
    if let (Some(only), None) = (receive.next(), receive.next()) {
        evidence.untraced.server.entry(only.name.clone()).or_insert(received);
    }
}

/// Collects evidence cell by cell, and what could not be had.
pub struct Collector<'a> {
    setup: TraceSetup<'a>,
    namespace: Option<NetNamespace>,
    sampled: bool,
    missing: Vec<MissingEvidence>,
}

impl<'a> Collector<'a> {
    /// Makes ready for the cells of a plan; `namespace` is the command that holds a network namespace, and `sampled`
    /// whether stacks are sampled.
    pub fn new(setup: TraceSetup<'a>, namespace: &[String], sampled: bool) -> Self {
        let (mut missing, mut own) = (Vec::new(), None);
        match NetNamespace::start(namespace) {
            Ok(made) => {
                if !made.lost().is_empty() {
                    let reason = format!(
                        "the network was counted in a namespace of its own, where these could not be kept: {}",
                        made.lost().join(", ")
                    );
                    let remedy = "run as root to keep them all; timed batches ran with your own";
                    missing.push(MissingEvidence::new("some network settings", reason, remedy));
                }
                own = Some(made);
            }
            Err(error) => missing.push(MissingEvidence::new(
                "a network of its own",
                format!("{error}; so other connections of this machine are counted along"),
                "run as root, or allow user namespaces",
            )),
        }
        Self { setup, namespace: own, sampled, missing }
    }

    /// What could not be had, each once.
    pub fn missing(self) -> Vec<MissingEvidence> {
        self.missing
    }

    /// Runs the passes of a cell whose operations take so long, nanoseconds, where that is known.
    pub fn collect(&mut self, cell: usize, wall_ns: f64) -> Result<CellEvidence, EngineError> {
        let mut evidence = CellEvidence { wake: self.wake(cell, wall_ns), ..CellEvidence::default() };
        match self.trace(cell) {
            Ok((calls, lengths)) => {
                let [client, server] = <[SystemCalls; 2]>::try_from(calls).unwrap_or_default();
                let server = if self.is_given(cell) { SystemCalls::default() } else { server };
                evidence.calls = Some(Sides { client, server });
                evidence.traced_ops = lengths.many;
            }
            Err(TraceError::Peer(EngineError::Interrupted)) => return Err(EngineError::Interrupted),
            Err(error @ TraceError::NoStrace) => self.miss("system calls", &error.to_string(), "install it"),
            Err(error) => self.miss(
                "system calls",
                &format!("{}: {error}", self.setup.plan.cells[cell].id),
                "allow this user to trace its own processes (kernel.yama.ptrace_scope of at most 1; in a container, --cap-add SYS_PTRACE), or give a longer --timeout where a traced peer is too slow",
            ),
        }
        match self.count(cell, wall_ns, &mut evidence) {
            Err(EngineError::Interrupted) => return Err(EngineError::Interrupted),
            Err(error) => self.miss(
                "events and the network",
                &error.to_string(),
                "measure this cell alone to see whether it runs at all",
            ),
            Ok(()) => {}
        }
        Ok(evidence)
    }

    /// Whether a cell's server is the user's own, of which nothing is seen.
    fn is_given(&mut self, cell: usize) -> bool {
        let given =
            self.setup.plan.cells[cell].cell.request.is_some() && self.setup.services_of(cell).is_empty();
        if given {
            self.miss(
                "what your server does",
                "it runs on its own, and only its client was traced and counted",
                "leave the addresses out to have a private server examined",
            );
        }
        given
    }

    /// How long the core of the server takes to wake after a rest as between operations, and after hardly any.
    fn wake(&self, cell: usize, wall_ns: f64) -> Option<ExplainedWake> {
        let placement = self.setup.plan.cells[cell].placement;
        let cores =
            Topology::read().pair(if placement == Placement::Free { Placement::Apart } else { placement });
        let (client, server) = cores.ok().flatten().filter(|(client, server)| client != server)?;
        let rest_ns = (wall_ns / 2.0).clamp(SHORT_REST_NS, LONG_REST_NS);
        let after = |rest_ns: f64| {
            let times = (WAKES_NS / rest_ns).clamp(40.0, 400.0) as u32;
            let took = wake::after_rest((client, server), Duration::from_nanos(rest_ns as u64), times);
            took.ok().map(|took| took.as_nanos() as f64)
        };
        let (rested_ns, awake_ns) = (after(rest_ns)?, after(SHORT_REST_NS)?);
        Some(ExplainedWake { rest_ns, rested_ns, awake_ns, driver: idle::driver() })
    }

    /// The calls of both sides; as many operations as fit, equally many for every worker.
    fn trace(&self, cell: usize) -> Result<(Vec<SystemCalls>, Lengths), TraceError> {
        const SIDES: [PeerRole; 2] = [PeerRole::Client, PeerRole::Server];
        let workers = u64::from(self.setup.plan.cells[cell].cell.concurrency);
        let each_ns = traced_ns(self.setup, cell, &SIDES, PILOT * workers)? * workers as f64;
        let each = (TRACED_NS / each_ns).clamp(FEWEST_TRACED, MOST_TRACED) as u64;
        let lengths = Lengths { fewer: (each / 4).max(1) * workers, many: each * workers };
        Ok((trace(self.setup, cell, &SIDES, lengths)?, lengths))
    }

    /// One batch with counters around it, in the namespace if there is one.
    fn count(&mut self, cell: usize, wall_ns: f64, evidence: &mut CellEvidence) -> Result<(), EngineError> {
        let TraceSetup { plan, programs, guard, interrupt, .. } = self.setup;
        let workers = u64::from(plan.cells[cell].cell.concurrency);
        let ops = ((COUNTED_NS / wall_ns / workers as f64) as u64).max(8) * workers;
        let only = alone(plan, cell);
        // A real server stays where it is, and so do those who ask it.
        let asks_a_server = plan.cells[cell].cell.request.is_some();
        let namespace = self.namespace.as_ref().filter(|_| !asks_a_server);
        let (entrance, alone) = (namespace.map(NetNamespace::entrance), namespace.is_some());
        let process = namespace.map_or_else(std::process::id, NetNamespace::process);
        let bench = ProcessBench::new(&only, programs.to_vec(), guard, interrupt.clone())?.within(entrance);
        let mut bench = bench.with_services(self.setup.services_of(cell))?;
        bench.start_epoch(1, &[cell])?;
        // What is done once is done now: threads start, memory is touched.
        bench.batch(cell, workers * 4, BatchKind::Plain)?;
        let (server, client) = bench.groups(cell).unwrap_or_default();
        let server = bench.group_of_service(&plan.cells[cell].server).unwrap_or(server);
        evidence.table_sharers =
            Sides { client: descriptor_table::sharers(client), server: descriptor_table::sharers(server) };
        let counters = Sides { client: Counters::of_group(client), server: Counters::of_group(server) };
        let network = uses_tcp(&plan.cells[cell].cell.transport).then_some(process);
        let mut received = None;
        let batch = || {
            let ran = bench.batch(cell, ops, BatchKind::Plain)?;
            received = ran.measures.get(RECEIVES).map(|count| count / ops as f64);
            Ok(())
        };
        count_events(&counters, [client, server], network, ops, batch, evidence)?;
        evidence.alone = alone;
        if depends_on_pace(&plan.cells[cell].point) {
            let batch = |ops| bench.batch(cell, ops, BatchKind::Plain).map(drop);
            let lengths = Lengths { fewer: (ops / workers / 4).max(1) * workers, many: ops };
            count_calls([client, server], lengths, batch, evidence)?;
            take_received(received, evidence);
            if !all_untraced(evidence) {
                self.miss(
                    "how often a side receives and polls while nothing traces it",
                    "the kernel does not count calls for this user",
                    "run as root; counts with a ~ are of a traced batch, which is slower",
                );
            }
        }
        if self.sampled {
            let mut batch =
                |ops: u64| Ok(bench.batch(cell, ops.div_ceil(workers) * workers, BatchKind::Plain)?.wall_ns);
            evidence.stacks = self.sample([client, server], || {
                // Being sampled may take far longer than the operation: how long, tells a short batch.
                let few = (ops / 50).max(1);
                let each = batch(few)? as f64 / few as f64;
                batch(((SAMPLED_NS / each) as u64).max(1)).map(drop)
            })?;
        }
        bench.end_epoch()?;
        self.note_refusals(&counters.client);
        Ok(())
    }

    /// The stacks of both groups during a batch; what fails is missing.
    fn sample(
        &mut self,
        groups: [u32; 2],
        batch: impl FnOnce() -> Result<(), EngineError>,
    ) -> Result<Option<Sides<Stacks>>, EngineError> {
        let taken = Profiler::start(&groups, self.setup.interrupt).map(|profiler| {
            batch()?;
            Ok::<_, EngineError>(profiler.finish())
        });
        let taken = match taken {
            Ok(taken) => taken?,
            Err(error) => Err(error),
        };
        match taken.map(<[Stacks; 2]>::try_from) {
            Ok(Ok([client, server])) => {
                if client.hides_kernel() || server.hides_kernel() {
                    self.miss(
                        "names of kernel functions",
                        "this user may not see them",
                        "run as root, or set kernel.kptr_restrict to 0",
                    );
                }
                return Ok(Some(Sides { client, server }));
            }
            Err(ProfileError::Interrupted) => return Err(EngineError::Interrupted),
            Err(error) => self.miss("a flame graph", &error.to_string(), "the rest of the report needs none"),
            Ok(Err(_)) => self.miss("a flame graph", "perf sampled one side only", "try again"),
        }
        Ok(None)
    }

    fn note_refusals(&mut self, counters: &Counters) {
        let of = |refusal| -> Vec<&str> {
            let names = counters.refused().iter().filter(|(_, found)| **found == refusal);
            names.map(|(name, _)| name.as_str()).collect()
        };
        let forbidden = of(Refusal::Forbidden);
        if !forbidden.is_empty() {
            let remedy = "run as root, or set kernel.perf_event_paranoid to 1 or less";
            self.miss(&forbidden.join(", "), "this user may not count them", remedy);
        }
        let absent = of(Refusal::Absent);
        if !absent.is_empty() {
            let remedy = "measure on a machine, or in a virtual machine, that has a processor's counters";
            self.miss(&absent.join(", "), "the processor offers no such counters here", remedy);
        }
    }

    fn miss(&mut self, what: &str, reason: &str, remedy: &str) {
        let missing = MissingEvidence::new(what, reason, remedy);
        if !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }
}
