//! Waits for delayed acknowledgements: told from servers that take as long for reasons of their own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::{Place, answer, argument, text};

/// A web server that keeps connections and answers in one way of its own.
const SERVER: &str = r#"
import os, socket, sys, threading, time

way, path = sys.argv[1:]
lock = threading.Lock()

def answer(connection):
    if connection.family == socket.AF_INET and way == "nodelay":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    body = b"hello world"
    header = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    while True:
        request = b""
        while b"\r\n\r\n" not in request:
            got = connection.recv(65536)
            if not got:
                return
            request += got
        if way == "sleeps":
            time.sleep(0.042)
        if way == "waits":
            with lock:
                pass
        if way in ("sleeps", "waits"):
            connection.sendall(header + body)
        else:
            connection.sendall(header)
            connection.sendall(body)

def hold():
    while True:
        with lock:
            time.sleep(0.042)
        time.sleep(0.0005)

def serve(listener):
    listener.listen(64)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()

tcp = socket.create_server(("127.0.0.1", 0))
unix = socket.socket(socket.AF_UNIX)
unix.bind(path)
if way == "waits":
    threading.Thread(target=hold, daemon=True).start()
for listener in (tcp, unix):
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
print(tcp.getsockname()[1], flush=True)
sys.stdin.read()
"#;

struct Server {
    child: Child,
    tcp: String,
    unix: String,
}

impl Server {
    fn that(place: &Place, way: &str) -> Self {
        let file = place.write("server.py", SERVER);
        let unix = place.file(&format!("{way}.sock"));
        let mut child = Command::new("python3")
            .args([argument(&file), way, argument(&unix)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, tcp: format!("127.0.0.1:{}", port.trim()), unix: argument(&unix).to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `app` says of a server in two epochs.
fn app(place: &Place, server: &Server, more: &[&str]) -> (String, Value) {
    let at = ["app", "http", "--unix", &server.unix, "--tcp", &server.tcp, "--concurrency", "1"];
    let short = ["--epochs", "2", "--quiet", "--no-save", "--json", "app.json"];
    let output = place.run(&[&at[..], &short, more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = std::fs::read(place.file("app.json")).unwrap();
    (text(&output.stdout).to_owned(), serde_json::from_slice(&read).unwrap())
}

#[test]
fn a_server_that_writes_in_pieces_is_flagged_before_any_advice() {
    let place = Place::new();
    let server = Server::that(&place, "pieces");
    let (shown, document) = app(&place, &server, &[]);
    let told = document["answer"]["held_back"].as_array().unwrap_or_else(|| panic!("{shown}"));
    assert!(told[0].as_str().unwrap().contains("set TCP_NODELAY in the server"), "{told:?}");
    let place_of = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words:?} is not in {shown}"));
    assert!(place_of("delayed acknowledgement") < place_of("What a request saves"), "{shown}");
    assert!(shown.matches("set TCP_NODELAY in the server").count() == 1, "once for all placements: {shown}");
    assert!(shown.contains("TCP waits for delayed acknowledgements"), "{shown}");
    let held = |cell: &&Value| cell["transport"] == "tcp" && !cell["held_back"].is_null();
    let cell = document["cells"].as_array().unwrap().iter().find(held).unwrap();
    let held = &cell["held_back"][0];
    assert_eq!(held["side"], "server", "{held}");
    // Nearly all of the time; where other tests keep the processors busy, some waits are not seen.
    assert!(held["share"].as_f64() > Some(0.1) && held["ns_per_op"].as_f64() > Some(4e6), "{held}");
}

#[test]
fn a_server_that_takes_as_long_for_another_reason_is_not() {
    for way in ["sleeps", "waits"] {
        let place = Place::new();
        let server = Server::that(&place, way);
        let (shown, document) = app(&place, &server, &[]);
        assert!(document["answer"]["held_back"].is_null(), "{way}: {shown}");
        assert!(!shown.contains("delayed acknowledgement"), "{way}: {shown}");
        let slow = |cell: &Value| cell["wall_ns_per_op"]["median"].as_f64() > Some(10e6);
        assert!(document["cells"].as_array().unwrap().iter().any(slow), "{way}: it was to take long");
    }
}

#[test]
fn it_is_the_first_cause_that_is_named_with_the_side_and_its_calls() {
    let place = Place::new();
    let server = Server::that(&place, "pieces");
    let (shown, _) = app(&place, &server, &["--explain"]);
    // The first weighs most; what neighbours do is none of the server.
    let of_others = ["- busy-neighbour", "- steal"];
    let causes = shown.lines().skip_while(|line| *line != "Causes");
    let mut causes = causes.filter(|line| line.starts_with("- "));
    let first = causes.find(|line| !of_others.iter().any(|code| line.starts_with(code)));
    assert!(first.is_some_and(|line| line.starts_with("- nagle: ")), "{shown}");
    let place_of = |words: &str| shown.find(words).unwrap_or_else(|| panic!("{words:?} is not in {shown}"));
    let cause = &shown[place_of("nagle: ")..].split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(cause.contains("(39 B and 11 B) with TCP_NODELAY off"), "{cause}");
}

#[test]
fn a_native_side_that_writes_in_pieces_is_named_and_what_joins_them_mends_it() {
    let place = Place::new();
    for side in ["client", "server"] {
        let cell = format!("rr/tcp/200/c1/free/tcp_nodelay=false,writes=2,writes_by={side}");
        let args = ["explain", &cell, "--epochs", "2", "--no-floor", "--quiet", "--json", "explanation.json"];
        let output = place.run(&args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let read = std::fs::read(place.file("explanation.json")).unwrap();
        let explanation = answer(&read);
        let causes = explanation["causes"].as_array().unwrap();
        let first =
            causes.iter().find(|cause| !cause["cell"].is_null()).unwrap_or_else(|| panic!("{explanation}"));
        assert_eq!((&first["code"], &first["side"]), (&"nagle".into(), &side.into()), "{explanation}");
        assert!(first["sentence"].as_str().unwrap().contains("16 B and 184 B"), "{first}");
    }
    let joined = "rr/tcp/200/c1/free/tcp_nodelay=false,writes=2,join=";
    for join in ["writev", "more", "cork"] {
        let args =
            ["explain", &format!("{joined}{join}"), "--epochs", "1", "--no-floor", "--quiet", "--json", "-"];
        let output = place.run(&args);
        let explanation = answer(&output.stdout);
        let causes = explanation["causes"].as_array().unwrap();
        assert!(causes.iter().all(|cause| cause["code"] != "nagle"), "{join}: {causes:?}");
    }
}
