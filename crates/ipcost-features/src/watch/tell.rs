//! What conversations are told of: their rates, sizes and programs, since the first look or lately.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use ipcost_sys::observed::Held;

use super::gather::WatchError;
use super::sampled::{Estimate, Kept, SampledEnd, Samples};
use super::sums::{Amount, FEW_MESSAGES, Past, manner};
use super::watching::Watching;
use super::ways::Way;
use super::{
    Conversation, Flow, Known, Manner, Medium, Party, SampleRecord, Spread, TcpState, TraceRecord, Unseen,
    WatchRequest,
};

/// Processor time is counted in ticks of so many a second (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;
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

impl Watching {
    /// What went one way over a conversation, by the counted calls of its ends.
    fn counted(&self, way: &Way, there: bool, since: &Past) -> Option<Estimate> {
        if !self.counts_calls {
            return None;
        }
        let end = |is_client: bool| {
            let key = (way.clone(), is_client);
            let now = self.counted.get(&key).copied().unwrap_or_default();
            let before = since.counted.get(&key).copied().unwrap_or_default();
            let less = |now: (u64, u64), before: (u64, u64)| (now.0 - before.0, now.1 - before.1);
            (less(now.taken, before.taken), less(now.given, before.given))
        };
        let (given, taken) = (end(there).1, end(!there).0);
        let is_pipe = matches!(way.medium, Medium::Pipe | Medium::Fifo);
        // Of several that hold a pipe, those talk that move something.
        let is_given = if is_pipe { given.0 <= taken.0 } else { given.0 >= taken.0 };
        let (bytes, calls) = if is_given { given } else { taken };
        let messages = calls as f64 * self.samples.messages_per_call(way, there, is_given);
        Some(Estimate { bytes: bytes as f64, messages })
    }

    /// The conversations that fit a request, those that move most first: since the first look, or in the last few seconds.
    pub fn conversations(&self, request: &WatchRequest, lately: Option<Duration>) -> Vec<Conversation> {
        let since = self.since(lately);
        let mut ways: BTreeSet<&Way> = self.now.keys().collect();
        ways.extend(self.sums.keys());
        ways.extend(self.samples.ends.keys().map(|(way, _)| way));
        let told = ways.into_iter().map(|way| self.tell(way, since));
        let mut found: Vec<Conversation> = told.filter(|conversation| fits(conversation, request)).collect();
        if lately.is_some() {
            found.retain(|it| it.connections > 0 || it.opened > 0);
        }
        let moved = |one: &Conversation| {
            let bytes = |flow: &Option<Flow>| flow.map_or(0.0, |flow| flow.bytes_per_s);
            bytes(&one.there) + bytes(&one.back)
        };
        found.sort_by(|a, b| {
            moved(b)
                .total_cmp(&moved(a))
                .then(b.connections.cmp(&a.connections))
                .then(a.address.cmp(&b.address))
        });
        found
    }

    /// A conversation in the last few seconds.
    pub(super) fn lately(&self, way: &Way) -> Conversation {
        self.tell(way, self.past.front().unwrap_or(&self.first))
    }

    /// To which processes strace was attached, and for how long.
    pub fn trace(&self) -> Option<TraceRecord> {
        let processes = self.traced.iter().copied().collect();
        (!self.traced.is_empty()).then_some(TraceRecord { processes, seconds: self.traced_for.as_secs_f64() })
    }

    /// Requests of a conversation that were sampled or traced.
    pub fn requests_seen(&self, told: &Conversation) -> SeenRequests {
        let end = |is_client| self.samples.ends.get(&(told.way(), is_client));
        let (client, server) = (end(true), end(false));
        let asked =
            client.map_or(0, |end| end.given.messages).max(server.map_or(0, |end| end.taken.messages));
        let calls = client.map_or(0, |end| end.given.call_sizes.count());
        SeenRequests { messages: asked, calls }
    }

