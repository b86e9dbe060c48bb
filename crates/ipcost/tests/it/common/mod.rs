//! Running the binary as a user does, and seeing what it leaves behind.
pub mod private_server;
pub mod python;
pub mod scripted;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub use ipcost_testing::missing;

/// A place of its own for one test: a temporary directory for the program's sockets, one for the test's files,
/// and a mark in the environment by which every process that descends from it is known. It shares the machine with
/// other tests unless its test is ignored as `alone: …`, which says why.
pub struct Place {
    mark: String,
    pub tmp: TempDir,
    pub files: TempDir,
    /// Where its runs are saved, and no one else's.
    pub data: TempDir,
}

static COUNT: AtomicU32 = AtomicU32::new(0);
const MARK: &str = "IPCOST_TEST_MARK";
/// How long anything may take before a test gives up on it.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How often to look: that reads `/proc` of every process.
const POLL: Duration = Duration::from_millis(15);
/// As a timeout of the program: whatever ends sooner was not ended by it.
pub const NEVER: &str = "1h";

impl Place {
    pub fn new() -> Self {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{count}", std::process::id());
        Self {
            mark,
            tmp: TempDir::new().unwrap(),
            files: TempDir::new().unwrap(),
            data: TempDir::new().unwrap(),
        }
    }

