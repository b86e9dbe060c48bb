//! `ipcost watch` over servers that run, against what they have counted themselves.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::private_server::Server;
use crate::common::{Place, argument, missing, text};
use crate::watch::{Ended, Watch, between, bytes, codes};

/// How long the servers are under load, seconds.
const LASTS: &str = "60";

/// Requests, and bytes of both directions.
type Counts = [u64; 3];

/// What was counted since an earlier time.
fn since(before: Counts, after: Counts) -> Counts {
    std::array::from_fn(|at| after[at] - before[at])
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// What a command prints to standard output.
#[track_caller]
fn told(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The number after a word.
#[track_caller]
fn number(told: &str, after: &str) -> u64 {
    let word = told.split_once(after).and_then(|(_, rest)| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no {after} in {told}"))
}

/// Starts a server that may be missing, by the package that has it.
fn start(command: &mut Command, package: &'static str) -> Option<Ended> {
    match command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
        Ok(child) => Some(Ended(child)),
        Err(error) => {
            missing(package, &error.to_string());
            None
        }
    }
}

/// Redis, at both kinds of address.
struct Redis {
    _server: Ended,
    port: String,
    socket: String,
}

impl Redis {
    fn start(place: &Place) -> Option<Self> {
        let (port, socket) = (free_port().to_string(), argument(&place.file("redis.sock")).to_owned());
        let mut server = Command::new("redis-server");
        server.args(["--port", &port, "--unixsocket", &socket, "--save", ""]);
        let server = start(server.args(["--dir", argument(place.files.path())]), "redis-server")?;
        place.wait_until("redis listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
        Some(Self { _server: server, port, socket })
    }

    fn at(&self, over: &str) -> [&str; 2] {
        if over == "tcp" { ["-p", &self.port] } else { ["-s", &self.socket] }
    }

    fn counts(&self, over: &str) -> Counts {
        let told = told(Command::new("redis-cli").args(self.at(over)).args(["INFO", "stats"]));
        ["total_commands_processed:", "total_net_input_bytes:", "total_net_output_bytes:"]
            .map(|name| number(&told, name))
    }
}

/// nginx that notes how many bytes each request and each answer have.
struct Nginx {
    _server: Ended,
    port: u16,
    log: std::path::PathBuf,
}

impl Nginx {
    fn start(place: &Place) -> Option<Self> {
        let (port, log, root) = (free_port(), place.file("access.log"), place.files.path().display());
        let configuration = format!(
            "user root; daemon off; pid {root}/nginx.pid; error_log stderr crit; events {{}} http {{ \
             log_format lengths '$request_length $bytes_sent'; access_log {} lengths; keepalive_requests 100000000; \
             client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u; scgi_temp_path {root}/s; \
             server {{ listen 127.0.0.1:{port}; location / {{ return 200 hello; }} }} }}",
            log.display()
        );
        let file = place.write("counts.conf", &configuration);
        let mut server = Command::new("/usr/sbin/nginx");
        let server =
            start(server.args(["-c", argument(&file), "-p", argument(place.files.path())]), "nginx-light")?;
        place.wait_until("nginx listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Self { _server: server, port, log })
    }

    fn counts(&self) -> Counts {
        let log = std::fs::read_to_string(&self.log).unwrap();
        log.lines().filter_map(|line| line.split_once(' ')).fold([0; 3], |[requests, there, back], line| {
            [requests + 1, there + line.0.parse::<u64>().unwrap(), back + line.1.parse::<u64>().unwrap()]
        })
    }
}

/// How many transactions PostgreSQL has ended.
fn transactions(server: &Server) -> u64 {
    let mut psql = Command::new("psql");
    psql.args(["-h", "127.0.0.1", "-p", &server.port.to_string(), "-U", "ipcost", "-At", "-c"]);
    psql.args([
        "SELECT 'sum ' || sum(xact_commit) FROM pg_stat_database WHERE datname = 'postgres'",
        "postgres",
    ]);
    number(&told(psql.env("PGPASSWORD", &server.secret)), "sum ")
}

/// What a watch counted of conversations, for as long as it lasted.
fn counted(watched: &Value, all: &[&Value]) -> Counts {
    let seconds = watched["elapsed_s"].as_f64().unwrap();
    all.iter().fold([0; 3], |[requests, there, back], it| {
        assert!(it["there"]["known"] == "counted" && it["back"]["known"] == "counted", "{it:#}");
        let of_all = it["requests_per_s"].as_f64().unwrap_or_default() * seconds;
        [requests + of_all.round() as u64, there + bytes(it).0, back + bytes(it).1]
    })
}

#[test]
#[ignore = "alone: counts every request of a minute"]
fn a_minute_of_load_is_counted_as_the_servers_count_it() {
    let place = Place::new();
    let (Some(redis), Some(nginx), Some(postgres)) =
        (Redis::start(&place), Nginx::start(&place), Server::start(&place, "postgres"))
    else {
        return;
    };
    let watch = Watch::start(&place, &[]);
    let before = (redis.counts("unix"), transactions(&postgres));

    let redis_load = |over: &str| {
        let mut load = Command::new("timeout");
        load.args([LASTS, "redis-benchmark", "-n", "1000000000", "-c", "4", "-q"]).args(redis.at(over));
        Ended(load.arg("PING").stdout(Stdio::null()).spawn().unwrap())
    };
    let mut loads: Vec<Ended> = ["unix", "tcp"].map(redis_load).into();
    let mut load = Command::new("ab");
    load.args(["-q", "-k", "-t", LASTS, "-n", "5000000", "-c", "2"]);
    load.arg(format!("http://127.0.0.1:{}/", nginx.port));
    let Some(load) = start(&mut load, "apache2-utils") else { return };
    loads.push(load);
    let script = place.write("select.sql", "SELECT 1;");
    let mut load = Command::new("pgbench");
    load.args([
        "-h",
        "127.0.0.1",
        "-p",
        &postgres.port.to_string(),
        "-U",
        "ipcost",
        "-M",
        "simple",
        "-c",
        "2",
    ]);
    load.args(["-T", LASTS, "-n", "-f", argument(&script), "postgres"]).env("PGPASSWORD", &postgres.secret);
    let pgbench = load.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pgbench = pgbench.wait_with_output().unwrap();
    assert!(pgbench.status.success(), "{}", text(&pgbench.stderr));
    for mut load in loads {
        load.0.wait().unwrap();
    }

    let after = (redis.counts("unix"), transactions(&postgres));
    let watched = watch.end();
    if watched["counts_calls"] != true {
        return missing("tracing", "calls cannot be counted");
    }
    #[track_caller]
    fn assert_counted(server: &str, counted: u64, truth: u64) {
        assert!(truth > 10_000, "{server} was under load: {truth}");
        assert!((0.98..=1.02).contains(&(counted as f64 / truth as f64)), "{server}: {counted}, not {truth}");
    }
    let found = between(&watched, "redis-benchmark", "redis");
    assert!(found.iter().any(|it| it["medium"] == "unix") && found.iter().any(|it| it["medium"] == "tcp"));
    let seen = counted(&watched, &found);
    for (seen, truth) in std::iter::zip(seen, since(before.0, after.0)) {
        assert_counted("redis", seen, truth);
    }
    let seen = counted(&watched, &between(&watched, "ab", "nginx"));
    for (seen, truth) in std::iter::zip(seen, nginx.counts()) {
        assert_counted("nginx", seen, truth);
    }
    let [seen, ..] = counted(&watched, &between(&watched, "pgbench", "postgres"));
    assert_counted("PostgreSQL", seen, after.1 - before.1);
    assert_counted("pgbench", seen, number(&text(&pgbench.stdout), "actually processed: "));
}

#[test]
fn connections_of_pgbench_are_as_many_as_it_says() {
    let place = Place::new();
    let Some(server) = crate::common::private_server::Server::start(&place, "postgres") else { return };
    let at = server.port.to_string();
    let watch = Watch::start(&place, &["--port", &at]);
    let script = place.write("select.sql", "SELECT 1;");
    let mut pgbench = Command::new("pgbench");
    pgbench.args([
        "-h",
        "127.0.0.1",
        "-p",
        &at,
        "-U",
        "ipcost",
        "-C",
        // Longer than a look, so that one meets it.
        "-T",
        "3",
        "-n",
        "-f",
        argument(&script),
        "postgres",
    ]);
    let output = match pgbench.env("PGPASSWORD", &server.secret).output() {
        Ok(output) => output,
        Err(error) => return missing("postgresql", &error.to_string()),
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
    let watched = watch.end();
    // Those of its last moments have no client any more: the program has ended before the look that counts them.
    let found = between(&watched, "", "postgres");
    let opened: u64 = found.iter().map(|it| it["opened"].as_u64().unwrap()).sum();
    let told = text(&output.stdout);
    let done = told.split_once("actually processed: ").and_then(|(_, rest)| rest.split_whitespace().next());
    let done: u64 = done.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{told}"));
    // It opens one more, to see that the server is there, and may have opened the next when its time is over.
    assert!(done >= 10 && (done..=done + 2).contains(&opened), "{opened} for {done}: {watched:#}");
    assert!(codes(&watched).contains(&"connection-each"));
}

#[test]
#[ignore = "alone: counts every request of a minute"]
fn nginx_and_php_fpm_over_both_sockets() {
    let place = Place::new();
    let Some(server) = crate::common::private_server::Server::start(&place, "fastcgi") else { return };
    const REQUESTS: u64 = 300;
    let script = server.secret.clone();
    for (over, at) in
        [("tcp", format!("127.0.0.1:{}", server.port)), ("unix", format!("unix:{}", server.unix))]
    {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let root = place.files.path().display();
        let configuration = format!(
            "user root; daemon off; pid {root}/nginx.pid; error_log stderr crit; events {{}} http {{ access_log off; \
             client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f; uwsgi_temp_path {root}/u; scgi_temp_path {root}/s; \
             server {{ listen 127.0.0.1:{port}; location / {{ fastcgi_pass {at}; \
             fastcgi_param SCRIPT_FILENAME {script}; fastcgi_param REQUEST_METHOD GET; }} }} }}"
        );
        let file = place.write("nginx.conf", &configuration);
        let nginx = Command::new("/usr/sbin/nginx")
            .args(["-c", argument(&file), "-p", argument(place.files.path())])
            .spawn();
        let _nginx = match nginx {
            Ok(child) => Ended(child),
            Err(error) => return missing("nginx-light", &error.to_string()),
        };
        place.wait_until("nginx listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        let filter = if over == "tcp" {
            ["--port".to_owned(), server.port.to_string()]
        } else {
            ["--path".to_owned(), server.unix.clone()]
        };
        let watch = Watch::start(&place, &[&filter[0], &filter[1]]);
        for _ in 0..REQUESTS {
            // At a pace at which every call is sampled.
            std::thread::sleep(Duration::from_millis(5));
            let mut client = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            assert!(
                answer.starts_with(b"HTTP/1.1 ") && !answer.starts_with(b"HTTP/1.1 502"),
                "{}",
                text(&answer)
            );
        }
        let watched = watch.end();
        // Which of its workers answers is PHP-FPM's choice. Connections over a Unix socket are shorter than a look: who opens them is not
        // seen, but that the server takes them.
        let found = between(&watched, if over == "tcp" { "nginx" } else { "" }, "php-fpm");
        assert!(
            found.iter().all(|it| it["manner"] == "connections") && !found.is_empty(),
            "{over}: {watched:#}"
        );
        let opened: u64 = found.iter().map(|it| it["opened"].as_u64().unwrap()).sum();
        let (there, back) =
            found.iter().map(|it| bytes(it)).fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        // The call in which each worker waited already is not seen from its begin, nor what it leads to.
        let least = if over == "tcp" { REQUESTS } else { REQUESTS * 2 / 3 };
        assert!((least..=REQUESTS).contains(&opened), "{over}: {opened}, {watched:#}");
        assert!(there > least * 50 && back > least * 30, "{over}: {there} {back}");
        assert!(codes(&watched).contains(&"connection-each"), "{over}: {watched:#}");
    }
}
