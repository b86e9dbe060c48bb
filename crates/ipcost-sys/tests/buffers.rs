//! Whether both ends of a connection have the requested buffers; alone in its process, because it examines all open
//! descriptors.
#![allow(unsafe_code, reason = "it looks at descriptors by number")]

use std::os::fd::BorrowedFd;

use ipcost_model::{Cell, OptionValue, Options, Pattern};
use ipcost_sys::private_dir::PrivateDir;
use ipcost_sys::transport::{Rendezvous, find};

fn cell(transport: &str) -> Cell {
    let mut options = Options::default();
    options.set("so_sndbuf", OptionValue::Int(30_000)).unwrap();
    Cell { options, ..Cell::new(Pattern::Rr, transport, 64) }
}

/// The kernel's buffer sizes at both ends of a new connection.
fn kept_buffers(transport: &str) -> [u64; 2] {
    use rustix::net::sockopt::socket_send_buffer_size;
    let cell = cell(transport);
    let dir = PrivateDir::create().unwrap();
    let address = find(transport)
        .unwrap()
        .provision(&Rendezvous { dir: dir.path(), name: "x", cell: &cell })
        .unwrap()
        .server;
    let before = open_sockets();
    let mut server = find(transport).unwrap().serve(&address, &cell).unwrap();
    let listener = open_sockets();
    let mut client = find(transport).unwrap().reach(&server.address(), &cell, 0).unwrap();
    let _connection = client.connect().unwrap();
    let _accepted = server.try_accept().unwrap().unwrap();
    let ends: Vec<u64> = open_sockets()
        .into_iter()
        .filter(|number| !before.contains(number) && !listener.contains(number))
        .map(|number| {
            // SAFETY: borrowed for one call, while the channels above keep it open.
            unsafe { BorrowedFd::borrow_raw(number) }
        })
        .filter_map(|socket| socket_send_buffer_size(socket).ok())
        .map(|bytes| bytes as u64)
        .collect();
    ends.try_into().expect("two ends")
}

/// The numbers of all open descriptors that are sockets.
fn open_sockets() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let sockets = entries.filter(|entry| {
        std::fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    });
    sockets.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[test]
fn both_ends_of_a_connection_have_the_buffers_asked_for() {
    for transport in ["unix", "unix-abstract", "tcp"] {
        assert_eq!(kept_buffers(transport), [60_000, 60_000], "{transport}");
    }
}
