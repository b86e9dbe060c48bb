//! Conversations from made-up looks.

use std::net::SocketAddr;
use std::time::Duration;

use ipcost_sys::observed::{Connected, Held, Program, TcpCounts, TcpSocket, TcpState as SocketState};

use super::*;

mod bounds;
mod faults;
mod identity;

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn socket(local: u16, remote: u16, inode: u32, sent: u64, segments: u32) -> TcpSocket {
    TcpSocket {
        network: 0,
        local: at(local),
        remote: at(remote),
        state: SocketState::Connected,
        inode,
        cookie: u64::from(local) << 16 | u64::from(remote),
        waiting: 0,
        outstanding: 0,
        congestion: Some("cubic".to_owned()),
        counts: Some(TcpCounts {
            sent_bytes: Some(sent),
            data_segments_out: segments,
            ..TcpCounts::default()
        }),
    }
}

fn listener(port: u16, inode: u32) -> TcpSocket {
    TcpSocket { state: SocketState::Listening, counts: None, ..socket(port, 0, inode, 0, 0) }
}

fn program(id: u32, name: &str, sockets: &[u32]) -> (u32, Program) {
    let held = sockets.iter().map(|inode| (*inode as i32, Held::Socket(*inode))).collect();
    let program =
        Program { id, started: u64::from(id), name: name.to_owned(), held: Some(held), ..Program::default() };
    (id, program)
}

fn look(seconds: u64, tcp: Vec<TcpSocket>, closed: Vec<TcpSocket>) -> Observation {
    Observation {
        is_baseline: seconds == 0,
        at: Duration::from_secs(seconds),
        tcp,
        closed,
        programs: [
            program(10, "redis-server", &[1, 2, 5]),
            program(20, "worker", &[3, 6]),
            program(30, "asker", &[]),
        ]
        .into(),
        ..Observation::default()
    }
}

fn conversations(state: &WatchState) -> Vec<Conversation> {
    state.conversations(None).into_iter().map(|figures| figures.conversation).collect()
}

fn seen(looks: &[Observation]) -> Vec<Conversation> {
    let mut state = WatchState::default();
    looks.iter().for_each(|look| state.observe(look.clone()));
    conversations(&state)
}

#[test]
fn bytes_count_from_the_first_look_and_the_listener_is_the_server() {
    let both = |there, back, segments| {
        vec![
            listener(6379, 1),
            socket(6379, 40_000, 2, back, segments),
            socket(40_000, 6379, 3, there, segments),
        ]
    };
    let found = seen(&[look(0, both(500, 5_000, 10), vec![]), look(10, both(1_500, 25_000, 110), vec![])]);
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((one.client.name.as_str(), one.server.name.as_str()), ("worker", "redis-server"));
    assert_eq!(one.address, "127.0.0.1:6379");
    assert_eq!((one.there.unwrap().bytes, one.back.unwrap().bytes), (1_000, 20_000));
    assert_eq!((one.manner, one.requests_per_s), (Some(ConversationPattern::Requests), Some(10.0)));
    assert_eq!((one.connections, one.opened_per_s), (1, 0.0));
}

#[test]
fn connections_that_close_between_looks_count_and_belong_to_who_opened_them() {
    let open = || vec![listener(6379, 1), socket(6379, 40_000, 2, 30, 1), socket(40_000, 6379, 3, 70, 1)];
    let ports = || 41_000..41_050_u16;
    let closed =
        ports().flat_map(|port| [socket(6379, port, 0, 30, 1), socket(port, 6379, 0, 70, 1)]).collect();
    let connected =
        |port: u16| Connected { process: 30, thread: 30, name: None, local: at(port), remote: at(6379) };
    let mut second = look(10, open(), closed);
    second.connected = ports().filter(|port| port % 2 == 0).map(connected).collect();
    let found = seen(&[look(0, open(), vec![]), second]);
    let of = |pid: Option<u32>| found.iter().find(|one| one.client.pid == pid).unwrap();
    // What another program has open is no reason to take theirs for its own.
    assert_eq!((of(Some(20)).there.unwrap().bytes, of(Some(20)).opened), (0, 0));
    for pid in [Some(30), None] {
        assert_eq!((of(pid).there.unwrap().bytes, of(pid).back.unwrap().bytes), (1_750, 750));
        assert_eq!(
            (of(pid).manner, of(pid).opened, of(pid).requests_per_s),
            (Some(ConversationPattern::Connections), 25, Some(2.5))
        );
    }
}

