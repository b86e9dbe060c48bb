use std::collections::HashSet;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use ipcost_testing::opened;
use proptest::prelude::*;
use rustix::thread::gettid;

use super::super::sample_records::written;
use super::*;

const FORMAT: &str = "name: inet_sock_set_state\nID: 1\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
    \tfield:const void * skaddr;\toffset:8;\tsize:8;\tsigned:0;\n\
    \tfield:int oldstate;\toffset:16;\tsize:4;\tsigned:1;\n\
    \tfield:int newstate;\toffset:20;\tsize:4;\tsigned:1;\n\
    \tfield:__u16 sport;\toffset:24;\tsize:2;\tsigned:0;\n\
    \tfield:__u16 dport;\toffset:26;\tsize:2;\tsigned:0;\n\
    \tfield:__u16 family;\toffset:28;\tsize:2;\tsigned:0;\n\
    \tfield:__u16 protocol;\toffset:30;\tsize:2;\tsigned:0;\n\
    \tfield:__u8 saddr[4];\toffset:32;\tsize:4;\tsigned:0;\n\
    \tfield:__u8 daddr[4];\toffset:36;\tsize:4;\tsigned:0;\n\
    \tfield:__u8 saddr_v6[16];\toffset:40;\tsize:16;\tsigned:0;\n\
    \tfield:__u8 daddr_v6[16];\toffset:56;\tsize:16;\tsigned:0;\n\nprint fmt: \"family=%s\"\n";
/// A state that is neither of the two.
const CLOSED: i32 = 7;

/// A step as the kernel writes it.
fn step(at_ns: u64, thread: u32, socket: u64, states: [i32; 2], ends: [SocketAddr; 2]) -> Vec<u8> {
    let family = if ends[0].is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut fields = [&1_u64.to_ne_bytes()[..], &socket.to_ne_bytes()].concat();
    // The kind is the first half of the word on a machine of either order.
    fields[..8].copy_from_slice(&[&1_u16.to_ne_bytes()[..], &[0; 6]].concat());
    fields.extend(states.into_iter().flat_map(i32::to_ne_bytes));
    fields.extend(ends.into_iter().flat_map(|end| end.port().to_ne_bytes()));
    fields.extend([family as u16, TCP as u16].into_iter().flat_map(u16::to_ne_bytes));
    let v4 = |end: SocketAddr| match end.ip() {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(_) => [0; 4],
    };
    fields.extend(ends.into_iter().flat_map(v4));
    let v6 = |end: SocketAddr| match end.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    fields.extend(ends.into_iter().flat_map(v6));
    written::sample(at_ns, thread, &fields)
}

