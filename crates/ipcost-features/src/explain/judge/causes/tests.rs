use std::collections::BTreeMap;
use std::time::Duration;

use ipcost_lab::system_calls::CallRecord;
use ipcost_model::facts::NetworkFacts;
use ipcost_model::protocol::PeerRole;
use ipcost_model::{
    CallMode, Estimate, HeldBackRecord, LayoutPlace, Object, OptionValue, Pattern, Placement, ProcessorTimes,
    Throttling, Verdict,
};
use ipcost_sys::firewall::Firewall;
use ipcost_sys::idle::IdleState;
use ipcost_sys::others::Busy;

use super::*;
use crate::explain::judge::account::account;
use crate::explain::record::usual;
use crate::explain::{Account, ExplainedWake, Part, PartCost, PartDifference, SideEvidence, Sides};

fn exactly(median: f64) -> Estimate {
    Estimate { median, lo: Some(median * 0.95), hi: Some(median * 1.05) }
}

fn call(name: &str, count: f64, moved: f64, asked: f64) -> CallRecord {
    CallRecord {
        name: name.to_owned(),
        count,
        moved: Some(count * moved),
        asked: Some(count * asked),
        ..CallRecord::default()
    }
}

/// A cell whose sides take turns, 10 µs each way, that gives no reason for blame.
fn clean(pattern: Pattern, transport: &str, size: u64) -> ExplainedCell {
    let side = SideEvidence {
        voluntary_switches: Some(if pattern == Pattern::Stream { 0.01 } else { 1.0 }),
        involuntary_switches: Some(0.0),
        system_calls: Some(vec![
            call("sendto", 1.0, size as f64, size as f64),
            call("recvfrom", 1.0, size as f64, size as f64),
        ]),
        ..SideEvidence::default()
    };
    let mut server = side.clone();
    if pattern == Pattern::Stream {
        // Much lies ready for it, and it asks for more.
        let many = (size * 100) as f64;
        server.system_calls = Some(vec![call("recvfrom", 0.01, many, many.max(131_072.0))]);
    }
    let part = |part| PartCost { part, ns: exactly(2_000.0), share: 0.2 };
    ExplainedCell {
        id: format!("{pattern}/{transport}/{size}/c1"),
        label: transport.to_owned(),
        purpose: Purpose::Asked,
        point: usual(pattern, transport, size),
        division: if pattern == Pattern::Stream { Division::Overlap } else { Division::Turns },
        wall_ns: Some(exactly(10_000.0)),
        cpu_ns: Some(exactly(8_000.0)),
        wait_ns: None,
        parts: Part::ALL.iter().copied().map(part).collect(),
        busy: Some(Sides { client: 0.4, server: 0.4 }),
        limited_by: None,
        wake: None,
        sides: Sides { client: side, server },
        network: BTreeMap::from([("delayed_acknowledgements".to_owned(), 0.0)]),
        held_back: Vec::new(),
        machine: BTreeMap::new(),
        floor: None,
        alone: true,
        traced_ops: 1_000,
        counted_ops: 10_000,
    }
}

/// So many ports, and so many connections in TIME_WAIT.
fn network(ports: u64, time_wait: u64) -> NetworkFacts {
    NetworkFacts {
        ip_local_port_range: Some([1, ports]),
        time_wait: Some(time_wait),
        ..NetworkFacts::default()
    }
}

#[derive(Default)]
struct Case {
    of_cell: CellInputs,
    differences: Vec<ExplainedDifference>,
    twins: Vec<ExplainedDifference>,
    observed: Observed,
    idle: Vec<IdleState>,
    firewall: Firewall,
    network: NetworkFacts,
    failure: Option<&'static str>,
}

fn of_cell(of_cell: CellInputs) -> Case {
    Case { of_cell, ..Case::default() }
}

fn found(cells: &[ExplainedCell], case: &Case) -> Vec<NamedCause> {
    let mut of_cells = vec![CellInputs::default(); cells.len()];
    of_cells[0] = case.of_cell.clone();
    let facts = CauseInputs {
        cells,
        of_cells: &of_cells,
        differences: &case.differences,
        twins: &case.twins,
        ops: 1_000,
        observed: &case.observed,
        machine: &ObservedMachine {
            cores: 2,
            idle: case.idle.clone(),
            firewall: case.firewall.clone(),
            network: case.network.clone(),
        },
        failure: case.failure,
    };
    causes(&facts)
}

#[track_caller]
fn assert_only(code: &str, cell: ExplainedCell, case: &Case) {
    let found = found(&[cell], case);
    let codes: Vec<&str> = found.iter().map(|cause| cause.code.as_str()).collect();
    assert_eq!(codes, [code], "{found:?}");
    assert!(!found[0].sentence.contains('\n') && !found[0].remedy.is_empty());
}