#[test]
fn programs_that_live_between_looks_have_the_name_that_they_executed() {
    let ports = || 41_000..41_010_u16;
    let closed =
        ports().flat_map(|port| [socket(6379, port, 0, 30, 1), socket(port, 6379, 0, 70, 1)]).collect();
    let mut second = look(10, vec![listener(6379, 1)], closed);
    second.connected = ports()
        .map(|port| Connected {
            process: u32::from(port),
            thread: u32::from(port),
            name: (port % 2 == 0).then(|| "curl".to_owned()),
            local: at(port),
            remote: at(6379),
        })
        .collect();
    let found = seen(&[look(0, vec![listener(6379, 1)], vec![]), second]);
    let mut figures: Vec<_> =
        found.iter().map(|one| (one.client.name.as_str(), one.client.pid, one.opened)).collect();
    figures.sort();
    assert_eq!(figures, [("", None, 5), ("curl", None, 5)]);
}

#[test]
fn the_same_addresses_may_be_another_connection() {
    let both =
        |there| vec![listener(6379, 1), socket(6379, 40_000, 2, 0, 0), socket(40_000, 6379, 3, there, 1)];
    // It may have moved more than the first one had at the last look.
    for more in [40, 400] {
        let mut second = both(more);
        second.iter_mut().for_each(|socket| socket.cookie += 1 << 40);
        let closed = vec![socket(6379, 40_000, 0, 0, 0), socket(40_000, 6379, 0, 150, 2)];
        let found = seen(&[look(0, both(100), vec![]), look(1, second, closed)]);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.there.unwrap().bytes, one.opened), (50 + more, 1));
    }
}

#[test]
fn a_connection_that_closes_while_it_is_looked_at_counts_once() {
    let ends = |back, there, inodes: [u32; 2]| {
        [socket(6379, 40_000, inodes[0], back, 1), socket(40_000, 6379, inodes[1], there, 1)]
    };
    let opened = |looks: &[Observation]| {
        let found = seen(looks);
        let [one] = found.as_slice() else { panic!("{found:?}") };
        (one.opened, one.there.unwrap().bytes, one.back.unwrap().bytes)
    };
    let first = || look(0, vec![listener(6379, 1)], vec![]);
    let tables = || [listener(6379, 1)].into_iter().chain(ends(200, 100, [2, 3])).collect::<Vec<_>>();
    // Of one look, the tables may have it while it is open, and the messages when it is closed.
    let both = look(1, tables(), ends(300, 150, [0, 0]).into());
    assert_eq!(opened(&[first(), both]), (1, 150, 300));
    // Or neither, since the kernel tells a little later.
    let neither = look(2, vec![listener(6379, 1)], vec![]);
    let late = look(3, vec![listener(6379, 1)], ends(300, 150, [0, 0]).into());
    assert_eq!(opened(&[first(), look(1, tables(), vec![]), neither, late]), (1, 150, 300));
}

#[test]
fn what_has_no_other_end_here_is_no_local_conversation() {
    assert_eq!(seen(&[look(0, vec![listener(6379, 1), socket(6379, 40_000, 2, 0, 0)], vec![])]), []);
}

#[test]
fn pipes_and_shared_memory_have_two_sides() {
    let end = |writes| Held::Pipe { inode: 7, writes, reads: !writes, path: None };
    let piped = |id: u32, writes: bool, moved| {
        let shared =
            [ipcost_sys::observed::SharedMemory { file: (1, 2), path: "/dev/shm/ring".into(), bytes: 4096 }];
        let held = Some(vec![(1, end(writes))]);
        (id, Program { id, held, moved: Some(moved), shared: shared.into(), ..Program::default() })
    };
    let at = |seconds, moved: u64| Observation {
        is_baseline: seconds == 0,
        at: Duration::from_secs(seconds),
        programs: [piped(1, true, (0, moved)), piped(2, false, (moved, 0))].into(),
        ..Observation::default()
    };
    let found = seen(&[at(0, 100), at(2, 1_100)]);
    let [pipe, memory] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((pipe.medium, pipe.client.pid, pipe.server.pid), (WatchedTransport::Pipe, Some(1), Some(2)));
    assert_eq!(pipe.there.unwrap().bytes_per_s, 500.0);
    assert_eq!((memory.medium, memory.address.as_str()), (WatchedTransport::Shm, "/dev/shm/ring"));
}