fn found(ring: &[Vec<u8>]) -> Vec<(u32, u32, String)> {
    let layout = StateTracepoint::parse(FORMAT).unwrap();
    let (mut pairing, mut found) = (Pairing::default(), Vec::new());
    parse(&ring.concat(), &mut |sample| {
        found.extend(layout.step(sample).and_then(|step| pairing.take(step)));
    });
    let text = |it: &Connected| (it.process, it.thread, format!("{} {}", it.local, it.remote));
    found.iter().map(text).collect()
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn who_has_just_executed_a_program_has_its_name() {
    let ends = ["127.0.0.1:4000", "127.0.0.1:80"].map(at);
    let (asks, answers) = ([CLOSED, SYN_SENT], [SYN_SENT, ESTABLISHED]);
    let names = |later_ns: u64| {
        let ring = [
            written::named(1, 7, b"curl\0\0\0\0"),
            written::named(2, 8, b"other\0\0\0"),
            step(3 + later_ns, 7, 0xa, asks, ends),
            step(4 + later_ns, 7, 0xa, answers, ends),
        ];
        let layout = StateTracepoint::parse(FORMAT).unwrap();
        let (mut pairing, mut found) = (Pairing::default(), Vec::new());
        parse(&ring.concat(), &mut |sample| {
            found.extend(layout.step(sample).and_then(|step| pairing.take(step)));
        });
        found.into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(names(0), [Some("curl".to_owned())]);
    assert_eq!(names(JUST_NS), [None], "by then the number may be another's");
}

#[test]
fn steps_are_paired_by_socket() {
    let (asks, answers, fails) = ([CLOSED, SYN_SENT], [SYN_SENT, ESTABLISHED], [SYN_SENT, CLOSED]);
    let own = |ends: [&str; 2]| ends.map(at);
    let before = own(["10.0.0.1:0", "10.0.0.2:80"]);
    let after = own(["10.0.0.1:4000", "10.0.0.2:80"]);
    let mapped = own(["[::ffff:10.0.0.1]:4001", "[::ffff:10.0.0.2]:80"]);
    let ring = [
        step(1, 11, 0xa, asks, before),
        step(2, 12, 0xb, asks, mapped),
        step(3, 13, 0xc, asks, before),
        step(5, 99, 0xc, fails, after),
        step(6, 99, 0xb, answers, mapped),
        step(7, 99, 0xa, answers, after),
        step(8, 99, 0xc, answers, after),
        step(9, 11, 0xa, asks, before),
        written::lost(1, 10),
        step(11, 99, 0xa, answers, after),
    ];
    let (v4, v6) = ("10.0.0.1:4000 10.0.0.2:80".to_owned(), "10.0.0.1:4001 10.0.0.2:80".to_owned());
    assert_eq!(
        found(&ring),
        [(7, 12, v6), (7, 11, v4)],
        "the third one failed, and the last may be another socket"
    );
}

#[test]
fn without_a_pair_only_this_machine_is_guessed_at() {
    let answers = [SYN_SENT, ESTABLISHED];
    let lines = [
        step(1, 11, 0, [CLOSED, SYN_SENT], ["127.0.0.1:0", "127.0.0.1:80"].map(at)),
        step(2, 12, 0, answers, ["127.0.0.1:4000", "127.0.0.1:80"].map(at)),
        step(3, 13, 0xd, answers, ["10.0.0.1:4000", "10.0.0.2:80"].map(at)),
        step(4, 14, 0xe, answers, ["[::1]:4000", "[::1]:80"].map(at)),
    ];
    let expected =
        [(7, 12, "127.0.0.1:4000 127.0.0.1:80".to_owned()), (7, 14, "[::1]:4000 [::1]:80".to_owned())];
    assert_eq!(found(&lines), expected);
}

#[test]
fn formats_are_read_or_refused_and_places_are_not_shown() {
    assert!(StateTracepoint::parse(FORMAT).is_some());
    assert_eq!(
        StateTracepoint::parse(&FORMAT.replace("skaddr;\toffset:8;\tsize:8", "skaddr;\toffset:8;\tsize:4")),
        None
    );
    assert_eq!(format!("{:?}", SocketPointer(0xffff_8880_1234)), "Place");
}

/// Opens connections to an address one after the other: which ends they had, and the thread that opened them.
fn open(address: &str, count: usize) -> Option<(Connecting, u32, Vec<[SocketAddr; 2]>)> {
    let listener = opened("ipv6", TcpListener::bind((address, 0)))?;
    let remote = listener.local_addr().unwrap();
    let connecting = opened("tracepoints", Connecting::open())?;
    // One after the other, so that the listener's queue is never full: where it is, connections wait for a second.
    let opening = thread::spawn(move || {
        let open = |_| {
            let client = TcpStream::connect(remote).unwrap();
            drop(listener.accept().unwrap());
            [client.local_addr().unwrap(), remote]
        };
        (gettid().as_raw_nonzero().get().cast_unsigned(), (0..count).map(open).collect::<Vec<_>>())
    });
    let (thread, ends) = opening.join().unwrap();
    Some((connecting, thread, ends))
}

#[test]
fn short_connections_are_seen_with_who_opened_them() {
    const COUNT: usize = 200;
    for address in ["127.0.0.1", "::1"] {
        let Some((mut connecting, thread, ends)) = open(address, COUNT) else { continue };
        let remote = ends[0][1];
        let (mut seen, deadline) = (Vec::new(), Instant::now() + Duration::from_secs(30));
        while seen.len() < COUNT && Instant::now() < deadline {
            let taken = connecting.take(&mut |connected| {
                // Other tests open connections of their own.
                if connected.remote == remote {
                    seen.push(connected);
                }
            });
            assert_eq!(taken, Taken::default());
            thread::sleep(Duration::from_millis(1));
        }
        let process = std::process::id();
        assert!(seen.iter().all(|it| (it.process, it.thread) == (process, thread)), "{seen:?}");
        let locals: HashSet<SocketAddr> = seen.iter().map(|it| it.local).collect();
        assert_eq!(locals, ends.iter().map(|[local, _]| *local).collect(), "{seen:?}");
        assert_eq!(seen.len(), COUNT);
    }
}

#[test]
fn a_refused_connection_is_none() {
    let Some((mut connecting, _, ends)) = open("127.0.0.1", 1) else { return };
    let remote = ends[0][1];
    // The listener is gone.
    assert!(TcpStream::connect(remote).is_err());
    thread::sleep(Duration::from_millis(20));
    let mut count = 0;
    connecting.take(&mut |connected| count += usize::from(connected.remote == remote));
    assert_eq!(count, 1);
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in written::any(), text in ".{0,80}") {
        read_bytes(&bytes);
        read_text(&text);
        read_text(&FORMAT.replace("offset:8", &format!("offset:{text}")));
    }
}