fn difference(a: &ExplainedCell, b: &ExplainedCell, part: Part, more_ns: f64) -> ExplainedDifference {
    ExplainedDifference {
        a: a.id.clone(),
        b: b.id.clone(),
        verdict: Verdict::Different,
        wall_ns: Some(exactly(more_ns)),
        differs: true,
        division: Division::Turns,
        parts: vec![PartDifference { part, ns: exactly(more_ns), differs: true }],
        account: Account::default(),
        ..ExplainedDifference::default()
    }
}

#[test]
fn a_clean_cell_is_blamed_for_nothing() {
    let case = Case {
        of_cell: CellInputs { buffer: Some(65_536), ..CellInputs::default() },
        network: network(28_232, 100),
        idle: vec![IdleState { name: "C1".into(), exit_us: 1, entered: 5_000 }],
        firewall: Firewall { rules: Some(0), tracked: Some(0) },
        ..Case::default()
    };
    for pattern in [Pattern::Rr, Pattern::Stream, Pattern::Connect] {
        for transport in ["unix", "tcp", "pipe"] {
            assert_eq!(found(&[clean(pattern, transport, 64)], &case), [], "{pattern} {transport}");
        }
    }
}

/// One side waits for a delayed acknowledgement, this share of the time.
fn held(side: PeerRole, share: f64, nodelay: Option<bool>) -> HeldBackRecord {
    HeldBackRecord { side, ns_per_op: 10_000.0 * share, share, waits_per_op: share / 4_000.0, nodelay }
}

#[test]
fn what_a_side_holds_back_is_named_with_its_calls_whatever_the_options_say() {
    for pattern in [Pattern::Rr, Pattern::Stream] {
        for nodelay in [None, Some(false)] {
            let mut cell = clean(pattern, "tcp", 64);
            cell.held_back =
                vec![held(PeerRole::Server, 0.9, nodelay), held(PeerRole::Client, 0.05, nodelay)];
            cell.sides.server.sends = vec![39, 11];
            assert_only("nagle", cell.clone(), &Case::default());
            let found = found(&[cell], &Case::default()).remove(0);
            assert_eq!((found.side, found.ns, found.weight), (Some(PeerRole::Server), Some(9_000.0), 0.9));
            let option = if nodelay.is_none() {
                "probably with TCP_NODELAY off"
            } else {
                "calls (39 B and 11 B) with"
            };
            assert!(found.sentence.contains(option), "{}", found.sentence);
            assert!(found.remedy.contains("in the server"), "{}", found.remedy);
        }
    }
    // What the pieces take on the other side is no cause of its own.
    let mut cell = clean(Pattern::Rr, "tcp", 64);
    let twin = ExplainedCell { id: "twin".to_owned(), ..cell.clone() };
    cell.held_back = vec![held(PeerRole::Server, 0.9, Some(false))];
    cell.sides.client.receives = vec![39, 11];
    let calls =
        [call("recvfrom", 2.0, 32.0, 64.0), call("ppoll", 1.0, 0.0, 0.0), call("sendto", 1.0, 64.0, 64.0)];
    cell.sides.client.system_calls = Some(calls.to_vec());
    let mut differs = difference(&cell, &twin, Part::Waiting, 9_000.0);
    differs.account = account(&cell, &twin, differs.wall_ns.as_ref(), differs.division, &differs.parts);
    let case = Case { differences: vec![differs], ..Case::default() };
    let codes: Vec<String> = found(&[cell, twin], &case).into_iter().map(|cause| cause.code).collect();
    assert_eq!(codes, ["nagle"]);
    // Delayed acknowledgements alone cost nothing, and a little is not worth a word.
    let mut cell = clean(Pattern::Rr, "tcp", 64);
    cell.network.insert("delayed_acknowledgements".to_owned(), 1.0);
    cell.held_back = vec![held(PeerRole::Client, 0.05, Some(false))];
    assert_eq!(found(&[cell], &Case::default()), []);
}

