//! Whether a peer's claims about a batch are possible. The engine cannot see into a peer, but it knows how long it
//! waited, how many processors there are, and how much it asked for.

use std::time::Duration;

use ipcost_model::protocol::{Done, OPERATIONS, OPERATIONS_NS, PeerRole};

use crate::error::PeerFault;

/// How far a peer's time may exceed the engine's, which also includes the messages around a batch.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(1);
/// How far a peer's processor time may exceed what the engine can account for: it may include start-up, and some
/// kernels count in ticks of 10 ms for each process.
const USAGE_TOLERANCE: Duration = Duration::from_millis(100);
/// No processor switches processes faster, nanoseconds.
const FASTEST_SWITCH_NS: u128 = 50;

/// A pace that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacedBy {
    /// Whether this peer tells the time of operations.
    pub tells: bool,
    /// Whether operations of one worker may overlap: it waits for no answer, or they count from when they were due.
    pub overlaps: bool,
}

/// The engine's request to a peer, and its own observations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerRequest {
    pub role: PeerRole,
    pub id: u64,
    pub ops: u64,
    /// The exchanges they take ([`ipcost_model::Cell::work_for`]), each of which may have a latency.
    pub exchanges: u64,
    /// Whether their latencies were requested.
    pub latency: bool,
    /// What the peer tells of a pace that is kept.
    pub paced: Option<PacedBy>,
    /// Workers in the client.
    pub concurrency: u32,
    /// From the request to begin until the answer.
    pub passed: Duration,
    /// Processors of the machine.
    pub processors: u64,
}

/// Checks a peer's claims.
pub fn check(done: &Done, asked: &PeerRequest) -> Result<(), PeerFault> {
    answered(done, asked)
        .and_then(|()| elapsed(done, asked))
        .and_then(|()| usage(done, asked))
        .and_then(|()| latencies(done, asked))
        .and_then(|()| operations(done, asked))
        .map_err(|fault| PeerFault::Impossible(Box::new(fault)))
}

fn answered(done: &Done, asked: &PeerRequest) -> Result<(), PeerFault> {
    if (done.id, done.ops) == (asked.id, asked.ops) {
        return Ok(());
    }
    Err(PeerFault::OtherBatch { id: done.id, ops: done.ops, asked: (asked.id, asked.ops) })
}

/// The client's time is the result, and cannot be zero. A server may have nothing to do, as in some floors.
fn elapsed(done: &Done, asked: &PeerRequest) -> Result<(), PeerFault> {
    let passed = asked.passed;
    if done.wall_ns == 0 && asked.role == PeerRole::Client {
        return Err(PeerFault::NoTime(done.ops));
    }
    let claimed = Duration::from_nanos(done.wall_ns);
    if claimed > passed.saturating_add(CLOCK_TOLERANCE) {
        return Err(PeerFault::TooSlow { claimed, passed });
    }
    match done.sent_ns.map(Duration::from_nanos) {
        Some(sent) if sent > claimed => Err(PeerFault::LateSend { sent, claimed }),
        _ => Ok(()),
    }
}

fn usage(done: &Done, asked: &PeerRequest) -> Result<(), PeerFault> {
    let PeerRequest { passed, processors, .. } = *asked;
    let most = passed.as_nanos().saturating_mul(processors.into()).saturating_add(USAGE_TOLERANCE.as_nanos());
    let used_ns = done.usage.cpu_ns();
    let switches = done.usage.voluntary_switches.saturating_add(done.usage.involuntary_switches);
    if u128::from(switches) > most / FASTEST_SWITCH_NS {
        return Err(PeerFault::Usage { used: format!("{switches} switches"), processors, passed });
    }
    if u128::from(used_ns) <= most {
        return Ok(());
    }
    let used = format!("{:?} of processor time", Duration::from_nanos(used_ns));
    Err(PeerFault::Usage { used, processors, passed })
}

