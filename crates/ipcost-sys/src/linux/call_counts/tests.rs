use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::thread;

use ipcost_testing::opened;
use rustix::fs::fstat;
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::*;

fn counter(entries: u32) -> Option<CallCounter> {
    opened("bpf", CallCounter::open_as(Numbers::First, None, entries))
}

fn number(of: impl AsFd) -> u64 {
    fstat(of).unwrap().st_ino
}

/// Bytes, calls, empty calls and calls without bytes of this process on an open socket or pipe, in and out.
fn counted(counter: &mut CallCounter, end: &(impl AsFd + AsRawFd)) -> [(u64, u64, u64, u64); 2] {
    let number = number(end);
    let [mut into, mut out] = [(0, 0, 0, 0); 2];
    for one in counter.read().unwrap() {
        let is_this = match one.on {
            CalledOn::Socket(socket) => u64::from(socket) == number,
            CalledOn::Pipe(pipe) => pipe == number,
        };
        if is_this && one.process == std::process::id() && one.descriptor == end.as_raw_fd() {
            let way = if one.direction == CallDirection::In { &mut into } else { &mut out };
            assert_eq!(*way, (0, 0, 0, 0), "one count for each direction");
            *way = (one.bytes, one.calls, one.empty, one.unsized_calls);
        }
    }
    [into, out]
}

const NONE: (u64, u64, u64, u64) = (0, 0, 0, 0);

fn processors() -> Vec<usize> {
    let all = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|processor| all.is_set(*processor)).collect()
}

fn pin(processor: usize) {
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(None, &only).unwrap();
}

#[test]
fn nothing_is_counted_after_the_time_that_each_reading_gives() {
    let Some(mut counter) = counter(MOST_COUNTED) else { return };
    let (near, far) = UnixStream::pair().unwrap();
    let write = || (&near).write_all(&[1; 100]).unwrap();
    write();
    assert_eq!(counted(&mut counter, &near)[1].0, 100);
    counter.last(std::time::Duration::ZERO).unwrap();
    write();
    // The reading that shows nothing more lets it go on.
    assert_eq!(counted(&mut counter, &near)[1].0, 100);
    write();
    assert_eq!(counted(&mut counter, &near)[1].0, 200);
    drop(far);
}

#[test]
fn counts_are_exact_on_every_processor() {
    const TIMES: u64 = 1_000;
    let Some(mut counter) = counter(MOST_COUNTED) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for processor in processors() {
        let (mut one, mut other) = UnixStream::pair().unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let (mut from, mut to) = std::io::pipe().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                pin(processor);
                for _ in 0..TIMES {
                    one.write_all(&[1; 100]).unwrap();
                    other.read_exact(&mut [0; 100]).unwrap();
                    other.write_all(&[1; 7]).unwrap();
                    one.read_exact(&mut [0; 7]).unwrap();
                    to.write_all(&[1; 3]).unwrap();
                    from.read_exact(&mut [0; 3]).unwrap();
                    client.write_all(&[1]).unwrap();
                    server.read_exact(&mut [0]).unwrap();
                }
            });
        });
        let times = |bytes: u64| (bytes * TIMES, TIMES, 0, 0);
        assert_eq!(counted(&mut counter, &one), [times(7), times(100)]);
        assert_eq!(counted(&mut counter, &other), [times(100), times(7)]);
        assert_eq!(counted(&mut counter, &to), [NONE, times(3)]);
        assert_eq!(counted(&mut counter, &from), [times(3), NONE]);
        assert_eq!(counted(&mut counter, &client), [NONE, times(1)]);
        assert_eq!(counted(&mut counter, &server), [times(1), NONE]);
    }
    assert_eq!(counter.lost().unwrap(), 0);
}