#[test]
fn a_buffer_that_is_always_full() {
    let mut cell = clean(Pattern::Stream, "pipe", 65_536);
    cell.sides.client.voluntary_switches = Some(0.9);
    assert_only(
        "small-buffer",
        cell.clone(),
        &of_cell(CellInputs { buffer: Some(65_536), ..CellInputs::default() }),
    );
    assert_eq!(
        found(&[cell.clone()], &of_cell(CellInputs { buffer: Some(16 << 20), ..CellInputs::default() })),
        []
    );
    // One that someone made smaller is told as that.
    let less =
        of_cell(CellInputs { buffer: Some(65_536), usual_buffer: Some(212_992), ..CellInputs::default() });
    let cause = found(&[cell.clone()], &less).remove(0);
    assert!(cause.sentence.contains("64 KiB, less than the default,"), "{}", cause.sentence);
    assert!(cause.remedy.starts_with("leave it as it is by default"), "{}", cause.remedy);
    // A socket's buffer that was set to less than the default, with a sleep in three writes.
    let mut socket = clean(Pattern::Stream, "unix", 65_536);
    socket.point.options.set("so_sndbuf", OptionValue::Int(65_536)).unwrap();
    socket.sides.client.voluntary_switches = Some(0.36);
    let less =
        of_cell(CellInputs { buffer: Some(131_072), usual_buffer: Some(212_992), ..CellInputs::default() });
    assert_only("small-buffer", socket.clone(), &less);
    assert_eq!(
        found(&[socket], &of_cell(CellInputs { buffer: Some(425_984), ..CellInputs::default() })),
        [],
        "more than the default"
    );
    cell.sides.client.voluntary_switches = Some(0.6);
    assert_eq!(
        found(&[cell.clone()], &of_cell(CellInputs { buffer: Some(1 << 20), ..CellInputs::default() })),
        [],
        "whole messages fit, and the sides take turns"
    );
    cell.sides.client.voluntary_switches = Some(0.01);
    assert_eq!(
        found(&[cell], &of_cell(CellInputs { buffer: Some(65_536), ..CellInputs::default() })),
        [],
        "nobody sleeps"
    );
}

#[test]
fn reads_that_are_much_smaller_than_writes() {
    let mut cell = clean(Pattern::Stream, "unix", 65_536);
    cell.sides.server.system_calls = Some(vec![call("recvfrom", 128.0, 512.0, 512.0)]);
    assert_only("small-reads", cell.clone(), &Case::default());
    // Exactly a message at a time, though more lies ready; where it waits for each, no more does.
    cell.sides.server.system_calls = Some(vec![call("recvfrom", 1.0, 1_500.0, 1_500.0)]);
    assert_only("small-reads", cell.clone(), &Case::default());
    let waits = |cell: &ExplainedCell| {
        let mut cell = cell.clone();
        cell.sides.server.voluntary_switches = Some(0.9);
        cell
    };
    assert_eq!(found(&[waits(&cell)], &Case::default()), []);
    let messages = ExplainedCell { point: usual(Pattern::Stream, "unix-seqpacket", 1_500), ..cell.clone() };
    assert_eq!(found(&[messages], &Case::default()), [], "a reader takes one message at a time");
    // What is left of a message after a shorter read is asked for by itself.
    let mut whole = clean(Pattern::Stream, "unix", 65_536);
    whole.sides.server.system_calls = Some(vec![call("recvfrom", 1.1, 60_309.0, 60_309.0)]);
    assert_eq!(found(&[whole], &Case::default()), [], "a read and a bit for a message");
    // Little arrives at a time, though there is room for more.
    cell.sides.server.system_calls = Some(vec![call("recvfrom", 128.0, 512.0, 65_536.0)]);
    assert_eq!(found(&[cell], &Case::default()), []);
}

#[test]
fn a_full_backlog() {
    let troubles = BTreeMap::from([("ListenOverflows".to_owned(), 7)]);
    let case = of_cell(CellInputs {
        incidents: Incidents { troubles, ..Incidents::default() },
        ..CellInputs::default()
    });
    assert_only("backlog", clean(Pattern::Connect, "tcp", 64), &case);
    let case = of_cell(CellInputs {
        incidents: Incidents { retries: 3, ..Incidents::default() },
        ..CellInputs::default()
    });
    assert_only("backlog", clean(Pattern::Connect, "unix", 64), &case);
}

#[test]
fn ports_that_run_out() {
    let mut cell = clean(Pattern::Connect, "tcp", 64);
    let refused = CallRecord {
        failures: BTreeMap::from([("EADDRNOTAVAIL".to_owned(), 0.02)]),
        ..call("connect", 1.02, 0.0, 0.0)
    };
    cell.sides.client.system_calls.as_mut().unwrap().push(refused);
    assert_only("ports", cell, &Case::default());
    let failure = Some("client native of connect/tcp/64/c1 failed: no local port is left for tcp");
    assert_only("ports", clean(Pattern::Connect, "tcp", 64), &Case { failure, ..Case::default() });
    let mut cell = clean(Pattern::Connect, "tcp", 64);
    cell.point.options.set("spread_sources", OptionValue::Bool(false)).unwrap();
    let reused = |tcp_tw_reuse| Case {
        network: NetworkFacts { tcp_tw_reuse: Some(tcp_tw_reuse), ..network(101, 99) },
        ..Case::default()
    };
    assert_only("ports", cell.clone(), &reused(0));
    assert_eq!(found(&[cell], &reused(2)), [], "none fails where ports are used again");
    let many = network(101, network::MANY_IN_TIME_WAIT);
    assert!(network::left_in_time_wait(&[clean(Pattern::Connect, "tcp", 64)], &many).is_some());
    assert!(network::left_in_time_wait(&[clean(Pattern::Rr, "tcp", 64)], &many).is_none());
    // From many sources, TIME_WAIT is no harm.
    assert_eq!(
        found(
            &[clean(Pattern::Connect, "tcp", 64)],
            &Case { network: network(101, 9_000), ..Case::default() }
        ),
        []
    );
}

