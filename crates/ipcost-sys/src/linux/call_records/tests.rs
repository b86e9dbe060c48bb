use proptest::prelude::*;

use super::super::sample_records::written;
use super::*;
use crate::observed::CallDirection;

const ENTER: &str = "name: sys_enter\nID: 443\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
    \tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\nprint fmt: \"NR %ld\"\n";
const EXIT: &str = "name: sys_exit\nID: 442\nformat:\n\
    \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n";

/// A sample of a tracepoint with such fields.
fn sample(at_ns: u64, thread: u32, kind: u16, words: &[u64]) -> Vec<u8> {
    let fields = words.iter().flat_map(|word| word.to_ne_bytes());
    written::sample(at_ns, thread, &[&kind.to_ne_bytes()[..], &[0; 6], &fields.collect::<Vec<_>>()].concat())
}

fn calls(ring: &[Vec<u8>]) -> Vec<MovedCall> {
    let layout = CallTracepoints::parse(ENTER, EXIT).unwrap();
    let (mut pairing, mut found) = (Pairing::default(), Vec::new());
    parse(&ring.concat(), &mut |sample| {
        found.extend(record(sample, &layout).and_then(|record| pairing.take(record)));
    });
    found
}

fn enter(at_ns: u64, thread: u32, call: libc::c_long, arguments: [u64; 3]) -> Vec<u8> {
    sample(at_ns, thread, 443, &[&[call as u64], &arguments[..], &[0; 3]].concat())
}

fn exit(at_ns: u64, thread: u32, call: libc::c_long, result: i64) -> Vec<u8> {
    sample(at_ns, thread, 442, &[call as u64, result.cast_unsigned()])
}

#[test]
fn formats_are_read_or_refused() {
    let layout = CallTracepoints::parse(ENTER, EXIT).unwrap();
    assert_eq!((layout.enter, layout.exit, layout.arguments_at, layout.result_at), (443, 442, 16, 16));
    assert_eq!(CallTracepoints::parse(EXIT, ENTER), None);
    assert_eq!(
        CallTracepoints::parse(&ENTER.replace("size:48", "size:24"), EXIT),
        None,
        "a system of 32 bits"
    );
}

#[test]
fn calls_are_paired_by_thread() {
    let ring = [
        exit(5, 1, libc::SYS_write, 3),
        enter(10, 1, libc::SYS_read, [4, 99, 64]),
        enter(11, 2, libc::SYS_ppoll, [99, 1, 99]),
        enter(12, 3, libc::SYS_futex, [1, 2, 3]),
        exit(20, 1, libc::SYS_read, -11),
        exit(30, 2, libc::SYS_ppoll, 1),
    ];
    let found = calls(&ring);
    let read = MovedCall {
        process: 7,
        thread: 1,
        call: "read",
        descriptor: 4,
        direction: CallDirection::In,
        asked: 64,
        result: -11,
        began_ns: 10,
        ended_ns: 20,
        is_whole: true,
    };
    let ppoll = ("ppoll", -1, CallDirection::Wait, 0, 1);
    assert_eq!(found[0], read);
    let second = found[1];
    assert_eq!((second.call, second.descriptor, second.direction, second.asked, second.result), ppoll);
    assert_eq!(found.len(), 2);
}

#[test]
fn what_contradicts_is_forgotten_and_what_may_be_two_calls_is_marked() {
    let ring = [
        enter(10, 1, libc::SYS_read, [4, 0, 64]),
        enter(11, 2, libc::SYS_read, [5, 0, 64]),
        enter(12, 3, libc::SYS_read, [6, 0, 64]),
        written::lost(9, 22),
        enter(21, 1, libc::SYS_read, [7, 0, 64]),
        exit(22, 1, libc::SYS_read, 1),
        exit(23, 2, libc::SYS_write, 2),
        exit(24, 2, libc::SYS_read, 3),
        exit(25, 3, libc::SYS_read, 4),
    ];
    let found: Vec<_> =
        calls(&ring).iter().map(|call| (call.descriptor, call.result, call.is_whole)).collect();
    assert_eq!(found, [(7, 1, true), (6, 4, false)]);
}

proptest! {
    #[test]
    fn any_bytes_are_taken(bytes in written::any(), text in ".{0,80}") {
        read_bytes(&bytes);
        read_text(&text);
        read_text(&format!("ID: 1\nfield:long id;\toffset:{text};\tsize:8;"));
    }
}
