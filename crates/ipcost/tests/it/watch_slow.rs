//! `ipcost watch --slow` over programs in which one request in 200 is slow for a reason that is known, since it was planted.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::private_server::Server;
use crate::common::{Place, argument, assert_refused, missing, text, wait};
use crate::watch::{Ended, Terminal};

/// A planted pair that ends with its test, and what it started.
struct Planted {
    child: Child,
    at: String,
}

impl Planted {
    fn start(place: &Place, kind: &str, over: &str) -> Option<Self> {
        let file = place.write("plant.py", include_str!("watch_slow/plant.py"));
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let path = place.file(&format!("{kind}.{port}"));
        let mut command = Command::new("python3");
        let mut child = command
            .arg(file)
            .args([kind, argument(&path), over])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let planted = Self { child, at: argument(&path).to_owned() };
        if line.contains("no group") {
            missing("quotas", "no control group for processor time can be made");
            return None;
        }
        Some(planted)
    }

    /// What was planted took so long in the mean, milliseconds.
    fn planted_ms(&self) -> f64 {
        let text = std::fs::read_to_string(format!("{}.times", self.at)).unwrap();
        let times: Vec<f64> = text.lines().filter_map(|line| line.parse().ok()).collect();
        assert!(times.len() >= 3, "{times:?}");
        times.iter().sum::<f64>() / times.len() as f64 * 1e3
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        // The end of its input ends what it has started.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Watches for slow requests; `None` where they cannot be followed, and that is allowed.
fn slow(place: &Place, args: &[&str]) -> Option<Value> {
    let all = [&["watch", "-q", "--json", "-"], args].concat();
    let output = wait(place.command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let watched: Value = serde_json::from_slice(&output.stdout).unwrap();
    if let Some(shares) = watched["slow"]["shares"].as_array() {
        missing("bpf", &format!("requests cannot be followed: {shares:?}"));
        return None;
    }
    Some(watched["slow"].clone())
}

/// The conversation with most slow requests whose programs have these in their names.
#[track_caller]
fn conversation<'a>(slow: &'a Value, client: &str, server: &str) -> &'a Value {
    let is = |side: &Value, name: &str| side["name"].as_str().unwrap().contains(name);
    let mut all = slow["conversations"].as_array().unwrap().iter();
    let found = all.find(|it| is(&it["client"], client) && is(&it["server"], server));
    found.unwrap_or_else(|| panic!("no {client} → {server}: {slow:#}"))
}

/// The time of each request of the first cause, milliseconds, if that is this one.
#[track_caller]
fn first_cause(conversation: &Value, cause: &str, said: &str) -> f64 {
    let first = &conversation["causes"][0];
    assert_eq!(first["cause"], cause, "{conversation:#}");
    assert!(first["found"].as_str().unwrap().contains(said), "{conversation:#}");
    first["total_ms"].as_f64().unwrap() / first["requests"].as_f64().unwrap()
}

/// A planted cause, what is said of it, and from when on a request is slow.
const PLANTS: [(&str, &str, &str, &str); 8] = [
    ("queued", "request-queued", "was busy, with what python3", "1ms"),
    ("ready", "request-ready", "was ready while python3", "1ms"),
    ("fdatasync", "request-blocked", "was in fdatasync", "1ms"),
    ("lock", "request-blocked", "was in futex, until another of its threads woke it", "1ms"),
    ("sleeping", "request-blocked", "was in clock_nanosleep", "1ms"),
    ("throttled", "request-throttled", "was throttled", "10ms"),
    ("stopped", "request-stopped", "was stopped", "1ms"),
    ("computing", "request-computing", "computed", "1ms"),
];

fn planted_cause_is_found(kind: &str, over: &str) {
    let (_, cause, said, limit) = PLANTS.iter().find(|(known, ..)| *known == kind).unwrap();
    let place = Place::new();
    let Some(planted) = Planted::start(&place, kind, over) else { return };
    let whom = if over == "tcp" { planted.at.rsplit_once('.').unwrap().1 } else { &planted.at };
    let flag = if over == "tcp" { "--port" } else { "--path" };
    let Some(slow) = slow(&place, &["--slow", limit, flag, whom, "--for", "4s"]) else { return };
    // Of two clients, the one whose requests are short by themselves.
    let conversations = slow["conversations"].as_array().unwrap();
    let most = conversations.iter().max_by_key(|it| it["requests"].as_u64()).unwrap();
    let took_ms = first_cause(most, cause, said);
    // A hog and a period of a group began before the request that met them, which waits for the rest.
    if !["ready", "throttled", "queued", "stopped"].contains(&kind) {
        let ratio = took_ms / planted.planted_ms();
        assert!((0.8..=1.2).contains(&ratio), "{ratio}: {most:#}");
    }
    let seen = slow["seen"].as_f64().unwrap();
    assert!(seen > 0.5 && slow["stolen_ms"].as_f64().unwrap() >= 0.0, "{slow:#}");
    // What the threads did has no gaps.
    let request = &slow["requests"][0];
    for lane in request["lanes"].as_array().unwrap() {
        let spans = lane["spans"].as_array().unwrap();
        let ends: Vec<f64> = spans.iter().map(|span| span["to_us"].as_f64().unwrap()).collect();
        let begins = spans.iter().skip(1).map(|span| span["from_us"].as_f64().unwrap());
        assert!(begins.zip(&ends).all(|(begin, end)| (begin - end).abs() < 1e-6), "{lane:#}");
        assert!((ends.last().unwrap() - request["took_us"].as_f64().unwrap()).abs() < 1.0, "{request:#}");
    }
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn planted_causes_are_named() {
    for (kind, ..) in PLANTS {
        planted_cause_is_found(kind, "unix");
    }
    planted_cause_is_found("sleeping", "tcp");
}

#[test]
#[ignore = "nightly: ten tries of each planted cause"]
fn planted_causes_are_named_nine_times_of_ten() {
    for (kind, ..) in PLANTS {
        let tries =
            (0..10).filter(|_| std::panic::catch_unwind(|| planted_cause_is_found(kind, "unix")).is_ok());
        assert!(tries.count() >= 9, "{kind}");
    }
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn a_pair_without_slow_requests_has_nothing_blamed() {
    let place = Place::new();
    let Some(planted) = Planted::start(&place, "none", "unix") else { return };
    for _ in 0..5 {
        let Some(slow) = slow(&place, &["--slow", "5ms", "--path", &planted.at, "--for", "2s"]) else {
            return;
        };
        let of_pair = conversation(&slow, "python3", "python3");
        assert!(of_pair["requests"].as_u64().unwrap() > 500, "{slow:#}");
        let blamed = of_pair["causes"].as_array().into_iter().flatten().filter(|cause| {
            // Another program may indeed have been in the way, or the hypervisor.
            !["request-ready", "not-explained"].contains(&cause["cause"].as_str().unwrap())
        });
        assert_eq!(blamed.count(), 0, "{of_pair:#}");
    }
}

/// The scheduling policies of what a process has started that runs this program, 0 being the usual one.
fn policies(of: u32) -> Vec<String> {
    let children = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    let mut found = Vec::new();
    for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        let policy = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(38));
        found.extend(policy.map(str::to_owned));
        found.extend(policies(child));
    }
    found
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn what_is_measured_afterwards_gives_no_way_to_others() {
    let place = Place::new();
    let Some(planted) = Planted::start(&place, "none", "unix") else { return };
    let args = ["watch", "--slow", "50ms", "--path", &planted.at, "--for", "3s", "--what-if", "tcp", "-q"];
    let mut watch = Ended(place.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut seen = Vec::new();
    let ended = loop {
        seen.extend(policies(watch.0.id()));
        if let Some(ended) = watch.0.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let mut errors = String::new();
    watch.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(ended.success(), "{errors}");
    assert!(seen.len() > 10 && seen.iter().all(|policy| policy == "0"), "{seen:?}");
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn strace_sees_the_same_call_take_as_long() {
    let place = Place::new();
    let Some(planted) = Planted::start(&place, "sleeping", "unix") else { return };
    let Some(slow) = slow(&place, &["--slow", "1ms", "--path", &planted.at, "--for", "2s"]) else { return };
    let of_pair = conversation(&slow, "python3", "python3");
    let seen_ms = first_cause(of_pair, "request-blocked", "was in clock_nanosleep");
    let server = of_pair["server"]["pid"].to_string();
    let file = place.file("strace");
    let strace =
        ["1", "strace", "-f", "-T", "-e", "trace=clock_nanosleep", "-p", &server, "-o", argument(&file)];
    if let Err(error) = Command::new("timeout").args(["-s", "INT"]).args(strace).output() {
        return missing("tracing", &error.to_string());
    }
    // clock_nanosleep(…) = 0 <0.005123>
    let lines = std::fs::read_to_string(file).unwrap();
    let times =
        lines.lines().filter_map(|line| line.rsplit_once('<')?.1.strip_suffix('>')?.parse::<f64>().ok());
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let by_strace_ms = times[times.len() / 2] * 1e3;
    assert!((0.8..=1.2).contains(&(seen_ms / by_strace_ms)), "{seen_ms} ms, {by_strace_ms} ms by strace");
}

/// A client in Python that asks again and again, until it is killed.
fn client(place: &Place, name: &str, script: &str, args: &[&str]) -> Ended {
    let file = place.write(name, script);
    Ended(
        Command::new("python3")
            .arg(file)
            .args(args)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    )
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn a_slow_command_of_another_client_of_redis_is_named() {
    let place = Place::new();
    let path = place.file("redis.sock");
    let mut server = Command::new("redis-server");
    server.args(["--port", "0", "--unixsocket", argument(&path), "--save", "", "--dir"]);
    let server = match server.arg(place.files.path()).stdout(Stdio::null()).spawn() {
        Ok(child) => Ended(child),
        Err(error) => return missing("redis-server", &error.to_string()),
    };
    place.wait_until("redis listens", || std::os::unix::net::UnixStream::connect(&path).is_ok());
    const FAST: &str = "import socket, sys, time
c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1])
while True: c.sendall(b'PING\\r\\n'); c.recv(100); time.sleep(5e-4)";
    const SLOW: &str = "import socket, sys, time
c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1])
c.sendall(b'EVAL \"for i=1,300000 do redis.call(\\'rpush\\',\\'l\\',i) end\" 0\\r\\n'); c.recv(100)
print('filled', flush=True)
while True: c.sendall(b'LPOS l zzz\\r\\n'); c.recv(100); time.sleep(.1)";
    let file = place.write("slow.py", SLOW);
    let mut other = Command::new("python3").arg(file).arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(other.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let other = Ended(other);
    let fast = client(&place, "fast.py", FAST, &[argument(&path)]);
    let Some(slow) = slow(&place, &["--slow", "1ms", "--pid", &fast.0.id().to_string(), "--for", "4s"])
    else {
        return;
    };
    let of_fast = conversation(&slow, "python3", "redis");
    first_cause(
        of_fast,
        "request-queued",
        &format!("was busy, with what python3 ({}) had sent", other.0.id()),
    );
    drop((server, fast, other));
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn an_upstream_of_nginx_is_named() {
    let place = Place::new();
    let Some(planted) = Planted::start(&place, "upstream", "tcp") else { return };
    let (path, root) = (place.file("nginx.sock"), place.files.path().display().to_string());
    let port = planted.at.rsplit_once('.').unwrap().1;
    let configuration = format!(
        "user root; worker_processes 1; daemon off; pid {root}/nginx.pid; error_log stderr crit; events {{}} http {{ access_log off; \
         client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u; scgi_temp_path {root}/s; \
         upstream up {{ server 127.0.0.1:{port}; keepalive 2; keepalive_requests 10000000; }} \
         server {{ listen unix:{}; keepalive_requests 10000000; location / {{ proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ''; }} }} }}",
        path.display()
    );
    let file = place.write("nginx.conf", &configuration);
    let mut nginx = Command::new("/usr/sbin/nginx");
    let nginx = match nginx.args(["-c", argument(&file), "-p", &root]).spawn() {
        Ok(child) => Ended(child),
        Err(error) => return missing("nginx-light", &error.to_string()),
    };
    place.wait_until("nginx listens", || std::os::unix::net::UnixStream::connect(&path).is_ok());
    const ASKS: &str = "import socket, sys, time
c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1])
while True: c.sendall(b'GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n'); c.recv(4096); time.sleep(5e-4)";
    let client = client(&place, "asks.py", ASKS, &[argument(&path)]);
    let Some(slow) = slow(&place, &["--slow", "2ms", "--command", "nginx", "--for", "4s"]) else { return };
    first_cause(conversation(&slow, "python3", "nginx"), "request-blocked", "waited for python3");
    let took_ms =
        first_cause(conversation(&slow, "nginx", "python3"), "request-blocked", "was in clock_nanosleep");
    let ratio = took_ms / planted.planted_ms();
    assert!((0.8..=1.2).contains(&ratio), "{ratio}");
    drop((nginx, client));
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn a_lock_of_postgresql_is_named_with_who_let_it_go() {
    let place = Place::new();
    let Some(server) = Server::start(&place, "postgres") else { return };
    let port = server.port.to_string();
    let asks = place.write("asks.sql", "SELECT pg_advisory_xact_lock(7);\n");
    let holds = place.write(
        "holds.sql",
        "BEGIN; SELECT pg_advisory_xact_lock(7); SELECT pg_sleep(0.04); COMMIT; SELECT pg_sleep(0.3);\n",
    );
    let load = |script: &std::path::Path, rate: &str| {
        let mut command = Command::new("pgbench");
        command.args(["-h", "127.0.0.1", "-p", &port, "-U", "ipcost", "-n", "-c", "1", "-T", "60"]);
        command.args(["-R", rate, "-f", argument(script), "postgres"]).env("PGPASSWORD", &server.secret);
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map(Ended)
    };
    let loads = match (load(&asks, "500"), load(&holds, "3")) {
        (Ok(asks), Ok(holds)) => [asks, holds],
        (Err(error), _) | (_, Err(error)) => return missing("postgresql", &error.to_string()),
    };
    std::thread::sleep(std::time::Duration::from_secs(1));
    let client = loads[0].0.id().to_string();
    let Some(slow) = slow(&place, &["--slow", "5ms", "--pid", &client, "--for", "5s"]) else { return };
    let took_ms = first_cause(
        conversation(&slow, "pgbench", "postgres"),
        "request-blocked",
        "was in epoll_wait, until postgres",
    );
    assert!((5.0..80.0).contains(&took_ms), "{took_ms}");
    drop(loads);
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn a_server_in_go_is_followed_over_its_threads() {
    let place = Place::new();
    let path = place.file("go.sock");
    const SERVER: &str = r#"package main
import ("net"; "os"; "time")
func main() {
    l, _ := net.Listen("unix", os.Args[1])
    for {
        c, _ := l.Accept()
        go func() {
            b := make([]byte, 100)
            for n := 1; ; n++ {
                k, e := c.Read(b)
                if e != nil { return }
                if n % 200 == 0 { for t := time.Now(); time.Since(t) < 5 * time.Millisecond; {} }
                c.Write(b[:k])
            }
        }()
    }
}
"#;
    let (source, program) = (place.write("slow.go", SERVER), place.file("slow"));
    let mut build = Command::new("go");
    build.args(["build", "-o", argument(&program), argument(&source)]).env("GOCACHE", place.file("cache"));
    match build.output() {
        Ok(output) => assert!(output.status.success(), "{}", text(&output.stderr)),
        Err(error) => return missing("peer-go", &error.to_string()),
    }
    let server = Ended(Command::new(&program).arg(&path).spawn().unwrap());
    place.wait_until("it listens", || std::os::unix::net::UnixStream::connect(&path).is_ok());
    const ASKS: &str = "import socket, sys, time
c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1])
while True: c.sendall(b'x'); c.recv(100); time.sleep(5e-4)";
    let client = client(&place, "asks.py", ASKS, &[argument(&path)]);
    let Some(slow) = slow(&place, &["--slow", "1ms", "--path", argument(&path), "--for", "4s"]) else {
        return;
    };
    let took_ms = first_cause(conversation(&slow, "python3", "slow"), "request-computing", "computed");
    assert!((4.0..6.0).contains(&took_ms), "{took_ms}");
    drop((server, client));
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn requests_over_two_pipes_are_followed() {
    let place = Place::new();
    const PAIR: &str = "import subprocess, sys, time
SERVER = \"\"\"import os, time
for count in range(1, 1 << 30):
    data = os.read(0, 100)
    if not data: break
    if count % 200 == 0: time.sleep(5e-3)
    os.write(1, data)\"\"\"
server = subprocess.Popen([sys.executable, '-c', SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
while True: server.stdin.write(b'x'); server.stdout.read(1); time.sleep(5e-4)";
    let pair = client(&place, "pipes.py", PAIR, &[]);
    let pid = pair.0.id().to_string();
    place.wait_until("its server runs", || {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.is_ok_and(|children| !children.is_empty())
    });
    let Some(slow) = slow(&place, &["--slow", "4ms", "--pid", &pid, "--for", "3s"]) else { return };
    let of_pair = conversation(&slow, "python3", "python3");
    assert_eq!((of_pair["medium"].as_str(), of_pair["client"]["pid"].to_string()), (Some("pipe"), pid));
    assert!(of_pair["requests"].as_u64().unwrap() > 300 && of_pair["overlapping"] == 0, "{of_pair:#}");
    let causes = of_pair["causes"].as_array().unwrap();
    let sleeps = causes.iter().any(|it| it["found"].as_str().unwrap().contains("was in clock_nanosleep"));
    assert!(sleeps, "{of_pair:#}");
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn slow_requests_of_a_row_are_shown_on_a_terminal() {
    let place = Place::new();
    let Some(planted) = Planted::start(&place, "sleeping", "tcp") else { return };
    let port = planted.at.rsplit_once('.').unwrap().1;
    let mut terminal = Terminal::watching(&format!("--port {port}"));
    terminal.until("python3");
    terminal.press(b"s");
    let shown = terminal.until("any key goes back");
    if shown.contains("cannot be followed") {
        return missing("bpf", "requests cannot be followed");
    }
    // The slowest hundredth is known once enough of them are.
    terminal.until("was in clock_nanosleep");
    terminal.press(b"x");
    terminal.until("arrows choose a row");
    terminal.press(b"q");
    terminal.rest();
    let mut terminal = Terminal::watching(&format!("--slow 1ms --port {port}"));
    terminal.until("request-blocked");
    terminal.press(b"q");
    let after = terminal.rest();
    assert!(after.contains("request-blocked"), "{after}");
}

#[test]
fn what_is_wrong_with_a_limit_is_said_before_anything_is_watched() {
    let place = Place::new();
    assert_refused(&place.run(&["watch", "--slow", "0"]), &["longer than 0"]);
    assert_refused(&place.run(&["watch", "--slow", "10s", "--for", "2s"]), &["watch longer with --for"]);
    assert_refused(&place.run(&["watch", "--slow", "5x"]), &["5x"]);
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn where_nothing_was_slow_or_nothing_fits_a_line_says_so() {
    let place = Place::new();
    let Some(planted) = Planted::start(&place, "none", "unix") else { return };
    let told = |args: &[&str]| {
        let all = [&["watch", "-q", "--for", "1s"], args].concat();
        let output = wait(place.command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).replace('\n', " ")
    };
    let slow = told(&["--slow", "900ms", &planted.at]);
    if slow.contains("cannot be followed") {
        return missing("bpf", "requests cannot be followed");
    }
    assert!(slow.contains("took more than 900 ms; the slowest took"), "{slow}");
    assert!(told(&["--slow", ":1"]).contains("No conversation fits"));
    // The word after it is whom to watch.
    assert!(told(&["--slow", "/nowhere.sock"]).contains("No conversation fits"));
}

#[test]
#[ignore = "alone: times and rates of other programs"]
fn a_record_of_slow_requests_is_shown_and_drawn_again() {
    let place = Place::new();
    let Some(planted) = Planted::start(&place, "sleeping", "unix") else { return };
    let file = place.file("slow.json");
    let args = ["watch", "-q", "--for", "2s", "--slow", "1ms", &planted.at, "--json", argument(&file)];
    let output = wait(place.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let (first, page) = (text(&output.stdout), place.file("slow.html"));
    let again = wait(
        place
            .command(&["show", argument(&file), "--html", argument(&page)])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    assert_eq!(text(&again.stdout), first, "{}", text(&again.stderr));
    if first.contains("cannot be followed") {
        return missing("bpf", "requests cannot be followed");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("class=\"lane\"") && page.contains("clock_nanosleep"), "{page}");
    assert!(first.contains("requests took more than 1.00 ms"), "{first}");
}