#[test]
fn reading_meanwhile_misses_nothing() {
    const TIMES: u64 = 200_000;
    let Some(mut counter) = counter(MOST_COUNTED) else { return };
    // More threads than processors, so that they interrupt one another and the reader.
    let pairs: Vec<_> = (0..2 * processors().len()).map(|_| UnixStream::pair().unwrap()).collect();
    // Several threads on the same descriptor add to the same counts.
    let shared = UnixDatagram::pair().unwrap();
    thread::scope(|scope| {
        let writers = pairs.iter().map(|(one, other)| {
            let shared = &shared;
            scope.spawn(move || {
                for index in 0..TIMES {
                    (&*one).write_all(&[1; 2]).unwrap();
                    (&*other).read_exact(&mut [0; 2]).unwrap();
                    if index % 10 == 0 {
                        shared.0.send(&[1; 5]).unwrap();
                        assert!(shared.1.recv(&mut [0; 10]).unwrap() == 5);
                    }
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            counter.read().unwrap();
        }
    });
    for (one, other) in &pairs {
        assert_eq!(counted(&mut counter, one), [NONE, (2 * TIMES, TIMES, 0, 0)]);
        assert_eq!(counted(&mut counter, other), [(2 * TIMES, TIMES, 0, 0), NONE]);
    }
    let sent = pairs.len() as u64 * TIMES / 10;
    assert_eq!(counted(&mut counter, &shared.0), [NONE, (5 * sent, sent, 0, 0)]);
    assert_eq!(counted(&mut counter, &shared.1), [(5 * sent, sent, 0, 0), NONE]);
    assert_eq!(counter.lost().unwrap(), 0);
}

#[test]
fn calls_that_move_nothing_are_told_apart() {
    let Some(mut counter) = counter(MOST_COUNTED) else { return };
    let (mut one, mut other) = UnixStream::pair().unwrap();
    other.set_nonblocking(true).unwrap();
    for _ in 0..3 {
        assert_eq!(other.read(&mut [0; 10]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    one.write_all(&[1; 10]).unwrap();
    assert_eq!(other.read(&mut [0; 20]).unwrap(), 10);
    // The end, and a write that fails.
    one.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(other.read(&mut [0; 10]).unwrap(), 0);
    assert_eq!(other.write(&[1]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert_eq!(counted(&mut counter, &other), [(10, 1, 3, 0), NONE]);
}

#[test]
fn bytes_that_are_only_looked_at_are_counted_once() {
    let Some(mut counter) = counter(MOST_COUNTED) else { return };
    let (mut one, mut other) = UnixStream::pair().unwrap();
    one.write_all(&[1; 10]).unwrap();
    let mut bytes = [0_u8; 10];
    // SAFETY: the bytes are valid for their length.
    let peeked =
        unsafe { libc::recv(other.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_PEEK) };
    assert_eq!(peeked, 10);
    assert_eq!(other.read(&mut bytes).unwrap(), 10);
    assert_eq!(counted(&mut counter, &other), [(10, 1, 0, 0), NONE]);
}

#[test]
fn calls_that_tell_messages_have_no_bytes() {
    let Some(mut counter) = counter(MOST_COUNTED) else { return };
    let (one, other) = UnixDatagram::pair().unwrap();
    let mut bytes = [1_u8; 4];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: zeros are a valid value of these structures.
    let mut messages: [libc::mmsghdr; 2] = unsafe { std::mem::zeroed() };
    for message in &mut messages {
        message.msg_hdr.msg_iov = &raw mut part;
        message.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: two messages, each of one part that is valid.
    let sent = unsafe { libc::sendmmsg(one.as_raw_fd(), messages.as_mut_ptr(), 2, 0) };
    assert_eq!(sent, 2);
    assert_eq!(other.recv(&mut [0; 10]).unwrap(), 4);
    assert_eq!(counted(&mut counter, &one), [NONE, (0, 1, 0, 1)]);
    assert_eq!(counted(&mut counter, &other), [(4, 1, 0, 0), NONE]);
}

#[test]
fn a_descriptor_that_is_used_again_has_counts_of_its_own() {
    let Some(mut counter) = counter(MOST_COUNTED) else { return };
    let (mut one, _other) = UnixStream::pair().unwrap();
    let (descriptor, first) = (one.as_raw_fd(), number(&one));
    one.write_all(&[1; 10]).unwrap();
    let (second, mut reader) = UnixStream::pair().unwrap();
    // Another socket takes the place of the first, which is closed with that.
    // SAFETY: both are open, and `one` owns its descriptor also afterwards.
    assert_eq!(unsafe { libc::dup2(second.as_raw_fd(), descriptor) }, descriptor);
    one.write_all(&[1; 3]).unwrap();
    reader.read_exact(&mut [0; 3]).unwrap();
    assert_eq!(counted(&mut counter, &one), [NONE, (3, 1, 0, 0)]);
    let closed = CalledOn::Socket(first as u32);
    let of_closed = |all: Vec<CountedCalls>| all.into_iter().find(|one| one.on == closed);
    let found = of_closed(counter.read().unwrap()).unwrap();
    assert_eq!((found.descriptor, found.bytes, found.calls), (descriptor, 10, 1));
    counter.forget(std::process::id(), descriptor, closed);
    assert_eq!(of_closed(counter.read().unwrap()), None);
    assert_eq!(counted(&mut counter, &one), [NONE, (3, 1, 0, 0)]);
}

#[test]
fn files_are_left_out() {
    let Some(mut counter) = counter(MOST_COUNTED) else { return };
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[1; 10]).unwrap();
    assert_eq!(counted(&mut counter, &file), [NONE, NONE]);
}

#[test]
fn ten_thousand_descriptors_are_counted() {
    const COUNT: usize = 10_000;
    let limit = getrlimit(Resource::Nofile);
    let wanted = COUNT as u64 + 1_000;
    if limit.current.is_some_and(|current| current < wanted) {
        let raised = rustix::process::Rlimit { current: Some(wanted), ..limit };
        let Some(()) = opened("root", setrlimit(Resource::Nofile, raised)) else { return };
    }
    let Some(mut counter) = counter(MOST_COUNTED) else { return };
    let pairs: Vec<_> = (0..COUNT / 2).map(|_| UnixStream::pair().unwrap()).collect();
    for (one, other) in &pairs {
        (&*one).write_all(&[1; 9]).unwrap();
        (&*other).read_exact(&mut [0; 9]).unwrap();
    }
    let own: Vec<_> =
        counter.read().unwrap().into_iter().filter(|one| one.process == std::process::id()).collect();
    let ways: HashSet<_> = own.iter().map(|one| (one.descriptor, one.on, one.direction)).collect();
    assert_eq!(ways.len(), own.len(), "each once");
    let of = |end: &UnixStream| (end.as_raw_fd(), CalledOn::Socket(number(end) as u32));
    let counts: std::collections::HashMap<_, _> = own
        .iter()
        .map(|one| ((one.descriptor, one.on, one.direction), (one.bytes, one.calls, one.empty)))
        .collect();
    for (one, other) in &pairs {
        let ((sender, from), (receiver, to)) = (of(one), of(other));
        assert_eq!(counts[&(sender, from, CallDirection::Out)], (9, 1, 0));
        assert_eq!(counts[&(receiver, to, CallDirection::In)], (9, 1, 0));
    }
    assert_eq!(counter.lost().unwrap(), 0);
}

#[test]
fn what_finds_no_room_is_lost_and_counted() {
    /// Fewer than the sockets here.
    const ROOM: u32 = 8;
    let Some(mut counter) = counter(ROOM) else { return };
    let pairs: Vec<_> = (0..100).map(|_| UnixStream::pair().unwrap()).collect();
    for (one, _) in &pairs {
        (&*one).write_all(&[1]).unwrap();
    }
    assert!(counter.read().unwrap().len() <= 2 * ROOM as usize);
    assert!(counter.lost().unwrap() >= 100 - u64::from(ROOM));
}

mod cost;
mod programs;