/// A peer of one's own with these calls in its client, against the native one, which waits or works so much less.
fn planted(calls: &[CallRecord], part: Part, more_ns: f64) -> (ExplainedCell, ExplainedCell, Case) {
    let native =
        ExplainedCell { id: "twin".to_owned(), purpose: Purpose::Twin, ..clean(Pattern::Rr, "unix", 64) };
    let mut cell =
        ExplainedCell { wall_ns: Some(exactly(10_000.0 + more_ns)), ..clean(Pattern::Rr, "unix", 64) };
    "planted".clone_into(&mut cell.point.client);
    cell.sides.client.system_calls.as_mut().unwrap().extend(calls.iter().cloned());
    let mut twin = difference(&cell, &native, part, more_ns);
    twin.account = account(&cell, &native, twin.wall_ns.as_ref(), twin.division, &twin.parts);
    (cell, native, Case { twins: vec![twin], ..Case::default() })
}

fn plain(name: &str, count: f64) -> CallRecord {
    CallRecord { name: name.to_owned(), count, ..CallRecord::default() }
}

#[track_caller]
fn assert_first(code: &str, subject: &str, calls: &[CallRecord], part: Part, more_ns: f64) {
    let (cell, native, case) = planted(calls, part, more_ns);
    let found = found(&[cell, native], &case);
    let first = found.first().unwrap_or_else(|| panic!("nothing was found for {code}"));
    assert_eq!((first.code.as_str(), first.subject.as_deref()), (code, Some(subject)), "{found:#?}");
    assert_eq!(first.side, Some(PeerRole::Client));
    let codes: Vec<&str> = found.iter().map(|cause| cause.code.as_str()).collect();
    assert_eq!(codes, [code], "nothing else is blamed");
}

#[test]
fn what_a_side_does_more_is_named_with_what_it_takes() {
    let waits = |call: CallRecord, ns| CallRecord { took_ns: Some(ns), ..call };
    let on = |call: CallRecord, on| CallRecord { on: Some(on), ..call };
    let log = || on(call("write", 1.0, 40.0, 40.0), Object::File);
    let manner =
        |call: CallRecord, manner, rate| CallRecord { manners: BTreeMap::from([(manner, rate)]), ..call };
    let synced = [log(), waits(on(plain("fdatasync", 1.0), Object::File), 95_000.0)];
    assert_first("sync-writes", "fdatasync", &synced, Part::Waiting, 100_000.0);
    let each = CallRecord { median_ns: Some(85_000.0), ..waits(log(), 90_000.0) };
    assert_first("sync-writes", "write", std::slice::from_ref(&each), Part::Waiting, 90_000.0);
    // Where other work fills the machine, half of a log's writes are interrupted: what reaches storage tells the two apart.
    for (written, code) in [(60.0, "logging"), (8192.0, "sync-writes")] {
        let (mut cell, mut native, case) = planted(std::slice::from_ref(&each), Part::Waiting, 90_000.0);
        cell.sides.client.events.insert("disk_bytes_written".to_owned(), written);
        native.sides.client.events.insert("disk_bytes_written".to_owned(), 0.0);
        assert_eq!(found(&[cell, native], &case)[0].code, code, "{written} bytes of storage");
    }
    // A log's mean may be that of the few writes that the scheduler interrupted.
    assert_first("logging", "write", &[waits(log(), 90_000.0)], Part::Waiting, 90_000.0);
    let slept = CallRecord { sleep_ns: 200_000.0, ..waits(plain("clock_nanosleep", 1.0), 260_000.0) };
    assert_first("sleep", "clock_nanosleep", &[slept], Part::Waiting, 260_000.0);
    let idle =
        CallRecord { timeouts: 1.0, ..manner(waits(plain("poll", 1.0), 1e6), CallMode::TimeOnly, 1.0) };
    assert_first("sleep", "poll", &[idle], Part::Waiting, 1e6);
    assert_first("logging", "write", &[log()], Part::ClientSystem, 1_000.0);
    let complaint = manner(on(call("write", 1.0, 9.0, 9.0), Object::Pipe), CallMode::StandardError, 1.0);
    assert_first("logging", "write", &[complaint], Part::ClientSystem, 1_000.0);
    assert_first("event-loop", "epoll_wait", &[plain("epoll_wait", 1.0)], Part::ClientSystem, 800.0);
    let maps = [plain("mmap", 1.0), plain("munmap", 1.0)];
    assert_first("allocation", "munmap", &maps, Part::ClientSystem, 5_000.0);
    let locked = manner(waits(plain("futex", 1.2), 50_000.0), CallMode::MutexWait, 1.0);
    assert_first("lock-contention", "futex", &[locked], Part::Waiting, 50_000.0);
    let file_lock = manner(waits(on(plain("flock", 2.0), Object::File), 50_000.0), CallMode::FileLock, 2.0);
    assert_first("lock-contention", "flock", &[file_lock], Part::Waiting, 50_000.0);
    assert_first("more-calls", "getppid", &[plain("getppid", 50.0)], Part::ClientSystem, 4_000.0);
}

