use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ipcost_testing::opened;
use rustix::thread::gettid;

use super::*;

fn sampler(threads: Option<&[u32]>, without: Option<u32>) -> Option<CallSampler> {
    opened("tracepoints", CallSampler::open_without(threads, without))
}

fn own_thread() -> u32 {
    gettid().as_raw_nonzero().get().cast_unsigned()
}

fn taken(sampler: &mut CallSampler) -> (Vec<MovedCall>, Taken) {
    let mut found = Vec::new();
    let taken = sampler.take(&mut |call| found.push(call));
    (found, taken)
}

/// Those of this process on a descriptor.
fn on(found: &[MovedCall], end: &impl AsRawFd) -> Vec<MovedCall> {
    let own = std::process::id();
    found.iter().copied().filter(|call| call.process == own && call.descriptor == end.as_raw_fd()).collect()
}

#[test]
fn messages_between_two_threads_are_seen_exactly() {
    const SIZES: [usize; 4] = [1, 100, 3_000, 1_000];
    let (mut client, server) = UnixStream::pair().unwrap();
    let (tell, told) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    let mut serving = server.try_clone().unwrap();
    let answering = thread::spawn(move || {
        tell.send(own_thread()).unwrap();
        // Where nothing can be sampled, no one says to go.
        wait.recv().ok()?;
        for size in SIZES {
            let mut bytes = vec![0; size];
            serving.read_exact(&mut bytes).unwrap();
            serving.write_all(&bytes[..1]).unwrap();
        }
        Some(serving)
    });
    let threads = [own_thread(), told.recv().unwrap()];
    let Some(mut sampler) = sampler(Some(&threads), None) else { return };
    let enabled_ns = now_ns();
    sampler.enable();
    go.send(()).unwrap();
    for size in SIZES {
        client.write_all(&vec![1; size]).unwrap();
        client.read_exact(&mut [0]).unwrap();
    }
    let server = answering.join().unwrap().unwrap();
    sampler.disable();
    let within = enabled_ns..=now_ns();
    let (found, taken) = taken(&mut sampler);
    assert_eq!(taken, Taken::default());
    let (sent, served) = (on(&found, &client), on(&found, &server));
    for (calls, thread) in [(&sent, threads[0]), (&served, threads[1])] {
        assert_eq!(calls.len(), 2 * SIZES.len(), "{calls:?}");
        assert!(calls.iter().all(|call| call.thread == thread && call.is_whole), "{calls:?}");
        let is_within = |call: &MovedCall| within.contains(&call.began_ns) && within.contains(&call.ended_ns);
        assert!(calls.iter().all(|call| is_within(call) && call.began_ns <= call.ended_ns), "{calls:?}");
        assert!(calls.is_sorted_by(|one, next| one.ended_ns <= next.began_ns), "{calls:?}");
    }
    for (index, size) in SIZES.into_iter().enumerate() {
        let of = |calls: &[MovedCall], at: usize| (calls[at].direction, calls[at].asked, calls[at].result);
        let (out, back) = ((CallDirection::Out, size as u64, size as i64), (CallDirection::In, 1, 1));
        assert_eq!([of(&sent, 2 * index), of(&sent, 2 * index + 1)], [out, back]);
        let (read, write) = ((CallDirection::In, size as u64, size as i64), (CallDirection::Out, 1, 1));
        assert_eq!([of(&served, 2 * index), of(&served, 2 * index + 1)], [read, write]);
        assert!(sent[2 * index].began_ns <= served[2 * index].ended_ns, "{sent:?} {served:?}");
    }
    assert!(found.is_sorted_by_key(|call| call.ended_ns));
}

/// How long the calls are that wait at least.
const WAIT: Duration = Duration::from_millis(50);

