//! The contract of every transport in the registry.

use std::thread;

use ipcost_model::{Cell, OptionValue, Pattern};

use super::*;
use crate::private_dir::PrivateDir;

pub(crate) fn cell(transport: &str, concurrency: u32) -> Cell {
    Cell { concurrency, ..Cell::new(Pattern::Rr, transport, 64) }
}

/// Sizes that a transport supports: most support any.
fn sizes(transport: &dyn Transport) -> [usize; 2] {
    let cell = cell(transport.capabilities().name, 1);
    if transport.fits(&cell).is_ok() { [7, 3] } else { [8, 8] }
}

fn usable() -> impl Iterator<Item = &'static dyn Transport> {
    REGISTRY.iter().copied().filter(|transport| transport.probe().is_ok())
}

type Pairs = Vec<(Connection, Connection)>;

/// Sets up a cell in this process: channels in pairs of server's and client's end.
fn set_up(transport: &dyn Transport, cell: &Cell, dir: &Path) -> Pairs {
    let mut provision = transport.provision(&Rendezvous { dir, name: "cell", cell }).unwrap();
    // One process simply takes over the numbers.
    for descriptor in provision.server_inherits.drain(..).chain(provision.client_inherits.drain(..)) {
        std::mem::forget(descriptor);
    }
    let mut server = transport.serve(&provision.server, cell).unwrap();
    let address = provision.client.unwrap_or_else(|| server.address());
    (0..cell.concurrency)
        .map(|worker| {
            let mut client = transport.reach(&address, cell, worker).unwrap();
            let connecting = thread::spawn(move || client.connect().unwrap());
            let accepted = loop {
                if let Some(channel) = server.try_accept().unwrap() {
                    break channel;
                }
                thread::yield_now();
            };
            (accepted, connecting.join().unwrap())
        })
        .collect()
}

#[test]
fn the_protocol_tells_the_address_of_every_transport_once() {
    const PROTOCOL: &str = include_str!("../../../../docs/contributing/control-protocol.md");
    let (_, addresses) = PROTOCOL.split_once("## Addresses").unwrap();
    let rows = addresses.lines().skip(2).take_while(|line| line.starts_with('|'));
    let named: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).collect();
    for state in states().iter().filter(|state| state.capabilities.carries_payload) {
        let name = format!("`{}`", state.capabilities.name);
        assert_eq!(named.iter().filter(|names| names.contains(&name)).count(), 1, "{name}");
    }
}

#[test]
fn names_are_unique_and_each_is_found() {
    for (index, transport) in REGISTRY.iter().enumerate() {
        let name = transport.capabilities().name;
        assert!(REGISTRY[..index].iter().all(|other| other.capabilities().name != name), "{name}");
        assert!(find(name).is_some());
        assert!(!transport.capabilities().summary.is_empty());
    }
    assert!(find("carrier-pigeon").is_none());
}

#[test]
fn bytes_arrive_whole_in_both_directions_on_every_channel() {
    let moves = |known: &Capabilities| known.carries_payload && known.does(Pattern::Rr);
    for transport in usable().filter(|transport| moves(transport.capabilities())) {
        let dir = PrivateDir::create().unwrap();
        let name = transport.capabilities().name;
        for (index, (mut server, mut client)) in
            set_up(transport, &cell(name, 3), dir.path()).into_iter().enumerate()
        {
            let [request, reply] = sizes(transport);
            let message = [index as u8 + 1; 8];
            // Both at once, as some shake hands first.
            let asking = thread::spawn(move || {
                let mut buffer = [0; 64];
                assert_eq!(client.send(&message[..request]).unwrap(), request, "{name}");
                assert_eq!(client.receive(&mut buffer).unwrap(), reply, "{name}");
                assert_eq!(buffer[..reply], message[..reply], "{name}");
            });
            let mut buffer = [0; 64];
            assert_eq!(server.receive(&mut buffer).unwrap(), request, "{name}");
            assert_eq!(buffer[..request], message[..request], "{name}");
            assert_eq!(server.send(&message[..reply]).unwrap(), reply, "{name}");
            asking.join().unwrap();
            if transport.capabilities().sees_end {
                assert_eq!(server.receive(&mut buffer).unwrap(), 0, "{name}: the end is seen");
            }
        }
    }
}

