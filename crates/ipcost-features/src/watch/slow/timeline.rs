//! What a thread did during a time, without gaps: from the calls and absences of its log.

use ipcost_sys::observed::{AwayReason, ThreadLog, ThreadSpan, ThreadState};

/// A time in which a thread did one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    pub from_ns: u64,
    pub to_ns: u64,
    pub doing: Doing,
}

impl Stretch {
    pub fn lasts_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// What a thread did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doing {
    Runs {
        call: Option<u32>,
        /// Whether it waited in that call, too.
        waits: bool,
    },
    /// It could run, and did not.
    Ready {
        processor: Option<u32>,
        /// The thread that ran there until it did, with its name, and for how long of that time; number 0 is none.
        before: Option<(u32, String, u64)>,
    },
    Waits {
        call: Option<u32>,
        /// Who woke it; absent if nothing had by the end of that time.
        waker: Option<u32>,
    },
    Stopped,
    /// It is not known any more.
    Unknown,
}

/// What the thread of a log did from one moment to another, in order.
pub(super) fn stretches(log: &ThreadLog, from_ns: u64, to_ns: u64) -> Vec<Stretch> {
    let mut found = Stretches { all: Vec::new(), to_ns };
    let mut at_ns = from_ns;
    if log.since_ns > at_ns {
        found.add(at_ns, log.since_ns, Doing::Unknown);
        at_ns = log.since_ns;
    }
    let is_away = |span: &&ThreadSpan| matches!(span.state, ThreadState::Away { .. });
    let mut aways: Vec<&ThreadSpan> = log.spans.iter().filter(is_away).collect();
    aways.sort_by_key(|span| span.began_ns);
    for away in aways {
        if away.ended_ns <= at_ns || away.began_ns >= to_ns {
            continue;
        }
        found.running(log, at_ns, away.began_ns);
        found.away(away, at_ns.max(away.began_ns));
        at_ns = away.ended_ns;
    }
    found.running(log, at_ns, to_ns);
    found.all
}

struct Stretches {
    all: Vec<Stretch>,
    to_ns: u64,
}

impl Stretches {
    fn add(&mut self, from_ns: u64, to_ns: u64, doing: Doing) {
        let to_ns = to_ns.min(self.to_ns);
        if from_ns < to_ns {
            self.all.push(Stretch { from_ns, to_ns, doing });
        }
    }

    /// It ran all the time, within calls and without.
    fn running(&mut self, log: &ThreadLog, from_ns: u64, to_ns: u64) {
        let mut at_ns = from_ns;
        let is_call = |span: &&ThreadSpan| matches!(span.state, ThreadState::Called { .. });
        let mut calls: Vec<&ThreadSpan> = log.spans.iter().filter(is_call).collect();
        calls.sort_by_key(|span| span.began_ns);
        for call in calls {
            if call.ended_ns <= at_ns || call.began_ns >= to_ns {
                continue;
            }
            self.add(at_ns, call.began_ns, Doing::Runs { call: None, waits: false });
            at_ns = at_ns.max(call.began_ns);
            let is_within = |span: &ThreadSpan| {
                let waits = matches!(&span.state, ThreadState::Away { why, .. } if *why != AwayReason::Ready);
                waits && call.began_ns <= span.began_ns && span.ended_ns <= call.ended_ns
            };
            let waits = log.spans.iter().any(is_within);
            self.add(at_ns, call.ended_ns.min(to_ns), Doing::Runs { call: call.call, waits });
            at_ns = call.ended_ns;
        }
        self.add(at_ns, to_ns, Doing::Runs { call: None, waits: false });
    }

    /// It did not run: it waited until something woke it, and then was ready.
    fn away(&mut self, span: &ThreadSpan, from_ns: u64) {
        let ThreadState::Away { why, woken, before } = &span.state else { return };
        let woken_ns = match why {
            AwayReason::Ready => span.began_ns,
            _ => woken.map_or(u64::MAX, |(at_ns, _)| at_ns).min(span.ended_ns),
        };
        let doing = match why {
            AwayReason::Stopped => Doing::Stopped,
            _ => Doing::Waits { call: span.call, waker: woken.map(|(_, thread)| thread) },
        };
        self.add(from_ns, woken_ns, doing);
        let ready_ns = from_ns.max(woken_ns);
        let ended_ns = span.ended_ns.min(self.to_ns);
        let before = before.as_ref().map(|(thread, name, since_ns)| {
            (*thread, name.clone(), ended_ns.saturating_sub(ready_ns.max(*since_ns)))
        });
        let processor = before.is_some().then_some(span.processor);
        self.add(ready_ns, span.ended_ns, Doing::Ready { processor, before });
    }
}

#[cfg(test)]
mod tests {
    use ipcost_sys::observed::CalledOn;

    use super::*;

    fn called(began_ns: u64, ended_ns: u64, call: u32) -> ThreadSpan {
        let state = ThreadState::Called { on: Some(CalledOn::Socket(1)), is_out: false, result: 1 };
        ThreadSpan { began_ns, ended_ns, state, call: Some(call), processor: 0 }
    }

    fn away(began_ns: u64, ended_ns: u64, why: AwayReason, woken: Option<(u64, u32)>) -> ThreadSpan {
        let before = Some((9, "cc1".to_owned(), 120));
        let state = ThreadState::Away { why, woken, before };
        ThreadSpan { began_ns, ended_ns, state, call: Some(7), processor: 1 }
    }

    #[test]
    fn every_moment_has_one_state() {
        let spans = vec![
            away(100, 150, AwayReason::Waits, Some((130, 5))),
            called(90, 160, 7),
            away(170, 180, AwayReason::Ready, None),
            away(190, u64::MAX, AwayReason::Stopped, None),
        ];
        let log = ThreadLog { process: 1, thread: 2, since_ns: 50, spans };
        let found = stretches(&log, 40, 200);
        let waits = Doing::Waits { call: Some(7), waker: Some(5) };
        let ready = |ran_ns| Doing::Ready { processor: Some(1), before: Some((9, "cc1".to_owned(), ran_ns)) };
        let expected = [
            (40, 50, Doing::Unknown),
            (50, 90, Doing::Runs { call: None, waits: false }),
            (90, 100, Doing::Runs { call: Some(7), waits: true }),
            (100, 130, waits),
            (130, 150, ready(20)),
            (150, 160, Doing::Runs { call: Some(7), waits: true }),
            (160, 170, Doing::Runs { call: None, waits: false }),
            (170, 180, ready(10)),
            (180, 190, Doing::Runs { call: None, waits: false }),
            (190, 200, Doing::Stopped),
        ];
        let expected: Vec<Stretch> =
            expected.into_iter().map(|(from_ns, to_ns, doing)| Stretch { from_ns, to_ns, doing }).collect();
        assert_eq!(found, expected);
        let empty = ThreadLog { since_ns: u64::MAX, ..ThreadLog::default() };
        assert_eq!(stretches(&empty, 1, 2), [Stretch { from_ns: 1, to_ns: 2, doing: Doing::Unknown }]);
    }
}