/// The latencies are of different operations, and every worker runs its own in sequence.
fn latencies(done: &Done, asked: &PeerRequest) -> Result<(), PeerFault> {
    let count = done.latency_ns.len() as u64;
    let tells = asked.paced.map_or(asked.role == PeerRole::Client, |paced| paced.tells);
    if count == 0 || !tells {
        return Ok(());
    }
    if !asked.latency && asked.paced.is_none() {
        return Err(PeerFault::Unasked);
    }
    if count > asked.exchanges {
        return Err(PeerFault::ManyLatencies { count, asked: asked.exchanges });
    }
    let claimed = span(done, asked);
    let all_ns: u128 = done.latency_ns.iter().copied().map(u128::from).sum();
    let at_once = if asked.overlaps() { u128::from(count) } else { u128::from(asked.concurrency) };
    let most_ns = claimed.saturating_add(CLOCK_TOLERANCE).as_nanos() * at_once;
    if all_ns > most_ns {
        let longest = Duration::from_nanos(done.latency_ns.iter().copied().max().unwrap_or_default());
        return Err(PeerFault::Latencies { claimed, concurrency: asked.concurrency, longest });
    }
    Ok(())
}

/// The time that operations lie in: the client's batch. A server may come to its loop after the client has sent something: what it
/// tells lies in the time since it was asked.
fn span(done: &Done, asked: &PeerRequest) -> Duration {
    match asked.role {
        PeerRole::Client => Duration::from_nanos(done.wall_ns),
        PeerRole::Server => asked.passed,
    }
}

impl PeerRequest {
    fn overlaps(&self) -> bool {
        self.paced.is_some_and(|paced| paced.overlaps)
    }
}