#[test]
fn messages_stay_apart_where_they_are_delivered_as_such() {
    // A counter adds up what it gets before it is read.
    let keeps_apart =
        |known: &Capabilities| known.delivery == ipcost_model::Delivery::Message && known.name != "eventfd";
    for transport in usable().filter(|known| keeps_apart(known.capabilities())) {
        let dir = PrivateDir::create().unwrap();
        let name = transport.capabilities().name;
        let (mut server, mut client) = set_up(transport, &cell(name, 1), dir.path()).remove(0);
        client.send(b"one").unwrap();
        client.send(b"other").unwrap();
        let mut buffer = [0; 64];
        assert_eq!([(); 2].map(|()| server.receive(&mut buffer).unwrap()), [3, 5], "{name}");
    }
}

#[test]
fn what_does_not_fit_into_a_message_is_refused_with_the_setting_to_raise() {
    for transport in usable().filter(|known| known.capabilities().delivery == ipcost_model::Delivery::Message)
    {
        let mut cell = cell(transport.capabilities().name, 1);
        [cell.size, cell.reply] = sizes(transport).map(|size| size as u64);
        transport.fits(&cell).unwrap();
        cell.size = 1 << 30;
        let reason = transport.fits(&cell).unwrap_err().to_string();
        assert!(["sysctl", "at most", "exactly"].iter().any(|word| reason.contains(word)), "{reason}");
    }
}

/// Ways of calling a transport: each value of the options that choose it.
#[cfg(target_os = "linux")]
fn ways(known: &Capabilities) -> Vec<(&'static str, &'static str)> {
    let has = |group| known.option_groups.contains(&group);
    let mut ways = Vec::new();
    if has(OptionGroup::Calling) {
        ways.extend(["send", "spin", "poll", "epoll", "uring", "uring-sqpoll"].map(|io| ("io", io)));
    }
    if has(OptionGroup::Writing) {
        let joins = ["none", "writev", "more", "cork"];
        ways.extend(
            joins
                .into_iter()
                .filter(|join| *join != "cork" || has(OptionGroup::Tcp))
                .map(|join| ("join", join)),
        );
    }
    if has(OptionGroup::PipeBuffer) {
        ways.extend(["vmsplice", "splice"].map(|pipe_send| ("pipe_send", pipe_send)));
    }
    if ["cma", "memfd"].contains(&known.name) {
        ways.push(("framing", "length"));
    }
    ways
}

