use ipcost_sys::observed::{AwayReason, ThreadSpan};

use super::*;

const CLIENT: u32 = 10;
const SERVER: u32 = 20;
const WRITER: u32 = 30;
const MS: u64 = 1_000_000;
/// The ends of the request's connection, of another client's, and of a connection to a server behind.
const OWN: [CalledOn; 2] = [CalledOn::Socket(1), CalledOn::Socket(2)];
const OTHER: CalledOn = CalledOn::Socket(3);
const BEHIND: CalledOn = CalledOn::Socket(4);

fn number(name: &str) -> u32 {
    (0..1_000).find(|number| call_name(*number) == name).unwrap()
}

fn read(on: CalledOn, from: u64, to: u64) -> ThreadSpan {
    let state = ThreadState::Called { on: Some(on), is_out: false, result: 9 };
    ThreadSpan { began_ns: from * MS, ended_ns: to * MS, state, call: Some(number("read")), processor: 0 }
}

fn away(
    call: &str,
    why: AwayReason,
    from: u64,
    woken: Option<(u64, u32)>,
    to: u64,
    before: (u32, u64),
) -> ThreadSpan {
    let woken = woken.map(|(at, who)| (at * MS, who));
    let (thread, since) = before;
    let before = Some((thread, "cc1".to_owned(), since * MS));
    let call = (!call.is_empty()).then(|| number(call));
    let (began_ns, ended_ns) = (from * MS, to * MS);
    ThreadSpan { began_ns, ended_ns, state: ThreadState::Away { why, woken, before }, call, processor: 1 }
}

/// A request of 10 ms: read after 1, replied to after 9, whose server did this.
fn request(read_after: u64, replied_after: u64, spans: Vec<ThreadSpan>) -> SlowRequest {
    let log = |thread, spans| ThreadLog { process: thread, thread, since_ns: 0, spans };
    SlowRequest {
        returned_ns: 20 * MS,
        sent_ns: 10 * MS,
        read_ns: (10 + read_after) * MS,
        replied_ns: (10 + replied_after) * MS,
        client: CLIENT,
        reader: SERVER,
        replier: SERVER,
        client_in: Some(OWN[0]),
        logs: vec![log(CLIENT, vec![]), log(SERVER, spans)],
        ..SlowRequest::default()
    }
}

fn known() -> Surroundings {
    let named = |thread, name: &str| (thread, (thread, name.to_owned()));
    let end = |name: &str, is_client| OtherEnd { name: name.to_owned(), is_client };
    Surroundings {
        threads: [
            named(CLIENT, "client"),
            named(SERVER, "server"),
            named(WRITER, "server"),
            named(40, "cc1"),
        ]
        .into(),
        ends: [(OTHER, end("other (50)", false)), (BEHIND, end("behind (60)", true))]
            .into_iter()
            .collect::<HashMap<_, _>>()
            .into(),
        own: OWN.to_vec(),
        usual_ns: 1e5,
        ..Surroundings::default()
    }
}

fn judged(slow: &SlowRequest, known: &Surroundings) -> (WaitCause, String) {
    let found = judge(slow, known);
    (found.cause, format!("{}: {} ms", found.what, found.spent_ns / MS))
}

fn is(slow: &SlowRequest, cause: WaitCause, text: &str) {
    assert_eq!(judged(slow, &known()), (cause, text.to_owned()));
}

#[test]
fn a_reader_that_is_busy_with_another_request() {
    let slow = request(9, 9, vec![read(OTHER, 8, 9)]);
    is(&slow, WaitCause::Queued, "server (20) was busy, with what other (50) had sent: 9 ms");
    let sleeps = away("fdatasync", AwayReason::Waits, 10, Some((18, 0)), 18, (0, 10));
    let slow = request(9, 9, vec![read(OWN[1], 8, 9), sleeps]);
    is(&slow, WaitCause::Queued, "server (20) was in fdatasync, with nothing that is seen: 8 ms");
}

#[test]
fn a_thread_that_is_ready_while_another_one_runs() {
    let slow = request(9, 9, vec![away("read", AwayReason::Waits, 5, Some((10, CLIENT)), 19, (40, 6))]);
    is(&slow, WaitCause::Ready, "server (20) was ready while cc1 (40) ran on its processor: 9 ms");
    let slow = request(9, 9, vec![away("read", AwayReason::Waits, 5, Some((10, CLIENT)), 19, (40, 16))]);
    is(
        &slow,
        WaitCause::Ready,
        "server (20) was ready while others ran on its processor, cc1 (40) last: 9 ms",
    );
}

