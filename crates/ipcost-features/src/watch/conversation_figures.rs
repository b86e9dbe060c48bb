//! What conversations are told of: their rates, sizes and programs, since the first look or lately.

use std::net::SocketAddr;
use std::time::Duration;

use super::conversation_state::{ConversationKey, ConversationState, Side};
use super::description::Description;
use super::observation::WatchError;
use super::sampled::CallSamples;
use super::state::{Moment, WatchState};
use super::{Conversation, Flow, SampleRecord, TraceRecord, WatchRequest, WatchedTransport};

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
    /// What is told of a conversation since a moment.
    pub(super) fn describe(
        &self,
        key: &ConversationKey,
        state: &ConversationState,
        since: Moment,
    ) -> Conversation {
        Description::of(self, key, state, since).conversation()
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

    /// Whether what is asked for is there to be seen.
    pub fn check(&self, pid: u32) -> Result<(), WatchError> {
        let known = self.procs.named(pid).and_then(|id| self.procs.get(id));
        let known = known.ok_or(WatchError::NoProcess(pid))?;
        known.program.held.as_ref().map(drop).ok_or(WatchError::NotYours(pid))
    }

    /// A process by its name and its number.
    pub fn name(&self, pid: u32) -> String {
        self.procs.name(pid)
    }
}

pub(super) fn fits(conversation: &Conversation, request: &WatchRequest) -> bool {
    let sides = || [&conversation.client, &conversation.server].into_iter();
    let has_text = |text: &String| {
        let mut others = sides().filter(|side| side.pid.is_none_or(|pid| !request.own.contains(&pid)));
        others.any(|side| side.name.contains(text.as_str()) || side.command.contains(text.as_str()))
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
