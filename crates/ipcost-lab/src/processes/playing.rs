//! Batches: both peers of a cell do their work, and what is seen of them meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ipcost_model::protocol::{Done, FromEngine, FromPeer, LatencyKind, PeerRole};
use ipcost_model::{Pattern, Placement};
use ipcost_stats::Histogram;
use ipcost_sys::counters::{self, ActivityCounts};
use ipcost_sys::{process_tree, transport};

use super::pair::{CLIENT, PeerPair, SERVER};
use super::{ProcessBench, whereabouts};
use crate::error::EngineError;
use crate::histograms;
use crate::peer_control::{Patience, fault};
use crate::plausibility::{self, PacedBy, PeerRequest};

/// How many times as long as on average random pauses may be, all together.
const LONGEST_PAUSES: f64 = 2.0;
/// Operations at most to find the thread of a server that answers.
const OPS_TO_FIND: u64 = 100;

impl ProcessBench {
    /// Runs a batch with both peers, the server first. On a lossy transport, a timeout error says whether datagrams
    /// were dropped.
    pub(super) fn play(
        &mut self,
        cell: usize,
        ops: u64,
        message: impl Fn(u64) -> FromEngine,
    ) -> Result<(Done, Done), EngineError> {
        let known = transport::find(&self.cells[cell].cell.transport).map(|known| known.capabilities());
        let counted =
            known.filter(|known| known.no_stream.is_some()).map_or(&[][..], |known| known.trouble_counters);
        if counted.is_empty() {
            return self.play_safely(cell, ops, message);
        }
        let dropped = || {
            let all = counters::of_connections();
            counted.iter().filter_map(|name| all.get(*name)).sum::<u64>()
        };
        let before = dropped();
        self.play_safely(cell, ops, message).map_err(|error| match error {
            EngineError::PeerFailed { who, reason, complaint } => {
                let lost = dropped().saturating_sub(before);
                let reason = format!(
                    "{reason}. A datagram may have been lost: {lost} found a buffer full (options so_rcvbuf and so_sndbuf, net.core.rmem_max); a firewall may drop some, too"
                );
                EngineError::PeerFailed { who, reason, complaint }
            }
            other => other,
        })
    }

    fn play_safely(
        &mut self,
        cell: usize,
        ops: u64,
        message: impl Fn(u64) -> FromEngine,
    ) -> Result<(Done, Done), EngineError> {
        self.last_id += 1;
        let id = self.last_id;
        let interrupt = &self.interrupt;
        let pair = self.pairs[cell].as_mut().expect("an epoch has been started");
        let message = message(id);
        let work = &self.cells[cell].cell;
        let paced = matches!(message, FromEngine::Batch { seed: Some(_), .. });
        // Pauses may be long, and are meant to be.
        let pauses_ns =
            work.pace().interval_ns(work.concurrency) * (ops / u64::from(work.concurrency)) as f64;
        let pauses =
            if paced { Duration::from_nanos((pauses_ns * LONGEST_PAUSES) as u64) } else { Duration::ZERO };
        let patience = &mut Patience::of(self.timeout.saturating_add(pauses), interrupt);
        pair.expect_silence()?;
        let server_began = Instant::now();
        pair.say(SERVER, &message, patience)?;
        match pair.await_message(SERVER, patience, interrupt)? {
            FromPeer::Armed { id: armed } if armed == id => {}
            other => return Err(pair.out_of_turn(SERVER, "armed", &other)),
        }
        let client_began = Instant::now();
        pair.say(CLIENT, &message, patience)?;
        let client = pair.expect_done(CLIENT, patience, interrupt)?;
        let client_took = client_began.elapsed();
        let server = pair.expect_done(SERVER, patience, interrupt)?;
        let server_took = server_began.elapsed();
        let latency = matches!(message, FromEngine::Batch { latency: true, .. });
        let asked = |role, passed| PeerRequest {
            role,
            id,
            ops,
            exchanges: self.cells[cell].cell.work_for(ops),
            latency,
            paced: paced.then(|| PacedBy {
                tells: (role == PeerRole::Server) == (work.pattern == Pattern::Stream),
                overlaps: work.pace().is_open() || work.pattern == Pattern::Stream,
            }),
            concurrency: self.cells[cell].cell.concurrency,
            passed,
            processors: self.processors,
        };
        let reports = [
            (CLIENT, &client, asked(PeerRole::Client, client_took)),
            (SERVER, &server, asked(PeerRole::Server, server_took)),
        ];
        for (from, done, asked) in reports {
            plausibility::check(done, &asked).map_err(|wrong| pair.peer(from).failed(fault(&wrong)))?;
        }
        Ok((client, server))
    }

