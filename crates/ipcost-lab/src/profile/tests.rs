use super::*;
use ipcost_testing::missing;

/// Announces itself and waits.
const IDLE: &str = "echo ready; read -r _";
/// Announces itself, works when told, says so, and waits.
const BUSY: &str = "\
    echo ready; read -r _; i=0; \
    while [ $i -lt 20000 ]; do i=$((i+1)); read -r _ < /proc/self/stat; done; \
    echo done; read -r _";

fn shell(script: &str) -> PeerProcess {
    let command = ["sh", "-c", script].map(str::to_owned);
    PeerProcess::spawn(Spawn { command: &command, ..Spawn::default() }).unwrap()
}

/// A shell that has announced itself.
fn ready(script: &str, interrupt: &Interrupt) -> PeerProcess {
    let mut process = shell(script);
    assert_eq!(next_line(&mut process, interrupt), "ready");
    process
}

fn next_line(process: &mut PeerProcess, interrupt: &Interrupt) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match process.hear().unwrap() {
            Heard::Line(line) => return String::from_utf8(line).unwrap(),
            Heard::Nothing => {
                let wake = wait_any(std::iter::once(&*process), interrupt, deadline).unwrap();
                assert!(matches!(wake, Wake::Heard), "{wake:?}");
            }
            other => panic!("{other:?}: {}", process.complaint()),
        }
    }
}

fn go(process: &mut PeerProcess) {
    process.send(b"go\n", Instant::now() + Duration::from_secs(10)).unwrap();
}

/// Whether this machine has `perf`, and so a shell; fails unless it may be missing.
fn perf_is_here() -> bool {
    let here = is_there();
    if !here {
        missing("linux-perf", &ProfileError::NotInstalled.to_string());
    }
    here
}

