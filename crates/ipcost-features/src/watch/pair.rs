//! Two programs that are looked at closely: what they say to each other, and what they call for it.

use std::time::{Duration, Instant};

use ipcost_lab::attached::{AttachError, Traced, attached};
use ipcost_lab::strace::TraceSummary;
use ipcost_model::and_joined;
use ipcost_sys::interrupt::Interrupt;

use super::conversation_figures::ConversationFigures;
use super::observation::WatchError;
use super::observer::WatchObserver;
use super::state::WatchState;
use super::{Conversation, WatchRequest};

/// How long they are looked at before anything slows them.
pub const CLOSELY: Duration = Duration::from_secs(2);
/// How long strace is attached.
const TRACED: Duration = Duration::from_secs(1);
/// How often a request to stop is asked for.
const STEP: Duration = Duration::from_millis(50);

/// Why two programs cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// They cannot be seen.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// They do not talk to each other.
    #[error("processes {0} and {1} have no conversation; ipcost watch --pid {0} shows those that {0} has")]
    NoConversation(u32, u32),
    #[error(
        "processes {0} and {1} have a connection, and sent no request over it meanwhile; have them at work and try again"
    )]
    Idle(u32, u32),
    /// strace cannot be attached.
    #[error(transparent)]
    Attach(#[from] AttachError),
}

/// What two programs say to each other and call for it.
#[derive(Debug, Clone)]
pub struct TracedPair {
    /// Their conversation, before anything slowed it where that is known.
    pub figures: Conversation,
    /// Requests while they were traced.
    pub requests: u64,
    /// The calls of the client and of the server in that time.
    pub calls: [TraceSummary; 2],
}

/// Attaches strace to processes for a second, of which `announce` tells first: it makes their calls slower.
pub fn trace_calls(
    state: &WatchState,
    processes: &[u32],
    interrupt: &Interrupt,
    announce: &mut dyn FnMut(&str),
) -> Result<Traced, AttachError> {
    let names: Vec<String> = processes.iter().map(|id| state.name(*id)).collect();
    announce(&format!(
        "strace is attached to {} for a second; their calls take longer meanwhile",
        and_joined(&names)
    ));
    attached(processes, TRACED, interrupt)
}

/// Looks at two processes for a while, then attaches strace to both for a second; `announce` tells of that.
pub fn look_closely(
    (a, b): (u32, u32),
    interrupt: &Interrupt,
    announce: &mut dyn FnMut(&str),
) -> Result<TracedPair, PairError> {
    let mut observer = WatchObserver::open(true)?;
    let mut state = WatchState::new(WatchRequest { pid: Some(a), ..WatchRequest::default() });
    state.observe(observer.observe()?);
    for process in [a, b] {
        state.check(process)?;
    }
    let began = Instant::now();
    while began.elapsed() < CLOSELY && !interrupt.asked() {
        std::thread::sleep(STEP);
    }
    state.observe(observer.observe()?);
    // Calls that strace makes slow are not to be sampled.
    observer.stop_sampling();
    let between = |state: &WatchState| -> Option<ConversationFigures> {
        let is_other = |figures: &ConversationFigures| {
            let sides = [&figures.conversation.client, &figures.conversation.server];
            sides.iter().any(|side| side.pid == Some(b))
        };
        state.conversations(None).into_iter().find(is_other)
    };
    let before = between(&state).ok_or(PairError::NoConversation(a, b))?;
    let (client, server) =
        (before.conversation.client.pid.unwrap_or(a), before.conversation.server.pid.unwrap_or(b));
    let sampled = state.requests_seen(&before);
    let mut traced = trace_calls(&state, &[client, server], interrupt, announce)?;
    state.observe(observer.observe()?);
    state.traced(&traced);
    let after = between(&state).ok_or(PairError::NoConversation(a, b))?;
    let requests = state.requests_seen(&after).since(sampled);
    if requests == 0 {
        return Err(PairError::Idle(a, b));
    }
    let mut calls = |id: u32| traced.by_process.remove(&id).unwrap_or_default();
    let calls = [calls(client), calls(server)];
    let figures = if before.conversation.requests_per_s.is_some() { before } else { after };
    Ok(TracedPair { figures: figures.conversation, requests, calls })
}
