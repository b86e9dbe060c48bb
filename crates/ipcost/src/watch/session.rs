//! Observing again and again, and what is done between two observations.

use std::time::{Duration, Instant};

use ipcost_features::watch::{
    ConversationFigures, SlowLimit, SlowWatch, Unseen, WATCH_SCHEMA, WatchError, WatchObserver, WatchRequest,
    WatchState, Watched, trace_calls, waits,
};
use ipcost_lab::lab::envelope;
use ipcost_lab::watch_ends;
use ipcost_sys::interrupt::Interrupt;

use crate::exit::{Problem, note};

/// Between two times at which processes are asked where they wait, at least and at most.
const WAITS: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(250)];
/// In between, asking takes this part of the time.
const ASKING: u32 = 200;
const EVERY: Duration = Duration::from_secs(1);
/// A look that takes longer, since others use all processors, is no longer put off for them.
const LATEST: Duration = Duration::from_millis(500);
/// Observations take no more than this part of the time, as long as one comes this often.
const OBSERVING: u32 = 50;
const SELDOM: Duration = Duration::from_secs(2);
/// How long connections are watched between two observations that may wait for acknowledgements.
const WATCHED: Duration = Duration::from_millis(250);

/// What was observed so far.
pub struct WatchSession {
    observer: WatchObserver,
    state: WatchState,
    request: WatchRequest,
    /// What follows requests, where that was asked.
    slow: Option<SlowWatch>,
    /// The processor time that the last observation took. Time that others took from it is no reason to observe more rarely.
    took: Duration,
}

impl WatchSession {
    /// Opens what is looked through, and observes for the first time. Calls are counted and sampled if that is wanted.
    pub fn begin(
        request: WatchRequest,
        slow: Option<SlowLimit>,
        sees_calls: bool,
    ) -> Result<Self, WatchError> {
        let state = WatchState::new(request.clone());
        let observer = WatchObserver::open(sees_calls)?;
        let mut session = Self { observer, state, request, slow: None, took: Duration::ZERO };
        session.observe()?;
        if let Some(limit) = slow {
            session.follow_slow(limit);
        }
        session.request.pid.map_or(Ok(()), |pid| session.state.check(pid))?;
        Ok(session)
    }

    pub fn observe(&mut self) -> Result<(), WatchError> {
        let (began, before) = (Instant::now(), self.observer.own_time());
        self.state.observe(self.observer.observe()?);
        if let Some(slow) = &mut self.slow {
            slow.take();
            slow.follow(&self.state);
        }
        self.took = self.observer.own_time().saturating_sub(before);
        if let Some(slow) = &self.slow {
            slow.give_way(began.elapsed() < LATEST);
        }
        Ok(())
    }

    /// Follows requests from now on, if nothing does yet.
    pub fn follow_slow(&mut self, limit: SlowLimit) {
        let slow = self.slow.get_or_insert_with(|| SlowWatch::open(limit));
        slow.follow(&self.state);
    }

    /// Does something that is not to be disturbed: what is attached is detached meanwhile, and what goes on is not told. What was seen before
    /// stays.
    pub fn undisturbed<T>(&mut self, act: impl FnOnce() -> T) -> Result<T, WatchError> {
        self.detach();
        let done = act();
        self.observer.resume();
        self.slow.iter_mut().for_each(SlowWatch::resume);
        self.observe()?;
        Ok(done)
    }

    /// Detaches what is attached, for good.
    pub fn detach(&mut self) {
        self.observer.pause();
        self.slow.iter_mut().for_each(SlowWatch::pause);
    }

    /// Until the next observation.
    pub fn rests(&self) -> Duration {
        // Where requests are followed, looks only find new connections.
        let seldom = if self.slow.is_some() { 2 } else { 1 };
        (self.took * OBSERVING * seldom).clamp(EVERY, SELDOM)
    }

    /// Attaches strace for a second to what nothing counts, and says so.
    pub fn trace(&mut self, interrupt: &Interrupt) -> Result<(), Problem> {
        let processes = self.state.traceable();
        if processes.is_empty() {
            note(
                "--trace: no conversation that fits is without counters, so that strace is attached to nothing",
            );
            return Ok(());
        }
        // Windows of calls that are slow would say what strace costs.
        self.observer.stop_sampling();
        // Not even a quiet watch makes a program slower in silence.
        let traced = trace_calls(&self.state, &processes, interrupt, &mut |text| note(text))
            .map_err(|error| Problem::failed(error.into()))?;
        self.observe().map_err(|error| Problem::failed(error.into()))?;
        self.state.traced(&traced);
        Ok(())
    }

    /// Spends the time between two observations: asks who waits, and watches connections that may wait for acknowledgements.
    pub fn between(&mut self, time: Duration, mut rest: impl FnMut(Duration) -> bool) -> bool {
        let until = Instant::now() + time;
        let suspects = self.state.suspects();
        if !suspects.ends.is_empty() && time > WATCHED {
            let seen = watch_ends(suspects.process, &suspects.ends, WATCHED).unwrap_or_default();
            self.state.held_back(&suspects, &seen, WATCHED);
        }
        let writers = if self.slow.is_some() { Vec::new() } else { self.state.writers() };
        let mut rests = WAITS[0];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if rest(left.min(rests)) {
                return true;
            }
            self.slow.iter_mut().for_each(SlowWatch::take);
            let began = Instant::now();
            self.state.sample_waits(&waits(writers.iter().copied()));
            rests = (began.elapsed() * ASKING).clamp(WAITS[0], WAITS[1]);
        }
    }

    fn unseen(&self, all: &[ConversationFigures]) -> Vec<Unseen> {
        let mut found = self.state.unseen(all, self.observer.why_no_samples());
        found.extend(self.observer.unseen());
        found.extend(self.slow.iter().flat_map(SlowWatch::unseen));
        found
    }

    /// What was seen since the first observation, or lately.
    pub fn watched(&self, lately: Option<Duration>) -> Watched {
        let all = self.state.conversations(None);
        let findings = self.state.findings(&all);
        let unseen = self.unseen(&all);
        let shown = lately.map_or(all, |lately| self.state.conversations(Some(lately)));
        Watched {
            envelope: envelope(WATCH_SCHEMA),
            elapsed_s: self.state.elapsed().as_secs_f64(),
            looks: self.state.observations(),
            own_cpu: self.observer.own_cpu(),
            sampled: self.state.sample(),
            traced: self.state.trace(),
            counts_calls: self.observer.counts_calls(),
            conversations: shown.into_iter().map(|told| told.conversation).collect(),
            findings,
            unseen,
            slow: self.slow.as_ref().map(SlowWatch::record),
            what_if: None,
            request: self.request.clone(),
        }
    }
}
