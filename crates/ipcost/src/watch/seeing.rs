//! Looking again and again, and what is done between two looks.

use std::time::{Duration, Instant};

use ipcost_features::watch::{
    Conversation, Eyes, Sampling, Unseen, WATCH_SCHEMA, WatchError, WatchRequest, Watched, Watching,
    trace_calls, waits,
};
use ipcost_lab::lab::envelope;
use ipcost_lab::watch_ends;
use ipcost_sys::facts;
use ipcost_sys::interrupt::Interrupt;

use crate::exit::{Problem, note};

/// Between two glances at who waits, at least and at most.
const GLANCE: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(250)];
/// In between, glances take this part of the time.
const GLANCING: u32 = 200;
/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Looks take no more than this part of the time, as long as one comes this often.
const LOOKING: u32 = 50;
const SELDOM: Duration = Duration::from_secs(2);
/// How long connections are watched between two looks that may wait for acknowledgements.
const WATCHED: Duration = Duration::from_millis(250);

/// What was looked at so far.
pub struct Seeing {
    eyes: Eyes,
    watching: Watching,
    request: WatchRequest,
    ports: Option<u64>,
    /// What samples calls, or why nothing does.
    sampling: Result<Sampling, String>,
    /// The processor time that the last look took. Time that others took from it is no reason to look more rarely.
    took: Duration,
}

impl Seeing {
    /// Opens what is looked through, and looks for the first time.
    ///
    /// # Errors
    /// If the kernel shows no sockets, or what is asked for is not there.
    pub fn begin(request: WatchRequest) -> Result<Self, WatchError> {
        let ports = facts::network().ip_local_port_range;
        let ports = ports.map(|[first, last]| last.saturating_add(1).saturating_sub(first));
        let eyes = Eyes::open()?;
        let sampling = Sampling::start(eyes.counts_calls()).map_err(|error| error.to_string());
        let mut seeing =
            Self { eyes, watching: Watching::default(), request, ports, sampling, took: Duration::ZERO };
        seeing.look()?;
        Ok(seeing)
    }

    /// One look.
    ///
    /// # Errors
    /// If it fails, or what is asked for is not there.
    pub fn look(&mut self) -> Result<(), WatchError> {
        let before = self.eyes.own_time();
        let windows = self.sampling.as_ref().map(Sampling::take).unwrap_or_default();
        let look = self.eyes.look()?;
        self.watching.see(&look);
        self.watching.sampled(&windows, look.counted.as_deref());
        self.took = self.eyes.own_time().saturating_sub(before);
        if self.watching.looks() == 1 {
            self.watching.check(&self.request)?;
        }
        Ok(())
    }

    /// Until the next look.
    pub fn rests(&self) -> Duration {
        (self.took * LOOKING).clamp(EVERY, SELDOM)
    }

    /// Attaches strace for a second to what nothing counts, and says so.
    pub fn trace(&mut self, interrupt: &Interrupt) -> Result<(), Problem> {
        let processes = self.watching.traceable(&self.request);
        if processes.is_empty() {
            note(
                "--trace: no conversation that fits is without counters, so that strace is attached to nothing",
            );
            return Ok(());
        }
        // Windows of calls that are slow would say what strace costs.
        self.sampling = Err("strace is attached instead".to_owned());
        // Not even a quiet watch makes a program slower in silence.
        let traced = trace_calls(&self.watching, &processes, interrupt, &mut |text| note(text))
            .map_err(|error| Problem::failed(error.into()))?;
        let look = self.eyes.look().map_err(|error| Problem::failed(error.into()))?;
        self.watching.see(&look);
        self.watching.traced(&traced);
        Ok(())
    }

    /// Spends the time between two looks: glances at who waits, and watches connections that may wait for acknowledgements.
    pub fn between(&mut self, time: Duration, mut rest: impl FnMut(Duration) -> bool) -> bool {
        let until = Instant::now() + time;
        let suspects = self.watching.suspects();
        if !suspects.is_empty() && time > WATCHED {
            let seen = watch_ends(&suspects, WATCHED).unwrap_or_default();
            self.watching.held_back(seen, WATCHED);
        }
        let writers = self.watching.writers();
        let mut rests = GLANCE[0];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if rest(left.min(rests)) {
                return true;
            }
            let began = Instant::now();
            self.watching.glance(&waits(writers.iter().copied()));
            rests = (began.elapsed() * GLANCING).clamp(GLANCE[0], GLANCE[1]);
        }
    }

    fn unseen(&self, all: &[Conversation]) -> Vec<Unseen> {
        let mut found = self.watching.unseen(all, self.sampling.as_ref().err());
        if !self.eyes.sees_closing() {
            found.push(Unseen {
                what: "Connections that close between two looks".to_owned(),
                why: "the kernel tells only root of them".to_owned(),
                remedy: "Run as root to count them".to_owned(),
            });
        }
        if self.eyes.closed_networks() > 0 {
            found.push(Unseen {
                what: format!("{} other network namespaces", self.eyes.closed_networks()),
                why: "this user may not enter them".to_owned(),
                remedy: "Run as root to see the containers' connections".to_owned(),
            });
        }
        found
    }

    /// What was seen since the first look, or lately.
    pub fn watched(&self, lately: Option<Duration>) -> Watched {
        let all = self.watching.conversations(&self.request, None);
        let findings = self.watching.findings(&all, &self.request, self.ports);
        let unseen = self.unseen(&all);
        Watched {
            envelope: envelope(WATCH_SCHEMA),
            elapsed_s: self.watching.elapsed().as_secs_f64(),
            looks: self.watching.looks(),
            own_cpu: self.eyes.own_cpu(),
            sampled: self.watching.sample(),
            traced: self.watching.trace(),
            counts_calls: self.eyes.counts_calls(),
            conversations: match lately {
                Some(_) => self.watching.conversations(&self.request, lately),
                None => all,
            },
            findings,
            unseen,
            what_if: None,
            request: self.request.clone(),
        }
    }
}