/// Where a pace is kept, the time of single operations is the result.
fn operations(done: &Done, asked: &PeerRequest) -> Result<(), PeerFault> {
    if !asked.paced.is_some_and(|paced| paced.tells) {
        return Ok(());
    }
    let reported =
        |name: &str| done.measures.get(name).copied().filter(|value| value.is_finite() && *value > 0.0);
    let (Some(count), Some(ns)) = (reported(OPERATIONS), reported(OPERATIONS_NS)) else {
        return Err(PeerFault::NoOperations);
    };
    if count > asked.exchanges as f64 {
        return Err(PeerFault::ManyOperations { count, asked: asked.exchanges });
    }
    let claimed = span(done, asked);
    let at_once = if asked.overlaps() { count } else { f64::from(asked.concurrency) };
    if ns > claimed.saturating_add(CLOCK_TOLERANCE).as_nanos() as f64 * at_once {
        return Err(PeerFault::Operations { ns, claimed });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ipcost_model::Usage;

    use super::*;

    const ASKED: PeerRequest = PeerRequest {
        role: PeerRole::Client,
        id: 7,
        ops: 100,
        exchanges: 100,
        latency: true,
        paced: None,
        concurrency: 2,
        passed: Duration::from_millis(20),
        processors: 4,
    };

    /// An honest account, at the very limit.
    fn honest() -> Done {
        Done {
            id: 7,
            ops: 100,
            wall_ns: 20_000_000,
            sent_ns: Some(20_000_000),
            usage: Usage { user_ns: 40_000_000, sys_ns: 40_000_000, ..Usage::default() },
            latency_ns: vec![400_000; 100],
            ..Done::default()
        }
    }

    #[test]
    fn what_can_be_so_is_believed() {
        assert_eq!(check(&honest(), &ASKED), Ok(()));
        let twice = PeerRequest { exchanges: 200, ..ASKED };
        let each = Done { latency_ns: vec![200_000; 200], ..honest() };
        assert_eq!(check(&each, &twice), Ok(()), "some operations are more than one exchange");
        let idle = Done { wall_ns: 0, sent_ns: None, latency_ns: vec![u64::MAX], ..honest() };
        assert_eq!(
            check(&idle, &PeerRequest { role: PeerRole::Server, ..ASKED }),
            Ok(()),
            "a server's are not used"
        );
        assert_eq!(
            check(&Done { latency_ns: Vec::new(), ..honest() }, &PeerRequest { latency: false, ..ASKED }),
            Ok(())
        );
    }

    #[test]
    fn what_cannot_be_so_is_refused() {
        let used = |user_ns| Usage { user_ns, sys_ns: u64::MAX, ..Usage::default() };
        let switched = |involuntary_switches| Usage {
            voluntary_switches: u64::MAX,
            involuntary_switches,
            ..Usage::default()
        };
        for (done, says) in [
            (Done { id: 8, ..honest() }, "answered batch 8 with 100 operations, not batch 7 with 100"),
            (Done { ops: 99, ..honest() }, "answered batch 7 with 99"),
            (Done { wall_ns: 0, ..honest() }, "100 operations took no time"),
            (Done { wall_ns: 22_000_000, ..honest() }, "took 22ms, while 20ms passed here"),
            (Done { wall_ns: u64::MAX, ..honest() }, "while 20ms passed here"),
            (Done { sent_ns: Some(20_000_001), ..honest() }, "its last send returned after 20.000001ms"),
            (Done { usage: used(0), ..honest() }, "and 4 processors had 20ms for it"),
            (Done { usage: used(u64::MAX), ..honest() }, "of processor time"),
            (Done { usage: switched(1), ..honest() }, "18446744073709551615 switches for a batch"),
            (Done { latency_ns: vec![1; 101], ..honest() }, "sent 101 latencies of 100 operations"),
            (Done { latency_ns: vec![430_000; 100], ..honest() }, "do not fit into its batch of 20ms"),
            (Done { latency_ns: vec![u64::MAX; 100], ..honest() }, "do not fit"),
        ] {
            let reason = check(&done, &ASKED).unwrap_err().to_string();
            assert!(reason.contains(says) && reason.contains("ipcost conformance"), "{reason}");
        }
        let unasked = check(&honest(), &PeerRequest { latency: false, ..ASKED }).unwrap_err().to_string();
        assert!(unasked.contains("not asked for"), "{unasked}");
        let paced = |done: Done, overlaps| {
            check(
                &done,
                &PeerRequest { latency: false, paced: Some(PacedBy { tells: true, overlaps }), ..ASKED },
            )
        };
        let reported = |count: f64, ns: f64| Done {
            measures: [(OPERATIONS.to_owned(), count), (OPERATIONS_NS.to_owned(), ns)].into(),
            ..honest()
        };
        assert_eq!(paced(reported(100.0, 30_000_000.0), false), Ok(()));
        assert_eq!(
            paced(reported(100.0, 1_500_000_000.0), true),
            Ok(()),
            "all wait from the begin to the end"
        );
        let late = Done {
            wall_ns: 1_000_000,
            sent_ns: None,
            latency_ns: vec![15_000_000; 100],
            ..reported(100.0, 1_500_000_000.0)
        };
        let server = PeerRequest {
            role: PeerRole::Server,
            paced: Some(PacedBy { tells: true, overlaps: true }),
            ..ASKED
        };
        assert_eq!(check(&late, &server), Ok(()), "it came late to its loop");
        for (done, says) in [
            (honest(), "did not tell the time of its operations"),
            (reported(101.0, 1.0), "101 operations of 100"),
            (reported(100.0, 1_500_000_000.0), "do not fit into its batch"),
            (reported(100.0, f64::NAN), "did not tell"),
        ] {
            let reason = paced(done, false).unwrap_err().to_string();
            assert!(reason.contains(says), "{reason}");
        }
        let server = PeerRequest { role: PeerRole::Server, ..ASKED };
        assert!(check(&Done { wall_ns: 22_000_000, ..honest() }, &server).is_err());
    }
}
