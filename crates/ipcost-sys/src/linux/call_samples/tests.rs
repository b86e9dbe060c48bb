use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::thread::gettid;

use super::*;

/// `None` where the kernel refuses; any other failure is one.
fn sampler(threads: Option<&[u32]>, without: Option<u32>) -> Option<CallSampler> {
    match CallSampler::open_without(threads, without) {
        Ok(sampler) => Some(sampler),
        Err(SampleError::Forbidden(_) | SampleError::Absent(_)) => None,
        Err(error) => panic!("{error}"),
    }
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
    let Some(mut sampler) = sampler(None, None) else { return };
    let (mut client, mut server) = UnixStream::pair().unwrap();
    sampler.enable();
    let (thread, end) = thread::scope(|scope| {
        let answering = scope.spawn(|| {
            for size in SIZES {
                // A stream may be read in pieces, but messages wait for their answers here.
                let mut bytes = vec![0; size];
                server.read_exact(&mut bytes).unwrap();
                server.write_all(&bytes[..1]).unwrap();
            }
            own_thread()
        });
        for size in SIZES {
            client.write_all(&vec![1; size]).unwrap();
            client.read_exact(&mut [0]).unwrap();
        }
        answering.join().map(|thread| (thread, now_ns())).unwrap()
    });
    sampler.disable();
    let (found, taken) = taken(&mut sampler);
    assert_eq!(taken, Taken::default());
    let (sent, served) = (on(&found, &client), on(&found, &server));
    for (calls, thread) in [(&sent, own_thread()), (&served, thread)] {
        assert_eq!(calls.len(), 2 * SIZES.len(), "{calls:?}");
        assert!(calls.iter().all(|call| call.thread == thread && call.is_whole), "{calls:?}");
        assert!(calls.iter().all(|call| call.began_ns <= call.ended_ns && call.ended_ns <= end), "{calls:?}");
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

#[test]
fn a_call_that_waits_is_complete_when_it_ends() {
    const WAIT: Duration = Duration::from_millis(50);
    let (mut client, mut server) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel();
        let reader = scope.spawn(move || {
            tell.send(own_thread()).unwrap();
            wait.recv().unwrap();
            server.read_exact(&mut [0]).unwrap();
            server
        });
        let thread = told.recv().unwrap();
        let Some(mut sampler) = sampler(Some(&[thread]), None) else {
            go.send(()).unwrap();
            return client.write_all(&[1]).unwrap();
        };
        sampler.enable();
        go.send(()).unwrap();
        // The kernel tells the number of the call that a thread waits in, and its first argument.
        let waits = format!("{} ", libc::SYS_read);
        let waits_in = || std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).unwrap();
        while !waits_in().starts_with(&waits) && !waits_in().starts_with(&format!("{} ", libc::SYS_recvfrom))
        {
            thread::yield_now();
        }
        thread::sleep(WAIT);
        assert_eq!(taken(&mut sampler).0, []);
        client.write_all(&[1]).unwrap();
        let server = reader.join().unwrap();
        sampler.disable();
        let (found, _) = taken(&mut sampler);
        let calls = on(&found, &server);
        assert_eq!(calls.len(), 1, "{found:?}");
        assert!(calls[0].is_whole && calls[0].result == 1, "{calls:?}");
        assert!(calls[0].ended_ns - calls[0].began_ns >= WAIT.as_nanos() as u64, "{calls:?}");
    });
}

#[test]
fn errors_are_negative_and_other_threads_are_left_out() {
    let Some(mut sampler) = sampler(Some(&[own_thread()]), None) else { return };
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
    let all = [cat.id(), own_thread()];
    for threads in [None, Some(&all[..])] {
        let Ok(mut sampler) = CallSampler::open(threads) else { break };
        sampler.enable();
        exchange(b"some bytes");
        // A thread that starts later is of this program, too.
        thread::spawn(|| UnixStream::pair().unwrap().0.write_all(&[1]).unwrap()).join().unwrap();
        sampler.disable();
        let (found, _) = taken(&mut sampler);
        let moved = |direction| {
            let of_cat = |call: &&MovedCall| call.process == cat.id() && call.direction == direction;
            found.iter().filter(of_cat).map(|call| call.result.max(0)).sum::<i64>()
        };
        assert_eq!(moved(CallDirection::Out), 10, "{found:?}");
        assert!(found.iter().all(|call| call.process != std::process::id()), "{found:?}");
    }
    drop(to);
    cat.wait().unwrap();
}

#[test]
fn a_ring_is_read_over_its_end_and_a_full_one_loses() {
    const FITS: usize = RING_BYTES / 512;
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
    exchange(20 * FITS);
    sampler.disable();
    assert!(taken(&mut sampler).1.lost > 0);
    assert_eq!(taken(&mut sampler), (Vec::new(), Taken::default()));
}
