use super::*;

const TRACE: &str = "\
10 read(3, \"\"..., 832)               = 832
10 sendto(4, \"\"..., 64, MSG_NOSIGNAL, NULL, 0) = 20
11 recvfrom(5,  <unfinished ...>
10 recvfrom(5, 0x7f61046aed50, 5, 0, NULL, NULL) = -1 EAGAIN (Resource temporarily unavailable)
11 <... recvfrom resumed>\"\"..., 8, 0, NULL, NULL) = 8
10 sendmsg(4, {msg_name=NULL, msg_namelen=0, msg_iov=[...], msg_iovlen=2, msg_controllen=0, msg_flags=0}, 0) = 15
10 openat(AT_FDCWD, \"/etc/hosts\", O_RDONLY|O_CLOEXEC) = 6
10 connect(3, {sa_family=AF_UNIX, sun_path=\"/var/run/nscd/socket\"}, 110) = -1 ENOENT (No such file or directory)
10 exit_group(0)                       = ?
10 +++ exited with 0 +++
rubbish
";

fn calls(tally: &TraceSummary, name: &str, on: Option<Object>) -> TracedCalls {
    tally.calls()[&TracedCall { name: name.to_owned(), on }].clone()
}

#[test]
fn calls_are_counted_with_bytes_and_failures() {
    let tally = TraceSummary::of(TRACE);
    let calls = |name: &str| calls(&tally, name, None);
    assert_eq!((calls("read").moved, calls("read").partial), (832, 0));
    assert_eq!((calls("sendto").moved, calls("sendto").asked, calls("sendto").partial), (20, 64, 1));
    let received = calls("recvfrom");
    assert_eq!((received.count, received.moved, received.asked), (2, 8, 8), "unfinished calls are joined");
    assert_eq!(received.failures, BTreeMap::from([("EAGAIN".to_owned(), 1)]));
    assert_eq!((calls("sendmsg").moved, calls("sendmsg").asked), (15, 0), "what is not shown is not known");
    assert_eq!(calls("connect").failures["ENOENT"], 1);
    assert_eq!(tally.lookups, BTreeMap::from([("/etc/hosts".to_owned(), 1), ("/nscd/socket".to_owned(), 1)]));
    assert_eq!(calls("exit_group").count, 1);
    assert_eq!(tally.calls().len(), 7);
    assert_eq!(tally.threads["11"].len(), 1);
}

const ANNOTATED: &str = "\
10 openat(AT_FDCWD</>, \"/etc/hosts\", O_RDONLY|O_CLOEXEC) = 6</etc/hosts> <0.000012>
10 read(6</etc/hosts>, \"\"..., 4096) = 100 <0.000004>
10 read(5<socket:[12]>, \"\"..., 5) = 5 <0.000003>
10 write(7</var/log/a, b.log>, \"\"..., 9) = 9 <0.000031>
10 write(2<pipe:[7]>, \"\"..., 2) = 2 <0.000002>
10 write(8</dev/null>, \"\"..., 2) = 2 <0.000002>
10 futex(0x7f, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
11 futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000009>
10 <... futex resumed>) = 0 <0.000210>
10 futex(0x7f, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, NULL, FUTEX_BITSET_MATCH_ANY) = 0 <0.000020>
10 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, tv_nsec=200000}, NULL) = 0 <0.000262>
10 clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, {tv_sec=571, tv_nsec=1}, NULL) = 0 <0.000271>
10 poll(NULL, 0, 1) = 0 (Timeout) <0.001080>
10 poll([{fd=3<socket:[9]>, events=POLLIN}], 1, 5) = 0 (Timeout) <0.005100>
";

#[test]
fn times_change_nothing() {
    for trace in [TRACE, ANNOTATED] {
        let with_time = |line: &str| match line.split_once(' ') {
            Some((thread, call)) => format!("{thread} 1700000000.123456 {call}\n"),
            None => format!("{line}\n"),
        };
        assert_eq!(
            TraceSummary::of(&trace.lines().map(with_time).collect::<String>()),
            TraceSummary::of(trace)
        );
    }
}

#[test]
fn what_a_descriptor_is_and_how_long_a_call_took_are_read() {
    let tally = TraceSummary::of(ANNOTATED);
    let of = |name: &str, on| calls(&tally, name, on);
    assert_eq!(tally.lookups, BTreeMap::from([("/etc/hosts".to_owned(), 1)]), "opened once");
    assert_eq!(of("read", Some(Object::File)).took_ns, [4_000]);
    assert_eq!(of("read", Some(Object::Socket)).manners, BTreeMap::from([(CallMode::RecordHeader, 1)]));
    assert_eq!((of("write", Some(Object::File)).moved, of("write", Some(Object::File)).asked), (9, 0));
    assert_eq!(of("write", Some(Object::Pipe)).manners, BTreeMap::from([(CallMode::StandardError, 1)]));
    assert_eq!(of("write", Some(Object::Device)).count, 1);
    let futex = of("futex", None);
    let waits = [(CallMode::MutexWait, 1), (CallMode::WordWait, 1), (CallMode::WordWake, 1)];
    assert_eq!(futex.manners, BTreeMap::from(waits));
    assert_eq!(futex.took_ns.iter().sum::<u32>(), 239_000);
    let sleep = of("clock_nanosleep", None);
    assert_eq!((sleep.count, sleep.sleep_ns), (2, 200_000), "a point in time is no length");
    let poll = of("poll", None);
    assert_eq!((poll.timeouts, poll.manners[&CallMode::TimeOnly]), (2, 1));
}

proptest::proptest! {
    #[test]
    fn any_text_is_taken(text in "[ -~\n]{0,200}") {
        let _ = TraceSummary::of(&text);
    }
}