    /// Processes of conversations that nothing counts.
    pub fn traceable(&self, request: &WatchRequest) -> Vec<u32> {
        const MOST: usize = 32;
        let is_own = |id: &u32| self.programs.get(id).is_some_and(|program| program.held.is_some());
        let uncounted = self
            .conversations(request, None)
            .into_iter()
            .filter(|told| told.medium != Medium::Shm && (told.medium != Medium::Tcp || !request.is_any()));
        let both = uncounted.flat_map(|told| [told.client.pid, told.server.pid]).flatten();
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
        let Samples { open_ns, windows, lost, .. } = self.samples;
        let share = (open_ns as f64 / self.elapsed().as_nanos().max(1) as f64).min(1.0);
        (windows > 0).then_some(SampleRecord { share, windows, lost })
    }

    /// Processes that write into pipes and Unix sockets.
    pub fn writers(&self) -> Vec<u32> {
        let mut found: Vec<u32> = Vec::new();
        for (way, now) in &self.now {
            let writers = match way.medium {
                Medium::Pipe | Medium::Fifo => [way.client, None],
                // Who waits for room has filled the other's queue.
                medium if medium.is_unix() && now.waiting != (0, 0) => [way.client, way.server],
                _ => continue,
            };
            found.extend(writers.into_iter().flatten());
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST_WRITERS);
        found
    }

    /// What had been counted so long ago, or at the first look.
    fn since(&self, lately: Option<Duration>) -> &Past {
        let from = lately.map(|lately| self.elapsed.saturating_sub(lately));
        let old =
            from.and_then(|from| self.past.iter().rev().find(|past| past.at <= from).or(self.past.front()));
        old.unwrap_or(&self.first)
    }