/// A call of another thread that waits for a byte, and whether sampling is interrupted meanwhile.
fn waited(is_interrupted: bool) -> Option<MovedCall> {
    let (mut client, mut server) = UnixStream::pair().unwrap();
    let (tell, told) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    let reader = thread::spawn(move || {
        tell.send(own_thread()).unwrap();
        wait.recv().ok()?;
        server.read_exact(&mut [0]).unwrap();
        Some(server)
    });
    let thread = told.recv().unwrap();
    let mut sampler = sampler(Some(&[thread]), None)?;
    sampler.enable();
    go.send(()).unwrap();
    // The kernel tells the number of the call that a thread waits in; the library chooses one of these.
    let waits = [libc::SYS_read, libc::SYS_recvfrom].map(|call| format!("{call} "));
    let call = || std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).unwrap();
    while !waits.iter().any(|waits| call().starts_with(waits)) {
        thread::yield_now();
    }
    thread::sleep(WAIT);
    assert_eq!(taken(&mut sampler).0, []);
    if is_interrupted {
        sampler.disable();
        sampler.enable();
    }
    client.write_all(&[1]).unwrap();
    let server = reader.join().unwrap()?;
    sampler.disable();
    let (found, _) = taken(&mut sampler);
    let calls = on(&found, &server);
    assert_eq!(calls.len(), 1, "{found:?}");
    Some(calls[0])
}

#[test]
fn a_call_that_waits_is_complete_when_it_ends() {
    for is_interrupted in [false, true] {
        let Some(call) = waited(is_interrupted) else { return };
        assert_eq!((call.result, call.is_whole), (1, !is_interrupted), "{call:?}");
        assert!(call.ended_ns - call.began_ns >= WAIT.as_nanos() as u64, "{call:?}");
    }
}

#[test]
fn errors_are_negative_and_other_threads_are_left_out() {
    // As many as the kernel compares, of which there is one.
    let threads: Vec<u32> = (0..63).map(|index| 4_194_303 - 2 * index).chain([own_thread()]).collect();
    let Some(mut sampler) = sampler(Some(&threads), None) else { return };
    let (mut client, mut server) = UnixStream::pair().unwrap();
    client.set_nonblocking(true).unwrap();
    sampler.enable();
    assert!(client.read(&mut [0; 10]).is_err());
    thread::scope(|scope| {
        scope.spawn(|| server.write_all(&[1]).unwrap());
    });
    sampler.disable();
    assert!(client.read(&mut [0; 10]).is_ok(), "unseen: sampling is disabled");
    let (found, _) = taken(&mut sampler);
    let results: Vec<_> = on(&found, &client).iter().map(|call| (call.asked, call.result)).collect();
    assert_eq!(results, [(10, -i64::from(libc::EAGAIN))]);
    assert_eq!(on(&found, &server), []);
}

#[test]
fn calls_of_other_programs_are_seen_and_own_ones_are_not() {
    let mut cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut to, mut from) = (cat.stdin.take().unwrap(), cat.stdout.take().unwrap());
    let mut exchange = |bytes: &[u8]| {
        to.write_all(bytes).unwrap();
        from.read_exact(&mut vec![0; bytes.len()]).unwrap();
    };
    // Then it has started.
    exchange(b"begin");
    let some = [cat.id(), own_thread()];
    for threads in [Some(&some[..]), None] {
        let Ok(mut sampler) = CallSampler::open(threads) else { break };
        sampler.enable();
        exchange(b"some bytes");
        // A thread that starts later is of this program, too.
        thread::spawn(|| UnixStream::pair().unwrap().0.write_all(&[1]).unwrap()).join().unwrap();
        sampler.disable();
        let (found, taken) = taken(&mut sampler);
        let of = |process: u32| found.iter().filter(move |call| call.process == process);
        assert_eq!(of(std::process::id()).count(), 0, "{found:?}");
        let out = of(cat.id()).filter(|call| call.direction == CallDirection::Out);
        // Other programs may fill the rings.
        assert!(
            out.map(|call| call.result).sum::<i64>() == 10 || threads.is_none() && taken.lost > 0,
            "{found:?}"
        );
    }
    drop(to);
    cat.wait().unwrap();
}

