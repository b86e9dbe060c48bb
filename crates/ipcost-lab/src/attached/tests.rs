use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ipcost_sys::observed::CallDirection;
use ipcost_sys::process::is_running;
use ipcost_sys::running::held_at;
use ipcost_testing::{missing, opened};

use super::*;
use crate::strace::{Object, TracedCall};

/// Who has this variable is a helper of a test: it traces the process of that number.
const HELPS: &str = "IPCOST_TEST_TRACES";
/// How a helper begins what it says.
const SAYS: &str = "the helper says: ";
/// What a traced program writes.
const SECRET: &str = "correct-horse-battery-staple";
const MESSAGES: usize = 20;
/// A program that talks to itself, once a line asks for it: over a socket to another thread, and over a pipe.
const TALKS: &str = "
import os, socket, sys, threading, time
a, b = socket.socketpair()
r, w = os.pipe()
secret = b'correct-horse-battery-staple'
print(a.fileno(), b.fileno(), r, w, flush=True)
def serve():
    for _ in range(20):
        b.recv(65536)
        b.send(b'x' * 10)
def talk():
    thread = threading.Thread(target=serve)
    thread.start()
    for _ in range(20):
        a.send(secret.ljust(100))
        a.recv(4096)
        os.write(w, secret[:7])
        os.read(r, 50)
        time.sleep(0.002)
    thread.join()
for line in sys.stdin:
    if line == 'talk\\n':
        talk()
    print('done', flush=True)
";

/// A program that runs until the test ends.
struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Both ends of the socket, and the ends of the pipe.
    descriptors: Vec<i32>,
}

