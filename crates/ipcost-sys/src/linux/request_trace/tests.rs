use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ipcost_testing::opened;

use super::*;

fn socket(of: impl AsFd) -> CalledOn {
    CalledOn::Socket(rustix::fs::fstat(of).unwrap().st_ino as u32)
}

#[test]
fn a_slow_request_is_handed_over_with_what_its_server_did() {
    let Some(mut trace) = opened("bpf", RequestTrace::open()) else { return };
    let (mut client, mut server) = UnixStream::pair().unwrap();
    assert_eq!(trace.follow(&[followed(&client, &server, 3)]).unwrap(), 0);
    trace.set_limit(3, 10_000_000).unwrap();
    let serves = std::thread::spawn(move || {
        let mut byte = [0];
        while server.read(&mut byte).unwrap() == 1 {
            if byte[0] == 7 {
                std::thread::sleep(Duration::from_millis(20));
            }
            server.write_all(&byte).unwrap();
        }
        rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
    });
    for number in 0..100_u8 {
        client.write_all(&[number]).unwrap();
        client.read_exact(&mut [0]).unwrap();
    }
    let mut found = Vec::new();
    let taken = trace.take(&mut |request| found.push(request)).unwrap();
    drop(client);
    let thread = serves.join().unwrap();
    let tally = trace.tally(3).unwrap();
    // The last one is counted with the next.
    assert_eq!((tally.requests, tally.overlapping, taken.lost), (99, 0, 0));
    let slept: Vec<&SlowRequest> =
        found.iter().filter(|it| it.replied_ns - it.read_ns >= 20_000_000).collect();
    let [slow] = slept[..] else { panic!("{found:?}") };
    assert_eq!((slow.conversation, slow.reader, slow.replier), (3, thread, thread));
    let log = slow.logs.iter().find(|log| log.thread == thread).unwrap();
    let slept = log.spans.iter().find(|span| {
        matches!(span.state, ThreadState::Called { .. }) && span.ended_ns - span.began_ns >= 20_000_000
    });
    let name = call_name(slept.unwrap().call.unwrap());
    assert!(name.ends_with("nanosleep"), "{name}");
    let (time, runs) = trace.run_time().unwrap();
    assert!(runs >= 800 && time < Duration::from_secs(1), "{runs} runs in {time:?}");
}

/// A followed pair over a Unix socket, of one conversation.
fn followed(client: &UnixStream, server: &UnixStream, conversation: u32) -> Followed {
    let (of_client, of_server) = (socket(client), socket(server));
    Followed {
        conversation,
        processes: vec![std::process::id()],
        client_out: of_client,
        client_in: of_client,
        server_in: of_server,
        server_out: of_server,
    }
}

#[test]
fn a_request_that_was_under_way_in_a_pause_is_not_told() {
    let Some(mut trace) = opened("bpf", RequestTrace::open()) else { return };
    let (mut client, mut server) = UnixStream::pair().unwrap();
    trace.follow(&[followed(&client, &server, 0)]).unwrap();
    trace.set_limit(0, 10_000_000).unwrap();
    let mut byte = [0];
    client.write_all(&[1]).unwrap();
    trace.pause();
    server.read_exact(&mut byte).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    server.write_all(&byte).unwrap();
    client.read_exact(&mut byte).unwrap();
    trace.resume().unwrap();
    for _ in 0..3 {
        client.write_all(&byte).unwrap();
        server.read_exact(&mut byte).unwrap();
        server.write_all(&byte).unwrap();
        client.read_exact(&mut byte).unwrap();
    }
    let mut found = Vec::new();
    trace.take(&mut |request| found.push(request)).unwrap();
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(trace.tally(0).unwrap().requests, 2);
}

#[test]
fn who_gives_way_is_run_last_until_it_no_longer_does() {
    let policy = || {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        stat.rsplit_once(')').unwrap().1.split_whitespace().nth(38).unwrap().to_owned()
    };
    give_way(true);
    assert_eq!(policy(), libc::SCHED_IDLE.to_string());
    give_way(false);
    assert_eq!(policy(), libc::SCHED_OTHER.to_string());
}

#[test]
#[ignore = "prints what following costs: run it alone, with --release and --nocapture"]
fn what_following_costs() {
    const COUNT: u32 = 200_000;
    let mut trace = RequestTrace::open().unwrap();
    let round = |trace: &mut RequestTrace, is_followed: bool| {
        let (mut client, mut server) = UnixStream::pair().unwrap();
        let followed = followed(&client, &server, 0);
        match is_followed {
            true => trace.resume().unwrap(),
            false => trace.pause(),
        }
        trace.follow(if is_followed { std::slice::from_ref(&followed) } else { &[] }).unwrap();
        let serves = std::thread::spawn(move || {
            let mut byte = [0];
            while server.read(&mut byte).unwrap() == 1 {
                server.write_all(&byte).unwrap();
            }
        });
        let began = std::time::Instant::now();
        for _ in 0..COUNT {
            client.write_all(&[1]).unwrap();
            client.read_exact(&mut [0]).unwrap();
        }
        let lasted = began.elapsed().as_nanos() as f64 / f64::from(COUNT);
        drop(client);
        serves.join().unwrap();
        lasted
    };
    for _ in 0..3 {
        let without = round(&mut trace, false);
        let before: Vec<_> = trace.programs.iter().map(|program| bpf::run_time(program).unwrap()).collect();
        let with = round(&mut trace, true);
        println!("{without:.0} ns without, {with:.0} ns with");
        let names = ["exit", "switch", "waking", "enter"];
        for ((name, program), (ns, runs)) in names.iter().zip(&trace.programs).zip(before) {
            let (now_ns, now) = bpf::run_time(program).unwrap();
            let (ns, runs) = ((now_ns - ns) as f64, (now - runs) as f64);
            println!("  {name}: {:.1} runs a request, {:.0} ns each", runs / f64::from(COUNT), ns / runs);
        }
    }
}
