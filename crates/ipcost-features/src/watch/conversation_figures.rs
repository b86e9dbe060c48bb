//! What conversations are told of: their rates, sizes and programs, since the first look or lately.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use ipcost_model::units::counted;
use ipcost_sys::observed::Held;

use super::conversation_state::{
    CallSum, ConversationKey, ConversationState, FEW_MESSAGES, FlowAmount, Side, Totals, manner, place,
};
use super::observation::WatchError;
use super::proc_table::{ProcState, ProcTotals};
use super::sampled::{CallSamples, KeptSamples, SampledEnd, SampledEstimate, estimate, messages_per_call};
use super::state::{Moment, WatchState};
use super::{
    Conversation, ConversationPattern, Flow, Known, Party, SampleRecord, Spread, TcpState, TraceRecord,
    Unseen, WatchRequest, WatchedTransport,
};

/// Processor time is counted in ticks of so many a second (`USER_HZ`).
pub(super) const TICKS_PER_S: f64 = 100.0;
/// The most processes that are asked where they wait.
const MOST_WRITERS: usize = 64;

/// Requests as samples tell of them so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeenRequests {
    /// Whole messages of the client.
    messages: u64,
    /// Its calls that send.
    calls: u64,
}

impl SeenRequests {
    /// How many came since: messages, or calls where nothing was answered, so that each call is a message. Calls may come long before the
    /// first message that is whole.
    pub fn since(self, before: Self) -> u64 {
        match self.messages.saturating_sub(before.messages) {
            0 => self.calls.saturating_sub(before.calls),
            messages => messages,
        }
    }
}

/// A conversation, and which one it is.
#[derive(Debug, Clone)]
pub struct ConversationFigures {
    /// What is told of it.
    pub conversation: Conversation,
    pub(super) key: ConversationKey,
}

impl WatchState {
    /// What went one way over a conversation, by the counted calls of its ends.
    fn counted(
        &self,
        key: &ConversationKey,
        state: &ConversationState,
        there: bool,
        since: &Totals,
    ) -> Option<SampledEstimate> {
        if !self.counts_calls {
            return None;
        }
        let end = |is_client: bool| (state.counted[place(is_client)], since.counted[place(is_client)]);
        let ((giver, giver_before), (taker, taker_before)) = (end(there), end(!there));
        let (given, taken) = (giver.given.since(giver_before.given), taker.taken.since(taker_before.taken));
        // Of several that hold a pipe, those talk that move something.
        let moved = |sum: CallSum| (sum.bytes, sum.unsized_calls);
        let is_given =
            if key.is_pipe() { moved(given) <= moved(taken) } else { moved(given) >= moved(taken) };
        let CallSum { bytes, calls, unsized_calls } = if is_given { given } else { taken };
        let messages = (calls - unsized_calls) as f64 * messages_per_call(state, there, is_given);
        Some(SampledEstimate { bytes: bytes as f64, messages, unsized_calls })
    }

    /// The conversations that fit the request, those that move most first: since the first observation, or in the last few seconds.
    pub fn conversations(&self, lately: Option<Duration>) -> Vec<ConversationFigures> {
        let since = self.moment(lately);
        let figures = self.conversations.iter().map(|(key, state)| ConversationFigures {
            conversation: self.describe(key, state, since),
            key: key.clone(),
        });
        let mut found: Vec<ConversationFigures> =
            figures.filter(|figures| fits(&figures.conversation, &self.request)).collect();
        if lately.is_some() {
            found.retain(|it| it.conversation.connections > 0 || it.conversation.opened > 0);
        }
        let moved = |ConversationFigures { conversation, .. }: &ConversationFigures| {
            let bytes = |flow: &Option<Flow>| flow.map_or(0.0, |flow| flow.bytes_per_s);
            bytes(&conversation.there) + bytes(&conversation.back)
        };
        found.sort_by(|a, b| {
            moved(b)
                .total_cmp(&moved(a))
                .then(b.conversation.connections.cmp(&a.conversation.connections))
                .then(a.conversation.address.cmp(&b.conversation.address))
        });
        found
    }

