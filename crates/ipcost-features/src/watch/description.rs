//! What is told of one conversation since a moment: what was counted of it, and what was sampled where nothing counts.

use std::collections::BTreeSet;

use ipcost_sys::observed::Held;

use super::conversation_state::{
    CallSum, ConversationKey, ConversationState, FEW_MESSAGES, FlowAmount, FlowSum, Open, Side, Totals,
    manner, place,
};
use super::proc_table::{ProcState, ProcTotals};
use super::sampled::{KeptSamples, Moved, SampledEnd, SampledEstimate, estimate, messages_per_call};
use super::state::{Moment, WatchState};
use super::{Conversation, ConversationPattern, Flow, Known, Party, Spread, TcpState, WatchedTransport};

/// Processor time is counted in ticks of so many a second (`USER_HZ`).
pub(super) const TICKS_PER_S: f64 = 100.0;

/// A conversation and the moment since which it is told of.
pub(super) struct Description<'a> {
    watch: &'a WatchState,
    key: &'a ConversationKey,
    state: &'a ConversationState,
    since: Moment,
    before: Totals,
    seconds: f64,
}

impl<'a> Description<'a> {
    pub fn of(
        watch: &'a WatchState,
        key: &'a ConversationKey,
        state: &'a ConversationState,
        since: Moment,
    ) -> Self {
        let seconds = watch.elapsed.saturating_sub(since.at).as_secs_f64().max(1e-9);
        Self { watch, key, state, since, before: state.totals_at(since.observation), seconds }
    }

    pub fn conversation(&self) -> Conversation {
        let sum = self.state.sum - self.before.sum;
        let now = self.state.open.clone().unwrap_or_default();
        let mut figures = Conversation {
            client: self.party(true, &now),
            server: self.party(false, &now),
            medium: self.key.medium,
            address: self.key.address.to_string(),
            connections: now.connections,
            opened: sum.opened,
            opened_per_s: sum.opened as f64 / self.seconds,
            waiting: now.waiting,
            ..Conversation::default()
        };
        match self.key.medium {
            WatchedTransport::Tcp => self.add_tcp(now, sum, &mut figures),
            WatchedTransport::Pipe | WatchedTransport::Fifo => {
                let flow = |bytes| Flow { known: Known::Estimated, ..counted_flow(bytes, self.seconds) };
                figures.there = self.through_pipe().map(flow);
                figures.manner = figures.there.map(|there| match there.bytes {
                    0 => ConversationPattern::Idle,
                    _ => ConversationPattern::Stream,
                });
            }
            _ => {}
        }
        if self.watch.counts_calls || self.watch.samples.windows > 0 {
            self.add_samples(&mut figures);
        }
        figures
    }

    fn party(&self, is_client: bool, now: &Open) -> Party {
        match self.key.side(is_client) {
            Side::Proc(id) => self.watch.procs.get(*id).map_or_else(Party::default, |it| self.process(it)),
            Side::Ended(name) => Party { name: name.to_string(), ..Party::default() },
            Side::Holders => {
                let holders = now.holders.as_ref().map(|both| both[place(is_client)].clone());
                let (name, count) = holders.unwrap_or_default();
                Party { name, processes: Some(count), ..Party::default() }
            }
        }
    }

    fn process(&self, known: &ProcState) -> Party {
        let program = &known.program;
        let cpu = known.since(self.since.observation).ticks as f64 / TICKS_PER_S / self.seconds;
        Party {
            pid: Some(program.id),
            name: program.name.clone(),
            command: program.command.join(" "),
            unit: program.unit().map(str::to_owned),
            container: program.container().map(str::to_owned),
            cpu: (self.watch.observations > 1).then_some(cpu),
            processes: None,
        }
    }