    /// The latencies that the peers report of a batch, of at most so many operations.
    pub(super) fn latencies(
        &mut self,
        cell: usize,
        (client, server): (&Done, &Done),
        most: u64,
        paced: bool,
    ) -> Result<BTreeMap<LatencyKind, Histogram>, EngineError> {
        // Where messages carry when they were sent, the server tells how long they took.
        let at_server = paced && self.cells[cell].cell.pattern == Pattern::Stream;
        let mut latencies = BTreeMap::new();
        for kind in LatencyKind::ALL {
            let (from, done) = match at_server && *kind == LatencyKind::Latency {
                true => (SERVER, server),
                false => (CLIENT, client),
            };
            let histogram = histograms::reported(done, *kind, most).map_err(|wrong| {
                self.pairs[cell].as_mut().expect("an epoch has been started").peer(from).failed(fault(&wrong))
            })?;
            latencies.insert(*kind, histogram);
        }
        latencies.retain(|_, histogram| histogram.count() > 0);
        Ok(latencies)
    }

    /// The machine's and a cell's processes' counters so far.
    pub(super) fn count(&self, cell: usize) -> ActivityCounts {
        let ids = self.pairs[cell].as_ref().map(PeerPair::ids).unwrap_or_default();
        ActivityCounts::read(&ids)
    }

    /// Softirq time so far of the cores that both of its processes are pinned to.
    pub(super) fn softirq_ns(&self, cell: usize) -> Option<u64> {
        counters::softirq_ns(self.pairs[cell].as_ref()?.pinned.as_ref()?)
    }

    /// Where a cell's processes are, if the scheduler places them.
    pub(super) fn seen(&self, cell: usize) -> Option<whereabouts::ThreadsOfSides> {
        let planned = &self.cells[cell];
        let placed = planned.placement != Placement::Free && !self.follows(cell)
            || planned.cell.options.client_cpu().is_some()
            || planned.cell.options.server_cpu().is_some();
        if placed { None } else { whereabouts::seen(&self.pairs[cell].as_ref()?.workers()) }
    }

    /// Whether the client is pinned relative to a server that is not ours, and that the scheduler may move.
    pub(super) fn follows(&self, cell: usize) -> bool {
        let planned = &self.cells[cell];
        planned.placement != Placement::Free
            && self.pairs[cell].as_ref().is_some_and(|pair| !pair.served_by.is_empty())
            && self.services.address(&planned.server, &planned.cell.transport).is_none()
    }

    /// Pins such a client next to where the server's thread that answers it ran last, or apart from there. A short batch, which does
    /// not count, finds that thread. The client stays where it is if the server is not seen or runs where this program may not.
    pub(super) fn follow(&mut self, cell: usize, ops: u64) -> Result<(), EngineError> {
        if self.pairs[cell].as_ref().is_some_and(|pair| pair.answering.is_none()) {
            let before = self.seen(cell);
            let ops = ops.min(OPS_TO_FIND);
            self.play(cell, ops, |id| FromEngine::Batch {
                id,
                ops,
                latency: false,
                push: false,
                seed: None,
            })?;
            let found = before.zip(self.seen(cell));
            let found = found.and_then(|(before, after)| whereabouts::answering(&before, &after));
            self.pairs[cell].as_mut().expect("an epoch has been started").answering = found;
        }
        let seen = self.seen(cell);
        let pair = self.pairs[cell].as_mut().expect("an epoch has been started");
        let at = pair.answering.zip(seen).and_then(|(thread, seen)| whereabouts::processor_of(thread, &seen));
        let Some(server) = at else {
            // It may have ended with its connection.
            pair.answering = None;
            return Ok(());
        };
        if let Some(processor) = self.topology.client_of(server, self.cells[cell].placement) {
            // Without it the batch counts as what it is: where both ran is recorded.
            let _ = process_tree::pin(pair.client.id(), processor);
        }
        Ok(())
    }
}