#[test]
fn what_both_of_a_pair_do_is_blamed_on_neither() {
    let polls = [plain("epoll_wait", 1.0)];
    let (cell, native, mut case) = planted(&polls, Part::ClientSystem, 800.0);
    let mut other = ExplainedCell { id: "other".to_owned(), ..cell.clone() };
    let mut differs = difference(&cell, &other, Part::ClientSystem, 800.0);
    differs.account = account(&cell, &other, differs.wall_ns.as_ref(), differs.division, &differs.parts);
    case.differences = vec![differs];
    assert_eq!(found(&[cell.clone(), other.clone(), native.clone()], &case), []);
    // Looks at a socket that never move anything are the same calls whatever messages go over.
    let look = CallRecord {
        on: Some(Object::Socket),
        failures: BTreeMap::from([("EAGAIN".to_owned(), 6.0)]),
        ..call("recvfrom", 6.0, 0.0, 0.0)
    };
    let mut cell = cell;
    "pipe".clone_into(&mut cell.point.transport);
    for cell in [&mut cell, &mut other] {
        cell.sides.client.system_calls.as_mut().unwrap().push(look.clone());
    }
    let differs = &mut case.differences[0];
    differs.account = account(&cell, &other, differs.wall_ns.as_ref(), differs.division, &differs.parts);
    let looks = differs.account.items.iter().filter(|item| item.call.as_deref() == Some("recvfrom"));
    assert_eq!(looks.count(), 0, "{:?}", differs.account);
}

#[test]
fn more_calls_do_not_take_less() {
    let (mut cell, mut native, _) = planted(&[], Part::Waiting, 1_000.0);
    let write =
        |count, took_ns| CallRecord { on: Some(Object::Device), took_ns, ..call("write", count, 9.0, 9.0) };
    cell.sides.client.system_calls.as_mut().unwrap().push(write(15.0, None));
    native.sides.client.system_calls.as_mut().unwrap().push(write(5.0, Some(197_000.0)));
    let account = account(&cell, &native, None, Division::Overlap, &[]);
    let item = account.items.iter().find(|item| item.call.as_deref() == Some("write")).unwrap();
    assert_eq!((item.more, item.ns), (10.0, None));
}

#[test]
fn what_calls_take_is_told_from_timed_batches() {
    let (_, _, case) = planted(&[plain("getppid", 50.0)], Part::ClientSystem, 4_000.0);
    let account = &case.twins[0].account;
    let item = &account.items[0];
    assert_eq!((item.call.as_deref(), item.more, item.ns), (Some("getppid"), 50.0, Some(4_000.0)));
    assert_eq!(account.unexplained_ns, Some(0.0));
    // A wait that tracing shows leaves the rest unexplained.
    let synced = CallRecord { took_ns: Some(95_000.0), ..plain("fdatasync", 1.0) };
    let (_, _, case) = planted(&[synced], Part::Waiting, 107_000.0);
    assert_eq!(case.twins[0].account.items[0].ns, Some(95_000.0));
    assert_eq!(case.twins[0].account.unexplained_ns, Some(12_000.0));
}

#[test]
fn an_operation_that_passes_between_threads() {
    let futex = CallRecord {
        manners: BTreeMap::from([(CallMode::WordWait, 2.0), (CallMode::WordWake, 2.0)]),
        ..plain("futex", 4.0)
    };
    let (mut cell, native, mut case) = planted(&[futex], Part::Waiting, 20_000.0);
    cell.sides.client.threads = vec![4.0, 2.0];
    cell.sides.client.voluntary_switches = Some(3.0);
    let twin = &mut case.twins[0];
    twin.account = account(&cell, &native, twin.wall_ns.as_ref(), twin.division, &twin.parts);
    let found = found(&[cell, native], &case);
    assert_eq!((found.len(), found[0].code.as_str()), (1, "thread-hand-over"), "{found:#?}");
    assert_eq!(found[0].ns, Some(20_000.0), "{found:#?}");
}

