//! The calls that move data in a trace of attached processes, with what their descriptors are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ipcost_sys::call_samples::{error_number, of_name};
use ipcost_sys::observed::{CallDirection, Held, MovedCall};

use super::Traced;
use crate::strace::{Parts, TraceLine, TraceSummary, each_line};

/// The calls that start a thread or a process, whose number they return.
const STARTS: [&str; 4] = ["clone", "clone3", "fork", "vfork"];
/// What strace names a call that the kernel makes again for a program, since attaching has interrupted it.
const AGAIN: &str = "restart_syscall";

/// What is known of a trace besides its text.
#[derive(Debug)]
pub struct TraceContext {
    /// The threads that were there, each with its process.
    pub threads: BTreeMap<u32, u32>,
    /// Those that were there at the begin: what they did then had begun earlier.
    pub attached: BTreeSet<u32>,
    /// By how much the wall clock was ahead of the monotonic one, nanoseconds.
    pub ahead_ns: u64,
}

/// Reads a trace. `process_of` is asked for the process of a thread that runs.
pub fn read(trace: &str, mut known: TraceContext, process_of: &dyn Fn(u32) -> Option<u32>) -> Traced {
    let mut lines: Vec<(u32, TraceLine<'_>)> = Vec::new();
    // Threads and processes that were started meanwhile, each with its starter, if it is a thread of the same process.
    let mut started: HashMap<u32, Option<u32>> = HashMap::new();
    each_line(trace, &mut |line| {
        let Ok(thread) = line.thread.parse() else { return };
        if let Some(parts) = line.parts().filter(|parts| STARTS.contains(&parts.name))
            && let Some(child) = parts.value().and_then(|value| u32::try_from(value).ok())
        {
            started.insert(child, parts.arguments.contains("CLONE_THREAD").then_some(thread));
        }
        lines.push((thread, line));
    });
    let mut traced = Traced::default();
    for (thread, line) in &lines {
        let process = process(*thread, &mut known.threads, &started, process_of);
        traced.by_process.entry(process).or_default().add(line);
        let is_whole = !known.attached.remove(thread);
        let Some(parts) = line.parts() else { continue };
        if let Some(call) = call(line, &parts, (process, *thread), known.ahead_ns) {
            traced.take(MovedCall { is_whole: call.is_whole && is_whole, ..call }, &parts);
        }
    }
    traced.by_process.values_mut().for_each(TraceSummary::end);
    traced.calls.sort_by_key(|call| call.ended_ns);
    traced.targets.values_mut().for_each(|held| held.sort_by_key(|(from_ns, _)| *from_ns));
    traced
}

/// The process of a thread: known, or still there, or as its starter's call says; at last that of its own number.
fn process(
    thread: u32,
    threads: &mut BTreeMap<u32, u32>,
    started: &HashMap<u32, Option<u32>>,
    process_of: &dyn Fn(u32) -> Option<u32>,
) -> u32 {
    if let Some(process) = threads.get(&thread) {
        return *process;
    }
    // Threads that have started each other and ended are a chain, which no trace makes a ring.
    let mut first = thread;
    let mut found = process_of(first);
    for _ in 0..started.len() {
        let Some(Some(starter)) = started.get(&first).filter(|_| found.is_none()) else { break };
        first = *starter;
        found = threads.get(&first).copied().or_else(|| process_of(first));
    }
    let process = found.unwrap_or(first);
    threads.insert(thread, process);
    process
}

/// The call of a line; `None` if it moves no data and does not wait for any, or has not ended.
fn call(
    line: &TraceLine<'_>,
    parts: &Parts<'_>,
    (process, thread): (u32, u32),
    ahead_ns: u64,
) -> Option<MovedCall> {
    let resumed = || parts.arguments.split_once("resuming interrupted ")?.1.split(' ').next();
    let again = (parts.name == AGAIN).then(resumed).flatten();
    let known = of_name(again.unwrap_or(parts.name))?;
    let descriptor = known.descriptor.filter(|_| again.is_none()).and_then(|place| number(parts, place));
    let asked = known.asked.filter(|_| again.is_none()).and_then(|place| parts.argument(place)?.parse().ok());
    let result = match parts.value() {
        Some(value @ 0..) => value,
        _ => -i64::from(error_number(parts.error()?)?),
    };
    Some(MovedCall {
        process,
        thread,
        call: known.name,
        descriptor: descriptor.unwrap_or(-1),
        direction: known.direction,
        asked: asked.unwrap_or(0),
        result,
        began_ns: line.began_ns?.saturating_sub(ahead_ns),
        ended_ns: line.ended_ns()?.saturating_sub(ahead_ns),
        is_whole: again.is_none(),
    })
}

/// The number of a descriptor.
fn number(parts: &Parts<'_>, place: usize) -> Option<i32> {
    parts.argument(place)?.split('<').next()?.parse().ok()
}

impl Traced {
    /// Takes a call, with what its descriptor is.
    fn take(&mut self, call: MovedCall, parts: &Parts<'_>) {
        let place = of_name(call.call).and_then(|known| known.descriptor);
        let held = place.and_then(|place| held(parts.argument(place)?, call.direction));
        if let Some(held) = held.filter(|_| call.descriptor >= 0) {
            let all = self.targets.entry((call.process, call.descriptor)).or_default();
            let is_known = all.last_mut().is_some_and(|(_, last)| merged(last, &held));
            if !is_known {
                all.push((call.ended_ns, held));
            }
        }
        self.calls.push(call);
    }
}

/// The socket or pipe of a descriptor, from what strace writes after its number.
fn held(descriptor: &str, direction: CallDirection) -> Option<Held> {
    let target = descriptor.split_once('<')?.1.strip_suffix('>')?;
    let (kind, rest) = target.split_once(":[")?;
    // Some versions write the other end's number, too.
    let number = rest.split(|other: char| !other.is_ascii_digit()).next()?;
    match kind {
        "pipe" => {
            let (writes, reads) = (direction == CallDirection::Out, direction == CallDirection::In);
            Some(Held::Pipe { inode: number.parse().ok()?, writes, reads, path: None })
        }
        _ if kind == "socket" || kind.starts_with("UNIX") => number.parse().ok().map(Held::Socket),
        _ => None,
    }
}

/// Whether both are the same; then the first has what the second tells, too.
fn merged(first: &mut Held, second: &Held) -> bool {
    match (first, second) {
        (
            Held::Pipe { inode, writes, reads, .. },
            Held::Pipe { inode: other, writes: other_writes, reads: other_reads, .. },
        ) if inode == other => {
            *writes |= other_writes;
            *reads |= other_reads;
            true
        }
        (first, second) => first == second,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second, as strace writes it and in nanoseconds.
    const SECOND: (&str, u64) = ("1700000000", 1_700_000_000_000_000_000);

    fn read_lines(lines: &[&str]) -> Traced {
        let line = |line: &&str| {
            let (thread, rest) = line.split_once(' ').unwrap();
            format!("{thread} {}.{rest}\n", SECOND.0)
        };
        let known = TraceContext {
            threads: BTreeMap::from([(10, 10), (11, 10)]),
            attached: BTreeSet::from([10, 11]),
            ahead_ns: SECOND.1 - 5,
        };
        read(&lines.iter().map(line).collect::<String>(), known, &|thread| (thread == 40).then_some(39))
    }

    #[test]
    #[cfg_attr(not(target_arch = "x86_64"), ignore = "the table of calls is empty there")]
    fn calls_have_times_descriptors_and_what_these_are() {
        let traced = read_lines(&[
            "10 000001 restart_syscall(<... resuming interrupted poll ...>) = 1 <0.000001>",
            "10 000002 write(4<pipe:[7]>, \"\"..., 9) = 3 <0.000002>",
            "10 000003 read(4<pipe:[7]>,  <unfinished ...>",
            "11 000004 futex(0x7f, FUTEX_WAKE_PRIVATE, 1) = 1 <0.000009>",
            "11 000005 splice(3<pipe:[7]>, NULL, 5<socket:[8]>, NULL, 100, 0) = -1 EAGAIN (Resource) <0.000001>",
            "10 000020 <... read resumed>\"\"..., 64) = 64 <0.000010>",
            "10 000021 recvfrom(5<UNIX-STREAM:[9->10]>, 0x7f, 8, 0, NULL, NULL) = ? ERESTARTSYS (To be restarted) <0.1>",
            "10 000022 read(6</etc/hosts>,  <detached ...>",
        ]);
        let of = |call: &MovedCall| (call.call, call.descriptor, call.asked, call.result, call.is_whole);
        let found: Vec<_> = traced.calls.iter().map(of).collect();
        let expected = [
            ("poll", -1, 0, 1, false),
            ("write", 4, 9, 3, true),
            ("splice", 5, 100, -11, true),
            ("read", 4, 64, 64, true),
            ("recvfrom", 5, 8, -512, true),
        ];
        assert_eq!(found, expected);
        let read = &traced.calls[3];
        assert_eq!((read.began_ns, read.ended_ns), (3_005, 13_005));
        let pipe = Held::Pipe { inode: 7, writes: true, reads: true, path: None };
        assert_eq!(traced.target(read), Some(&pipe));
        assert_eq!(traced.target(&traced.calls[0]), None);
        let sockets = [2, 4].map(|call| traced.target(&traced.calls[call]));
        assert_eq!(sockets, [Some(&Held::Socket(8)), Some(&Held::Socket(9))], "the number was used again");
        assert_eq!(traced.by_process[&10].threads.keys().collect::<Vec<_>>(), ["10", "11"]);
    }

    #[test]
    fn threads_that_came_and_went_belong_to_their_process() {
        let traced = read_lines(&[
            "30 000001 getppid() = 1 <0.000001>",
            "10 000002 clone3({flags=CLONE_VM|CLONE_THREAD|CLONE_SYSVSEM}, 88) = 30 <0.000001>",
            "30 000003 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_THREAD, tls=0x7f) = 31 <0.000001>",
            "31 000004 getppid() = 1 <0.000001>",
            "31 000005 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 32 <0.000001>",
            "32 000006 getppid() = 1 <0.000001>",
            "40 000007 getppid() = 1 <0.000001>",
        ]);
        assert_eq!(traced.by_process.keys().collect::<Vec<_>>(), [&10, &32, &39]);
        assert_eq!(traced.by_process[&10].threads.len(), 3);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(text in "[ -~é\n]{0,200}", call in "[ -~é]{0,60}") {
            let _ = read_lines(&[&format!("10 1 {}", text.replace('\n', " ")), &format!("12 2 read({call}) = {call}")]);
            let known = TraceContext { threads: BTreeMap::new(), attached: BTreeSet::new(), ahead_ns: 0 };
            let _ = read(&text, known, &|_| None);
        }
    }
}
