//! What comes again is another one: descriptors, numbers of processes, ports, and the same addresses in two containers.

use std::collections::BTreeMap;

use ipcost_sys::observed::{
    CallDirection, CalledOn, CountedCalls, MovedCall, UdpSocket, UnixKind, UnixSocket,
};

use super::*;

fn unix(inode: u32, peer: Option<u32>, name: Option<&str>) -> UnixSocket {
    UnixSocket {
        kind: UnixKind::Stream,
        is_listening: peer.is_none() && name.is_some(),
        inode,
        cookie: inode.into(),
        peer,
        name: name.map(str::to_owned),
        waiting: 0,
        outstanding: 0,
    }
}

fn counted(process: u32, descriptor: i32, on: CalledOn, bytes: u64) -> CountedCalls {
    let direction = CallDirection::In;
    CountedCalls { process, descriptor, on, direction, bytes, calls: 10, empty: 0, unsized_calls: 0 }
}

fn call(process: u32, name: &'static str, descriptor: i32, result: i64) -> MovedCall {
    let direction = if name == "read" { CallDirection::In } else { CallDirection::Other };
    MovedCall {
        process,
        thread: process,
        call: name,
        descriptor,
        direction,
        asked: 0,
        result,
        began_ns: 1,
        ended_ns: 2,
        is_whole: true,
    }
}

/// A server that listens at a Unix socket with descriptor 3, and took a connection as descriptor 7 between two looks.
fn accepting(calls: Vec<MovedCall>, counts: Vec<CountedCalls>) -> Vec<Conversation> {
    let server = |more: &[(i32, Held)]| {
        let held = [&[(3, Held::Socket(30))][..], more].concat();
        (1, Program { id: 1, started: 1, name: "server".into(), held: Some(held), ..Program::default() })
    };
    let listening = || vec![unix(30, None, Some("/run/s"))];
    let first = Observation {
        is_baseline: true,
        unix: listening(),
        programs: [server(&[])].into(),
        counted: Some(vec![]),
        ..Observation::default()
    };
    let window = Window { lasted_ns: 1, stands_for_ns: 1, calls, ..Window::default() };
    let second = Observation {
        at: Duration::from_secs(1),
        unix: listening(),
        // A file has taken the number since, say.
        programs: [server(&[])].into(),
        counted: Some(counts),
        windows: vec![window],
        ..Observation::default()
    };
    seen(&[first, second])
}

#[test]
fn a_descriptor_that_is_used_again_is_not_credited_to_the_conversation_before() {
    let accept = || call(1, "accept4", 3, 7);
    let bytes =
        |found: &[Conversation]| -> u64 { found.iter().filter_map(|one| one.there).map(|it| it.bytes).sum() };
    // The connection itself was of the listener.
    let its =
        accepting(vec![accept(), call(1, "read", 7, 100)], vec![counted(1, 7, CalledOn::Socket(70), 100)]);
    assert_eq!(bytes(&its), 100, "{its:?}");
    // Once it is closed, whatever has its number is not.
    let again = vec![accept(), call(1, "close", 7, 0), call(1, "read", 7, 900)];
    assert_eq!(bytes(&accepting(again, vec![])), 0);
    let again = vec![accept(), call(1, "close", 7, 0), call(1, "connect", 7, 0)];
    assert_eq!(bytes(&accepting(again, vec![counted(1, 7, CalledOn::Socket(71), 900)])), 0);
}

#[test]
fn an_open_socket_to_elsewhere_is_not_the_listeners() {
    // Descriptor 7 was accepted, and is a socket to a remote server by now.
    let program = |held: Vec<(i32, Held)>| {
        (1, Program { id: 1, started: 1, name: "server".into(), held: Some(held), ..Program::default() })
    };
    let at_first = Observation {
        is_baseline: true,
        unix: vec![unix(30, None, Some("/run/s"))],
        programs: [program(vec![(3, Held::Socket(30))])].into(),
        counted: Some(vec![]),
        ..Observation::default()
    };
    let window =
        Window { lasted_ns: 1, stands_for_ns: 1, calls: vec![call(1, "accept4", 3, 7)], ..Window::default() };
    let udp = UdpSocket { network: 0, local: at(9), remote: None, inode: 71, waiting: 0, dropped: 0 };
    let then = Observation {
        is_baseline: false,
        at: Duration::from_secs(1),
        udp: vec![udp],
        programs: [program(vec![(3, Held::Socket(30)), (7, Held::Socket(71))])].into(),
        counted: Some(vec![counted(1, 7, CalledOn::Socket(71), 900)]),
        windows: vec![window],
        ..at_first.clone()
    };
    let found = seen(&[at_first, then]);
    assert!(found.iter().all(|one| one.there.is_none_or(|there| there.bytes == 0)), "{found:?}");
}

