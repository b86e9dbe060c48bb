//! What the system may do to a run: no room, no permission, no descriptors, clocks that step, terminals that go, a machine
//! that stands still. The result is shown and saved wherever that is possible, and an error says what to do where not.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Place, argument, copy_of_the_program, missing, signal, text, wait};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_ipcost");
const RUN: [&str; 9] =
    ["run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "3"];

/// Runs a script in a mount namespace of its own, with this test's places; `None` where that may not be done.
fn in_mounts(place: &Place, script: &str) -> Option<Output> {
    let allowed = Command::new("unshare").args(["--mount", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        missing("mount-namespaces", "unshare --mount fails");
        return None;
    }
    Some(prepared(place, Command::new("unshare")).args(["--mount", "sh", "-c", script]).output().unwrap())
}

/// A shell that does something to the program it starts.
fn shell(place: &Place, script: &str) -> Output {
    prepared(place, Command::new("sh")).args(["-c", script]).output().unwrap()
}

/// The environment of [`Place::command`] for another program.
fn prepared(place: &Place, mut command: Command) -> Command {
    for (name, value) in place.command(&[]).get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null()).current_dir(place.files.path());
    command
}

fn data(place: &Place) -> std::path::Display<'_> {
    place.data.path().display()
}

#[track_caller]
fn assert_shown(output: &Output) -> String {
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(text(&output.stdout).contains("64 B round trip"), "{told}");
    told
}

#[test]
fn a_disk_that_fills_up_while_it_measures() {
    let place = Place::new();
    // Room for the plan and an epoch or two, and for nothing at the end.
    let script = format!(
        "mount -t tmpfs -o size=32k tmpfs {0} && {PROGRAM} run --transports null,unix,tcp --patterns rr --epochs 40 && ls {0}/runs",
        data(&place)
    );
    let Some(output) = in_mounts(&place, &script) else { return };
    let told = assert_shown(&output);
    assert!(told.contains("cannot write") && told.contains("No space left"), "{told}");
    assert!(told.contains("the run goes on") && told.contains("could not be saved"), "{told}");
    // LatencyKind once, not with every epoch.
    assert_eq!(told.matches("the run goes on").count(), 1, "{told}");
    place.assert_clean();
}

#[test]
fn a_full_device_for_an_output_fails_and_loses_nothing() {
    let place = Place::new();
    let output = place.run(&[&RUN[..], &["--json", "/dev/full"]].concat());
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("cannot write /dev/full: No space left"), "{told}");
    assert!(text(&output.stdout).contains("64 B round trip"), "shown all the same");
    assert!(place.run(&["show"]).status.success(), "and saved");
    let output = shell(&place, &format!("{PROGRAM} {} > /dev/full", RUN.join(" ")));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write to standard output: No space left"));
    assert_eq!(text(&place.run(&["list", "--json"]).stdout).matches("\"id\"").count(), 2);
}

#[test]
fn a_home_that_can_only_be_read() {
    let place = Place::new();
    let script = format!(
        "mount -t tmpfs -o ro tmpfs {0} && unset IPCOST_DATA_DIR XDG_DATA_HOME && HOME={0} {PROGRAM} {1}",
        data(&place),
        RUN.join(" ")
    );
    let Some(output) = in_mounts(&place, &script) else { return };
    let told = assert_shown(&output);
    assert!(told.contains("samples are not kept") && told.contains("could not be saved"), "{told}");
    assert!(told.contains("Read-only file system") && told.contains("--json FILE"), "{told}");
}