#[test]
fn a_server_that_waits_in_a_call() {
    let slow = request(0, 10, vec![away("fdatasync", AwayReason::Waits, 11, Some((19, 0)), 19, (0, 11))]);
    is(&slow, WaitCause::Blocked, "server (20) was in fdatasync: 8 ms");
    let slow = request(0, 10, vec![away("futex", AwayReason::Waits, 11, Some((19, WRITER)), 19, (0, 11))]);
    is(&slow, WaitCause::Blocked, "server (20) was in futex, until server (30) woke it: 8 ms");
    let waits = away("epoll_wait", AwayReason::Waits, 11, Some((19, 60)), 19, (0, 11));
    let slow = request(0, 10, vec![waits, read(BEHIND, 19, 19)]);
    is(&slow, WaitCause::Blocked, "server (20) waited for behind (60): 8 ms");
    let slow = request(0, 10, vec![away("", AwayReason::Waits, 11, Some((19, 0)), 19, (0, 11))]);
    is(&slow, WaitCause::Blocked, "server (20) waited for a page of memory: 8 ms");
}

#[test]
fn a_group_without_processor_time() {
    let slow = request(0, 10, vec![away("", AwayReason::Ready, 11, None, 19, (0, 11))]);
    let hidden = judged(&slow, &known());
    assert!(hidden.0 == WaitCause::Unexplained && hidden.1.contains("ran nothing"), "{hidden:?}");
    let throttled = Surroundings { throttled: [SERVER].into(), ..known() };
    let expected = "server (20) was throttled: its control group had used up its processor time: 8 ms";
    assert_eq!(judged(&slow, &throttled), (WaitCause::Throttled, expected.to_owned()));
    // Another one that ran all the time is why.
    let slow = request(0, 10, vec![away("", AwayReason::Ready, 11, None, 19, (40, 11))]);
    assert_eq!(judged(&slow, &throttled).0, WaitCause::Ready);
}

#[test]
fn a_process_that_is_stopped() {
    let slow = request(9, 9, vec![away("", AwayReason::Stopped, 5, Some((19, 40)), 19, (0, 5))]);
    is(&slow, WaitCause::Stopped, "server (20) was stopped, by a signal or a tracer: 9 ms");
}

#[test]
fn a_server_that_computes() {
    let slow = request(0, 10, vec![read(OWN[1], 9, 10)]);
    is(&slow, WaitCause::Computing, "server (20) computed: 10 ms");
    // As long as usual, it explains nothing of what is beyond.
    let usual = Surroundings { usual_ns: 4e6, ..known() };
    let slow = request(5, 10, vec![away("read", AwayReason::Waits, 5, None, 15, (0, 5))]);
    assert_eq!(judged(&slow, &usual).0, WaitCause::Unexplained);
    // Where all take as long, it does.
    let usual = Surroundings { usual_ns: 9e6, ..known() };
    assert_eq!(judged(&request(0, 10, vec![read(OWN[1], 9, 10)]), &usual).0, WaitCause::Computing);
}

#[test]
fn what_nothing_explains_is_said_to_be() {
    let slow = request(9, 9, vec![away("read", AwayReason::Waits, 5, Some((19, CLIENT)), 19, (0, 5))]);
    is(&slow, WaitCause::Unexplained, "the time before the server read it: 9 ms");
    let gone = SlowRequest { logs: Vec::new(), ..slow };
    assert_eq!(judge(&gone, &known()).cause, WaitCause::Unexplained);
}

#[test]
fn another_thread_that_replies_counts_where_it_has_work() {
    let mut slow = request(0, 10, vec![away("fdatasync", AwayReason::Waits, 11, Some((14, 0)), 14, (0, 11))]);
    slow.replier = WRITER;
    let spans = vec![
        away("futex", AwayReason::Waits, 5, Some((14, SERVER)), 14, (0, 5)),
        away("fsync", AwayReason::Waits, 14, Some((19, 0)), 19, (0, 14)),
    ];
    slow.logs.push(ThreadLog { process: SERVER, thread: WRITER, since_ns: 0, spans });
    let mut known = known();
    known.threads.insert(WRITER, (SERVER, "worker".to_owned()));
    let expected = (WaitCause::Blocked, "worker (20) was in fsync: 5 ms".to_owned());
    assert_eq!(judged(&slow, &known), expected);
}

#[test]
fn every_cause_has_a_rule() {
    let codes: Vec<&str> = ipcost_lab::rules::all().map(|rule| rule.code).collect();
    for cause in WaitCause::ALL.iter().filter(|cause| **cause != WaitCause::Unexplained) {
        assert!(codes.contains(&cause.name()), "{cause}");
    }
}