/// Starts to profile; `None` if the kernel forbids it and that is allowed.
fn started(groups: &[u32], interrupt: &Interrupt) -> Option<Profiler> {
    match Profiler::start(groups, interrupt) {
        Ok(profiler) => Some(profiler),
        Err(error @ ProfileError::Forbidden(_)) => {
            missing("sampling", &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_busy_side_is_sampled_and_an_idle_one_is_not() {
    if !perf_is_here() {
        return;
    }
    let interrupt = Interrupt::never().unwrap();
    let (mut busy, idle) = (ready(BUSY, &interrupt), ready(IDLE, &interrupt));
    let Some(profiler) = started(&[busy.id(), idle.id()], &interrupt) else { return };
    go(&mut busy);
    assert_eq!(next_line(&mut busy, &interrupt), "done");
    let stacks = profiler.finish().unwrap();
    let [busy, idle] = stacks.as_slice() else { panic!("{stacks:?}") };
    assert!(busy.samples > 0, "{stacks:?}");
    assert!(busy.samples > idle.samples, "{stacks:?}");
    assert!(busy.weights.keys().all(|stack| stack.starts_with("sh;")), "{stacks:?}");
    assert!(busy.weights.keys().any(|stack| stack.contains(crate::stacks::KERNEL)), "{stacks:?}");
}

/// As two recorders leave it while eBPF programs come and go.
#[test]
fn a_record_with_an_end_that_perf_cannot_read_is_passed_over() {
    if !perf_is_here() {
        return;
    }
    let interrupt = Interrupt::never().unwrap();
    let mut busy = ready(BUSY, &interrupt);
    let Some(mut profiler) = started(&[busy.id()], &interrupt) else { return };
    go(&mut busy);
    assert_eq!(next_line(&mut busy, &interrupt), "done");
    profiler.recorders.iter_mut().for_each(Recorder::request_stop);
    let recorded = profiler.recorders.drain(..).map(Recorder::end).collect::<Result<Vec<_>, _>>().unwrap();
    let (whole, data) = (recorded[0].stacks(Some(&[busy.id()])).unwrap(), &recorded[0].data);
    // Where another process has mapped a file, `PERF_RECORD_MMAP2`.
    let mut bytes = fs::read(data).unwrap();
    let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (mut at, end) = (number(40), number(40) + number(48));
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let length = |at: usize| usize::from(u16::from_ne_bytes(bytes[at + 6..at + 8].try_into().unwrap()));
    while at < end && (word(at) != 10 || word(at + 8) == busy.id()) {
        at += length(at);
    }
    assert!(at < end, "it records all processors, and so all processes");
    let (tail, length) = (at + length(at) - 32, 32);
    bytes[at] = 17;
    bytes[tail..tail + length].fill(0xaa);
    open_in_place(data).unwrap().write_all(&bytes).unwrap();
    let error = recorded[0].stacks(Some(&[busy.id()])).unwrap_err().to_string();
    assert!(error.contains("failed to process type: 17"), "{error}");
    without_programs(data).unwrap();
    assert_eq!(recorded[0].stacks(Some(&[busy.id()])).unwrap(), whole);
}

#[test]
fn no_samples_are_an_error_and_nothing_stays() {
    if !perf_is_here() {
        return;
    }
    let interrupt = Interrupt::never().unwrap();
    let idle = ready(IDLE, &interrupt);
    let Some(profiler) = started(&[idle.id()], &interrupt) else { return };
    let perf = profiler.recorders[0].perf.process.id();
    let scratch = profiler._scratch.path().to_owned();
    match profiler.finish() {
        Err(ProfileError::NoSamples) => {}
        // It may still have been on its way to wait.
        Ok(stacks) => assert!(stacks[0].samples > 0, "{stacks:?}"),
        Err(error) => panic!("{error}"),
    }
    assert!(processes(perf).is_empty());
    assert!(!scratch.exists());
}

#[test]
fn a_dropped_profiler_leaves_nothing() {
    if !perf_is_here() {
        return;
    }
    let interrupt = Interrupt::never().unwrap();
    let idle = ready(IDLE, &interrupt);
    let Some(profiler) = started(&[idle.id()], &interrupt) else { return };
    let perf = profiler.recorders[0].perf.process.id();
    assert_eq!(processes(perf), [perf]);
    let scratch = profiler._scratch.path().to_owned();
    drop(profiler);
    assert!(processes(perf).is_empty());
    assert!(!scratch.exists());
}

#[test]
fn a_side_that_ends_meanwhile_keeps_its_samples() {
    if !perf_is_here() {
        return;
    }
    let interrupt = Interrupt::never().unwrap();
    let mut busy = ready(BUSY, &interrupt);
    let Some(profiler) = started(&[busy.id()], &interrupt) else { return };
    go(&mut busy);
    assert_eq!(next_line(&mut busy, &interrupt), "done");
    drop(busy);
    assert!(profiler.finish().unwrap()[0].samples > 0);
}

#[test]
fn a_group_without_processes_is_an_error() {
    if !perf_is_here() {
        return;
    }
    let interrupt = Interrupt::never().unwrap();
    let mut gone = shell("exit");
    gone.finish(Instant::now() + Duration::from_secs(10));
    match Profiler::start(&[gone.id()], &interrupt) {
        Err(ProfileError::NoProcess(group)) => assert_eq!(group, gone.id()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_says_what_perf_says_in_one_line() {
    if !perf_is_here() {
        return;
    }
    let interrupt = Interrupt::never().unwrap();
    let script = Perf::start("script", &["--input", "/does/not/exist"], &interrupt).unwrap();
    let error = script.for_each_line(SCRIPT, |_| {}).unwrap_err().to_string();
    assert!(
        error.starts_with("perf script failed (exit status: ") && error.contains("/does/not/exist"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1);
}

#[test]
fn a_silent_perf_is_not_waited_for() {
    if !perf_is_here() {
        return;
    }
    let never = Interrupt::never().unwrap();
    let idle = ready(IDLE, &never);
    let Some(mut profiler) = started(&[idle.id()], &never) else { return };
    let error = profiler.recorders[0].perf.line(Instant::now()).unwrap_err();
    assert!(matches!(error, ProfileError::Stuck { step: "record" }), "{error}");
}

#[test]
fn refusals_name_the_value_that_is_needed() {
    let text = |paranoid| ProfileError::Forbidden(paranoid).to_string();
    assert!(text(Some(3)).ends_with("set kernel.perf_event_paranoid to 1 or less (it is 3)"));
    for open in [Some(1), Some(-1), None] {
        assert!(text(open).contains("PERFMON"), "{}", text(open));
    }
}
