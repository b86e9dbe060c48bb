//! What every transport of the registry must keep to.

use std::thread;

use ipcost_model::{Cell, OptionValue, Options, Pattern, SpeaksFirst};

use super::*;
use crate::private_dir::PrivateDir;

fn cell(transport: &str, concurrency: u32) -> Cell {
    Cell {
        pattern: Pattern::Rr,
        transport: transport.to_owned(),
        size: 64,
        reply: 64,
        concurrency,
        speaks_first: SpeaksFirst::Client,
        options: Options::default(),
    }
}

fn usable() -> impl Iterator<Item = &'static dyn Transport> {
    REGISTRY.iter().copied().filter(|transport| transport.probe().is_ok())
}

type Pairs = Vec<(Box<dyn Channel>, Box<dyn Channel>)>;

/// Sets a cell up in this process: channels in pairs of server's and client's end.
fn set_up(transport: &dyn Transport, cell: &Cell, dir: &Path) -> Pairs {
    let mut provision = transport.provision(&Place { dir, name: "cell", cell }).unwrap();
    // In one process the numbers are simply taken over.
    for descriptor in provision.server_inherits.drain(..).chain(provision.client_inherits.drain(..)) {
        let _ = std::os::fd::IntoRawFd::into_raw_fd(descriptor);
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
            let message = [index as u8; 7];
            let mut buffer = [0; 64];
            assert_eq!(client.send(&message).unwrap(), 7, "{name}");
            assert_eq!(server.receive(&mut buffer).unwrap(), 7, "{name}");
            assert_eq!(buffer[..7], message, "{name}");
            assert_eq!(server.send(&message[..3]).unwrap(), 3, "{name}");
            assert_eq!(client.receive(&mut buffer).unwrap(), 3, "{name}");
            drop(client);
            assert_eq!(server.receive(&mut buffer).unwrap(), 0, "{name}: the end is seen");
        }
    }
}

#[test]
fn what_is_asked_of_buffers_is_reported_as_it_became() {
    let dir = PrivateDir::create().unwrap();
    let mut unix = cell("unix", 1);
    unix.options.set("so_sndbuf", OptionValue::Int(1 << 30)).unwrap();
    unix.options.set("so_rcvbuf", OptionValue::Int(65_536)).unwrap();
    let transport = find("unix").unwrap();
    let provision = transport.provision(&Place { dir: dir.path(), name: "x", cell: &unix }).unwrap();
    let effective = transport.serve(&provision.server, &unix).unwrap().effective();
    assert!(effective[0].became < effective[0].asked, "{effective:?}");
    assert_eq!(effective[1].became, effective[1].asked, "{effective:?}");

    let mut pipe = cell("pipe", 1);
    pipe.options.set("pipe_size", OptionValue::Int(5_000)).unwrap();
    let provision =
        find("pipe").unwrap().provision(&Place { dir: dir.path(), name: "y", cell: &pipe }).unwrap();
    assert_eq!(provision.effective[0], Effective { name: "pipe_size", asked: 5_000, became: 8_192 });
}

