//! What is wrong, from planted observations: each finding with its figures, in the order of what it costs.

use ipcost_sys::observed::{CallDirection, CalledOn, CountedCalls, MovedCall, UnixKind, UnixSocket};
use ipcost_sys::sockets::LocalPorts;

use super::*;

fn calls(each: &[(&'static str, CallDirection, i64, u64)], times: usize) -> Vec<MovedCall> {
    let mut ended_ns = 0;
    let call = |(name, direction, result, took_ns): &(&'static str, CallDirection, i64, u64)| {
        let began_ns = ended_ns;
        ended_ns += took_ns;
        MovedCall {
            process: 20,
            thread: 20,
            call: name,
            descriptor: if *direction == CallDirection::Wait { -1 } else { 9 },
            direction: *direction,
            asked: 0,
            result: *result,
            began_ns,
            ended_ns,
            is_whole: true,
        }
    };
    std::iter::repeat_n(each, times).flatten().map(call).collect()
}

/// What is found of two observations, a second apart; the second one is changed, and has these calls.
fn found(calls: Vec<MovedCall>, change: impl Fn(&mut Observation)) -> Vec<WatchFinding> {
    let both = || vec![listener(6379, 1), socket(6379, 40_000, 2, 0, 0), socket(40_000, 6379, 3, 0, 0)];
    let mut state = WatchState::default();
    state.observe(look(0, both(), vec![]));
    let mut second = look(1, both(), vec![]);
    second.windows = vec![Window { lasted_ns: 1, stands_for_ns: 1, calls, ..Window::default() }];
    change(&mut second);
    state.observe(second);
    state.findings(&state.conversations(None))
}

fn codes(found: &[WatchFinding]) -> Vec<&str> {
    found.iter().map(|one| one.code.as_str()).collect()
}

#[test]
fn a_poll_for_a_connection_that_is_there_is_named_before_what_costs_less() {
    use CallDirection::{Other, Wait};
    let polls = |result| calls(&[("connect", Other, -115, 1_000), ("poll", Wait, result, 10_000_000)], 50);
    // It opens a connection for each request, too, which costs far less.
    let opens = |seen: &mut Observation| {
        for port in 41_000..41_050_u16 {
            seen.closed.extend([socket(6379, port, 0, 30, 1), socket(port, 6379, 0, 70, 1)]);
            let local = at(port);
            let connected = Connected { process: 20, thread: 20, name: None, local, remote: at(6379) };
            seen.connected.push(connected);
        }
    };
    let all = found(polls(0), opens);
    assert_eq!(codes(&all), ["connect-poll", "connection-each"]);
    assert!(all[0].found.starts_with("worker (20) waits 10.0 ms in a poll"), "{}", all[0].found);
    assert_eq!(codes(&found(polls(1), opens)), ["connection-each"], "one that found it ready");
}

#[test]
fn connections_without_a_port_are_named_with_whose_they_are() {
    use CallDirection::Other;
    let refused = calls(&[("connect", Other, -99, 1_000), ("connect", Other, 0, 1_000)], 10);
    let all = found(refused, |_| {});
    assert_eq!(codes(&all), ["ports"]);
    assert!(all[0].found.starts_with("50 % of the connections of worker (20)"), "{}", all[0].found);
}

#[test]
fn ports_in_time_wait_are_counted_in_their_own_network_and_only_where_they_are_not_given_again() {
    let waiting = |network: u64, host: [u8; 4], local: u16, remote: u16| TcpSocket {
        network,
        local: SocketAddr::from((host, local)),
        remote: SocketAddr::from((host, remote)),
        state: SocketState::TimeWait,
        counts: None,
        ..socket(local, remote, 0, 0, 0)
    };
    let codes_of = |host: [u8; 4], reuse: u32, count: u16, at_client: bool| {
        let all = found(vec![], |seen| {
            for port in 40_000..40_000 + count {
                let (local, remote) = if at_client { (port, 6379) } else { (6379, port) };
                seen.tcp.push(waiting(7, host, local, remote));
            }
            // Its own range is small; that of the machine is not.
            seen.ports =
                [(0, LocalPorts { count: 28_232, reuse }), (7, LocalPorts { count: 200, reuse })].into();
        });
        all.into_iter().map(|one| (one.code, one.found, one.remedy)).collect::<Vec<_>>()
    };
    let [(code, said, remedy)] = &codes_of([127, 0, 0, 1], 0, 100, true)[..] else { panic!() };
    assert_eq!(code, "time-wait");
    assert!(said.contains("100 connections") && said.contains("of 200 local ports"), "{said}");
    assert!(remedy.contains("127.0.0.0/8"));
    let elsewhere = codes_of([10, 0, 0, 7], 2, 100, true);
    assert!(elsewhere[0].2.contains("tcp_tw_reuse=1") && !elsewhere[0].2.contains("127."), "{elsewhere:?}");
    assert_eq!(codes_of([127, 0, 0, 1], 2, 100, true), [], "over loopback they are given again");
    assert_eq!(codes_of([10, 0, 0, 7], 1, 100, true), [], "they are given again everywhere");
    assert_eq!(codes_of([127, 0, 0, 1], 0, 99, true), []);
    assert_eq!(codes_of([127, 0, 0, 1], 0, 100, false), [], "at the server they take no port");
}

#[test]
fn datagrams_that_find_no_room_are_named_with_the_queue() {
    use CallDirection::Out;
    let queue = |seen: &mut Observation| {
        seen.unix.push(UnixSocket {
            kind: UnixKind::Datagram,
            is_listening: false,
            inode: 1,
            cookie: 1,
            peer: None,
            name: Some("/run/log".to_owned()),
            waiting: 768,
            outstanding: 0,
        });
    };
    let sends = calls(&[("sendto", Out, 100, 500), ("sendto", Out, -11, 500), ("sendto", Out, -11, 500)], 50);
    let all = found(sends, queue);
    assert_eq!(codes(&all), ["datagram-queue"]);
    let said = &all[0].found;
    assert!(said.contains("worker (20) finds no room for 67 %") && said.contains("/run/log"), "{said}");
    assert_eq!(found(calls(&[("sendto", Out, 100, 500)], 100), queue), []);
}

#[test]
fn small_writes_are_named_with_what_a_buffer_would_make_of_them() {
    let end = |id: u32, writes: bool| {
        let held = vec![(1, Held::Pipe { inode: 812, writes, reads: !writes, path: None })];
        (
            id,
            Program {
                id,
                started: id.into(),
                name: format!("p{id}"),
                held: Some(held),
                ..Program::default()
            },
        )
    };
    let observed = |second: u64, bytes: u64| {
        let count = |process: u32, direction, calls| CountedCalls {
            process,
            descriptor: 1,
            on: CalledOn::Pipe(812),
            direction,
            bytes: second * bytes * 100_000,
            calls: second * calls,
            empty: 0,
            unsized_calls: 0,
        };
        let window = calls(&[("write", CallDirection::Out, bytes as i64, 300)], 100);
        let window = window.into_iter().map(|call| MovedCall { process: 1, descriptor: 1, ..call }).collect();
        Observation {
            is_baseline: second == 0,
            at: Duration::from_secs(second),
            programs: [end(1, true), end(2, false)].into(),
            counted: Some(vec![count(1, CallDirection::Out, 100_000), count(2, CallDirection::In, 500)]),
            windows: vec![Window { lasted_ns: 1, stands_for_ns: 1, calls: window, ..Window::default() }],
            ..Observation::default()
        }
    };
    let of = |bytes| {
        let mut state = WatchState::default();
        state.observe(observed(0, bytes));
        state.observe(observed(1, bytes));
        state.findings(&state.conversations(None))
    };
    let all = of(10);
    assert_eq!(codes(&all), ["small-writes"]);
    let said = &all[0].found;
    assert!(said.contains("p1 (1) writes 10 B at a time to p2 (2), 100 k/s"), "{said}");
    assert!(said.contains("would make that 15.3 /s"), "{said}");
    assert_eq!(of(16_384), []);
}

#[test]
fn a_small_pipe_is_named_with_who_has_the_pages_and_not_its_reader() {
    let observed = |second: u64, bytes: u64, of_holder: u64| {
        let end = |id: u32, held: &[(u64, bool)]| {
            let held = held.iter().enumerate().map(|(index, (inode, writes))| {
                (index as i32, Held::Pipe { inode: *inode, writes: *writes, reads: !writes, path: None })
            });
            let held = Some(held.collect());
            (
                id,
                Program {
                    id,
                    started: id.into(),
                    name: format!("p{id}"),
                    user: 7,
                    held,
                    ..Program::default()
                },
            )
        };
        let count = |process, direction, calls| CountedCalls {
            process,
            descriptor: 0,
            on: CalledOn::Pipe(812),
            direction,
            bytes: second * 1_000_000,
            calls: second * calls,
            empty: 0,
            unsized_calls: 0,
        };
        let of = |process, name, direction, result| {
            let all = calls(&[(name, direction, result, 300)], 100).into_iter();
            all.map(move |call| MovedCall { process, descriptor: 0, ..call })
        };
        let (write, read) =
            (of(5, "write", CallDirection::Out, 65_536), of(6, "read", CallDirection::In, 8_192));
        let calls = write.chain(read).collect();
        Observation {
            is_baseline: second == 0,
            at: Duration::from_secs(second),
            programs: [end(5, &[(812, true)]), end(6, &[(812, false)]), end(4, &[(9, true), (9, false)])]
                .into(),
            counted: Some(vec![count(5, CallDirection::Out, 15), count(6, CallDirection::In, 120)]),
            pipe_bytes: [(812, bytes), (9, of_holder)].into(),
            pipe_pages_limit: Some(16_384),
            windows: vec![Window { lasted_ns: 1, stands_for_ns: 1, calls, ..Window::default() }],
            ..Observation::default()
        }
    };
    let of = |bytes, of_holder| {
        let mut state = WatchState::default();
        (0..2).for_each(|second| state.observe(observed(second, bytes, of_holder)));
        state.findings(&state.conversations(None))
    };
    let all = of(8_192, 16_383 * 4_096);
    assert_eq!(codes(&all), ["pipe-pages"]);
    let said = &all[0].found;
    assert!(
        said.contains("holds 8192 B") && said.contains("16385 pages in pipes, 16383 of them p4 (4)"),
        "{said}"
    );
    assert_eq!(codes(&of(65_536, 16_383 * 4_096)), ["small-reads"], "the reader asks for less than there is");
    assert_eq!(codes(&of(8_192, 65_536)), ["small-reads"], "its program made it small");
}
