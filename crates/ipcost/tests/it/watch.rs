//! `ipcost watch` over programs that run: what it counts against what those programs, other tools and a tap have counted.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use ipcost_features::watch::{WatchObserver, WatchRequest, WatchState};
use serde_json::Value;

use crate::common::private_server::{NOBODY, by_nobody};
use crate::common::{Place, argument, assert_refused, missing, text, wait};

/// A program of a test: it tells a line once it is ready, begins when it gets one, and ends with its input.
struct Program {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Program {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn python(place: &Place, name: &str, script: &str, args: &[&str]) -> Self {
        let file = place.write(name, script);
        let mut command = Command::new("python3");
        command.arg(file).args(args);
        Self::start(command)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that ends with its test.
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It is to end those that it has started, too.
        let _ = Command::new("kill").arg(self.0.id().to_string()).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

/// A watch that runs while a test does something, and its record.
pub struct Watch {
    child: Ended,
    file: std::path::PathBuf,
}

impl Watch {
    /// It has looked once when this returns: what it writes first is that it has begun.
    pub fn start(place: &Place, args: &[&str]) -> Self {
        let file = place.file("watched.json");
        let mut command = place.command(&["watch", "--json", argument(&file), "--for", "5min"]);
        let mut child = command
            .args(args)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert!(line.contains("watching"), "{line}");
        Self { child: Ended(child), file }
    }