#[test]
fn addresses_of_others_are_refused() {
    let cell = cell("tcp", 1);
    let address = |text: &str| serde_json::from_str::<Address>(text).unwrap();
    let refused = |transport: &str, text: &str| match find(transport).unwrap().serve(&address(text), &cell) {
        Ok(_) => panic!("{transport} took {text}"),
        Err(error) => error.to_string(),
    };
    assert!(refused("tcp", r#"{"host":"192.0.2.1","port":0}"#).contains("not a loopback address"));
    assert!(refused("tcp", r#"{"path":"/tmp/x"}"#).contains("not one of transport tcp"));
    assert!(refused("pipe", r#"{"read_fd":1,"write_fd":2}"#).contains("inherited"));
    assert!(refused("pipe", r#"{"read_fd":9998,"write_fd":9999}"#).contains("inherited"));
    let long = format!(r#"{{"path":"/tmp/{}"}}"#, "x".repeat(120));
    assert!(refused("unix", &long).contains("at most 107"));
}

#[test]
fn a_full_backlog_is_waited_for_and_counted() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
    let dir = PrivateDir::create().unwrap();
    let mut cell = cell("unix", 1);
    cell.options.set("backlog", OptionValue::Int(1)).unwrap();
    let transport = find("unix").unwrap();
    let provision = transport.provision(&Place { dir: dir.path(), name: "x", cell: &cell }).unwrap();
    let mut server = transport.serve(&provision.server, &cell).unwrap();
    let path = provision.server["path"].as_str().unwrap().to_owned();
    // Sockets that do not wait are told EAGAIN, as waiting ones are once their send timeout ends.
    let connecting = thread::spawn(move || {
        let at = SocketAddrUnix::new(Path::new(&path)).unwrap();
        let mut retries = 0;
        let sockets: Vec<_> = (0..4)
            .map(|_| {
                let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
                socket::connect_patiently(&socket, &at, &mut retries).unwrap();
                socket
            })
            .collect();
        (retries, sockets)
    });
    // Two fit in the queue; the third has to try again until one is taken out.
    let mut accepted = Vec::new();
    while accepted.len() < 4 {
        thread::sleep(std::time::Duration::from_millis(20));
        accepted.extend(server.try_accept().unwrap());
    }
    let (retries, _sockets) = connecting.join().unwrap();
    assert!(retries > 0);
}

/// Runs something in a thread that is another user's; `None` where this user may not become another.
fn as_stranger<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    const NOBODY: u32 = 65_534;
    thread::scope(|scope| {
        let stranger = scope.spawn(|| {
            let nobody = rustix::process::Uid::from_raw(NOBODY);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).ok().map(|()| work())
        });
        stranger.join().unwrap()
    })
}

#[test]
fn strangers_are_turned_away_where_the_system_tells_who_connects() {
    let dir = PrivateDir::create().unwrap();
    let cell = cell("unix-abstract", 1);
    let transport = find("unix-abstract").unwrap();
    let provision =
        || transport.provision(&Place { dir: dir.path(), name: "x", cell: &cell }).unwrap().server;
    let mut server = transport.serve(&provision(), &cell).unwrap();
    let address = server.address();
    // It does not look who listens, as in pattern `connect`.
    let careless = Cell { pattern: Pattern::Connect, ..cell.clone() };
    let visit = || transport.reach(&address, &careless, 0).unwrap().connect().unwrap();
    let Some(mut stranger) = as_stranger(visit) else { return };
    assert!(server.try_accept().unwrap().is_none(), "a stranger is no channel");
    assert_eq!(stranger.receive(&mut [0; 8]).unwrap_or(0), 0, "and is sent away");
    // While payload is verified in pattern `connect`, too.
    let stranger = as_stranger(visit).unwrap();
    let mut own = visit();
    let mut accepted = server.accept_known().unwrap();
    own.send(b"own").unwrap();
    let mut buffer = [0; 8];
    assert_eq!(accepted.receive(&mut buffer).unwrap(), 3);
    assert_eq!(&buffer[..3], b"own");
    drop(stranger);

    let squatted = provision();
    let squatter = as_stranger(|| transport.serve(&squatted, &cell).unwrap()).unwrap();
    let refused = transport.reach(&squatter.address(), &cell, 0).unwrap().connect().map(drop).unwrap_err();
    assert!(refused.to_string().contains("a process of another user listens"), "{refused}");
}

#[test]
fn a_word_goes_back_and_forth_in_order() {
    for [mut client, mut server] in [switch::pair(), cacheline::pair()] {
        const TIMES: u32 = 2_000;
        let answering = thread::spawn(move || {
            let mut number = [0; 4];
            for time in 0..TIMES {
                server.receive(&mut number).unwrap();
                assert_eq!(u32::from_ne_bytes(number), 2 * time + 1);
                server.send(&(2 * time + 2).to_ne_bytes()).unwrap();
            }
        });
        let mut number = [0; 4];
        for time in 0..TIMES {
            client.send(&(2 * time + 1).to_ne_bytes()).unwrap();
            client.receive(&mut number).unwrap();
            assert_eq!(u32::from_ne_bytes(number), 2 * time + 2);
        }
        answering.join().unwrap();
        assert!(client.send(b"no number").is_err());
    }
}

#[test]
fn a_copy_is_what_was_copied_wherever_it_goes() {
    let mut cell = Cell { pattern: Pattern::Floor, size: 5, reply: 0, ..cell("memcpy", 1) };
    for (copies, working_set) in [(1, 5), (2, 5), (1, 17), (2, 17)] {
        cell.options.set("copies", OptionValue::Int(copies)).unwrap();
        cell.options.set("working_set", OptionValue::Int(working_set)).unwrap();
        let transport = find("memcpy").unwrap();
        let mut channel = transport.reach(&Address::new(), &cell, 0).unwrap().connect().unwrap();
        for message in 0..7_u8 {
            let mut copied = [0; 5];
            assert_eq!(channel.send(&[message, 1, 2, 3, message]).unwrap(), 5);
            assert_eq!(channel.receive(&mut copied).unwrap(), 5);
            assert_eq!(copied, [message, 1, 2, 3, message]);
        }
        assert!(channel.send(&[0; 100]).is_err(), "beyond the area");
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