    /// Adds what TCP itself has counted.
    fn add_tcp(&self, now: Open, sum: FlowSum, figures: &mut Conversation) {
        let seconds = self.seconds;
        let flow = |amount: FlowAmount| Flow {
            segments: Some(amount.segments),
            ..counted_flow(amount.bytes, seconds)
        };
        let held_up =
            |amount: FlowAmount| amount.held_up_us as f64 / 1e6 / seconds / f64::from(now.connections.max(1));
        let (manner, requests) = manner(sum);
        let mut rtts = now.rtts;
        rtts.sort_unstable();
        figures.there = Some(flow(sum.there));
        figures.back = Some(flow(sum.back));
        figures.manner = Some(manner);
        figures.requests_per_s = requests.map(|requests| requests as f64 / seconds);
        figures.tcp = Some(TcpState {
            congestion: now.congestion.unwrap_or_default(),
            rtt_us: rtts.get(rtts.len() / 2).copied().unwrap_or_default(),
            retransmitted: sum.there.retransmitted + sum.back.retransmitted,
            there_held_up: held_up(sum.there),
            back_held_up: held_up(sum.back),
        });
    }

    /// What went through a pipe between two programs that have no other socket or pipe in that direction: what their calls have moved.
    fn through_pipe(&self) -> Option<u64> {
        let moved = |side: &Side, writes: bool| {
            let known = self.watch.procs.get(side.process()?)?;
            let held = known.program.held.as_ref()?.iter().map(|(_, held)| held);
            let ends: BTreeSet<&Held> = held
                .filter(|held| match held {
                    Held::Socket(_) => true,
                    Held::Pipe { writes: into, .. } if writes => *into,
                    Held::Pipe { reads: from, .. } => *from,
                })
                .collect();
            let (read, written) = known.since(self.since.observation).moved?;
            (ends.len() == 1).then_some(if writes { written } else { read })
        };
        // Each may read or write files, too, which makes it the most that may have gone through.
        Some(moved(&self.key.client, true)?.min(moved(&self.key.server, false)?))
    }

    /// Adds what samples show to what is counted, or puts it in its place where nothing is.
    fn add_samples(&self, figures: &mut Conversation) {
        let [client, server] = &self.state.sampled;
        let (there, back) = (self.went(true), self.went(false));
        let medium = self.key.medium;
        if medium != WatchedTransport::Shm {
            self.add_flow(&mut figures.there, there, sizes(client, server, |moved| &moved.sizes));
        }
        if !self.key.is_pipe() && medium != WatchedTransport::Shm {
            self.add_flow(&mut figures.back, back, sizes(server, client, |moved| &moved.sizes));
        }
        figures.slowed = self.is_traced();
        figures.round_trip_us = spread_us(&client.answers_ns);
        figures.think_us = spread_us(&client.pauses_ns);
        figures.service_us = spread_us(&server.pauses_ns);
        if medium != WatchedTransport::Tcp && medium != WatchedTransport::Shm {
            self.add_manner(figures, there, back);
        }
        // Of a stream nothing tells where a message ends but the call that gives it.
        if figures.manner == Some(ConversationPattern::Stream) {
            let flows = [(&mut figures.there, client, server), (&mut figures.back, server, client)];
            for (flow, giver, taker) in flows {
                if let Some(flow) = flow.as_mut().filter(|flow| flow.message_bytes.is_none()) {
                    flow.message_bytes = sizes(giver, taker, |moved| &moved.call_sizes);
                }
            }
        }
    }

    fn is_traced(&self) -> bool {
        !self.watch.traced_for.is_zero()
    }

    /// Strace makes programs slower: what went meanwhile says nothing of the rest of the time.
    fn sampled_seconds(&self) -> f64 {
        match self.is_traced() && !self.watch.counts_calls {
            true => self.watch.traced_for.as_secs_f64(),
            false => self.seconds,
        }
    }

    /// What went one way, by calls that were counted, or else sampled.
    fn went(&self, there: bool) -> SampledEstimate {
        // What one that has ended did after the last observation is in no counter.
        let moved = |side: &Side| -> Option<ProcTotals> {
            let id = side.process().filter(|id| self.watch.procs.is_live(*id))?;
            Some(self.watch.procs.get(id)?.since(self.since.observation))
        };
        match self.watch.counts_calls {
            true => self.counted(there),
            false => estimate(self.key, self.state, there, &self.before, &moved),
        }
    }