    pub fn end(mut self) -> Value {
        // What was moved last is seen by the look that follows, and by messages on closing, which take a moment.
        std::thread::sleep(Duration::from_millis(300));
        crate::common::signal(self.child.0.id(), "INT");
        assert!(self.child.0.wait().unwrap().success());
        serde_json::from_slice(&std::fs::read(&self.file).unwrap()).unwrap()
    }
}

/// The conversations between programs of these names.
pub fn between<'a>(watched: &'a Value, client: &str, server: &str) -> Vec<&'a Value> {
    let is = |it: &&Value| {
        it["client"]["name"].as_str().unwrap().starts_with(client)
            && it["server"]["name"].as_str().unwrap().starts_with(server)
    };
    watched["conversations"].as_array().unwrap().iter().filter(is).collect()
}

pub fn bytes(conversation: &Value) -> (u64, u64) {
    let of = |way: &str| conversation[way]["bytes"].as_u64().unwrap();
    (of("there"), of("back"))
}

pub fn codes(watched: &Value) -> Vec<&str> {
    let all = watched["findings"].as_array();
    all.into_iter().flatten().map(|finding| finding["code"].as_str().unwrap()).collect()
}

/// Two processes over a socket: the client sends so many requests and takes a reply to each, in one of several manners.
const PAIR: &str = r#"
import os, socket, sys, threading, time
way, where, count, size, reply = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
if where.startswith("/"):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(where)
else:
    listener = socket.create_server(("127.0.0.1", int(where)))
at, family = listener.getsockname(), listener.family
listener.listen(1 if way == "backlog" else 1024)

def take(connection, length):
    left = length
    if way == "headers":
        left -= len(connection.recv(5))
    while left:
        got = len(connection.recv(min(left, 20 if way == "sips" else 65536)))
        if not got:
            return False
        left -= got
    return True

def connect():
    client = socket.socket(family)
    client.connect(at)
    return client

def client():
    if way == "each":
        for _ in range(count):
            one = connect()
            one.sendall(b"x" * size)
            take(one, reply)
            one.close()
    elif way == "backlog":
        def knock():
            try:
                connect()
                time.sleep(100)
            except OSError:
                pass
        for _ in range(count):
            threading.Thread(target=knock, daemon=True).start()
        time.sleep(2)
    elif way == "stream":
        one = connect()
        for _ in range(count):
            one.sendall(b"x" * size)
        return one
    elif way == "many":
        all = [connect() for _ in range(count)]
        end = time.time() + 3
        while time.time() < end:
            for one in all:
                one.sendall(b"x" * size)
                take(one, reply)
        return all
    else:
        one = connect()
        for _ in range(count):
            if way == "spins":
                one.sendall(b"x" * size)
                one.setblocking(False)
                left = reply
                while left:
                    try:
                        left -= len(one.recv(left))
                    except BlockingIOError:
                        pass
                one.setblocking(True)
                continue
            if way in ("paced", "more"):
                time.sleep(0.002)
            if way == "more":
                for _ in range(3):
                    os.getppid()
            if way == "pieces":
                one.sendall(b"x" * (size // 2))
                one.sendall(b"x" * (size - size // 2))
            else:
                one.sendall(b"x" * size)
            take(one, reply)
        return one

def serve(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    while take(connection, size):
        if way == "stream":
            time.sleep(0.005)
        elif way == "spins":
            time.sleep(0.0005)
            connection.sendall(b"y" * reply)
        else:
            connection.sendall(b"y" * reply)

ask, told = os.pipe()
done, tell = os.pipe()
if os.fork() == 0:
    parent = os.getppid()
    listener.close()
    os.close(told)
    open("/proc/self/comm", "w").write("asker")
    if not os.read(ask, 1):
        os._exit(0)
    kept = client()
    os.write(tell, b"x")
    while os.getppid() == parent:
        time.sleep(0.05)
    os._exit(0)
open("/proc/self/comm", "w").write("answerer")

def serving():
    while way != "backlog":
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()
threading.Thread(target=serving, daemon=True).start()
print(at if where.startswith("/") else at[1], flush=True)
sys.stdin.readline()
os.write(told, b"x")
os.read(done, 1)
print("done", flush=True)
sys.stdin.read()
"#;

/// One of those pairs, which begins when it is told to.
struct Pair {
    program: Program,
    /// A port, or a path.
    at: String,
}

impl Pair {
    fn that(place: &Place, way: &str, over: &str, figures: [u64; 3]) -> Self {
        Self::by(Command::new("python3"), place, way, over, figures)
    }

    /// The same as another user.
    fn by_nobody(place: &Place, way: &str, over: &str, figures: [u64; 3]) -> Self {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(place.files.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3"]);
        Self::by(command, place, way, over, figures)
    }

    fn by(mut command: Command, place: &Place, way: &str, over: &str, figures: [u64; 3]) -> Self {
        let (path, file) = (place.file(&format!("{way}.sock")), place.write("pair.py", PAIR));
        let at = if over == "unix" { argument(&path) } else { "0" };
        command.args([argument(&file), way, at]).args(figures.map(|figure| figure.to_string()));
        let mut program = Program::start(command);
        let at = program.line();
        Self { program, at }
    }

    /// All of it, while it is watched.
    fn watched(mut self, place: &Place) -> Value {
        let flag = if self.at.starts_with('/') { "--path" } else { "--port" };
        let watch = Watch::start(place, &[flag, &self.at]);
        self.program.tell("go");
        assert_eq!(self.program.line(), "done");
        watch.end()
    }
}

/// The only conversation of a pair.
fn only(watched: &Value) -> &Value {
    let found = between(watched, "", "answerer");
    let [only] = found.as_slice() else { panic!("{watched:#}") };
    only
}

/// Copies what a client and a server say to each other, and counts it.
const TAP: &str = r#"
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in at(int port) {
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return where;
}

int main(int count, char **words) {
    static char buffer[65536];
    struct sockaddr_in mine = at(0), theirs = at(count > 1 ? atoi(words[1]) : 0);
    socklen_t length = sizeof mine;
    int listener = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&mine, sizeof mine) || listen(listener, 1)) return 1;
    getsockname(listener, (void *)&mine, &length);
    printf("%d\n", ntohs(mine.sin_port));
    fflush(stdout);
    int in = accept(listener, 0, 0);
    if (in < 0 || connect(out, (void *)&theirs, sizeof theirs)) return 1;
    struct pollfd ends[] = {{.fd = in, .events = POLLIN}, {.fd = out, .events = POLLIN}};
    long long moved[2] = {0, 0};
    for (;;) {
        poll(ends, 2, -1);
        for (int way = 0; way < 2; way++) {
            if (!ends[way].revents) continue;
            ssize_t got = read(ends[way].fd, buffer, sizeof buffer);
            if (got <= 0) goto end;
            for (ssize_t sent = 0; sent < got;) sent += write(ends[1 - way].fd, buffer + sent, got - sent);
            moved[way] += got;
        }
    }
end:
    printf("%lld %lld\n", moved[0], moved[1]);
    fflush(stdout);
    getchar();
    return 0;
}
"#;

#[test]
fn bytes_and_requests_over_tcp_are_what_the_programs_and_ss_have_counted() {
    let place = Place::new();
    let mut pair = Pair::that(&place, "plain", "tcp", [2_000, 300, 1_200]);
    let watch = Watch::start(&place, &["--port", &pair.at]);
    pair.program.tell("go");
    assert_eq!(pair.program.line(), "done");
    let ss = Command::new("ss").args(["-tin", "sport", "=", &format!(":{}", pair.at)]).output().unwrap();
    let watched = watch.end();
    let seen = only(&watched);
    assert_eq!(bytes(seen), (2_000 * 300, 2_000 * 1_200));
    let ss = text(&ss.stdout);
    assert!(ss.contains("bytes_received:600000"), "{ss}");
    assert_eq!((seen["opened"].as_u64(), seen["connections"].as_u64()), (Some(1), Some(1)));
    assert_eq!(seen["manner"], "requests");
    // A request is a segment, and so is a reply.
    let elapsed = watched["elapsed_s"].as_f64().unwrap();
    let requests = seen["requests_per_s"].as_f64().unwrap() * elapsed;
    assert!((1_999.0..=2_001.0).contains(&requests), "{requests}");
    assert_eq!(codes(&watched), Vec::<&str>::new());
}

#[test]
fn a_tap_counts_the_same() {
    let place = Place::new();
    let source = place.write("tap.c", TAP);
    let program = place.file("tap");
    assert!(
        Command::new("cc")
            .args(["-O1", "-o", argument(&program), argument(&source)])
            .status()
            .unwrap()
            .success()
    );
    // The server is asked through the tap by a client of this test, whose connection closes before the watch ends.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let mut tap = Command::new(&program);
    tap.arg(port.to_string());
    let mut tap = Program::start(tap);
    let at: u16 = tap.line().parse().unwrap();
    let watch = Watch::start(&place, &["--command", argument(&program)]);
    let mut client = std::net::TcpStream::connect(("127.0.0.1", at)).unwrap();
    let (mut serving, _) = server.accept().unwrap();
    let mut buffer = vec![0; 3_000];
    for round in 0..500_usize {
        client.write_all(&buffer[..100 + round]).unwrap();
        serving.read_exact(&mut buffer[..100 + round]).unwrap();
        serving.write_all(&buffer[..3_000 - round]).unwrap();
        client.read_exact(&mut buffer[..3_000 - round]).unwrap();
    }
    drop((client, serving));
    let told: Vec<u64> = tap.line().split(' ').map(|count| count.parse().unwrap()).collect();
    let watched = watch.end();
    let at_of = |port: u16| {
        let conversations = watched["conversations"].as_array().unwrap();
        let address = format!("127.0.0.1:{port}");
        bytes(
            conversations
                .iter()
                .find(|it| it["address"] == *address)
                .unwrap_or_else(|| panic!("{watched:#}")),
        )
    };
    let both = (told[0], told[1]);
    assert_eq!((at_of(at), at_of(port)), (both, both));
}

#[test]
fn what_has_been_said_before_is_not_counted_and_a_process_that_dies_loses_nothing() {
    let place = Place::new();
    let mut pair = Pair::that(&place, "plain", "tcp", [100, 10, 10]);
    pair.program.tell("go");
    assert_eq!(pair.program.line(), "done");
    let before = Watch::start(&place, &["--port", &pair.at]).end();
    assert_eq!((bytes(only(&before)), only(&before)["manner"].as_str()), ((0, 0), Some("idle")));
    let mut dying = Pair::that(&place, "plain", "tcp", [500, 100, 100]);
    let watch = Watch::start(&place, &["--port", &dying.at]);
    dying.program.tell("go");
    assert_eq!(dying.program.line(), "done");
    drop(dying);
    std::thread::sleep(Duration::from_millis(1_500));
    let after = watch.end();
    let seen = only(&after);
    assert_eq!((bytes(seen), seen["connections"].as_u64()), ((50_000, 50_000), Some(0)));
}

#[test]
fn connections_that_carry_one_request_are_counted_and_named() {
    let place = Place::new();
    let watched = Pair::that(&place, "each", "tcp", [300, 20, 30]).watched(&place);
    let seen = only(&watched);
    assert_eq!((bytes(seen), seen["opened"].as_u64()), ((6_000, 9_000), Some(300)));
    assert_eq!(seen["manner"], "connections");
    assert!(codes(&watched).contains(&"connection-each"), "{watched:#}");
}

#[test]
fn programs_that_live_for_less_than_a_look_are_named() {
    const COUNT: u64 = 12;
    let place = Place::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port().to_string();
    let watch = Watch::start(&place, &["--port", &port]);
    let serving = std::thread::spawn(move || {
        for _ in 0..COUNT {
            let mut connection = server.accept().unwrap().0;
            let mut asked = [0; 5];
            connection.read_exact(&mut asked).unwrap();
            connection.write_all(&asked).unwrap();
        }
    });
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo four >&3; read -r answer <&3");
    for _ in 0..COUNT {
        assert!(Command::new("bash").args(["-c", &script]).status().unwrap().success());
    }
    serving.join().unwrap();
    let watched = watch.end();
    let found = between(&watched, "bash", "");
    let opened: u64 = found.iter().map(|it| it["opened"].as_u64().unwrap()).sum();
    assert_eq!(opened, COUNT, "{watched:#}");
    assert!(codes(&watched).contains(&"connection-each"), "{watched:#}");
    assert!(found.iter().any(|it| it["client"]["pid"].is_null()), "{watched:#}");
}

#[test]
fn a_planted_nagle_pair_is_named_with_the_side_that_can_mend_it() {
    let place = Place::new();
    // Looks may be seconds apart where the machine is busy, and who waits is asked between them.
    let watched = Pair::that(&place, "pieces", "tcp", [200, 20, 5]).watched(&place);
    let findings = watched["findings"].as_array().unwrap();
    let nagle =
        findings.iter().find(|finding| finding["code"] == "nagle").unwrap_or_else(|| panic!("{watched:#}"));
    assert_eq!(nagle["pid"], only(&watched)["client"]["pid"]);
    assert!(nagle["found"].as_str().unwrap().contains("TCP_NODELAY off"), "{nagle:#}");
}

#[test]
fn a_slow_reader_is_named_and_not_its_writer() {
    let place = Place::new();
    // TCP counts how long it was held up; of a Unix socket it is asked between looks, which may be two seconds apart.
    for (over, messages) in [("tcp", 600), ("unix", 1_600)] {
        let watched = Pair::that(&place, "stream", over, [messages, 65_536, 1]).watched(&place);
        let findings = watched["findings"].as_array().cloned().unwrap_or_default();
        let slow = findings.iter().find(|finding| finding["code"] == "slow-reader");
        let slow = slow.unwrap_or_else(|| panic!("{over}: {watched:#}"));
        assert_eq!(slow["pid"], only(&watched)["server"]["pid"], "{over}");
    }
}

#[test]
fn a_full_queue_of_connections_is_named_with_its_listener() {
    let place = Place::new();
    for over in ["tcp", "unix"] {
        let watched = Pair::that(&place, "backlog", over, [8, 1, 1]).watched(&place);
        assert!(codes(&watched).contains(&"backlog"), "{over}: {watched:#}");
        let findings = watched["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["code"] == "backlog").unwrap();
        assert!(found["found"].as_str().unwrap().contains("answerer"), "{found}");
    }
}

#[test]
fn a_thousand_connections_are_one_row_and_cost_little_to_look_at() {
    let place = Place::new();
    let watched = Pair::that(&place, "many", "tcp", [1_000, 10, 10]).watched(&place);
    let seen = only(&watched);
    assert_eq!((seen["connections"].as_u64(), seen["opened"].as_u64()), (Some(1_000), Some(1_000)));
    let (there, back) = bytes(seen);
    assert!(there == back && there >= 10_000, "{seen:#}");
    // Built to be debugged, it takes several times what is promised of a release.
    assert!(watched["own_cpu"].as_f64().unwrap() < 0.3, "{}", watched["own_cpu"]);
}

#[test]
fn a_pipeline_moves_the_bytes_that_it_was_given() {
    let place = Place::new();
    const SOURCE: &str = r#"
import os, sys, time
open("/proc/self/comm", "w").write("source")
sys.stdin.readline()
for _ in range(400):
    os.write(1, b"x" * 10000)
    time.sleep(0.01)
open(sys.argv[1], "w")
sys.stdin.readline()
"#;
    let (file, done) = (place.write("source.py", SOURCE), place.file("done"));
    let mut command = Command::new("sh");
    command.args(["-c", &format!("python3 {} {} | cat | wc -c", argument(&file), argument(&done))]);
    let mut pipeline = Program::start(command);
    std::thread::sleep(Duration::from_millis(500));
    let watch = Watch::start(&place, &["--command", "cat"]);
    pipeline.tell("go");
    place.wait_until("all is written", || done.exists());
    let watched = watch.end();
    for (from, to) in [("source", "cat"), ("cat", "wc")] {
        // Descriptors that they have inherited lead to others.
        let seen = between(&watched, from, to)[0];
        let bytes = seen["there"]["bytes"].as_f64().unwrap();
        // For longer than a few looks: what is there still is counted on.
        assert!((3_800_000.0..=4_050_000.0).contains(&bytes), "{from}: {seen:#}");
    }
    pipeline.tell("end");
    assert_eq!(pipeline.line(), "4000000");
}

/// What a process has written with its calls so far, bytes.
fn written(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    text.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
}

#[test]
fn a_pipe_is_counted_at_every_second_as_its_writer_counts_it() {
    let mut yes = Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
    let reading = yes.stdout.take().unwrap();
    let cat = Ended(Command::new("cat").stdin(reading).stdout(Stdio::null()).spawn().unwrap());
    let (writer, yes) = (yes.id(), Ended(yes));
    let mut observer = WatchObserver::open(true).unwrap();
    if !observer.counts_calls() {
        missing("tracing", "calls cannot be counted");
        return;
    }
    let mut state = WatchState::new(WatchRequest { pid: Some(writer), ..WatchRequest::default() });
    let mut observe = || {
        let before = written(writer);
        state.observe(observer.observe().unwrap());
        let after = written(writer);
        let all = state.conversations(None);
        let its = all.iter().find(|told| told.conversation.server.pid == Some(cat.0.id())).unwrap();
        (before, its.conversation.there.unwrap().bytes, after)
    };
    let (first, none, last) = observe();
    assert_eq!(none, 0);
    for second in 1..=10 {
        std::thread::sleep(Duration::from_secs(1));
        let (before, counted, after) = observe();
        // It went on while it was looked at.
        let [least, most] = [before - last, after - first].map(|bytes| bytes as f64);
        let counted = counted as f64;
        assert!(
            (0.98 * least..=1.02 * most).contains(&counted),
            "{second} s: {counted}, not {least} to {most}"
        );
    }
    drop((yes, cat));
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn pipes_without_pages_are_named_by_watch_doctor_and_run() {
    /// Takes pages in pipes until a new one gets no more than the least.
    const HOLD: &str = "
import fcntl, os, sys
held = []
while True:
    held.append(os.pipe())
    if fcntl.fcntl(held[-1][0], 1032) < 65536:
        break
    try:
        fcntl.fcntl(held[-1][0], 1031, 1 << 20)
    except OSError:
        pass
print('ready', flush=True)
sys.stdin.read()
";
    let place = Place::new();
    if text(&std::fs::read("/proc/sys/fs/pipe-user-pages-soft").unwrap()).trim() == "0" {
        missing("root", "there is no limit for pages in pipes");
        return;
    }
    // Root has no limit.
    let as_nobody = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).uid(NOBODY).gid(NOBODY).current_dir("/").process_group(0);
        command
    };
    let mut holder = Program::start(as_nobody("python3", &["-c", HOLD]));
    assert_eq!(holder.line(), "ready");
    let pipeline = Ended(as_nobody("sh", &["-c", "yes | cat > /dev/null"]).spawn().unwrap());
    let watched = Watch::start(&place, &["--command", "yes"]);
    std::thread::sleep(Duration::from_secs(4));
    let watched = watched.end();
    let _ = Command::new("kill").args(["--", &format!("-{}", pipeline.0.id())]).status();
    let named = format!("python3 ({})", holder.child.id());
    let findings = watched["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["code"] == "pipe-pages").unwrap();
    assert!(found["found"].as_str().unwrap().contains(&named), "{found}");
    let run = |args: &[&str]| {
        wait(by_nobody(&place, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let doctor = run(&["doctor"]);
    let said = text(&doctor.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("a new pipe holds") && said.contains(&named), "{said}");
    let measured = run(&[
        "run", "--transports", "pipe", "--patterns", "stream", "--placement", "free", "--epochs", "2",
        "--quiet", "--json", "-",
    ]);
    let document: Value = serde_json::from_slice(&measured.stdout).unwrap();
    let warned = document["warnings"].as_array().unwrap().iter().any(|one| one["code"] == "pipe-pages");
    assert!(warned, "{}", document["warnings"]);
}

#[test]
fn another_network_namespace_is_looked_into() {
    let place = Place::new();
    let file = place.write("pair.py", PAIR);
    let script = format!("ip link set lo up && exec python3 {} plain 0 200 50 70", argument(&file));
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", &script]);
    let mut inside = Program::start(command);
    let at = inside.line();
    // The same port of this namespace is another one.
    let watch = Watch::start(&place, &["--port", &at]);
    inside.tell("go");
    assert_eq!(inside.line(), "done");
    let watched = watch.end();
    assert_eq!(bytes(only(&watched)), (10_000, 14_000));
}

/// Two processes in network namespaces of their own, as two containers are: 200 requests from the one to the other.
const TWO_NAMESPACES: &str = r#"
import ctypes, os, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def ip(*words):
    subprocess.run(["ip", *words], check=True)
moved, tell_moved = os.pipe()
linked, tell_linked = os.pipe()
done, tell_done = os.pipe()
client = os.fork()
if client == 0:
    assert libc.unshare(0x40000000) == 0
    os.write(tell_moved, b"x")
    os.read(linked, 1)
    ip("addr", "add", "10.99.0.2/24", "dev", "right")
    ip("link", "set", "right", "up")
    open("/proc/self/comm", "w").write("asker")
    os.write(tell_done, b"x")
    if os.read(linked, 1) != b"x":
        os._exit(0)
    one = socket.create_connection(("10.99.0.1", 7000))
    for _ in range(200):
        one.sendall(b"x" * 50)
        left = 70
        while left: left -= len(one.recv(left))
    os.write(tell_done, b"x")
    os.close(tell_linked)
    os.read(linked, 1)
    os._exit(0)
os.read(moved, 1)
ip("link", "add", "left", "type", "veth", "peer", "name", "right", "netns", str(client))
ip("addr", "add", "10.99.0.1/24", "dev", "left")
ip("link", "set", "left", "up")
listener = socket.create_server(("10.99.0.1", 7000))
os.write(tell_linked, b"x")
os.read(done, 1)
open("/proc/self/comm", "w").write("answerer")
print("ready", flush=True)
sys.stdin.readline()
os.write(tell_linked, b"x")
connection, _ = listener.accept()
for _ in range(200):
    left = 50
    while left: left -= len(connection.recv(left))
    connection.sendall(b"y" * 70)
os.read(done, 1)
print("done", flush=True)
sys.stdin.read()
"#;

#[test]
fn two_network_namespaces_are_one_conversation() {
    let place = Place::new();
    let file = place.write("two.py", TWO_NAMESPACES);
    let mut command = Command::new("unshare");
    command.args(["--net", "python3", argument(&file)]);
    let mut inside = Program::start(command);
    if inside.line() != "ready" {
        return missing("network-namespaces", "two of them could not be linked");
    }
    let watch = Watch::start(&place, &["--port", "7000"]);
    inside.tell("go");
    assert_eq!(inside.line(), "done");
    let watched = watch.end();
    let seen = only(&watched);
    assert_eq!((&seen["client"]["name"], &seen["server"]["name"]), (&"asker".into(), &"answerer".into()));
    assert_eq!((bytes(seen), seen["opened"].as_u64()), ((10_000, 14_000), Some(1)), "{seen:#}");
}

#[test]
fn redaction_leaves_no_command_no_path_and_no_number() {
    let place = Place::new();
    let mut pair = Pair::that(&place, "plain", "unix", [10, 10, 10]);
    pair.program.tell("go");
    pair.program.line();
    let id = pair.program.child.id();
    let output = place
        .run(&["watch", "--path", &pair.at, "--for", "1s", "--redact", "--wide", "--json", "-", "--quiet"]);
    let said = text(&output.stdout);
    assert!(said.contains("[path 1]") && said.contains("[command]"), "{said}");
    for secret in [&*pair.at, "pair.py", &format!(": {id}")] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
}

#[test]
fn an_ordinary_user_sees_the_own_programs_and_what_is_missing() {
    let place = Place::new();
    let pair = Pair::that(&place, "plain", "tcp", [10, 10, 10]);
    let root = pair.program.child.id().to_string();
    let output = wait(
        by_nobody(&place, &["watch", "--for", "1s"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let said = text(&output.stdout);
    assert!(
        output.status.success() && said.contains("of other users") && said.contains("Run as root"),
        "{said}"
    );
    let other = wait(
        by_nobody(&place, &["watch", "--pid", &root])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    assert_refused(&other, &["is another user's; run as root"]);
}

#[test]
fn what_is_wrong_is_said_before_anything_is_watched() {
    let place = Place::new();
    let refused = |args: &[&str], parts: &[&str]| {
        assert_refused(&place.run(&[&["watch", "--for", "1h"], args].concat()), parts);
    };
    refused(&["--what-if", "unixx"], &["--what-if: unknown transport \"unixx\"; did you mean \"unix\"?"]);
    refused(&["--pid", "0"], &["there is no process 0"]);
    refused(&["--port", "70000"], &["70000 is not in 0..=65535"]);
    refused(&["--html", "-", "--json", "-"], &["only one output can go to standard output"]);
}

#[test]
fn a_watch_that_is_killed_leaves_the_programs_and_a_second_watch_as_they_are() {
    let place = Place::new();
    let mut pair = Pair::that(&place, "paced", "unix", [500, 100, 200]);
    let mut killed = Watch::start(&place, &["--path", &pair.at]);
    let second = Watch::start(&place, &["--path", &pair.at]);
    pair.program.tell("go");
    std::thread::sleep(Duration::from_millis(300));
    killed.child.0.kill().unwrap();
    killed.child.0.wait().unwrap();
    assert_eq!(pair.program.line(), "done");
    assert_eq!(bytes(only(&second.end())), (50_000, 100_000));
}

#[test]
fn on_a_terminal_it_is_redrawn_until_q() {
    let place = Place::new();
    let mut pair = Pair::that(&place, "many", "tcp", [5, 10, 10]);
    let mut terminal = Terminal::of(&pair.at);
    let mut said = terminal.until("q ends");
    pair.program.tell("go");
    said += &terminal.until("asker");
    assert_eq!(pair.program.line(), "done");
    terminal.press(b"q");
    said += &terminal.rest();
    let (live, after) = said.rsplit_once("\u{1b}[?1049l").unwrap_or_else(|| panic!("{said}"));
    assert!(
        live.contains("\u{1b}[?1049h") && live.contains("q ends") && live.matches("asker").count() >= 2,
        "{said}"
    );
    assert!(after.contains("asker") && after.contains("answerer"), "{after}");
}

/// A watch of a port in a terminal, which ends with its test.
pub struct Terminal(Ended);

impl Terminal {
    fn of(port: &str) -> Self {
        Self::watching(&format!("--port {port}"))
    }

    pub fn watching(words: &str) -> Self {
        let watch = format!("stty cols 110 rows 40; exec {} watch {words}", env!("CARGO_BIN_EXE_ipcost"));
        let mut command = Command::new("script");
        command.args(["-qec", &watch, "/dev/null"]);
        Self(Ended(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()))
    }

    pub fn press(&mut self, keys: &[u8]) {
        let stdin = self.0.0.stdin.as_mut().unwrap();
        stdin.write_all(keys).and_then(|()| stdin.flush()).unwrap();
    }

    /// Reads what it shows until it shows that.
    pub fn until(&mut self, shown: &str) -> String {
        let (mut said, mut bytes) = (Vec::new(), [0; 1024]);
        loop {
            // What is read may end within a letter.
            let so_far = String::from_utf8_lossy(&said);
            if so_far.contains(shown) {
                return so_far.into_owned();
            }
            let length = self.0.0.stdout.as_mut().unwrap().read(&mut bytes).unwrap();
            assert!(length > 0, "no {shown} in {so_far}");
            said.extend_from_slice(&bytes[..length]);
        }
    }

    /// Reads the rest of what it shows.
    pub fn rest(mut self) -> String {
        let mut said = Vec::new();
        self.0.0.stdout.as_mut().unwrap().read_to_end(&mut said).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// What the process that watches is called.
    fn name(&self) -> String {
        let script = self.0.0.id();
        let children = std::fs::read_to_string(format!("/proc/{script}/task/{script}/children")).unwrap();
        let name = std::fs::read_to_string(format!("/proc/{}/comm", children.trim())).unwrap();
        name.trim().to_owned()
    }
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn a_row_is_chosen_and_measured_over_another_transport() {
    let place = Place::new();
    let mut pair = Pair::that(&place, "more", "tcp", [100_000, 100, 200]);
    pair.program.tell("go");
    let mut terminal = Terminal::of(&pair.at);
    terminal.until("requests and replies");
    // Up, which stays at the first row, and is shown at once.
    terminal.press(b"\x1b[A");
    terminal.until("\u{25b8}\u{a0}asker");
    terminal.press(b"w");
    terminal.until("Measuring it over tcp and unix");
    let measured = terminal.until("any key goes back");
    // Beside its own load the hop may take longer than the whole did, and then there is no answer.
    let said = measured.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_answered = said.contains("over tcp the hop costs a request") || said.contains(": a request took ");
    assert!(is_answered, "{measured}");
    // Others wait for those that measure.
    assert_eq!(terminal.name(), "ipcost");
    terminal.press(b"x");
    terminal.until("\u{25b8}\u{a0}asker");
    // What a terminal gives where its input has ended.
    terminal.press(b"\x04");
    let after = terminal.rest();
    assert!(after.contains("asker") && after.contains("What would it save?"), "{after}");
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn a_what_if_is_what_a_run_of_its_job_finds() {
    let place = Place::new();
    let mut pair = Pair::that(&place, "usual", "tcp", [20_000, 100, 200]);
    let [job, seen] = ["job.toml", "seen.json"].map(|name| place.file(name));
    let mut watch = place.command(&["watch", "--port", &pair.at, "--for", "5s", "--json", argument(&seen)]);
    let watch = watch.args(["--what-if", "unix", "--job", argument(&job)]).stderr(Stdio::piped());
    let mut watch = watch.stdout(Stdio::null()).spawn().unwrap();
    let mut errors = BufReader::new(watch.stderr.take().unwrap());
    errors.read_line(&mut String::new()).unwrap();
    // It has ended before anything is measured.
    pair.program.tell("go");
    assert_eq!(pair.program.line(), "done");
    assert!(watch.wait().unwrap().success(), "{:?}", errors.lines().collect::<Vec<_>>());
    let watched: Value = serde_json::from_slice(&std::fs::read(&seen).unwrap()).unwrap();
    let asked = &watched["what_if"];
    assert_eq!(asked["beside_load"], false, "{asked:#}");
    let document = place.document(&["run", argument(&job)]);
    let cells = asked["cells"].as_array().unwrap();
    let (ids, run): (Vec<&Value>, Vec<&Value>) = (
        cells.iter().map(|cell| &cell["id"]).collect(),
        document["cells"].as_array().unwrap().iter().map(|cell| &cell["id"]).collect(),
    );
    assert_eq!(ids, run);
    let compared = |it: &&Value| it["metric"] == "wall" && it["a"] == *ids[1] && it["b"] == *ids[0];
    let found = document["contrasts"].as_array().unwrap().iter().find(compared).unwrap();
    let [low, high] = ["lo", "hi"].map(|end| (cells[1]["ratio"][end].as_f64(), found[end].as_f64()));
    // Each interval misses one time in twenty, and others may come and go between both.
    assert!(low.0 <= high.1.map(|it| it * 1.1) && low.1 <= high.0.map(|it| it * 1.1), "{low:?} {high:?}");
}

#[test]
fn what_fails_late_leaves_what_was_seen() {
    let place = Place::new();
    let pair = Pair::that(&place, "usual", "tcp", [1, 100, 200]);
    let seen = place.file("seen.json");
    let output = place.run(&[
        "watch",
        "--port",
        &pair.at,
        "--for",
        "1s",
        "--json",
        argument(&seen),
        "--what-if",
        "unix",
    ]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error: --what-if: no conversation that moves anything fits"), "{said}");
    assert!(text(&output.stdout).contains("Who talks to whom on this machine"), "{}", text(&output.stdout));
    let watched: Value = serde_json::from_slice(&std::fs::read(&seen).unwrap()).unwrap();
    assert!(watched["conversations"].is_array() && watched["what_if"].is_null(), "{watched:#}");
}

/// The process of a pair that asks, and the one that answers.
fn processes(pair: &Pair) -> [u32; 2] {
    let server = pair.program.child.id();
    let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
    [children.trim().parse().unwrap(), server]
}

const EXPLAINED: [&str; 7] = ["explain", "--budget", "4s", "--quiet", "--json", "-", "--pid"];

/// What is told of a pair whose client asks three times more than it needs to, and sleeps.
fn told_of_pair(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let told = &document["answer"];
    let cell = |index: usize, key: &str| told["cells"][index][key].as_str().unwrap().to_owned();
    assert_eq!((cell(0, "purpose"), cell(1, "purpose")), ("watched".to_owned(), "twin".to_owned()));
    assert_eq!(document["cells"][0]["transport"], "unix");
    let causes = told["causes"].as_array().unwrap();
    let said = |code: &str, part: &str| {
        causes.iter().any(|cause| cause["code"] == code && cause["sentence"].as_str().unwrap().contains(part))
    };
    assert!(said("more-calls", "the client makes 3.0 more `getppid`"), "{causes:#?}");
    assert!(said("sleep", "the client sleeps in 1.0"), "{causes:#?}");
    told.clone()
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn two_programs_that_run_are_explained_against_their_native_twin() {
    let place = Place::new();
    let mut pair = Pair::that(&place, "more", "unix", [100_000, 100, 200]);
    let [client, server] = processes(&pair);
    let explain = |pids: &str| place.run(&[&EXPLAINED[..], &[pids]].concat());
    let refused = |pids: &str, says: &str| assert_refused(&explain(pids), &[says]);
    refused("1", "--pid takes two processes");
    refused(&format!("{server},{server}"), "--pid takes two processes");
    refused(&format!("0,{server}"), "there is no process 0");
    refused(
        &format!("{server},1"),
        &format!("processes {server} and 1 have no conversation; ipcost watch --pid {server} shows"),
    );
    pair.program.tell("go");
    let told = told_of_pair(&explain(&format!("{client},{server}")));
    assert!(told["cells"][0]["wall_ns"]["median"].as_f64().unwrap() > 0.0, "{told:#}");
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn what_strace_made_slower_is_not_told_as_what_a_pair_takes() {
    let place = Place::new();
    let mut pair = Pair::by_nobody(&place, "more", "unix", [100_000, 100, 200]);
    let [client, server] = processes(&pair);
    pair.program.tell("go");
    let pids = format!("{client},{server}");
    let mut command = by_nobody(&place, &[&EXPLAINED[..], &[&pids]].concat());
    let told = told_of_pair(&wait(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()));
    assert!(told["cells"][0]["wall_ns"].is_null(), "{told:#}");
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn what_goes_over_a_unix_socket_is_counted_and_its_messages_are_sampled() {
    let place = Place::new();
    let watched = Pair::that(&place, "plain", "unix", [100_000, 300, 1_200]).watched(&place);
    let seen = only(&watched);
    let (there, back) = bytes(seen);
    assert_eq!((there, back), (30_000_000, 120_000_000), "{seen:#}");
    assert_eq!(
        (seen["manner"].as_str(), seen["there"]["known"].as_str()),
        (Some("requests"), Some("counted"))
    );
    let size = |way: &str| seen[way]["message_bytes"]["median"].as_f64();
    assert_eq!((size("there"), size("back")), (Some(300.0), Some(1_200.0)));
    let requests = seen["requests_per_s"].as_f64().unwrap() * watched["elapsed_s"].as_f64().unwrap();
    assert!((95_000.0..=105_000.0).contains(&requests), "{requests}");
    for time in ["round_trip_us", "think_us", "service_us"] {
        assert!(seen[time]["median"].as_f64().unwrap() > 0.0, "{time}");
    }
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn calls_that_cost_more_than_they_need_are_named() {
    let place = Place::new();
    for (way, code) in
        [("pieces", "pieces"), ("sips", "small-reads"), ("spins", "empty-polls"), ("headers", "tls")]
    {
        let over = if way == "headers" { "tcp" } else { "unix" };
        let watched = Pair::that(&place, way, over, [if way == "spins" { 4_000 } else { 40_000 }, 400, 400])
            .watched(&place);
        assert!(codes(&watched).contains(&code), "{way}: {watched:#}");
    }
}

#[test]
fn a_user_without_rights_has_strace_attached_and_its_own_programs_go_on() {
    let place = Place::new();
    let mut pair = Pair::by_nobody(&place, "paced", "unix", [3_000, 300, 700]);
    pair.program.tell("go");
    let args = ["watch", "--path", &pair.at, "--trace", "--for", "2s", "--json", "-"];
    let output =
        wait(by_nobody(&place, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let errors = text(&output.stderr);
    assert!(errors.contains("strace is attached to") && errors.contains("for a second"), "{errors}");
    let watched: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seen = only(&watched);
    assert_eq!(
        (seen["manner"].as_str(), seen["there"]["known"].as_str()),
        (Some("requests"), Some("traced"))
    );
    let size = |way: &str| seen[way]["message_bytes"]["median"].as_f64();
    assert_eq!((size("there"), size("back")), (Some(300.0), Some(700.0)));
    assert_eq!(pair.program.line(), "done");
}

#[test]
fn datagrams_without_room_are_named() {
    let place = Place::new();
    const SENDER: &str = r#"
import os, socket, sys, time
family = socket.AF_UNIX if sys.argv[1] == "unix" else socket.AF_INET
server, client = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
server.bind(sys.argv[2] if family == socket.AF_UNIX else ("127.0.0.1", 0))
if family == socket.AF_INET:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
parent = os.getpid()
if os.fork() == 0:
    client.connect(server.getsockname())
    server.close()
    open("/proc/self/comm", "w").write("asker")
    while os.getppid() == parent:
        client.send(b"x" * 500)
        time.sleep(0.0002)
    os._exit(0)
client.close()
open("/proc/self/comm", "w").write("answerer")
print("ready", flush=True)
while True:
    server.recv(1000)
    time.sleep(0.02)
"#;
    for over in ["unix", "udp"] {
        let path = place.file("datagrams.sock");
        let mut program = Program::python(&place, "datagrams.py", SENDER, &[over, argument(&path)]);
        assert_eq!(program.line(), "ready");
        let id = program.child.id().to_string();
        let watch = Watch::start(&place, &["--pid", &id]);
        std::thread::sleep(Duration::from_millis(2_500));
        let watched = watch.end();
        let findings = watched["findings"].as_array().cloned().unwrap_or_default();
        let found = findings.iter().find(|finding| finding["code"] == "datagram-queue");
        let found = found.unwrap_or_else(|| panic!("{over}: {watched:#}"));
        assert_eq!(found["pid"].to_string(), id, "{over}");
    }
}

#[test]
fn names_of_others_do_nothing_on_a_terminal() {
    let place = Place::new();
    let script = PAIR.replace("\"asker\"", "\"a\\x1b[2Jx\"");
    let file = place.write("hostile.py", &script);
    let path = place.file("s\u{1b}[31m.sock");
    let mut command = Command::new("python3");
    command.args([argument(&file), "plain", argument(&path), "10", "10", "10"]);
    let mut pair = Program::start(command);
    pair.line();
    pair.tell("go");
    assert_eq!(pair.line(), "done");
    let id = pair.child.id().to_string();
    let output = place.run(&["watch", "--pid", &id, "--for", "1s", "--wide", "--quiet"]);
    let said = text(&output.stdout);
    assert!(said.contains("a\\u{1b}[2Jx") && !said.contains('\u{1b}'), "{said}");
}