    fn tell(&self, way: &Way, since: &Past) -> Conversation {
        let seconds = (self.elapsed - since.at).as_secs_f64().max(1e-9);
        let before = since.sums.get(way).copied().unwrap_or_default();
        let sum = self.sums.get(way).copied().unwrap_or_default().since(before);
        let now = self.now.get(way).cloned().unwrap_or_default();
        let flow = |amount: Amount| Flow {
            bytes: amount.bytes,
            bytes_per_s: amount.bytes as f64 / seconds,
            segments: Some(amount.segments),
            messages_per_s: None,
            message_bytes: None,
            known: Known::Counted,
        };
        let mut told = Conversation {
            client: match &way.ended {
                Some(name) => Party { name: name.clone(), ..Party::default() },
                None => self.party(way.client, since, seconds),
            },
            server: self.party(way.server, since, seconds),
            medium: way.medium,
            address: way.address.clone(),
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
        match way.medium {
            Medium::Tcp => {
                let (manner, requests) = manner(sum);
                let mut rtts = now.rtts.clone();
                rtts.sort_unstable();
                let held_up = |amount: Amount| {
                    amount.held_up_us as f64 / 1e6 / seconds / f64::from(now.connections.max(1))
                };
                told.there = Some(flow(sum.there));
                told.back = Some(flow(sum.back));
                told.manner = Some(manner);
                told.requests_per_s = requests.map(|requests| requests as f64 / seconds);
                told.tcp = Some(TcpState {
                    congestion: now.congestion.unwrap_or_default(),
                    rtt_us: rtts.get(rtts.len() / 2).copied().unwrap_or_default(),
                    retransmitted: sum.there.retransmitted + sum.back.retransmitted,
                    there_held_up: held_up(sum.there),
                    back_held_up: held_up(sum.back),
                });
            }
            Medium::Pipe | Medium::Fifo => {
                told.there = self.through_pipe(way, since).map(|bytes| Flow {
                    bytes,
                    bytes_per_s: bytes as f64 / seconds,
                    segments: None,
                    messages_per_s: None,
                    message_bytes: None,
                    known: Known::Estimated,
                });
                let idle = |there: Flow| if there.bytes > 0 { Manner::Stream } else { Manner::Idle };
                told.manner = told.there.map(idle);
            }
            _ => {}
        }
        self.tell_samples(way, since, seconds, &mut told);
        told
    }

    /// Adds what samples show to what is counted, or puts it in its place where nothing is.
    fn tell_samples(&self, way: &Way, since: &Past, seconds: f64, told: &mut Conversation) {
        // What one that has ended did after the last look is in no counter.
        let moved = |process: u32| {
            self.leads.held.get(&process)?;
            let (read, written) = self.programs.get(&process)?.moved?;
            let before = since.programs.get(&process).or_else(|| self.first.programs.get(&process))?.1?;
            Some((read.checked_sub(before.0)?, written.checked_sub(before.1)?))
        };
        let is_counted = self.counts_calls;
        let estimate = |there| {
            self.counted(way, there, since)
                .or_else(|| self.samples.estimate(way, there, &since.sampled, &moved))
        };
        let (Some(there), Some(back)) = (estimate(true), estimate(false)) else { return };
        let end = |client| self.samples.ends.get(&(way.clone(), client));
        let (client, server) = (end(true), end(false));
        let sizes = |giver: Option<&SampledEnd>, taker: Option<&SampledEnd>| {
            let given = giver.and_then(|end| spread(&end.given.sizes));
            given.or_else(|| taker.and_then(|end| spread(&end.taken.sizes)))
        };
        let is_pipe = matches!(way.medium, Medium::Pipe | Medium::Fifo);
        // Strace makes programs slower: what went meanwhile says nothing of the rest of the time.
        let is_traced = !self.traced_for.is_zero();
        let seconds = if is_traced && !is_counted { self.traced_for.as_secs_f64() } else { seconds };
        let fill = |flow: &mut Option<Flow>, estimate: Estimate, sizes: Option<Spread>| {
            // What calls have moved is more exact than the counters of whole processes.
            if flow.is_some_and(|flow| flow.known == Known::Estimated) {
                *flow = None;
            }
            let known = flow.get_or_insert(Flow {
                bytes: estimate.bytes.round() as u64,
                bytes_per_s: estimate.bytes / seconds,
                segments: None,
                messages_per_s: None,
                message_bytes: None,
                known: match (is_counted, is_traced) {
                    (true, _) => Known::Counted,
                    (_, true) => Known::Traced,
                    _ => Known::Sampled,
                },
            });
            known.messages_per_s = (estimate.messages > 0.0).then_some(estimate.messages / seconds);
            known.message_bytes = sizes;
        };
        if way.medium != Medium::Shm {
            fill(&mut told.there, there, sizes(client, server));
        }
        if !is_pipe && way.medium != Medium::Shm {
            fill(&mut told.back, back, sizes(server, client));
        }
        told.slowed = is_traced;
        told.round_trip_us = client.and_then(|end| spread_us(&end.answers_ns));
        told.think_us = client.and_then(|end| spread_us(&end.pauses_ns));
        told.service_us = server.and_then(|end| spread_us(&end.pauses_ns));
        if way.medium != Medium::Tcp && way.medium != Medium::Shm {
            let asks = there.messages.min(back.messages);
            let accepted = self.samples.accepted(way, &since.sampled);
            if accepted > told.opened as f64 {
                (told.opened, told.opened_per_s) = (accepted.round() as u64, accepted / seconds);
            }
            let (manner, requests) = match there.bytes.max(back.bytes) > 0.0 {
                _ if accepted > 1.5 && asks <= FEW_MESSAGES as f64 * accepted => {
                    (Manner::Connections, accepted)
                }
                false => (Manner::Idle, 0.0),
                true if asks > 0.0 => (Manner::Requests, asks),
                true => (Manner::Stream, 0.0),
            };
            told.manner = Some(manner);
            told.requests_per_s = (requests > 0.0).then_some(requests / seconds);
        }
    }

    /// What went through a pipe between two programs that have no other socket or pipe in that direction: what their calls have moved.
    fn through_pipe(&self, way: &Way, since: &Past) -> Option<u64> {
        let moved = |id: Option<u32>, writes: bool| {
            let program = self.programs.get(&id?)?;
            let ends: BTreeSet<&Held> = program
                .held
                .as_ref()?
                .iter()
                .map(|(_, held)| held)
                .filter(|held| match held {
                    Held::Socket(_) => true,
                    Held::Pipe { writes: into, reads: from, .. } => {
                        if writes {
                            *into
                        } else {
                            *from
                        }
                    }
                })
                .collect();
            let (read, written) = program.moved?;
            let of_first = || self.first.programs.get(&id?);
            let (read_before, written_before) = since.programs.get(&id?).or_else(of_first)?.1?;
            let bytes =
                if writes { written.checked_sub(written_before) } else { read.checked_sub(read_before) };
            bytes.filter(|_| ends.len() == 1)
        };
        // Each may read or write files, too, which makes it the most that may have gone through.
        Some(moved(way.client, true)?.min(moved(way.server, false)?))
    }

    fn party(&self, id: Option<u32>, since: &Past, seconds: f64) -> Party {
        let Some(id) = id else { return Party::default() };
        let Some(program) = self.programs.get(&id) else { return Party::default() };
        let before = since.programs.get(&id).or_else(|| self.first.programs.get(&id));
        let before = before.map_or(program.ticks, |(ticks, _)| *ticks);
        let cpu = program.ticks.saturating_sub(before) as f64 / TICKS_PER_S / seconds;
        Party {
            pid: Some(id),
            name: program.name.clone(),
            command: program.command.join(" "),
            unit: program.unit().map(str::to_owned),
            container: program.container().map(str::to_owned),
            cpu: (self.looks > 1).then_some(cpu),
        }
    }

    /// Whether what is asked for is there to be seen.
    ///
    /// # Errors
    /// That there is no such process, or that it is another user's.
    pub fn check(&self, request: &WatchRequest) -> Result<(), WatchError> {
        let Some(pid) = request.pid else { return Ok(()) };
        let program = self.programs.get(&pid).ok_or(WatchError::NoProcess(pid))?;
        program.held.as_ref().map(drop).ok_or(WatchError::NotYours(pid))
    }

    /// What could not be seen, of these conversations and at all, and what would allow it; with the reason why no calls are sampled, if
    /// none are.
    pub fn unseen(&self, all: &[Conversation], why_no_samples: Option<&String>) -> Vec<Unseen> {
        let hidden = self.programs.values().filter(|program| program.held.is_none()).count() as u64;
        let mut found = Vec::new();
        if hidden > 0 {
            found.push(Unseen {
                what: format!("{hidden} processes of other users"),
                why: "this user may not look at what they hold".to_owned(),
                remedy: "Run as root to see all".to_owned(),
            });
        }
        if self.lost {
            found.push(Unseen {
                what: "Some connections that closed between two looks".to_owned(),
                why: "more of them closed than the kernel keeps messages".to_owned(),
                remedy: "Their bytes are missing".to_owned(),
            });
        }
        let needs_samples = |told: &Conversation| told.there.is_none() && told.medium != Medium::Shm;
        if let Some(why) = why_no_samples.filter(|_| all.iter().any(needs_samples)) {
            found.push(Unseen {
                what: "Bytes and messages over Unix sockets, pipes and UDP".to_owned(),
                why: format!("nothing counts them, and calls cannot be sampled: {why}"),
                remedy: "Run as root to sample them".to_owned(),
            });
        }
        found
    }

    /// A process by its name and its number.
    pub fn name(&self, id: u32) -> String {
        self.programs
            .get(&id)
            .map_or_else(|| format!("process {id}"), |program| format!("{} ({id})", program.name))
    }
}

fn spread(kept: &Kept) -> Option<Spread> {
    Some(Spread { median: kept.quantile(0.5)? as f64, p99: kept.quantile(0.99)? as f64 })
}

/// Of nanoseconds, in microseconds.
fn spread_us(kept: &Kept) -> Option<Spread> {
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