impl Program {
    /// `None` where Python may be missing, and is.
    fn start() -> Option<Self> {
        let mut command = Command::new("python3");
        command.args(["-c", TALKS]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = opened("python3", command.spawn())?;
        let (input, output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut program = Self { child, input, output, descriptors: Vec::new() };
        let numbers = program.line();
        program.descriptors = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        Some(program)
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn does(&mut self, what: &str) {
        self.input.write_all(format!("{what}\n").as_bytes()).unwrap();
        assert_eq!(self.line(), "done");
    }

    /// Whether nothing traces it any more, within a while.
    fn is_free(&self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        while tracer(self.id()) != 0 {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tracer(process: u32) -> u32 {
    Status::of(process).unwrap().tracer
}

/// Whether a test cannot be made here: strace is missing, or may not trace.
fn is_refused<T>(result: &Result<T, AttachError>) -> bool {
    let Err(error @ (AttachError::NotInstalled | AttachError::Forbidden { .. })) = result else {
        return false;
    };
    missing("tracing", &error.to_string());
    true
}

fn never() -> Interrupt {
    Interrupt::never().unwrap()
}

#[test]
fn messages_are_counted_exactly_and_not_kept() {
    let Some(mut program) = Program::start() else { return };
    let process = program.id();
    let mut written = String::new();
    let traced = while_attached(&[process, std::process::id()], &never(), &mut |_, file| {
        program.does("talk");
        written = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        Ok(())
    });
    if is_refused(&traced) {
        return;
    }
    let traced = traced.unwrap();
    assert!(program.is_free());
    program.does("nothing");
    assert!(written.contains("sendto("), "{written}");
    for text in [written, format!("{traced:?}")] {
        assert!(!text.contains(&SECRET[..7]), "{text}");
    }
    assert_eq!(traced.attached, BTreeSet::from([process]));
    // Both threads belong to it.
    assert_eq!(traced.by_process.keys().collect::<Vec<_>>(), [&process]);
    let tally = traced.by_process[&process].calls();
    let sent = &tally[&TracedCall { name: "sendto".to_owned(), on: Some(Object::Socket) }];
    assert_eq!((sent.count, sent.moved), (2 * MESSAGES as u64, (100 + 10) * MESSAGES as u64));
    // The table of calls is empty on other architectures.
    if traced.calls.is_empty() {
        return;
    }
    let [a, b, r, w] = program.descriptors[..] else { panic!("{:?}", program.descriptors) };
    let (out, into) = (CallDirection::Out, CallDirection::In);
    let expected = [
        (a, out, "sendto", 100, 100),
        (a, into, "recvfrom", 4_096, 10),
        (b, into, "recvfrom", 65_536, 100),
        (b, out, "sendto", 10, 10),
        (w, out, "write", 7, 7),
        (r, into, "read", 50, 7),
    ];
    for (descriptor, direction, name, asked, moved) in expected {
        let on = |call: &&MovedCall| (call.descriptor, call.direction) == (descriptor, direction);
        let calls: Vec<&MovedCall> = traced.calls.iter().filter(on).collect();
        assert_eq!(calls.len(), MESSAGES, "{name} on {descriptor}: {calls:?}");
        for call in calls {
            assert_eq!((call.process, call.call, call.asked, call.result), (process, name, asked, moved));
            assert!(call.is_whole && call.began_ns <= call.ended_ns, "{call:?}");
            let number = |held: &Held| match held {
                Held::Socket(inode) => u64::from(*inode),
                Held::Pipe { inode, .. } => *inode,
            };
            let target = traced.target(call).map(number);
            assert_eq!(target, held_at(process, descriptor).as_ref().map(number), "{call:?}");
        }
    }
    assert!(traced.calls.is_sorted_by_key(|call| call.ended_ns));
}

#[test]
fn it_lasts_as_long_as_asked_and_ends_with_the_program() {
    let Some(mut program) = Program::start() else { return };
    let asked = Duration::from_millis(50);
    let traced = attached(&[program.id()], asked, &never());
    if is_refused(&traced) {
        return;
    }
    assert!(traced.unwrap().lasted >= asked);
    assert!(program.is_free());
    program.does("talk");
    let traced = while_attached(&[program.id()], &never(), &mut |tracer, _| {
        program.child.kill().unwrap();
        program.child.wait().unwrap();
        while !tracer.has_ended()? {
            std::thread::sleep(LOOK);
        }
        Ok(())
    });
    assert!(traced.is_ok(), "{traced:?}");
    assert!(
        matches!(attached(&[program.id()], asked, &never()), Err(AttachError::Gone(id)) if id == program.id())
    );
}

#[test]
fn what_cannot_be_traced_is_told() {
    let asked = Duration::from_millis(1);
    let own = std::process::id();
    assert!(matches!(attached(&[own, 0], asked, &never()), Err(AttachError::NoProcess)));
    let Some(program) = Program::start() else { return };
    let mut second = None;
    let first = while_attached(&[program.id()], &never(), &mut |_, _| {
        second = Some(attached(&[program.id()], asked, &never()));
        Ok(())
    });
    if is_refused(&first) {
        return;
    }
    let first = first.unwrap();
    assert!(matches!(second, Some(Err(AttachError::AlreadyTraced { .. }))), "{second:?}");
    assert!(first.attached.contains(&program.id()));
    assert!(program.is_free());
}

#[test]
fn reasons_say_what_helps() {
    let other = forbidden(Some(1000), 0, Some(1));
    assert_eq!(other, "it belongs to another user; run as root");
    let scope = forbidden(Some(1000), 1000, Some(1));
    assert_eq!(scope, "kernel.yama.ptrace_scope is 1; run as root, or set it to 0");
    assert!(forbidden(Some(0), 0, Some(3)).contains("ptrace_scope is 3"));
    assert!(forbidden(Some(0), 0, None).contains("SYS_PTRACE"));
    assert!(forbidden(Some(1000), 1000, Some(0)).contains("keeps itself"));
}

/// Not a test by itself: what the tests below start as a process of its own.
#[test]
fn helper() {
    let Some(process) = std::env::var(HELPS).ok().and_then(|process| process.parse().ok()) else { return };
    // Long enough to be killed meanwhile.
    for _ in 0..60 {
        if let Err(error) = attached(&[process], MOST, &never()) {
            println!("\n{SAYS}{error}");
            return;
        }
    }
}

/// The command of a helper, after the words that start it as another user.
fn helping(words: &[&str], own: &Path, process: u32) -> Command {
    let own = own.to_string_lossy();
    let words = [words, &[&own, "--exact", "attached::tests::helper", "--nocapture"]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env(HELPS, process.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

#[test]
fn a_program_goes_on_when_its_observer_is_killed() {
    let Some(mut program) = Program::start() else { return };
    // What is killed leaves its file behind.
    let scratch = tempfile::tempdir().unwrap();
    let mut helper = helping(&[], &std::env::current_exe().unwrap(), program.id())
        .env("TMPDIR", scratch.path())
        .spawn()
        .unwrap();
    let strace = loop {
        match tracer(program.id()) {
            0 if helper.try_wait().unwrap().is_some() => {
                return missing("tracing", "the helper may not trace");
            }
            0 => std::thread::sleep(LOOK),
            tracer => break tracer,
        }
    };
    helper.kill().unwrap();
    helper.wait().unwrap();
    assert!(program.is_free());
    let deadline = Instant::now() + Duration::from_secs(30);
    while is_running(strace) {
        assert!(Instant::now() < deadline, "strace still runs");
        std::thread::sleep(LOOK);
    }
    program.does("talk");
    assert_eq!(tracer(program.id()), 0);
}

#[test]
fn another_users_program_is_refused() {
    const OTHER: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let Some(mut program) = Program::start() else { return };
    if std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) != 0 {
        return missing("root", "only root becomes another user");
    }
    // This program, where every user may start it.
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let copy = dir.path().join("helper");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    let output = helping(&OTHER, &copy, program.id()).current_dir("/").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.lines().find_map(|line| line.strip_prefix(SAYS));
    let expected =
        format!("this user may not trace process {}: it belongs to another user; run as root", program.id());
    assert_eq!(said, Some(&*expected));
    assert!(program.is_free());
    program.does("talk");
}