    /// The program with these arguments and no others, as a user starts it but for its surroundings, which keep tests apart:
    ///
    /// - `TMPDIR` and the current directory are the test's own, so that [`Place::assert_clean`] knows what the program leaves.
    /// - `IPCOST_DATA_DIR` and `IPCOST_RUN_DIR` are, too: no test reads or writes the runs and journals of the user.
    /// - `IPCOST_IGNORE_OTHERS` neither waits for other runs of the program nor warns of them: tests measure side by side.
    /// - `IPCOST_TEST_MARK` means nothing to the program. Its processes inherit it, so that [`Place::processes`] finds them.
    /// - `NO_COLOR`: texts are compared without escapes. Pipes get none anyway.
    /// - `XDG_CACHE_HOME` is one for all tests, so that each peer is built once and not in the cache of the user.
    /// - `GOCACHE` is one even where that is not: Go's own library takes half a minute to build.
    /// - `GITHUB_ACTIONS` and `GITHUB_STEP_SUMMARY` are unset: on GitHub tests would annotate the change that they test.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ipcost"));
        command.args(args).env("TMPDIR", self.tmp.path()).current_dir(self.files.path());
        command.env("IPCOST_DATA_DIR", self.data.path()).env("IPCOST_RUN_DIR", self.data.path().join("run"));
        command.env("IPCOST_IGNORE_OTHERS", "1").env(MARK, &self.mark).env("NO_COLOR", "1");
        command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        command.env("GOCACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/go"));
        command.env_remove("GITHUB_ACTIONS").env_remove("GITHUB_STEP_SUMMARY");
        command
    }

    /// Runs to the end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs to the end where only one processor may be used.
    pub fn run_on_one_processor(&self, args: &[&str]) -> Output {
        on_one_processor(&self.command(args)).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs with `--json` and gives the document. Other tests run beside it, and others' machines beside this one: a peer may take its
    /// time.
    pub fn document(&self, args: &[&str]) -> Value {
        let file = self.file("document.json");
        let takes_timeout = args.first() == Some(&"run") && !args.contains(&"--timeout");
        let timeout: &[&str] = if takes_timeout { &["--timeout", "1min"] } else { &[] };
        let output = self.run(&[args, timeout, &["--json", file.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
    }

    /// Runs on a terminal, with this typed; all that it shows.
    pub fn on_a_terminal(&self, args: &[&str], typed: &str) -> String {
        let mut command = Command::new("script");
        let words = [&[env!("CARGO_BIN_EXE_ipcost")], args].concat().join(" ");
        command.args(["-qec", &words, "/dev/null"]).current_dir(self.files.path());
        for (name, value) in self.command(&[]).get_envs() {
            value.into_iter().for_each(|value| {
                command.env(name, value);
            });
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        text(&child.wait_with_output().unwrap().stdout)
    }

    /// Starts in the background.
    pub fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A program of a test's own. [`program_of_text`] says why it is not written like any other file.
    pub fn write_program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        program_of_text(&path, text);
        path
    }

    /// The processes that descend from this test, by number and command line; those that have ended but have
    /// not been waited for by their parent do not count.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let mark = format!("{MARK}={}", self.mark);
        let marked = |process: &u32| {
            let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
        };
        let command_line = |process: u32| {
            let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            (process, String::from_utf8_lossy(&words).replace('\0', " "))
        };
        let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers.filter(marked).map(command_line).filter(|(_, words)| !words.is_empty()).collect()
    }

    /// Waits until no process and no file of this test is left.
    pub fn assert_clean(&self) {
        let left = || {
            let files: Vec<_> =
                std::fs::read_dir(self.tmp.path()).unwrap().flatten().map(|entry| entry.path()).collect();
            (self.processes(), files)
        };
        let deadline = Instant::now() + PATIENCE;
        while left() != (vec![], vec![]) {
            assert!(Instant::now() < deadline, "left behind: {:?}", left());
            std::thread::sleep(POLL);
        }
    }

    /// As [`Place::assert_clean`], where helpers of Wine may stay for a while.
    pub fn assert_nothing_of_the_program_is_left(&self) {
        let left = || {
            let files: Vec<_> =
                std::fs::read_dir(self.tmp.path()).unwrap().flatten().map(|entry| entry.path()).collect();
            let own = |(_, words): &(u32, String)| words.contains("ipcost.exe");
            (self.processes().into_iter().filter(own).collect::<Vec<_>>(), files)
        };
        let deadline = Instant::now() + PATIENCE;
        while left() != (vec![], vec![]) {
            assert!(Instant::now() < deadline, "left behind: {:?}", left());
            std::thread::sleep(POLL);
        }
    }

    /// Waits until a condition holds.
    pub fn wait_until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition() {
            assert!(Instant::now() < deadline, "waited in vain until {what}");
            std::thread::sleep(POLL);
        }
    }

    /// Waits until peers are running: a measurement is on its way.
    pub fn wait_for_peers(&self, count: usize) {
        let peers =
            || self.processes().iter().filter(|(_, words)| words.trim_end().ends_with(" peer")).count();
        self.wait_until("peers run", || peers() >= count);
    }
}

/// What `/proc` tells of a process after its name, from the state on (`proc_pid_stat(5)`); `None` if it is gone.
pub fn stat_of(process: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(stat.rsplit(") ").next()?.split_whitespace().map(str::to_owned).collect())
}

/// Writes a program that every user may start. Another process writes it: were it open in this one, a process that another test starts
/// at that moment would have it open for writing too until it runs its own program, and this one could not be started ("text file
/// busy", see `execve(2)`).
pub fn program_of_text(path: &Path, text: &str) {
    let mut writer = Command::new("install");
    writer.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut writer = writer.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// A copy of the program itself, made by another process for the same reason as in [`program_of_text`].
pub fn copy_of_the_program(path: &Path) {
    let copy = Command::new("install").args(["-m", "755", env!("CARGO_BIN_EXE_ipcost")]).arg(path).status();
    assert!(copy.unwrap().success());
}

/// The same command where only one processor may be used, always the same one (`taskset(1)`).
pub fn on_one_processor(program: &Command) -> Command {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let first = allowed.trim().split([',', '-']).next().unwrap();
    started_by(&["taskset", "--cpu-list", first], program)
}

/// The same in a network namespace of its own, after a line of shell; `None` where that may not be done.
pub fn in_own_network(setup: &str, program: &Command) -> Option<Command> {
    let may = Command::new("unshare").args(["--net", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        missing("network-namespaces", "unshare --net fails");
        return None;
    }
    let script = format!("set -e; ip link set lo up; {setup}; exec \"$0\" \"$@\"");
    Some(started_by(&["unshare", "--net", "sh", "-c", &script], program))
}

/// A command with its surroundings, by another that starts it.
fn started_by(words: &[&str], program: &Command) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(dir) = program.get_current_dir() {
        command.current_dir(dir);
    }
    command
}

/// Sends a signal to one process.
pub fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits for a process to end, within limits.
pub fn wait(mut child: Child) -> Output {
    // Read meanwhile: what fills a pipe does not end.
    let (stdout, stderr) = (collected(child.stdout.take()), collected(child.stderr.take()));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("it does not end");
        }
        std::thread::sleep(POLL);
    };
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// Everything that comes out of a pipe, if there is one.
fn collected(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes)).transpose().unwrap();
        bytes
    })
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts that a command is refused: status 2, one line that says all of `parts`, nothing on standard output.
#[track_caller]
pub fn assert_refused(output: &Output, parts: &[&str]) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(text(&output.stdout), "", "nothing is shown");
    let first = error.lines().next().unwrap_or_default();
    assert!(first.starts_with("error: "), "{error}");
    let more = error.lines().skip(1).filter(|line| !line.starts_with("  its standard error: ")).count();
    assert_eq!(more, 0, "one line, then only what a peer said: {error}");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}

/// Asserts that a value is as the schema says that the program prints.
#[track_caller]
pub fn assert_schema(of: &str, value: &Value) {
    let output = Place::new().run(&["schema", of]);
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// The answer of a document.
pub fn answer(json: &[u8]) -> Value {
    let document: Value = serde_json::from_slice(json).unwrap();
    assert_schema("document", &document);
    document["answer"].clone()
}

/// Runs a test again, by its whole name, in a process of its own; whether this already is that process.
pub fn in_own_process(name: &str) -> bool {
    const INSIDE: &str = "IPCOST_TEST_ON_ITS_OWN";
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut own = Command::new(std::env::current_exe().unwrap());
    let output = own.args(["--exact", name, "--nocapture"]).env(INSIDE, "1").output().unwrap();
    let told = text(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}{}", text(&output.stderr));
    false
}

/// Holds off the processes of all other tests that ask for the same, until it is dropped: what all of them use is made once.
pub fn one_by_one(what: &str) -> std::fs::File {
    let lock = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{what}.lock"));
    let lock = std::fs::File::create(lock).unwrap();
    lock.lock().unwrap();
    lock
}

pub fn argument(path: &Path) -> &str {
    path.to_str().unwrap()
}