#[test]
fn pages_that_are_given_anew() {
    let (mut cell, mut native, mut case) = planted(&[plain("madvise", 1.0)], Part::ClientSystem, 9_000.0);
    cell.sides.client.events.insert("page_faults".into(), 16.0);
    native.sides.client.events.insert("page_faults".into(), 0.0);
    let again = |cell: &ExplainedCell, native: &ExplainedCell, case: &mut Case| {
        let twin = &mut case.twins[0];
        twin.account = account(cell, native, twin.wall_ns.as_ref(), twin.division, &twin.parts);
    };
    again(&cell, &native, &mut case);
    let codes = |cell: &ExplainedCell, native: &ExplainedCell, case: &Case| -> Vec<String> {
        let found = found(&[cell.clone(), native.clone()], case);
        found.into_iter().map(|cause| cause.code).collect()
    };
    assert_eq!(codes(&cell, &native, &case), ["page-faults"]);
    // Huge ones are few, and the kernel clears each.
    cell.sides.client.events.insert("page_faults".into(), 1.0);
    cell.machine.insert("huge_page_faults".into(), 1.0);
    again(&cell, &native, &mut case);
    assert!(codes(&cell, &native, &case).contains(&"transparent-huge-pages".to_owned()));
}

#[test]
fn memory_that_is_given_back_and_touched_anew_is_one_cause() {
    let (mut cell, mut native, mut case) =
        planted(&[plain("mmap", 1.0), plain("munmap", 1.0)], Part::ClientSystem, 9_000.0);
    cell.sides.client.events.insert("page_faults".into(), 4_096.0);
    native.sides.client.events.insert("page_faults".into(), 0.0);
    let twin = &mut case.twins[0];
    twin.account = account(&cell, &native, twin.wall_ns.as_ref(), twin.division, &twin.parts);
    let found = found(&[cell, native], &case);
    let codes: Vec<&str> = found.iter().map(|cause| cause.code.as_str()).collect();
    assert_eq!(codes, ["allocation"], "{found:#?}");
    assert!(found[0].sentence.contains("pages are new each time"), "{}", found[0].sentence);
    assert_eq!(found[0].ns, Some(9_000.0), "no more than there is");
}

#[test]
fn rare_waits_are_in_the_account() {
    let twin = ExplainedCell { id: "twin".to_owned(), ..clean(Pattern::Rr, "tcp", 131_072) };
    let wait_ns = 40e6 / 277.0;
    let mut cell =
        ExplainedCell { wall_ns: Some(exactly(10_000.0 + wait_ns)), ..clean(Pattern::Rr, "tcp", 131_072) };
    let share = wait_ns / (10_000.0 + wait_ns);
    cell.held_back = vec![HeldBackRecord {
        ns_per_op: wait_ns,
        waits_per_op: 1.0 / 277.0,
        ..held(PeerRole::Server, share, None)
    }];
    let mut differs = difference(&cell, &twin, Part::Waiting, wait_ns);
    differs.account = account(&cell, &twin, differs.wall_ns.as_ref(), differs.division, &differs.parts);
    let rest = differs.account.unexplained_ns.unwrap();
    assert!(rest.abs() < 0.01 * wait_ns, "{:?}", differs.account);
    let found = found(&[cell, twin], &Case { differences: vec![differs], ..Case::default() });
    assert!(found[0].sentence.contains("one in 277 operations"), "{}", found[0].sentence);
}

#[test]
fn what_a_traced_side_reads_more_often_is_no_more_calls() {
    let read = |count: f64, traced: Option<f64>| CallRecord {
        traced,
        ..call("read", count, 1_500.0 / count, 131_072.0)
    };
    let cells = |traced: Option<f64>| {
        let mut few = clean(Pattern::Stream, "tcp", 1_500);
        let mut many = ExplainedCell { id: "many".to_owned(), ..few.clone() };
        few.sides.server.system_calls = Some(vec![read(0.04, traced)]);
        many.sides.server.system_calls = Some(vec![read(0.8, traced)]);
        (few, many)
    };
    let told = |traced: Option<f64>| {
        let (few, many) = cells(traced);
        let mut differs = difference(&many, &few, Part::ServerSystem, 500.0);
        differs.division = Division::Overlap;
        differs.account = account(&many, &few, differs.wall_ns.as_ref(), differs.division, &differs.parts);
        let items = differs.account.items.len();
        (items, found(&[few, many], &Case { differences: vec![differs], ..Case::default() }).len())
    };
    assert_eq!(told(None), (1, 0), "system time in as many calls");
    // So are looks at what is not there yet.
    let look = |count: f64| CallRecord {
        failures: BTreeMap::from([("EAGAIN".to_owned(), count)]),
        ..call("recvfrom", count, 0.0, 0.0)
    };
    let (mut few, mut many) = cells(Some(0.9));
    few.sides.server.system_calls = Some(vec![look(1.0)]);
    many.sides.server.system_calls = Some(vec![look(60.0)]);
    let differs = account(&many, &few, Some(&exactly(500.0)), Division::Overlap, &[]);
    assert_eq!(differs.items, [], "they were counted while they were traced");
    let counted = told(Some(0.9));
    assert!(counted.1 >= 1, "{counted:?}: counted while nothing traces them, they are");
}