#[test]
fn a_port_that_listened_once_turns_no_client_into_a_server() {
    let short = || listener(50_000, 9);
    let mut looks = vec![look(0, vec![listener(6379, 1), short()], vec![])];
    looks.extend((1..10).map(|second| look(second, vec![listener(6379, 1)], vec![])));
    // Long after, the same port is a client's.
    let both = vec![listener(6379, 1), socket(6379, 50_000, 2, 30, 1), socket(50_000, 6379, 3, 70, 1)];
    looks.push(look(10, both, vec![]));
    let [one] = &seen(&looks)[..] else { panic!() };
    assert_eq!((one.server.name.as_str(), one.address.as_str()), ("redis-server", "127.0.0.1:6379"));
    // And a connection keeps its server, although that listens no more.
    let open =
        |second| look(second, vec![socket(70, 20_000, 2, 30, 1), socket(20_000, 70, 3, 70, 1)], vec![]);
    let mut looks = vec![look(0, vec![listener(20_000, 8)], vec![])];
    looks[0].tcp.extend(open(0).tcp);
    looks.extend((1..10).map(open));
    let [one] = &seen(&looks)[..] else { panic!() };
    assert_eq!(one.address, "127.0.0.1:20000");
}

#[test]
fn a_process_with_the_number_of_one_before_is_another() {
    let at_start = |second: u64, started: u64, bytes| {
        let mut now = look(second, vec![listener(6379, 1)], vec![]);
        now.tcp.extend([socket(6379, 40_000, 2, 0, 0), socket(40_000, 6379, 6, bytes, 1)]);
        now.tcp[2].cookie = started;
        let name = format!("worker {started}");
        now.programs.insert(20, Program { started, name, ..program(20, "", &[6]).1 });
        now
    };
    let found = seen(&[at_start(0, 20, 100), at_start(1, 20, 200), at_start(2, 77, 50)]);
    let bytes: BTreeMap<&str, u64> =
        found.iter().map(|one| (one.client.name.as_str(), one.there.unwrap().bytes)).collect();
    assert_eq!(bytes, [("worker 20", 100), ("worker 77", 50)].into());
}

#[test]
fn containers_with_the_same_addresses_have_their_own_clients() {
    let within =
        |network: u64, socket: TcpSocket| TcpSocket { network, cookie: socket.cookie + network, ..socket };
    let closed = [5, 6].into_iter().flat_map(|network| {
        [within(network, socket(6379, 41_000, 0, 30, 1)), within(network, socket(41_000, 6379, 0, 70, 1))]
    });
    let mut second = look(1, vec![], closed.collect());
    for (network, id) in [(5, 50), (6, 60)] {
        second.tcp.push(within(network, listener(6379, id)));
        let its = |id, name: &str, sockets: &[u32]| Program { network, ..program(id, name, sockets).1 };
        second.programs.insert(id, its(id, &format!("server {network}"), &[id]));
        second.programs.insert(id + 1, its(id + 1, &format!("client {network}"), &[]));
        let connected =
            Connected { process: id + 1, thread: id + 1, name: None, local: at(41_000), remote: at(6379) };
        second.connected.push(connected);
    }
    let mut first = second.clone();
    (first.is_baseline, first.closed, first.connected) = (true, vec![], vec![]);
    let found = seen(&[first, second]);
    let mut sides: Vec<_> =
        found.iter().map(|one| (one.client.name.as_str(), one.server.name.as_str(), one.opened)).collect();
    sides.sort_unstable();
    assert_eq!(sides, [("client 5", "server 5", 1), ("client 6", "server 6", 1)]);
}

#[test]
fn calls_that_tell_no_bytes_are_told() {
    let observed = |second, calls: u64| Observation {
        is_baseline: second == 0,
        at: Duration::from_secs(second),
        unix: vec![unix(1, Some(2), None), unix(2, Some(1), Some("/run/s"))],
        programs: [program(10, "client", &[1]), program(20, "server", &[2])].into(),
        counted: Some(vec![CountedCalls {
            bytes: 0,
            calls,
            unsized_calls: calls,
            ..counted(20, 2, CalledOn::Socket(2), 0)
        }]),
        ..Observation::default()
    };
    let found = seen(&[observed(0, 0), observed(1, 40)]);
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.there.unwrap().unsized_calls, one.manner), (40, Some(ConversationPattern::Stream)));
}

#[test]
fn every_connection_gets_its_turn_to_be_watched_for_delays() {
    let mut state = WatchState::default();
    let at_second = |second: u64| {
        let mut now = look(second, vec![listener(6379, 1)], vec![]);
        for network in [0, 7] {
            for client in 0..20_u32 {
                let (port, inode) = (40_000 + client as u16, 1_000 * (network as u32 + 1) + client);
                let ends = [
                    socket(6379, port, 2, second, second as u32),
                    socket(port, 6379, inode, second, second as u32),
                ];
                now.tcp.extend(ends.map(|end| TcpSocket { network, cookie: end.cookie + network, ..end }));
                let id = 10_000 + inode;
                now.programs.insert(id, Program { network, ..program(id, "asker", &[inode]).1 });
            }
        }
        now
    };
    state.observe(at_second(0));
    for second in 1..12 {
        state.observe(at_second(second));
        let suspects = state.suspects();
        assert_eq!(suspects.ends.len(), 16);
        state.held_back(&suspects, &[], Duration::from_millis(250));
    }
    let unwatched = state.conversations.values().filter(|state| state.watched_for.is_zero()).count();
    assert_eq!((state.conversations.len(), unwatched), (40, 0));
}