#[cfg(target_os = "linux")]
#[test]
fn every_way_of_calling_moves_more_than_buffers_hold_and_sees_the_end() {
    const MESSAGES: usize = 2_000;
    const BYTES: usize = 1_000;
    for transport in usable() {
        let known = transport.capabilities();
        for ((option, way), checked) in ways(known).into_iter().flat_map(|way| [(way, false), (way, true)]) {
            let mut cell = cell(known.name, 1);
            cell.options.set(option, OptionValue::Text(way.to_owned())).unwrap();
            if option == "join" {
                cell.options.set("writes", OptionValue::Int(3)).unwrap();
            }
            if let Err(reason) = fits(&cell) {
                assert!(
                    way.starts_with("uring") && reason.to_string().contains("io_uring_disabled"),
                    "{reason}"
                );
                continue;
            }
            let dir = PrivateDir::create().unwrap();
            let (server, client) = set_up(transport, &cell, dir.path()).remove(0);
            let sides = [(server, PeerRole::Server), (client, PeerRole::Client)];
            let [mut server, mut client] = sides.map(|(end, role)| end.called_as(&cell, role).unwrap());
            assert!(matches!(server, Connection::Other(_)), "{}", known.name);
            server.expect_checks(checked);
            client.expect_checks(checked);
            // Checked content changes from one message to the next. A lossy transport is not sent more than is read.
            let byte = move |message: usize| if checked { message as u8 } else { b'x' };
            let messages = if known.no_stream.is_some() { 10 } else { MESSAGES };
            let sending = thread::spawn(move || {
                let mut buffer = vec![0; BYTES];
                for message in 0..messages {
                    buffer.fill(byte(message));
                    let mut sent = 0;
                    while sent < BYTES {
                        sent += client.send(&buffer[sent..]).unwrap();
                    }
                }
                // The memory lives until all has been read.
                (client, buffer)
            });
            let (mut buffer, mut received) = ([0; BYTES], 0);
            while received < messages * BYTES {
                let most = BYTES - received % BYTES;
                let count = server.receive(&mut buffer[..most]).unwrap();
                let expected = byte(received / BYTES);
                assert!(buffer[..count].iter().all(|byte| *byte == expected), "{} by {way}", known.name);
                assert!(count > 0, "{} by {way}", known.name);
                received += count;
            }
            drop(sending.join().unwrap());
            if known.sees_end {
                assert_eq!(
                    server.receive(&mut buffer).unwrap(),
                    0,
                    "{} by {way}: the end is seen",
                    known.name
                );
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn nagles_algorithm_is_on_in_streams_alone_unless_the_option_says_otherwise() {
    let dir = PrivateDir::create().unwrap();
    for transport in usable().filter(|transport| ["tcp", "tcp6"].contains(&transport.capabilities().name)) {
        for (pattern, option, expected) in [
            (Pattern::Rr, None, true),
            (Pattern::Rr, Some(false), false),
            (Pattern::Connect, None, true),
            (Pattern::Stream, None, false),
            (Pattern::Stream, Some(true), true),
        ] {
            let mut cell = Cell { pattern, ..cell(transport.capabilities().name, 1) };
            if let Some(value) = option {
                cell.options.set("tcp_nodelay", OptionValue::Bool(value)).unwrap();
            }
            for (server, client) in set_up(transport, &cell, dir.path()) {
                for end in [server, client] {
                    let Connection::Socket(socket) = end else { panic!("TCP is a socket") };
                    let set = rustix::net::sockopt::tcp_nodelay(&socket.0).unwrap();
                    assert_eq!(set, expected, "{pattern} {option:?}");
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn both_ends_have_the_congestion_control_that_a_cell_asks_for() {
    let dir = PrivateDir::create().unwrap();
    let mut cell = cell("tcp", 1);
    // Part of every kernel, and hardly anywhere the default.
    cell.options.set("tcp_congestion", OptionValue::Text("reno".to_owned())).unwrap();
    for (server, client) in set_up(&tcp::TCP, &cell, dir.path()) {
        for end in [server, client] {
            let Connection::Socket(socket) = end else { panic!("TCP is a socket") };
            assert_eq!(crate::system::congestion::congestion(&socket.0).unwrap(), "reno");
        }
    }
    assert_eq!(lacks(&cell), None);
    cell.options.set("tcp_congestion", OptionValue::Text("none-such".to_owned())).unwrap();
    let reason = lacks(&cell).unwrap();
    assert!(reason.contains("none-such") && reason.contains("tcp_available_congestion_control"), "{reason}");
}

#[test]
fn a_word_goes_back_and_forth_in_order() {
    for [mut client, mut server] in [switch::pair(), cacheline::pair()] {
        const TIMES: u32 = 2_000;
        let answering = thread::spawn(move || {
            for time in 0..TIMES {
                assert_eq!(server.take().unwrap(), 2 * time + 1);
                server.give(2 * time + 2).unwrap();
            }
        });
        for time in 0..TIMES {
            client.give(2 * time + 1).unwrap();
            assert_eq!(client.take().unwrap(), 2 * time + 2);
        }
        answering.join().unwrap();
    }
}

#[test]
fn a_copy_is_what_was_copied_wherever_it_goes() {
    let mut cell = Cell { pattern: Pattern::Floor, size: 5, reply: 0, ..cell("memcpy", 1) };
    for (copies, working_set) in [(1, 5), (2, 5), (1, 17), (2, 17)] {
        cell.options.set("copies", OptionValue::Int(copies)).unwrap();
        cell.options.set("working_set", OptionValue::Int(working_set)).unwrap();
        let transport = find("memcpy").unwrap();
        let reached = transport.reach(&Address::new(), &cell, 0).unwrap().connect().unwrap();
        let Connection::FloorPart(FloorPartLoop::Copy(mut copier)) = reached else { panic!("a copy") };
        for message in 0..7_u8 {
            copier.copy(&[message, 1, 2, 3, message]);
            assert_eq!(copier.copied(), [message, 1, 2, 3, message]);
        }
    }
}

#[test]
fn every_part_has_one_floor_and_a_floor_moves_no_messages() {
    use ipcost_model::FloorKind;
    for kind in [FloorKind::SystemCall, FloorKind::HandOver, FloorKind::SpinningHandOver, FloorKind::Copy] {
        let known: Vec<_> = REGISTRY.iter().map(|transport| transport.capabilities()).collect();
        let floors: Vec<_> = known.iter().filter(|known| known.floor == Some(kind)).collect();
        assert_eq!(floors.len(), 1, "{kind:?}");
        assert!(floors[0].does(Pattern::Floor) && !floors[0].in_default_suite);
        let moving = [Pattern::Rr, Pattern::Stream, Pattern::Connect];
        assert!(!moving.iter().any(|pattern| floors[0].does(*pattern)));
    }
}