#[test]
fn records_of_tls() {
    let mut cell = clean(Pattern::Rr, "unix", 64);
    let header = CallRecord {
        manners: BTreeMap::from([(CallMode::RecordHeader, 1.0)]),
        ..call("recvfrom", 2.0, 43.0, 43.0)
    };
    cell.sides.client.system_calls = Some(vec![call("sendto", 1.0, 86.0, 86.0), header]);
    assert_only("tls", cell.clone(), &Case::default());
    cell.sides.client.system_calls =
        Some(vec![call("sendto", 1.0, 86.0, 86.0), call("recvfrom", 1.0, 86.0, 86.0)]);
    assert_eq!(found(&[cell], &Case::default()), [], "a header of another protocol");
}

#[test]
fn a_connection_that_polls_in_vain() {
    let mut cell = clean(Pattern::Connect, "unix", 64);
    let poll = CallRecord { timeouts: 1.0, took_ns: Some(5e6), ..plain("poll", 1.0) };
    cell.sides.client.system_calls.as_mut().unwrap().push(poll);
    assert_only("connect-poll", cell, &Case::default());
}

#[test]
fn names_that_are_looked_up_every_time() {
    let mut cell = clean(Pattern::Connect, "tcp", 64);
    cell.sides.client.lookups = BTreeMap::from([("/etc/hosts".to_owned(), 1.0)]);
    assert_only("name-resolution", cell.clone(), &Case::default());
    cell.sides.client.lookups = BTreeMap::from([("htons(53)".to_owned(), 1.0)]);
    assert_only("dns", cell, &Case::default());
}

#[test]
fn a_runtime_that_works_on_its_own() {
    let mut cell = clean(Pattern::Rr, "unix", 64);
    "python".clone_into(&mut cell.point.client);
    let twin =
        ExplainedCell { id: "twin".to_owned(), purpose: Purpose::Twin, ..clean(Pattern::Rr, "unix", 64) };
    let of = |part, more| Case { twins: vec![difference(&cell, &twin, part, more)], ..Case::default() };
    assert_only("runtime", cell.clone(), &of(Part::ClientUser, 5_000.0));
    assert_eq!(found(&[cell.clone()], &of(Part::ClientUser, 500.0)), [], "too little to matter");
    assert_eq!(
        found(&[cell.clone()], &of(Part::ServerSystem, 5_000.0)),
        [],
        "the kernel's work is not the runtime's"
    );
}

#[test]
fn cores_that_are_shared_or_apart() {
    let mut cell = clean(Pattern::Stream, "unix", 64);
    cell.point.placement = Placement::Together;
    cell.busy = Some(Sides { client: 0.5, server: 0.48 });
    assert_only("one-core", cell.clone(), &Case::default());
    cell.point.placement = Placement::Apart;
    assert_eq!(found(&[cell], &Case::default()), []);

    let mut apart = clean(Pattern::Rr, "unix", 64);
    apart.point.placement = Placement::Apart;
    let mut together = ExplainedCell { id: "together".into(), ..clean(Pattern::Rr, "unix", 64) };
    together.point.placement = Placement::Together;
    for (a, b, more) in [(&apart, &together, 5_000.0), (&together, &apart, -5_000.0)] {
        let case = Case { differences: vec![difference(a, b, Part::Waiting, more)], ..Case::default() };
        let found = found(&[apart.clone(), together.clone()], &case);
        assert_eq!((found.len(), found[0].code.as_str()), (1, "hand-over"), "{found:?}");
        assert_eq!(found[0].cell.as_ref(), Some(&apart.id));
    }
}

#[test]
fn a_burst_whose_end_is_held_back() {
    let burst = |nodelay| {
        let mut cell = clean(Pattern::Stream, "tcp", 64);
        cell.wait_ns = Some(40e6);
        cell.point.options.set("tcp_nodelay", OptionValue::Bool(nodelay)).unwrap();
        cell
    };
    assert_only("nagle", burst(false), &Case::default());
    assert_eq!(found(&[burst(true)], &Case::default()), [], "something else makes it wait");
}

