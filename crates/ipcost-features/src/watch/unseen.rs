//! What could not be seen, and what would allow it.

use ipcost_model::units::counted;

use super::state::WatchState;
use super::{ConversationFigures, Unseen, WatchError, WatchedTransport};

const NARROWER: &str = "Name what you look for with --pid, --port, --path or --command";

impl Unseen {
    pub(super) fn new(what: impl Into<String>, why: impl Into<String>, remedy: &str) -> Self {
        Self { what: what.into(), why: why.into(), remedy: remedy.to_owned() }
    }
}

impl WatchState {
    /// What could not be seen, of these conversations and at all, and what would allow it; with the reason why no calls are sampled, if
    /// none are.
    pub fn unseen(&self, all: &[ConversationFigures], why_no_samples: Option<&WatchError>) -> Vec<Unseen> {
        let hidden = self.procs.live().filter(|(_, program)| program.held.is_none()).count();
        let mut found = Vec::new();
        let mut add = |is_so: bool, what: String, why: &str, remedy: &str| {
            found.extend(is_so.then(|| Unseen::new(what, why, remedy)));
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
        let needs_samples = |ConversationFigures { conversation, .. }: &ConversationFigures| {
            conversation.there.is_none() && conversation.medium != WatchedTransport::Shm
        };
        let why =
            why_no_samples.map(|why| format!("nothing counts them, and calls cannot be sampled: {why}"));
        add(
            why.is_some() && all.iter().any(needs_samples),
            "Bytes and messages over Unix sockets, pipes and UDP".to_owned(),
            &why.unwrap_or_default(),
            "Run as root to sample them",
        );
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
        let flows = all.iter().flat_map(|it| [it.conversation.there, it.conversation.back]).flatten();
        let unsized_calls: u64 = flows.map(|flow| flow.unsized_calls).sum();
        add(
            unsized_calls > 0,
            format!("The bytes of {}", counted(unsized_calls, "call")),
            "sendmmsg and recvmmsg tell messages, not their sizes",
            "What they moved is not in the table",
        );
        found.extend(self.beyond_limits());
        found
    }

    /// What is more than this program looks at.
    fn beyond_limits(&self) -> impl Iterator<Item = Unseen> {
        let beyond = &self.beyond;
        let kept = "only those are kept that move most";
        let more = "there are more than are looked at";
        let of = [
            (self.left_out, "conversation", kept),
            (beyond.processes, "program", more),
            (beyond.descriptors, "descriptor", more),
            (beyond.sockets, "socket", more),
            (beyond.networks, "network namespace", more),
        ];
        let closing = (beyond.closing > 0).then(|| {
            Unseen::new(
                format!(
                    "Connections that close between two looks in {}",
                    counted(beyond.closing, "network namespace")
                ),
                "their messages on closing are not heard: there are more than are listened to, or this user may not",
                "Their bytes are missing",
            )
        });
        let some = of.into_iter().filter(|(count, ..)| *count > 0);
        some.map(|(count, what, why)| Unseen::new(counted(count, what), why, NARROWER)).chain(closing)
    }
}