    /// To which processes strace was attached, and for how long.
    pub fn trace(&self) -> Option<TraceRecord> {
        let processes = self.traced.iter().copied().collect();
        (!self.traced.is_empty()).then_some(TraceRecord { processes, seconds: self.traced_for.as_secs_f64() })
    }

    /// Requests of a conversation that were sampled or traced.
    pub fn requests_seen(&self, figures: &ConversationFigures) -> SeenRequests {
        let Some(state) = self.conversations.get(&figures.key) else { return SeenRequests::default() };
        let [client, server] = &state.sampled;
        let messages = client.given.messages.max(server.taken.messages);
        SeenRequests { messages, calls: client.given.call_sizes.count() }
    }

    /// Processes of conversations that nothing counts.
    pub fn traceable(&self) -> Vec<u32> {
        const MOST: usize = 32;
        let is_own = |id: &u32| {
            let known = self.procs.named(*id).and_then(|id| self.procs.get(id));
            known.is_some_and(|known| known.program.held.is_some())
        };
        let all = self.conversations(None).into_iter().map(|figures| figures.conversation);
        let uncounted = all.filter(|figures| {
            figures.medium != WatchedTransport::Shm
                && (figures.medium != WatchedTransport::Tcp || !self.request.is_any())
        });
        let both = uncounted.flat_map(|figures| [figures.client.pid, figures.server.pid]).flatten();
        let mut found: Vec<u32> = both.filter(is_own).collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST);
        found
    }

    /// How much of the calls was sampled.
    pub fn sample(&self) -> Option<SampleRecord> {
        if !self.traced_for.is_zero() {
            return None;
        }
        let CallSamples { open_ns, windows, lost, .. } = &self.samples;
        let (open_ns, windows, lost) = (*open_ns, *windows, *lost);
        let share = (open_ns as f64 / self.elapsed().as_nanos().max(1) as f64).min(1.0);
        (windows > 0).then_some(SampleRecord { share, windows, lost })
    }

    /// Processes that write into pipes and Unix sockets.
    pub fn writers(&self) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        for (key, state) in &self.conversations {
            let Some(open) = &state.open else { continue };
            let writers = match key.medium {
                WatchedTransport::Pipe | WatchedTransport::Fifo => [Some(&key.client), None],
                // Who waits for room has filled the other's queue.
                medium if medium.is_unix() && open.waiting != (0, 0) => {
                    [Some(&key.client), Some(&key.server)]
                }
                _ => continue,
            };
            found.extend(writers.into_iter().flatten().filter_map(Side::process).map(|id| id.pid));
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST_WRITERS);
        found
    }

    /// What is told of a conversation since a moment.
    pub(super) fn describe(
        &self,
        key: &ConversationKey,
        state: &ConversationState,
        since: Moment,
    ) -> Conversation {
        let seconds = self.elapsed.saturating_sub(since.at).as_secs_f64().max(1e-9);
        let before = state.totals_at(since.observation);
        let sum = state.sum - before.sum;
        let now = state.open.clone().unwrap_or_default();
        let flow = |amount: FlowAmount| Flow {
            segments: Some(amount.segments),
            ..counted_flow(amount.bytes, seconds)
        };
        let party = |is_client: bool| match key.side(is_client) {
            Side::Proc(id) => {
                self.procs.get(*id).map_or_else(Party::default, |it| self.party(it, since, seconds))
            }
            Side::Ended(name) => Party { name: name.to_string(), ..Party::default() },
            Side::Holders => {
                let (name, count) =
                    now.holders.clone().map(|both| both[place(is_client)].clone()).unwrap_or_default();
                Party { name, processes: Some(count), ..Party::default() }
            }
        };
        let mut figures = Conversation {
            client: party(true),
            server: party(false),
            medium: key.medium,
            address: key.address.to_string(),
            connections: now.connections,
            opened: sum.opened,
            opened_per_s: sum.opened as f64 / seconds,
            there: None,
            back: None,
            manner: None,
            requests_per_s: None,
            slowed: false,
            round_trip_us: None,
            think_us: None,
            service_us: None,
            tcp: None,
            waiting: now.waiting,
        };
        match key.medium {
            WatchedTransport::Tcp => {
                let (manner, requests) = manner(sum);
                let mut rtts = now.rtts;
                rtts.sort_unstable();
                let held_up = |amount: FlowAmount| {
                    amount.held_up_us as f64 / 1e6 / seconds / f64::from(now.connections.max(1))
                };
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
            WatchedTransport::Pipe | WatchedTransport::Fifo => {
                figures.there = self
                    .through_pipe(key, since)
                    .map(|bytes| Flow { known: Known::Estimated, ..counted_flow(bytes, seconds) });
                let idle = |there: Flow| {
                    if there.bytes > 0 { ConversationPattern::Stream } else { ConversationPattern::Idle }
                };
                figures.manner = figures.there.map(idle);
            }
            _ => {}
        }
        self.add_samples(key, state, since, seconds, &mut figures);
        figures
    }

    /// Adds what samples show to what is counted, or puts it in its place where nothing is.
    fn add_samples(
        &self,
        key: &ConversationKey,
        state: &ConversationState,
        since: Moment,
        seconds: f64,
        figures: &mut Conversation,
    ) {
        if !self.counts_calls && self.samples.windows == 0 {
            return;
        }
        // What one that has ended did after the last observation is in no counter.
        let moved = |side: &Side| -> Option<ProcTotals> {
            let id = side.process().filter(|id| self.procs.is_live(*id))?;
            Some(self.procs.get(id)?.since(since.observation))
        };
        let before = state.totals_at(since.observation);
        let is_counted = self.counts_calls;
        let went = |there| {
            let counted = self.counted(key, state, there, &before);
            counted.unwrap_or_else(|| estimate(key, state, there, &before, &moved))
        };
        let (there, back) = (went(true), went(false));
        let [client, server] = &state.sampled;
        let sizes = |giver: &SampledEnd, taker: &SampledEnd| {
            spread(&giver.given.sizes).or_else(|| spread(&taker.taken.sizes))
        };
        // Strace makes programs slower: what went meanwhile says nothing of the rest of the time.
        let is_traced = !self.traced_for.is_zero();
        let seconds = if is_traced && !is_counted { self.traced_for.as_secs_f64() } else { seconds };
        let fill = |flow: &mut Option<Flow>, estimate: SampledEstimate, sizes: Option<Spread>| {
            // What calls have moved is more exact than the counters of whole processes.
            if flow.is_some_and(|flow| flow.known == Known::Estimated) {
                *flow = None;
            }
            let flow = flow.get_or_insert(Flow {
                bytes_per_s: estimate.bytes / seconds,
                known: match (is_counted, is_traced) {
                    (true, _) => Known::Counted,
                    (_, true) => Known::Traced,
                    _ => Known::Sampled,
                },
                ..counted_flow(estimate.bytes.round() as u64, seconds)
            });
            flow.unsized_calls = estimate.unsized_calls;
            flow.messages_per_s = (estimate.messages > 0.0).then_some(estimate.messages / seconds);
            flow.message_bytes = sizes;
        };
        if key.medium != WatchedTransport::Shm {
            fill(&mut figures.there, there, sizes(client, server));
        }
        if !key.is_pipe() && key.medium != WatchedTransport::Shm {
            fill(&mut figures.back, back, sizes(server, client));
        }
        figures.slowed = is_traced;
        figures.round_trip_us = spread_us(&client.answers_ns);
        figures.think_us = spread_us(&client.pauses_ns);
        figures.service_us = spread_us(&server.pauses_ns);
        if key.medium != WatchedTransport::Tcp && key.medium != WatchedTransport::Shm {
            let asks = there.messages.min(back.messages);
            let accepted = server.accepted - before.accepted;
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
        // Of a stream nothing tells where a message ends but the call that gives it.
        if figures.manner == Some(ConversationPattern::Stream) {
            let flows = [(&mut figures.there, client, server), (&mut figures.back, server, client)];
            for (flow, giver, taker) in flows {
                let sizes = || spread(&giver.given.call_sizes).or_else(|| spread(&taker.taken.call_sizes));
                if let Some(flow) = flow.as_mut().filter(|flow| flow.message_bytes.is_none()) {
                    flow.message_bytes = sizes();
                }
            }
        }
    }

    /// What went through a pipe between two programs that have no other socket or pipe in that direction: what their calls have moved.
    fn through_pipe(&self, key: &ConversationKey, since: Moment) -> Option<u64> {
        let moved = |side: &Side, writes: bool| {
            let known = self.procs.get(side.process()?)?;
            let held = known.program.held.as_ref()?.iter().map(|(_, held)| held);
            let ends: BTreeSet<&Held> = held
                .filter(|held| match held {
                    Held::Socket(_) => true,
                    Held::Pipe { writes: into, .. } if writes => *into,
                    Held::Pipe { reads: from, .. } => *from,
                })
                .collect();
            let (read, written) = known.since(since.observation).moved?;
            (ends.len() == 1).then_some(if writes { written } else { read })
        };
        // Each may read or write files, too, which makes it the most that may have gone through.
        Some(moved(&key.client, true)?.min(moved(&key.server, false)?))
    }

    fn party(&self, known: &ProcState, since: Moment, seconds: f64) -> Party {
        let program = &known.program;
        let cpu = known.since(since.observation).ticks as f64 / TICKS_PER_S / seconds;
        Party {
            pid: Some(program.id),
            name: program.name.clone(),
            command: program.command.join(" "),
            unit: program.unit().map(str::to_owned),
            container: program.container().map(str::to_owned),
            cpu: (self.observations > 1).then_some(cpu),
            processes: None,
        }
    }

    /// Whether what is asked for is there to be seen.
    pub fn check(&self, pid: u32) -> Result<(), WatchError> {
        let known = self.procs.named(pid).and_then(|id| self.procs.get(id));
        let known = known.ok_or(WatchError::NoProcess(pid))?;
        known.program.held.as_ref().map(drop).ok_or(WatchError::NotYours(pid))
    }

    /// What could not be seen, of these conversations and at all, and what would allow it; with the reason why no calls are sampled, if
    /// none are.
    pub fn unseen(&self, all: &[ConversationFigures], why_no_samples: Option<&WatchError>) -> Vec<Unseen> {
        let hidden = self.procs.live().filter(|(_, program)| program.held.is_none()).count() as u64;
        let beyond = &self.beyond;
        let needs_samples = |ConversationFigures { conversation, .. }: &ConversationFigures| {
            conversation.there.is_none() && conversation.medium != WatchedTransport::Shm
        };
        let mut found = Vec::new();
        let mut add = |is_so: bool, what: String, why: &str, remedy: &str| {
            if is_so {
                found.push(Unseen { what, why: why.to_owned(), remedy: remedy.to_owned() });
            }
        };
        add(
            hidden > 0,
            format!("{hidden} processes of other users"),
            "this user may not look at what they hold",
            "Run as root to see all",
        );
        add(
            self.lost,
            "Some connections that closed between two looks".to_owned(),
            "more of them closed than the kernel keeps messages",
            "Their bytes are missing",
        );
        if let Some(why) = why_no_samples.filter(|_| all.iter().any(needs_samples)) {
            add(
                true,
                "Bytes and messages over Unix sockets, pipes and UDP".to_owned(),
                &format!("nothing counts them, and calls cannot be sampled: {why}"),
                "Run as root to sample them",
            );
        }
        add(
            self.uncounted() > 0,
            format!("{} over Unix sockets, pipes or UDP", counted(self.uncounted(), "call")),
            "there was no room to count them, or their descriptor was closed meanwhile",
            "What is counted is that much too low",
        );
        add(
            self.samples.lost > 0,
            format!("{} of sampled calls", counted(self.samples.lost, "record")),
            "they came faster than they were read",
            "Figures that are sampled are estimated from the others",
        );
        let of_unknown_size = |ConversationFigures { conversation, .. }: &ConversationFigures| {
            [conversation.there, conversation.back]
                .iter()
                .flatten()
                .map(|flow| flow.unsized_calls)
                .sum::<u64>()
        };
        let unsized_calls: u64 = all.iter().map(of_unknown_size).sum();
        add(
            unsized_calls > 0,
            format!("The bytes of {}", counted(unsized_calls, "call")),
            "sendmmsg and recvmmsg tell messages, not their sizes",
            "What they moved is not in the table",
        );
        let narrower = "Name what you look for with --pid, --port, --path or --command";
        add(
            self.left_out > 0,
            counted(self.left_out, "conversation"),
            "only those are kept that move most",
            narrower,
        );
        for (count, what) in [
            (beyond.processes, "program"),
            (beyond.descriptors, "descriptor"),
            (beyond.sockets, "socket"),
            (beyond.networks, "network namespace"),
        ] {
            add(count > 0, counted(count, what), "there are more than are looked at", narrower);
        }
        add(
            beyond.closing > 0,
            format!(
                "Connections that close between two looks in {}",
                counted(beyond.closing, "network namespace")
            ),
            "their messages on closing are not heard: there are more than are listened to, or this user may not",
            "Their bytes are missing",
        );
        found
    }

    /// A process by its name and its number.
    pub fn name(&self, pid: u32) -> String {
        self.procs.name(pid)
    }
}

/// What is known of a direction by its bytes alone.
fn counted_flow(bytes: u64, seconds: f64) -> Flow {
    Flow {
        bytes,
        bytes_per_s: bytes as f64 / seconds,
        segments: None,
        messages_per_s: None,
        message_bytes: None,
        unsized_calls: 0,
        known: Known::Counted,
    }
}

fn spread(kept: &KeptSamples) -> Option<Spread> {
    Some(Spread { median: kept.quantile(0.5)? as f64, p99: kept.quantile(0.99)? as f64 })
}

/// Of nanoseconds, in microseconds.
fn spread_us(kept: &KeptSamples) -> Option<Spread> {
    spread(kept).map(|ns| Spread { median: ns.median / 1e3, p99: ns.p99 / 1e3 })
}

pub(super) fn fits(conversation: &Conversation, request: &WatchRequest) -> bool {
    let sides = || [&conversation.client, &conversation.server].into_iter();
    let has_text = |text: &String| {
        sides().any(|side| side.name.contains(text.as_str()) || side.command.contains(text.as_str()))
    };
    let has_port = |port: &u16| {
        let at: Option<SocketAddr> = conversation.address.parse().ok();
        at.is_some_and(|at| at.port() == *port)
    };
    request.pid.is_none_or(|pid| sides().any(|side| side.pid == Some(pid)))
        && request.command.as_ref().is_none_or(has_text)
        && request.port.as_ref().is_none_or(has_port)
        && request.path.as_ref().is_none_or(|path| conversation.address == *path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_before_the_first_whole_message_are_not_taken_from_messages() {
        let seen = |messages, calls| SeenRequests { messages, calls };
        assert_eq!(seen(3, 50).since(seen(0, 40)), 3);
        assert_eq!(seen(0, 50).since(seen(0, 40)), 10);
        assert_eq!(seen(7, 50).since(seen(7, 50)), 0);
    }
}