#[test]
fn descriptors_that_threads_share() {
    let alone = clean(Pattern::Rr, "unix", 64);
    let mut shared = ExplainedCell { id: "shared".into(), ..alone.clone() };
    shared.point.options.set("descriptor_table", OptionValue::Text("shared".into())).unwrap();
    shared.sides.server.table_sharers = Some(2);
    for (a, b, more) in [(&shared, &alone, 800.0), (&alone, &shared, -800.0)] {
        let case = Case { differences: vec![difference(a, b, Part::ServerSystem, more)], ..Case::default() };
        let found = found(&[shared.clone(), alone.clone()], &case);
        assert_eq!((found.len(), found[0].code.as_str()), (1, "descriptor-table"), "{found:?}");
        assert_eq!(found[0].cell.as_deref(), Some("shared"));
    }
    // Other sizes differ for other reasons, and what is cheaper with threads is not costlier for them.
    let mut larger = alone.clone();
    larger.point.size = 128;
    for (other, more) in [(&larger, 800.0), (&alone, -800.0)] {
        let differences = vec![difference(&shared, other, Part::ServerSystem, more)];
        let case = Case { differences, ..Case::default() };
        assert_eq!(found(&[shared.clone(), other.clone()], &case), []);
    }
}

#[test]
fn cores_that_sleep_deeply() {
    let deep = vec![IdleState { name: "C6".into(), exit_us: 100, entered: 2_000 }];
    let mut cell = clean(Pattern::Rr, "unix", 64);
    cell.wall_ns = Some(exactly(200_000.0));
    cell.parts[Part::Waiting as usize].share = 0.9;
    assert_only("idle-wakeups", cell.clone(), &Case { idle: deep.clone(), ..Case::default() });
    let shallow = vec![IdleState { exit_us: 2, ..deep[0].clone() }];
    assert_eq!(found(&[cell.clone()], &Case { idle: shallow, ..Case::default() }), []);
    // Where the cell has two cores, what a wake takes is measured.
    let wake = |rested_ns| Some(ExplainedWake { rest_ns: 1e5, rested_ns, awake_ns: 4_000.0, driver: None });
    cell.wake = wake(60_000.0);
    assert_only("idle-wakeups", cell.clone(), &Case::default());
    cell.wake = wake(6_000.0);
    assert_eq!(found(&[cell], &Case::default()), []);
}

#[test]
fn a_firewall_concerns_packets_only() {
    let case = Case { firewall: Firewall { rules: Some(3), tracked: Some(1) }, ..Case::default() };
    assert_only("firewall", clean(Pattern::Rr, "tcp", 64), &case);
    assert_eq!(found(&[clean(Pattern::Rr, "unix", 64)], &case), []);
    let packet_tables = Some(vec!["filter".to_owned()]);
    let network = NetworkFacts { packet_tables, ..NetworkFacts::default() };
    assert_only("firewall", clean(Pattern::Rr, "tcp", 64), &Case { network, ..Case::default() });
}

#[test]
fn places_within_a_page() {
    let layout = LayoutEffect {
        place: LayoutPlace::ToServer,
        from: 16,
        to: 1_008,
        share: 0.25,
        epochs: 9,
        wall_ns_per_op: 16_000.0,
        elsewhere_ns_per_op: 5_000.0,
    };
    let case = of_cell(CellInputs { layout: Some(layout), ..CellInputs::default() });
    assert_only("buffer-layout", clean(Pattern::Stream, "unix", 32_769), &case);
    let found = &found(&[clean(Pattern::Stream, "unix", 32_769)], &case)[0];
    assert!(found.sentence.contains("costs 16.0 µs instead of 5.0 µs"), "{}", found.sentence);
    // A quarter of the epochs costs 11 of 16 more.
    assert!((found.weight - 2.75 / 7.75).abs() < 1e-9, "{}", found.weight);
}

#[test]
fn quotas_hypervisors_and_neighbours() {
    let cell = || clean(Pattern::Rr, "unix", 64);
    let throttling =
        Throttling { times: 5, time_ns: Duration::from_millis(400).as_nanos() as u64, cores: Some(0.5) };
    let observed = Observed { throttling: Some(throttling), ..Observed::default() };
    assert_only("cpu-quota", cell(), &Case { observed, ..Case::default() });
    let processors = Some(ProcessorTimes { busy: 400, stolen: 100, total: 1_000 });
    let own_cpu = Duration::from_secs(4);
    let observed = Observed { processors, own_cpu, ..Observed::default() };
    assert_only("steal", cell(), &Case { observed, ..Case::default() });
    let processors = Some(ProcessorTimes { busy: 800, stolen: 0, total: 1_000 });
    let busiest = Some(Busy { id: 7, name: "hog".into(), ticks: 390 });
    let observed = Observed { processors, own_cpu, busiest, ..Observed::default() };
    let case = Case { observed, ..Case::default() };
    assert_only("busy-neighbour", cell(), &case);
    assert!(found(&[cell()], &case)[0].sentence.contains("most of it hog (process 7)"));
}