#[test]
fn a_request_picks_what_it_names() {
    let both = || vec![listener(6379, 1), socket(6379, 40_000, 2, 0, 0), socket(40_000, 6379, 3, 0, 0)];
    let mut state = WatchState::default();
    state.observe(look(0, both(), vec![]));
    let mut count = |request: WatchRequest| {
        state.request = request;
        state.conversations(None).len()
    };
    let any = WatchRequest::default;
    assert_eq!(count(WatchRequest { pid: Some(20), ..any() }), 1);
    assert_eq!(count(WatchRequest { pid: Some(21), ..any() }), 0);
    assert_eq!(count(WatchRequest { port: Some(6379), command: Some("redis".to_owned()), ..any() }), 1);
    assert_eq!(count(WatchRequest { port: Some(40_000), ..any() }), 0);
    assert_eq!(count(WatchRequest { path: Some("/run/x".to_owned()), ..any() }), 0);
}

#[test]
fn processes_of_one_name_share_a_row_unless_all_is_shown() {
    let mut state = WatchState::default();
    let both = |port, inode: u32, bytes| {
        [socket(5432, port, inode, 2 * bytes, 1), socket(port, 5432, inode + 1, bytes, 1)]
    };
    let at = |seconds, bytes| {
        let tcp =
            [listener(5432, 1)].into_iter().chain(both(40_000, 10, bytes)).chain(both(40_001, 20, 3 * bytes));
        let programs = [
            program(100, "postgres", &[1]),
            program(101, "postgres", &[10]),
            program(102, "postgres", &[20]),
            program(200, "pgbench", &[11, 21]),
        ];
        Observation { programs: programs.into(), ..look(seconds, tcp.collect(), vec![]) }
    };
    state.observe(at(0, 0));
    state.observe(at(2, 1_000));
    let watched = Watched {
        envelope: ipcost_lab::lab::envelope(WATCH_SCHEMA),
        request: WatchRequest::default(),
        elapsed_s: 2.0,
        looks: 2,
        conversations: conversations(&state),
        ..Watched::default()
    };
    let names = |whole: bool| {
        ipcost_report::fixture::assert_fits(&page(&watched, whole, None));
        let text = page(&watched, whole, None).terminal(true, 200);
        [text.contains("postgres ×2"), text.contains("postgres 101"), text.contains("pgbench 200")]
    };
    assert_eq!((names(false), names(true)), ([true, false, true], [false, true, true]));
    let text = page(&watched, false, None).terminal(true, 200);
    assert!(text.contains("2.00 kB/s") && text.contains("4.00 kB/s"), "{text}");
    let [row] = &rows(&watched, false)[..] else { panic!("{text}") };
    assert!(
        watched.conversations.iter().all(|figures| row.concerns(figures))
            && row.most().server.pid == Some(102)
    );
}

#[test]
fn a_long_watch_keeps_what_went_and_not_every_program_that_ended() {
    let mut state = WatchState::default();
    let both = |inode, port, bytes| [socket(6379, port, 0, 0, 0), socket(port, 6379, inode, bytes, 1)];
    for second in 0..1_000_u32 {
        let port = 40_000 + (second % 10_000) as u16;
        let mut now = look(
            second.into(),
            [listener(6379, 1)].into_iter().chain(both(second + 100, port, 10)).collect(),
            vec![],
        );
        let (id, short) = program(1_000 + second, "short", &[second + 100]);
        now.programs.insert(id, short);
        state.observe(now);
    }
    let kept = state.conversations.len();
    assert!(state.procs.len() < 400 && kept < 400, "{kept}");
    let all = conversations(&state);
    let bytes: u64 = all.iter().filter_map(|one| one.there).map(|there| there.bytes).sum();
    // Those of the first look had been there before.
    assert_eq!(bytes, 999 * 10);
}