#[test]
fn a_ring_is_read_over_its_end_and_a_full_one_loses() {
    /// A third of a ring.
    const FITS: usize = RING_BYTES / 1024;
    let Some(mut sampler) = sampler(Some(&[own_thread()]), None) else { return };
    let (mut client, mut server) = UnixStream::pair().unwrap();
    let end = client.as_raw_fd();
    let mut exchange = |count: usize| {
        for _ in 0..count {
            client.write_all(&[1]).unwrap();
            server.read_exact(&mut [0]).unwrap();
        }
    };
    sampler.enable();
    let mut seen = 0;
    for _ in 0..20 {
        exchange(FITS);
        assert_eq!(sampler.take(&mut |call| seen += usize::from(call.descriptor == end)), Taken::default());
    }
    sampler.disable();
    sampler.take(&mut |call| seen += usize::from(call.descriptor == end));
    assert_eq!(seen, 20 * FITS);
    sampler.enable();
    // More than all rings hold, wherever this thread runs.
    exchange(4 * FITS * sampler.rings.count());
    sampler.disable();
    assert!(taken(&mut sampler).1.lost > 0);
    assert_eq!(taken(&mut sampler), (Vec::new(), Taken::default()));
}

/// Writes and reads a byte so often, and tells how long a call took, nanoseconds.
fn per_call(ends: &mut (UnixStream, UnixStream), count: u32) -> f64 {
    let start = now_ns();
    for _ in 0..count {
        ends.0.write_all(&[1]).unwrap();
        ends.1.read_exact(&mut [0]).unwrap();
    }
    (now_ns() - start) as f64 / f64::from(2 * count)
}

/// The same for a call that moves nothing.
fn per_other_call(count: u32) -> f64 {
    let start = now_ns();
    for _ in 0..count {
        let _ = rustix::process::getppid();
    }
    (now_ns() - start) as f64 / f64::from(count)
}

#[test]
#[ignore = "prints what sampling costs: run it alone, with --release and --nocapture"]
fn what_sampling_costs() {
    const BATCHES: u32 = 350;
    /// So many fit into a ring.
    const PAIRS: u32 = 3_000;
    let mut ends = UnixStream::pair().unwrap();
    let mut line = |name: &str, sampler: Option<&mut CallSampler>| {
        let (mut calls, mut others, mut took_ns) = (Vec::new(), Vec::new(), 0);
        let (mut seen, mut lost, mut sampler) = (0_u32, 0, sampler);
        for _ in 0..BATCHES {
            calls.push(per_call(&mut ends, PAIRS));
            others.push(per_other_call(PAIRS));
            let Some(sampler) = sampler.as_mut() else { continue };
            let start = now_ns();
            lost += sampler.take(&mut |call| seen += u32::from(std::hint::black_box(call).is_whole)).lost;
            took_ns += now_ns() - start;
        }
        calls.sort_by(f64::total_cmp);
        others.sort_by(f64::total_cmp);
        let (call, other) = (calls[calls.len() / 2], others[others.len() / 2]);
        let taking = 100_000.0 * took_ns as f64 / 1e6 / f64::from(2 * seen.max(1));
        println!("{name}: {call:.0} ns a call, {other:.0} ns another; {seen} seen, {lost} lost");
        if seen > 0 {
            println!("{name}: {taking:.2} ms to take 100 000 records");
        }
    };
    line("not opened", None);
    let mut moments = vec![now_ns()];
    let Some(mut all) = sampler(None, None) else { return };
    moments.push(now_ns());
    line("disabled", Some(&mut all));
    moments.push(now_ns());
    all.enable();
    moments.push(now_ns());
    line("enabled", Some(&mut all));
    moments.push(now_ns());
    all.disable();
    moments.push(now_ns());
    drop(all);
    moments.push(now_ns());
    let took: Vec<_> = moments.windows(2).step_by(2).map(|pair| (pair[1] - pair[0]) / 1_000).collect();
    println!("open, enable, disable: {took:?} us; close: {} us", (moments[6] - moments[5]) / 1_000);
    let Some(mut own) = sampler(Some(&[own_thread()]), None) else { return };
    own.enable();
    line("enabled for this thread", Some(&mut own));
    drop(own);
    let Some(mut other) = sampler(Some(&[1]), None) else { return };
    other.enable();
    line("enabled for another thread", Some(&mut other));
    drop(other);
    line("closed", None);
}