#[test]
fn a_directory_of_data_that_may_not_be_written() {
    let place = Place::new();
    if !Command::new("setpriv").args(["--reuid=65534", "true"]).status().is_ok_and(|status| status.success())
    {
        // This user is not root, so that modes hold for it.
        std::fs::set_permissions(place.data.path(), PermissionsExt::from_mode(0o500)).unwrap();
        let told = assert_shown(&place.run(&RUN));
        assert!(told.contains("could not be saved") && told.contains("Permission denied"), "{told}");
        std::fs::set_permissions(place.data.path(), PermissionsExt::from_mode(0o700)).unwrap();
        return;
    }
    // Root may write anywhere; no one may not. No one has to reach the program, too.
    let program = place.file("ipcost");
    copy_of_the_program(&program);
    for dir in [place.tmp.path(), place.files.path()] {
        chown(dir, Some(65_534), Some(65_534)).unwrap();
    }
    std::fs::set_permissions(place.data.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = prepared(&place, Command::new("setpriv"));
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", argument(&program)]).args(RUN);
    let told = assert_shown(&command.output().unwrap());
    assert!(told.contains("samples are not kept") && told.contains("could not be saved"), "{told}");
    assert!(told.contains("Permission denied"), "{told}");
    place.assert_clean();
}

#[test]
fn descriptors_that_run_out() {
    let place = Place::new();
    // Too few for the job: refused before anything starts, with the limit and the remedy.
    let few = shell(&place, &format!("ulimit -n 48 && {PROGRAM} {}", RUN.join(" ")));
    let told = text(&few.stderr);
    assert_eq!(few.status.code(), Some(2), "{told}");
    assert!(told.contains("descriptors") && told.contains("ulimit -n"), "{told}");
    // Taken away in the middle: the run fails with the remedy, and keeps what was complete.
    let child = place.start(&[
        "run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "100000",
    ]);
    wait_for_epochs(&place, 2);
    let limit = format!("--pid={}", child.id());
    let taken = Command::new("prlimit").args([limit.as_str(), "--nofile=12:12"]).status();
    assert!(taken.unwrap().success());
    let output = wait(child);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("Too many open files") && told.contains("raise ulimit -n"), "{told}");
    assert!(text(&output.stdout).contains("64 B round trip"), "{told}");
    place.assert_clean();
}

/// Waits until a run's samples file has so many epochs.
fn wait_for_epochs(place: &Place, count: usize) {
    let lines = |path: &Path| std::fs::read(path).unwrap_or_default().iter().filter(|b| **b == b'\n').count();
    place.wait_until("epochs are complete", || {
        let entries = std::fs::read_dir(place.data.path().join("runs")).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| lines(&entry.path()) >= count + 2)
    });
}

/// Every reading of the wall clock is an hour off, now ahead and now behind; no other clock is.
const STEPPING_CLOCK: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static long sign = 1;
    long result = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) {
        now->tv_sec += sign * 3600;
        sign = -sign;
    }
    return (int)result;
}
"#;

#[test]
fn a_wall_clock_that_steps_to_and_fro() {
    let place = Place::new();
    let (source, library) = (place.write("step.c", STEPPING_CLOCK), place.file("step.so"));
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(built.success());
    let mut command = place.command(&[&RUN[..], &["--json", "document.json"]].concat());
    let began = std::time::Instant::now();
    let output = command.env("LD_PRELOAD", &library).output().unwrap();
    let took = began.elapsed().as_secs_f64();
    assert_shown(&output);
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.file("document.json")).unwrap()).unwrap();
    let elapsed = document["elapsed_s"].as_f64().unwrap();
    assert!(elapsed > 0.0 && elapsed <= took, "{elapsed} of {took}");
    for sample in document["samples"].as_array().unwrap() {
        assert!((1..60_000_000_000).contains(&sample["wall_ns"].as_u64().unwrap()), "{sample}");
    }
    // It did step: only what is meant to tell the time of day is off.
    let started = document["started"].as_str().unwrap().to_owned();
    let date = |format: &str, day: &str| {
        let output = Command::new("date").args(["-u", "-d", day, format]).output().unwrap();
        text(&output.stdout).trim().parse::<i64>().unwrap()
    };
    let off = date("+%s", &started) - date("+%s", "now");
    assert!(off.abs() > 3_000, "{started} is {off} s off");
}

#[test]
fn standard_output_or_standard_error_that_is_closed() {
    let place = Place::new();
    for redirection in ["1>&-", "2>&-", "1>&- 2>&-", "2>/dev/full", "0<&-"] {
        let output = shell(&place, &format!("{PROGRAM} {} {redirection}", RUN.join(" ")));
        assert!(output.status.success(), "{redirection}: {}", text(&output.stderr));
    }
    assert_eq!(text(&place.run(&["list", "--json"]).stdout).matches("\"id\"").count(), 5);
    // Someone who reads neither, while it measures.
    let mut child = place.start(&[
        "run", "--transports", "null,fifo", "--placement", "free", "--patterns", "rr", "--option",
        "pipe_size=64KiB", "--epochs", "3",
    ]);
    drop((child.stdout.take(), child.stderr.take()));
    assert!(wait(child).status.success());
    place.assert_clean();
}