    fn counted(&self, there: bool) -> SampledEstimate {
        let [giver, taker] = [place(there), place(!there)];
        let (now, before) = (&self.state.counted, &self.before.counted);
        let given = now[giver].given.since(before[giver].given);
        let taken = now[taker].taken.since(before[taker].taken);
        // Of several that hold a pipe, those talk that move something.
        let moved = |sum: CallSum| (sum.bytes, sum.unsized_calls);
        let is_given =
            if self.key.is_pipe() { moved(given) <= moved(taken) } else { moved(given) >= moved(taken) };
        let CallSum { bytes, calls, unsized_calls } = if is_given { given } else { taken };
        let messages = (calls - unsized_calls) as f64 * messages_per_call(self.state, there, is_given);
        SampledEstimate { bytes: bytes as f64, messages, unsized_calls }
    }

    fn add_flow(&self, flow: &mut Option<Flow>, estimate: SampledEstimate, sizes: Option<Spread>) {
        let seconds = self.sampled_seconds();
        // What calls have moved is more exact than the counters of whole processes.
        let counted = flow.filter(|flow| flow.known != Known::Estimated);
        let found = flow.insert(counted.unwrap_or_else(|| Flow {
            bytes_per_s: estimate.bytes / seconds,
            known: match (self.watch.counts_calls, self.is_traced()) {
                (true, _) => Known::Counted,
                (_, true) => Known::Traced,
                _ => Known::Sampled,
            },
            ..counted_flow(estimate.bytes.round() as u64, seconds)
        }));
        found.unsized_calls = estimate.unsized_calls;
        found.messages_per_s = (estimate.messages > 0.0).then_some(estimate.messages / seconds);
        found.message_bytes = sizes;
    }

    /// Adds how a conversation goes of which the kernel counts nothing.
    fn add_manner(&self, figures: &mut Conversation, there: SampledEstimate, back: SampledEstimate) {
        let seconds = self.sampled_seconds();
        let asks = there.messages.min(back.messages);
        let [_, server] = &self.state.sampled;
        let accepted = server.accepted - self.before.accepted;
        if accepted > figures.opened as f64 {
            (figures.opened, figures.opened_per_s) = (accepted.round() as u64, accepted / seconds);
        }
        let moves = there.bytes.max(back.bytes) > 0.0 || there.unsized_calls + back.unsized_calls > 0;
        let (manner, requests) = match moves {
            _ if accepted > 1.5 && asks <= FEW_MESSAGES as f64 * accepted => {
                (ConversationPattern::Connections, accepted)
            }
            false => (ConversationPattern::Idle, 0.0),
            true if asks > 0.0 => (ConversationPattern::Requests, asks),
            true => (ConversationPattern::Stream, 0.0),
        };
        figures.manner = Some(manner);
        figures.requests_per_s = (requests > 0.0).then_some(requests / seconds);
    }
}

/// What is known of a direction by its bytes alone.
fn counted_flow(bytes: u64, seconds: f64) -> Flow {
    Flow { bytes, bytes_per_s: bytes as f64 / seconds, ..Flow::default() }
}

/// By the end that gives, or else by the one that takes.
fn sizes(giver: &SampledEnd, taker: &SampledEnd, of: fn(&Moved) -> &KeptSamples) -> Option<Spread> {
    spread(of(&giver.given)).or_else(|| spread(of(&taker.taken)))
}

fn spread(kept: &KeptSamples) -> Option<Spread> {
    Some(Spread { median: kept.quantile(0.5)? as f64, p99: kept.quantile(0.99)? as f64 })
}

/// Of nanoseconds, in microseconds.
fn spread_us(kept: &KeptSamples) -> Option<Spread> {
    spread(kept).map(|ns| Spread { median: ns.median / 1e3, p99: ns.p99 / 1e3 })
}
