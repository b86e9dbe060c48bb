//! `ipcost watch` of root's beside other users, who choose how much there is to see, and what never answers.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Place, argument, assert_refused, missing, signal, text};

/// Whether this is root, who alone sees other users' programs.
fn is_root() -> bool {
    let is = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is {
        missing("root", "the tests run as another user");
    }
    is
}

/// A program and all that it has started, which end with their test.
struct Group(Child);

impl Group {
    fn start(command: &mut Command) -> Self {
        use std::os::unix::process::CommandExt;
        Self(command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        for name in ["CONT", "KILL"] {
            let _ = Command::new("kill").args(["-s", name, "--", &group]).stderr(Stdio::null()).status();
        }
        let _ = self.0.wait();
    }
}

fn field(process: u32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.split_whitespace().next()?.parse().ok()
}

/// Waits until something is so.
#[track_caller]
fn until(limit: Duration, what: &str, is_so: &mut dyn FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Two ends of a connection over which a thread sends so many bytes every 10 ms until this is dropped.
struct Paced(std::sync::Arc<std::sync::atomic::AtomicBool>, Option<std::thread::JoinHandle<u64>>, u16);

impl Paced {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        // Two processes: a program that talks to itself is no conversation.
        let script = "import socket,sys\ns=socket.create_connection(('127.0.0.1',int(sys.argv[1])))\nwhile s.recv(65536): pass";
        let mut reader = Command::new("python3").args(["-c", script, &port.to_string()]).spawn().unwrap();
        let (stream, _) = listener.accept().unwrap();
        let ended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let asked = std::sync::Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            let (mut stream, mut sent): (TcpStream, u64) = (stream, 0);
            while !asked.load(std::sync::atomic::Ordering::Relaxed) {
                stream.write_all(&[1; 1_000]).unwrap();
                sent += 1_000;
                std::thread::sleep(Duration::from_millis(10));
            }
            drop((stream, listener));
            reader.wait().unwrap();
            sent
        });
        Self(ended, Some(thread), port)
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        let _ = self.1.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn a_mount_that_never_answers_is_not_asked() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let [served, mount] = ["served", "mount"].map(|name| place.file(name));
    [&served, &mount].iter().for_each(|dir| fs::create_dir(dir).unwrap());
    fs::write(served.join("file"), "text").unwrap();
    let mut bindfs = Command::new("bindfs");
    let server =
        Group::start(bindfs.args(["-f", "-o", "attr_timeout=0,entry_timeout=0"]).args([&served, &mount]));
    let is_there = || mount.join("file").exists();
    let began = Instant::now();
    while !is_there() {
        if began.elapsed() > Duration::from_secs(5) {
            missing("fuse", "it mounts nothing here");
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let file = fs::File::open(mount.join("file")).unwrap();
    let reader = Group::start(Command::new("sleep").arg("600").stdin(file));
    signal(server.0.id(), "STOP");
    let mut command = place.command(&["watch", "--for", "1s", "--quiet"]);
    let mut watch = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let ended = loop {
        match watch.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if began.elapsed() > Duration::from_secs(20) => break None,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let _ = watch.kill();
    signal(server.0.id(), "CONT");
    drop(reader);
    Command::new("umount").arg(&mount).status().unwrap();
    assert!(ended.is_some_and(|status| status.success()), "it waits for a mount that does not answer");
}

#[test]
fn strace_ends_by_itself_while_ipcost_is_stopped() {
    let place = Place::new();
    let mut paced = Paced::start();
    // The test's own process sends; it is traced.
    let own = std::process::id();
    let port = paced.2.to_string();
    let mut command = place.command(&["watch", "--trace", "--port", &port, "--for", "30s", "--quiet"]);
    let mut watch = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = watch.stderr.take().unwrap();
    let traced = || field(own, "status", "TracerPid").filter(|tracer| *tracer != 0);
    let mut tracer = None;
    until(Duration::from_secs(30), "strace is not attached", &mut || {
        tracer = traced();
        tracer.is_some() || watch.try_wait().unwrap().is_some()
    });
    let Some(tracer) = tracer else {
        let mut said = String::new();
        errors.read_to_string(&mut said).unwrap();
        missing("tracing", &said);
        return;
    };
    signal(watch.id(), "STOP");
    // Neither the terminal nor the group of ipcost reach it, so that it ends by itself or not at all.
    until(Duration::from_secs(30), "strace stays attached", &mut || traced().is_none());
    // The process that inherits it may not have fetched it yet.
    let runs =
        |id: u64| fs::read_to_string(format!("/proc/{id}/status")).is_ok_and(|text| !text.contains("\tZ "));
    until(Duration::from_secs(5), "strace goes on", &mut || !runs(tracer));
    signal(watch.id(), "CONT");
    signal(watch.id(), "INT");
    watch.wait().unwrap();
    paced.0.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(paced.1.take().unwrap().join().unwrap() > 0, "what was traced goes on");
}

#[test]
fn what_root_saw_of_others_is_for_root_alone() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let mode = |name: &str| fs::metadata(place.file(name)).unwrap().permissions().mode() & 0o777;
    let watch = |args: &[&str]| place.run(&[&["watch", "--for", "1ms"], args].concat());
    let json = place.write("w.json", "old");
    fs::set_permissions(&json, Permissions::from_mode(0o644)).unwrap();
    let page = place.file("w.html");
    let output = watch(&["--json", argument(&json), "--html", argument(&page)]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("files are for root alone"), "{}", text(&output.stderr));
    assert_eq!((mode("w.json"), mode("w.html")), (0o600, 0o600));
    let shared = place.file("shared.json");
    let output = watch(&["--redact", "--json", argument(&shared)]);
    assert!(!text(&output.stderr).contains("root alone"));
    assert_eq!(mode("shared.json") & 0o044, 0o044);
    assert_refused(&watch(&["--trace"]), &["--trace: root's strace", "ipcost watch --trace redis-server"]);
}

/// A user's programs: sockets, processes that share a pipe or sleep, pipes of programs with long arguments, and network namespaces.
const CROWD: &str = "
import os, resource, socket, subprocess, sys, time
sockets, processes, pipes, shared, networks = map(int, sys.argv[1:])
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
started, held = [], []
for _ in range(0, sockets, 2000):
    if os.fork() == 0:
        held = [socket.socketpair() for _ in range(1000)]
        time.sleep(600)
        os._exit(0)
long = ['sh', '-c', 'read x; exit 0'] + ['x' * 130_000] * 13
for _ in range(pipes):
    read, write = os.pipe()
    for side in [dict(stdin=read), dict(stdin=subprocess.PIPE, stdout=write)]:
        started.append(subprocess.Popen(long, **{'stdout': subprocess.DEVNULL, **side}))
    os.close(read), os.close(write)
read, write = os.pipe()
for _ in range(shared):
    started.append(subprocess.Popen(['sleep', '600'], stdin=read, pass_fds=[read, write]))
shell = f'i=0; while [ $i -lt {processes} ]; do sleep 600 & i=$((i+1)); done; wait'
started.append(subprocess.Popen(['sh', '-c', shell], stdin=subprocess.DEVNULL))
for _ in range(networks):
    started.append(subprocess.Popen(['unshare', '-n', 'sleep', '600'], stdin=subprocess.DEVNULL))
time.sleep(2)
print('ready', flush=True)
time.sleep(600)
";

#[test]
#[ignore = "alone: three thousand processes, and six hundred network namespaces"]
fn a_crowd_does_not_flood_it() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let script = place.write("crowd.py", CROWD);
    let mut paced = Paced::start();
    let mut command = Command::new("python3");
    command.arg(script).args(["20000", "3000", "50", "150", "600"]).stdout(Stdio::piped());
    let mut crowd = Group::start(&mut command);
    assert_eq!(crowd.line(), "ready");
    let json = place.file("w.json");
    let mut command = place.command(&["watch", "--for", "15s", "--quiet", "--json", argument(&json)]);
    let mut watch = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (began, mut most_kib) = (Instant::now(), 0);
    while watch.try_wait().unwrap().is_none() {
        most_kib = field(watch.id(), "status", "VmHWM").unwrap_or(0).max(most_kib);
        assert!(began.elapsed() < Duration::from_secs(180), "it hangs");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(crowd);
    assert!(most_kib < 300 * 1024, "{} MiB", most_kib / 1024);
    let watched: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let address = format!("127.0.0.1:{}", paced.2);
    let all = watched["conversations"].as_array().unwrap();
    let of = |address: &str| all.iter().filter(|one| one["address"] == address).collect::<Vec<_>>();
    // Some 100 000 B a second, of a sender that a busy machine makes slower.
    let [ordinary] = of(&address)[..] else { panic!("{address} is not there once") };
    let per_s = ordinary["back"]["bytes_per_s"].as_f64().unwrap();
    assert!((20_000.0..=105_000.0).contains(&per_s), "{per_s}");
    paced.0.store(true, std::sync::atomic::Ordering::Relaxed);
    paced.1.take().unwrap().join().unwrap();
    let shared = all.iter().filter(|one| one["client"]["processes"].as_u64() >= Some(150)).count();
    assert!(shared >= 1, "the pipe of many is one row");
    assert!(all.len() <= 2_000, "{}", all.len());
}

#[test]
#[ignore = "nightly: ten minutes of connections"]
fn thousands_of_connections_leave_no_memory_behind() {
    const MINUTES: u64 = 10;
    /// A server that says how many bytes it got, and a client that opens a connection a millisecond over each kind of address.
    const CLIENTS: &str = r#"
import os, socket, sys, threading, time
listeners = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
listeners[1].bind(sys.argv[1])
listeners[1].listen(128)
if os.fork() == 0:
    def serve(listener):
        while True:
            one, _ = listener.accept()
            one.sendall(one.recv(64))
            one.close()
    threads = [threading.Thread(target=serve, args=(one,)) for one in listeners]
    [one.start() for one in threads]
    [one.join() for one in threads]
print("ready", flush=True)
began, done = time.monotonic(), 0
while True:
    for one in listeners:
        client = socket.socket(one.family)
        client.connect(one.getsockname())
        client.sendall(b"x")
        client.recv(64)
        client.close()
    done += 1
    time.sleep(max(0, began + done / 1000 - time.monotonic()))
"#;
    let place = Place::new();
    let (file, socket) = (place.write("clients.py", CLIENTS), place.file("clients.sock"));
    let mut clients = Command::new("python3");
    clients.args([argument(&file), argument(&socket)]).stdout(Stdio::piped());
    let mut clients = Group::start(&mut clients);
    assert_eq!(clients.line(), "ready");
    let mut watch =
        place.command(&["watch", "--quiet", "--for", "1h"]).stdout(Stdio::null()).spawn().unwrap();
    let mut kept = Vec::new();
    for _ in 0..MINUTES {
        std::thread::sleep(Duration::from_secs(60));
        kept.push(field(watch.id(), "status", "VmRSS").unwrap());
    }
    signal(watch.id(), "INT");
    assert!(watch.wait().unwrap().success());
    // What the first minutes of a history take is kept for good.
    let (early, late) = (kept[2], kept[kept.len() - 1]);
    assert!(late < early + early / 10, "kB after each minute: {kept:?}");
}
