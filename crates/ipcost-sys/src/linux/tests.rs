//! Behaviour of transports on Linux.

use std::path::Path;
use std::thread;

use ipcost_model::protocol::Address;
use ipcost_model::{Cell, OptionValue, Pattern};

use crate::private_dir::PrivateDir;
use crate::transport::tests::cell;
use crate::transport::{Channel, Effective, Rendezvous, find};
use ipcost_testing::missing;

/// The helper of the tests of the program; these skip for the same reasons.

#[test]
fn what_is_asked_of_buffers_is_reported_as_it_became() {
    let dir = PrivateDir::create().unwrap();
    let mut unix = cell("unix", 1);
    unix.options.set("so_sndbuf", OptionValue::Int(1 << 30)).unwrap();
    unix.options.set("so_rcvbuf", OptionValue::Int(65_536)).unwrap();
    let transport = find("unix").unwrap();
    let provision = transport.provision(&Rendezvous { dir: dir.path(), name: "x", cell: &unix }).unwrap();
    let effective = transport.serve(&provision.server, &unix).unwrap().effective();
    assert!(effective[0].became < effective[0].asked, "{effective:?}");
    assert_eq!(effective[1].became, effective[1].asked, "{effective:?}");

    let mut pipe = cell("pipe", 1);
    pipe.options.set("pipe_size", OptionValue::Int(5_000)).unwrap();
    let provision =
        find("pipe").unwrap().provision(&Rendezvous { dir: dir.path(), name: "y", cell: &pipe }).unwrap();
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
    assert!(refused("pipe", r#"{"read_fd":1,"write_fd":2}"#).contains("inherit"));
    assert!(refused("pipe", r#"{"read_fd":9998,"write_fd":9999}"#).contains("inherit"));
    let long = format!(r#"{{"path":"/tmp/{}"}}"#, "x".repeat(120));
    assert!(refused("unix", &long).contains("at most 107"));
}

#[test]
fn a_full_backlog_is_waited_for_and_counted() {
    use crate::system::socket::connect_patiently;
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
    let dir = PrivateDir::create().unwrap();
    let mut cell = cell("unix", 1);
    cell.options.set("backlog", OptionValue::Int(1)).unwrap();
    let transport = find("unix").unwrap();
    let provision = transport.provision(&Rendezvous { dir: dir.path(), name: "x", cell: &cell }).unwrap();
    let mut server = transport.serve(&provision.server, &cell).unwrap();
    let at = SocketAddrUnix::new(Path::new(provision.server["path"].as_str().unwrap())).unwrap();
    // Non-blocking sockets get EAGAIN, as blocking ones do once their send timeout ends.
    let connected = move || {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        let mut retries = 0;
        connect_patiently(&socket, &at, &mut retries).unwrap();
        (retries, socket)
    };
    // Two fit in the queue; the third has to retry until one is taken out.
    let [(first, _one), (second, _two)] = [connected(), connected()];
    assert_eq!((first, second), (0, 0));
    let (tell, told) = std::sync::mpsc::channel();
    let connecting = thread::spawn(move || {
        tell.send(rustix::thread::gettid().as_raw_nonzero()).unwrap();
        connected()
    });
    let id = told.recv().unwrap();
    // Nothing but retrying takes processor time.
    let began = ticks_of_thread(id.get());
    while ticks_of_thread(id.get()) < began + 2 {
        thread::yield_now();
    }
    let mut accepted = Vec::new();
    while accepted.len() < 3 {
        accepted.extend(server.try_accept().unwrap());
        thread::yield_now();
    }
    let (retries, _third) = connecting.join().unwrap();
    assert!(retries > 0);
}

/// The processor time of a thread of this process in clock ticks (`proc_pid_stat(5)`).
fn ticks_of_thread(id: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Runs something in a thread as another user; `None` if this user may not change users.
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
        || transport.provision(&Rendezvous { dir: dir.path(), name: "x", cell: &cell }).unwrap().server;
    let mut server = transport.serve(&provision(), &cell).unwrap();
    let address = server.address();
    // It does not check who listens, as in pattern `connect`.
    let careless = Cell { pattern: Pattern::Connect, ..cell.clone() };
    let visit = || transport.reach(&address, &careless, 0).unwrap().connect().unwrap();
    let Some(mut stranger) = as_stranger(visit) else {
        missing("root", "only root can become another user");
        return;
    };
    assert!(server.try_accept().unwrap().is_none(), "a stranger gets no channel");
    assert_eq!(stranger.receive(&mut [0; 8]).unwrap_or(0), 0, "and is sent away");
    // Nor while pattern `connect` verifies payload.
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