/// Runs the program on a terminal, does something to that, and reports how the program ended.
const TERMINAL: &str = r#"
import fcntl, os, pty, re, struct, sys, termios
what, command = sys.argv[1], sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execv(command[0], command)
def size(columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
size(80)
seen = b""
resized = 0
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    seen += piece
    # Progress is drawn: it measures.
    if what == "close" and any(int(epoch) > 1 for epoch in re.findall(rb"epoch (\d+) of", seen)):
        os.close(terminal)
        break
    if b"epoch" in piece and what == "resize":
        resized += 1
        size(20 + resized * 37 % 200)
_, status = os.waitpid(child, 0)
print("status", os.waitstatus_to_exitcode(status), "resized", resized, "shown", b"64 B round trip" in seen)
print(seen[-2000:])
"#;

#[test]
fn a_terminal_that_is_resized_or_goes_away() {
    let place = Place::new();
    let script = place.write("terminal.py", TERMINAL);
    let on_terminal = |what: &str, epochs: &str| {
        let mut command = prepared(&place, Command::new("python3"));
        command.arg(&script).args([
            what, PROGRAM, "run", "--transports", "unix,null", "--placement", "free", "--patterns", "rr",
        ]);
        text(&command.args(["--epochs", epochs]).env("TERM", "xterm").output().unwrap().stdout)
    };
    let resized = on_terminal("resize", "30");
    assert!(resized.contains("status 0") && resized.contains("shown True"), "{resized}");
    assert!(!resized.contains("resized 0"), "{resized}");
    // SIGHUP is a request to stop; that no one sees the rest is no error.
    let closed = on_terminal("close", "100000");
    assert!(closed.contains("status 130"), "{closed}");
    let listed: Value = serde_json::from_slice(&place.run(&["list", "--json"]).stdout).unwrap();
    assert_eq!(listed["runs"][0]["stopped"], "interrupted");
    assert!(listed["runs"][0]["epochs"].as_u64().unwrap() >= 1);
    place.assert_clean();
}

#[test]
fn a_machine_that_stands_still_in_the_middle_of_a_batch() {
    let place = Place::new();
    // The client keeps what it is told: when it is told of a batch, that batch begins.
    place.write("client.sh", "tee -a heard | exec \"$1\" peer\n");
    let job = place.write(
        "job.toml",
        &format!(
            "epochs = 3\nbatch = \"1s\"\ntimeout = \"6s\"\n[[cells]]\ntransport = \"unix\"\nplacement = \"free\"\nclient = \"noted\"\n\
             [peers.noted]\ncommand = [\"sh\", \"client.sh\", \"{PROGRAM}\"]\n"
        ),
    );
    let child = place.start(&["run", argument(&job), "--json", "document.json"]);
    let batches =
        || text(&std::fs::read(place.file("heard")).unwrap_or_default()).matches("\"batch\"").count();
    // Once calibration is complete there come a lead-in and a batch of a second.
    wait_for_epochs(&place, 0);
    let calibrated = batches();
    place.wait_until("a batch has begun", || batches() >= calibrated + 2);
    // As a container's or a virtual machine's freezer does it: all of it, and for longer than peers may take.
    let numbers: Vec<String> = place.processes().iter().map(|(id, _)| id.to_string()).collect();
    let send = |name: &str| {
        // At once, as far as signals go. One that has just left is none any more.
        let mut kill = Command::new("kill");
        let _ = kill.args(["-s", name]).args(&numbers).stderr(Stdio::null()).status();
    };
    send("STOP");
    std::thread::sleep(Duration::from_secs(7));
    send("CONT");
    let output = wait(child);
    assert_shown(&output);
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.file("document.json")).unwrap()).unwrap();
    let samples = document["samples"].as_array().unwrap();
    let (marked, counted): (Vec<&Value>, Vec<&Value>) =
        samples.iter().partition(|sample| sample["suspended"] == true);
    assert_eq!(counted.len(), 3, "one for each epoch");
    assert_eq!(marked.len(), 1, "{samples:?}");
    assert_eq!(document["cells"][0]["batches"], 3);
    let warnings = document["warnings"].as_array().unwrap();
    let message =
        warnings.iter().find(|warning| warning["code"] == "suspended").map(|it| it["message"].to_string());
    assert!(message.as_ref().is_some_and(|text| text.contains("or the program stopped")), "{message:?}");
    place.assert_clean();
}

#[test]
fn a_program_that_was_stopped_alone_goes_on() {
    let place = Place::new();
    let child = place.start(&[
        "run", "--transports", "unix", "--placement", "free", "--patterns", "rr", "--epochs", "5",
        "--timeout", "4s",
    ]);
    place.wait_for_peers(2);
    // What Ctrl-Z and fg do: the peers are in groups of their own and are not stopped.
    signal(child.id(), "STOP");
    std::thread::sleep(Duration::from_secs(5));
    signal(child.id(), "CONT");
    assert_shown(&wait(child));
    place.assert_clean();
}
