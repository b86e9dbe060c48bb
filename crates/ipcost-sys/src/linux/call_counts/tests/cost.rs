use super::*;

/// How long a call takes when little disturbs it, nanoseconds: the lowest tenth of many batches.
fn per_call(calls: u32, batch: &mut dyn FnMut()) -> f64 {
    const BATCHES: u32 = 200;
    let mut took: Vec<u64> = (0..BATCHES)
        .map(|_| {
            let start = now_ns();
            batch();
            now_ns() - start
        })
        .collect();
    took.sort_unstable();
    took[took.len() / 10] as f64 / f64::from(calls)
}

#[test]
#[ignore = "prints what counting costs: run it alone, with --release and --nocapture"]
fn what_counting_costs() {
    const CALLS: u32 = 5_000;
    const ROUNDS: u32 = 5;
    let (one, other) = UnixStream::pair().unwrap();
    let mut moving = || {
        for _ in 0..CALLS / 2 {
            (&one).write_all(&[1]).unwrap();
            (&other).read_exact(&mut [0]).unwrap();
        }
    };
    let mut unrelated = || {
        for _ in 0..CALLS {
            let _ = rustix::process::getppid();
        }
    };
    let mut zero = || {
        for _ in 0..CALLS {
            rustix::thread::sched_yield();
        }
    };
    pin(processors()[0]);
    for _ in 0..ROUNDS {
        for name in ["not opened", "opened"] {
            let opened = name == "opened";
            let start = now_ns();
            let kept = if opened { counter(MOST_COUNTED) } else { None };
            let open_ms = (now_ns() - start) as f64 / 1e6;
            let [moving, unrelated, zero] = [&mut moving as &mut dyn FnMut(), &mut unrelated, &mut zero]
                .map(|batch| per_call(CALLS, batch));
            println!(
                "{name}: {moving:.0} ns a moving call, {unrelated:.0} getppid, {zero:.0} sched_yield; opening {open_ms:.1} ms"
            );
            drop(kept);
        }
    }
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit }).unwrap();
    for count in [0, 1_000, 10_000] {
        let Some(mut counter) = counter(MOST_COUNTED) else { return };
        let pairs: Vec<_> = (0..count / 2).map(|_| UnixStream::pair().unwrap()).collect();
        for (one, other) in &pairs {
            (&*one).write_all(&[1]).unwrap();
            (&*other).read_exact(&mut [0]).unwrap();
        }
        let us = per_call(1, &mut || drop(counter.read().unwrap())) / 1e3;
        println!("reading {count} entries: {us:.0} us");
    }
}
