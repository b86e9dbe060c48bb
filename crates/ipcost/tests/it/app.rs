//! `ipcost app` with real servers: private ones, and one that was there already.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ipcost_features::app::KINDS;
use serde_json::Value;

use crate::common::private_server::package_of;
use crate::common::{Place, argument, assert_refused, missing, text, wait};

fn all() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

/// A place that servers of other users can reach, as they do below /tmp.
fn place() -> Place {
    let place = Place::new();
    fs::set_permissions(place.tmp.path(), fs::Permissions::from_mode(0o711)).unwrap();
    place
}

/// Those of these kinds that can be started here; it fails if one cannot that has to be there.
fn installed<'a>(place: &Place, kinds: &[&'a str]) -> Vec<&'a str> {
    let list = text(&place.run(&["app"]).stdout).to_owned();
    let is_ready = |kind: &&&str| {
        let mut lines = list.lines().skip_while(|line| !line.starts_with(&format!("{kind} ")));
        let state = lines.next().unwrap_or_else(|| panic!("{kind} is not listed:\n{list}"));
        if !state.contains("ready") {
            missing(package_of(kind), state);
        }
        state.contains("ready")
    };
    kinds.iter().filter(is_ready).copied().collect()
}

/// Servers do not keep the mark of a test in their environment, but their directory in their command.
fn assert_no_server_is_left(place: &Place) {
    place.assert_clean();
    let dir = place.tmp.path().to_str().unwrap();
    place.wait_until("no server is left", || {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
            .all(|words| !String::from_utf8_lossy(&words).contains(dir))
    });
}

#[test]
fn a_private_server_does_the_same_work_on_both_sides_and_leaves_nothing() {
    let place = place();
    for kind in &installed(&place, &all()) {
        let document = place.document(&["app", kind, "--epochs", "1", "--concurrency", "2"]);
        let answer = &document["answer"];
        assert_eq!(answer["schema"], "ipcost-app/1", "{kind}");
        // Memcached listens on one socket a process.
        let known = |checked: &&Value| *kind == "memcached" && checked["what"] == "server process";
        let differ =
            |checked: &&Value| checked["same"] == false && checked["made_equal"].is_null() && !known(checked);
        let differing: Vec<&Value> = answer["same_work"].as_array().unwrap().iter().filter(differ).collect();
        assert!(differing.is_empty(), "{kind}: {differing:?}");
        // Besides those of each placement that occurred.
        let savings = answer["savings"].as_array().unwrap().iter().filter(|it| it["ran"].is_null());
        let savings: Vec<&Value> = savings.collect();
        let count = |field: &str, value: &Value| savings.iter().filter(|it| it[field] == *value).count();
        assert!(count("pattern", &"connect".into()) > 0 && count("concurrency", &2.into()) == 2, "{kind}");
        // The processes of the server are found and counted, and no one else's time is taken for theirs.
        let mut of_connections = 0;
        for sample in document["samples"].as_array().unwrap() {
            let used = &sample["server"];
            let [user, sys] = ["user_ns", "sys_ns"].map(|name| used[name].as_u64().unwrap());
            let wall = sample["wall_ns"].as_u64().unwrap();
            assert!(user + sys < 3 * wall + 50_000_000, "{kind}: {sample}");
            let cell = &document["cells"][sample["cell"].as_u64().unwrap() as usize];
            match cell["pattern"] == "connect" {
                // A process forked for a connection is counted in ticks once it has ended: a brief batch may see none.
                true => of_connections += user + sys,
                false => assert!(user + sys > 0, "{kind}: {sample}"),
            }
        }
        assert!(of_connections > 0, "{kind}");
        assert_no_server_is_left(&place);
    }
}

#[test]
fn a_run_that_is_killed_leaves_no_server() {
    let place = place();
    for kind in installed(&place, &all()) {
        for ready in [false, true] {
            let mut child = place.start(&["app", kind, "--epochs", "100000", "--quiet"]);
            if ready {
                place.wait_until("its peers run", || {
                    let of_kind =
                        |(_, words): &&(u32, String)| words.trim_end().ends_with(&format!("app {kind}"));
                    place.processes().iter().filter(of_kind).count() > 2
                });
            } else {
                place.wait_until("its server is being made", || {
                    fs::read_dir(place.tmp.path()).unwrap().count() > 0
                });
            }
            child.kill().unwrap();
            child.wait().unwrap();
            assert_no_server_is_left(&place);
        }
    }
}

/// A redis-server of the user's own.
struct Own {
    child: Child,
    socket: PathBuf,
    port: u16,
}

impl Own {
    fn start(place: &Place, password: Option<&str>) -> Option<Self> {
        let socket = place.file("own");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("redis-server");
        command.args(["--save", "", "--unixsocket", argument(&socket), "--port", &port.to_string()]);
        command.args(password.iter().flat_map(|password| ["--requirepass", password]));
        let child = match command.current_dir(place.files.path()).stdout(Stdio::null()).spawn() {
            Ok(child) => child,
            Err(error) => {
                missing("redis-server", &error.to_string());
                return None;
            }
        };
        place.wait_until("redis-server listens", || {
            UnixStream::connect(&socket).is_ok() && TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Some(Self { child, socket, port })
    }

    fn ask(&self, command: &str) -> String {
        let mut connection = UnixStream::connect(&self.socket).unwrap();
        connection.write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut reply = String::new();
        BufReader::new(connection).read_line(&mut reply).unwrap();
        reply.trim_end().to_owned()
    }

    fn tcp(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_of_the_users_own_is_asked_what_they_ask_and_is_not_changed() {
    let place = place();
    let Some(own) = Own::start(&place, None) else { return };
    assert_eq!(own.ask("SET mine treasure"), "+OK");
    let tcp = own.tcp();
    let at = ["--unix", argument(&own.socket), "--tcp", &tcp];
    let ask = ["app", "redis", "--command", "GET mine", "--epochs", "1", "--concurrency", "1"];
    let document = place.document(&[&ask[..], &at].concat());
    let answer = &document["answer"];
    assert_eq!(answer["private"], Value::Null);
    let asked: Vec<&Value> = answer["requests"].as_array().unwrap().iter().map(|it| &it["request"]).collect();
    assert_eq!(asked, ["PING", "GET mine"]);
    assert_eq!(answer["unix"]["process"], own.child.id());
    // The server is where it is; the client also runs next to it and apart from it, where the system tells where that is.
    for sample in document["samples"].as_array().unwrap() {
        let cell = &document["cells"][sample["cell"].as_u64().unwrap() as usize];
        let is_seen = sample["whereabouts"]["ran"].is_string();
        assert!(cell["placement"] == "free" || is_seen && cell["pattern"] == "rr", "{cell} {sample}");
    }
    for row in answer["savings"].as_array().unwrap() {
        let asked = row["placement"].as_str().unwrap();
        assert!(asked == "free" || row["ran"] == asked, "{row}");
    }
    assert_eq!((own.ask("DBSIZE").as_str(), own.ask("STRLEN mine").as_str()), (":1", ":8"));

    let refused = |arguments: &[&str], parts: &[&str]| {
        assert_refused(&place.run(&[&["app"], arguments].concat()), parts);
    };
    refused(
        &[&["redis", "--command", "SET mine x"][..], &at].concat(),
        &["SET is not known to only read", "--writes"],
    );
    refused(
        &[&["redis", "--command", "LLEN mine"][..], &at].concat(),
        &["over the Unix socket", "WRONGTYPE"],
    );
    refused(
        &["postgres", "--user", "x", "--tcp", &tcp],
        &["over TCP", "PostgreSQL", "is it a server of this kind?"],
    );
    refused(
        &["mariadb", "--user", "x", "--tcp", &tcp],
        &["over TCP", "MariaDB", "is it a server of this kind?"],
    );
    assert_eq!(own.ask("STRLEN mine"), ":8");
    drop(own);
    refused(&["redis", "--tcp", &tcp], &["no server listens at", &tcp, "to have a private one started"]);
    place.assert_clean();
}

#[test]
fn a_program_in_front_of_the_server_is_named_and_no_saving_is_told() {
    let place = place();
    let Some(own) = Own::start(&place, None) else { return };
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = format!("TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr");
    let mut proxy = Command::new("socat");
    proxy.args([listen, format!("UNIX-CONNECT:{}", own.socket.display())]);
    let proxy = match proxy.stderr(Stdio::null()).spawn() {
        Ok(child) => Killed(child),
        Err(error) => return missing("socat", &error.to_string()),
    };
    place.wait_until("socat listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let tcp = format!("127.0.0.1:{port}");
    let asked = ["app", "redis", "--unix", argument(&own.socket), "--tcp", &tcp, "--concurrency", "1"];
    let answer = |more: &[&str]| {
        let file = place.file("app.json");
        let output = place.run(&[&asked[..], more, &["--json", argument(&file)]].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let document: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        (text(&output.stdout), document["answer"].clone())
    };
    let (shown, answer_) = answer(&["--epochs", "1"]);
    // Lines of the terminal break anywhere.
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["socat (process ", "what moving saves is not known"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    assert_eq!(answer_["tcp"]["process"].as_u64(), Some(proxy.0.id().into()));
    for saving in answer_["savings"].as_array().unwrap() {
        assert!(saving["saved_ns"].is_null() && saving["saved_cpu_ns"].is_null(), "{saving:#}");
    }
    // Who says that it is one server is told what the two addresses differ by.
    let (_, answer_) = answer(&["--same-server", "--epochs", "12"]);
    assert!(answer_["savings"].as_array().unwrap().iter().any(|saving| saving["saved_ns"].is_object()));
    assert!(answer_["apart"].is_null(), "{answer_:#}");
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn one_socket_alone_has_its_figures_and_what_the_other_needs() {
    let place = place();
    let Some(own) = Own::start(&place, None) else { return };
    let port = format!("localhost:{}", own.port);
    let ask = ["app", "keydb", "--epochs", "1", "--concurrency", "1"];
    for (flag, at, needs) in
        [("--tcp", port.as_str(), "unixsocket "), ("--unix", argument(&own.socket), "port 6379")]
    {
        let output = place.run(&[&ask[..], &[flag, at]].concat());
        let shown = text(&output.stdout);
        assert!(output.status.success() && shown.starts_with("KeyDB"), "{shown}{}", text(&output.stderr));
        for part in ["Cost per request over", "p99", "PING: ", needs, "docs/app.md#redis"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(shown.contains("localhost answered at "), flag == "--tcp", "{shown}");
    }
    drop(own);
    assert_refused(
        &place.run(&["app", "redis", "--tcp", &port]),
        &["no server listens at localhost", "127.0.0.1"],
    );
    place.assert_clean();
}

#[test]
fn a_server_on_the_loopback_of_ipv6_is_reached_by_number_and_by_name() {
    let place = place();
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        return missing("ipv6", "there is no address ::1 here");
    };
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let Some(own) = Own::start(&place, None) else { return };
    let number = format!("[::1]:{port}");
    assert_eq!(own.ask("CONFIG SET bind ::1"), "+OK");
    assert_eq!(own.ask(&format!("CONFIG SET port {port}")), "+OK");
    let at = ["--unix", argument(&own.socket), "--tcp", &number];
    let ask = ["app", "redis", "--epochs", "1", "--concurrency", "1"];
    let document = place.document(&[&ask[..], &at].concat());
    assert_eq!(document["answer"]["tcp"]["address"], number.as_str());
    place.assert_clean();
}

#[test]
fn an_alias_is_its_kind_and_another_product_is_said() {
    let place = place();
    if installed(&place, &["http", "redis"]).len() < 2 {
        return;
    }
    let ask = |name: &str, more: &[&str]| {
        let ask = ["app", name, "--epochs", "1", "--concurrency", "1", "--burst", "0"];
        let output = place.run(&[&ask[..], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    };
    let (shown, said) = ask("caddy", &[]);
    assert!(said.contains("caddy: the private server is nginx; your own Caddy: --unix PATH"), "{said}");
    assert!(shown.starts_with("HTTP server nginx"), "{shown}");
    let (shown, said) = ask("nginx", &[]);
    assert!(shown.starts_with("nginx/") && !said.contains("the private server is"), "{shown}{said}");
    let (_, said) = ask("keydb", &["--quiet"]);
    assert!(!said.contains("the private server is"), "{said}");
    assert_no_server_is_left(&place);
}

#[test]
fn a_burst_that_would_use_up_the_budget_is_left_out_with_a_line() {
    let place = place();
    let Some(own) = Own::start(&place, None) else { return };
    let ask =
        ["app", "redis", "--unix", argument(&own.socket), "--yes", "--command", "PING", "--concurrency", "1"];
    // A first round is taken to need two seconds, of which a quarter of this budget would not be left.
    let output = place.run(&[&ask[..], &["--burst", "5", "--budget", "2.5s"]].concat());
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("5 clients at the same moment: left out"), "{shown}");
    place.assert_clean();
}

#[test]
fn every_client_of_a_burst_is_accounted_for() {
    let place = place();
    let Some(own) = Own::start(&place, None) else { return };
    let tcp = own.tcp();
    let at = ["--yes", "--unix", argument(&own.socket), "--tcp", &tcp];
    let ask = ["app", "redis", "--command", "PING", "--epochs", "1", "--concurrency", "1", "--burst", "50"];
    let document = place.document(&[&ask[..], &at].concat());
    let burst = &document["answer"]["burst"];
    for side in ["unix", "tcp"] {
        let count = |what: &str| burst[side][what].as_u64().unwrap();
        let all = count("answered") + count("late") + count("refused") + count("failed");
        // Three rounds; a redis-server lets more than 50 wait.
        assert_eq!((all, count("refused"), count("failed")), (150, 0, 0), "{side}: {burst}");
    }
    place.assert_clean();
}

#[test]
fn a_password_comes_from_the_environment_and_is_in_no_document() {
    let place = place();
    let Some(own) = Own::start(&place, Some("geheim-7")) else { return };
    let tcp = own.tcp();
    let arguments = ["app", "redis", "--tcp", &tcp, "--epochs", "1", "--concurrency", "1", "--json", "-"];
    assert_refused(&place.run(&arguments), &["the server wants a password", "REDISCLI_AUTH"]);
    let with = |password: &str| place.command(&arguments).env("REDISCLI_AUTH", password).output().unwrap();
    assert_refused(&with("wrong"), &["over TCP", "WRONGPASS"]);
    let output = with("geheim-7");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("geheim") && !text(&output.stderr).contains("geheim"));
    place.assert_clean();
}

/// A MariaDB of the user's own, with a table and a user who may change it.
struct OwnMariaDb {
    child: Child,
    socket: PathBuf,
    port: u16,
}

impl OwnMariaDb {
    fn start(place: &Place) -> Option<Self> {
        if installed(place, &["mariadb"]).is_empty() {
            return None;
        }
        let dir = place.file("own");
        fs::create_dir(&dir).unwrap();
        let data = format!("--datadir={}", dir.display());
        // Like other servers it does not run as root unless told to.
        let made = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--user=root", "--auth-root-authentication-method=normal", &data])
            .args(["--skip-test-db", "--loose-debug-no-sync"])
            .output();
        let said = match made {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(text(&output.stdout) + &text(&output.stderr)),
            Err(error) => Some(error.to_string()),
        };
        if let Some(said) = said {
            missing("mariadb-client-core", &format!("mariadb-install-db: {said}"));
            return None;
        }
        let (socket, users) = (dir.join("s"), place.file("users.sql"));
        let statements = [
            "CREATE DATABASE shop;",
            "CREATE TABLE shop.goods (id INT PRIMARY KEY, name TEXT);",
            "INSERT INTO shop.goods VALUES (1, 'tea');",
            "CREATE DEFINER=root@localhost PROCEDURE shop.sell() INSERT INTO shop.goods VALUES (3, 'salt');",
            "CREATE USER keeper IDENTIFIED BY 'geheim-7';",
            "GRANT ALL ON shop.* TO keeper;",
        ];
        fs::write(&users, statements.join("\n")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("mariadbd")
            .args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1", &data])
            .args([format!("--socket={}", socket.display()), format!("--port={port}")])
            .args([format!("--init-file={}", users.display()), format!("--pid-file={}/pid", dir.display())])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let own = Self { child, socket, port };
        place.wait_until("mariadbd answers", || {
            let mut greeting = [0; 5];
            let connection = TcpStream::connect(("127.0.0.1", port));
            connection.is_ok_and(|mut connection| connection.read_exact(&mut greeting).is_ok())
        });
        Some(own)
    }
}

impl Drop for OwnMariaDb {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_mariadb_of_the_users_own_is_asked_over_both_sockets_and_is_not_changed() {
    let place = place();
    let Some(own) = OwnMariaDb::start(&place) else { return };
    let (tcp, unix) = (format!("127.0.0.1:{}", own.port), own.socket.clone());
    let at = ["app", "mariadb", "--unix", argument(&unix), "--tcp", &tcp];

    let login = ["--user", "keeper", "--database", "shop", "--epochs", "1", "--concurrency", "2"];
    let ask = |password: &str, query: &str, more: &[&str]| {
        let arguments = [&at[..], &login, &["--query", query, "--json", "-"], more].concat();
        place.command(&arguments).env("MYSQL_PWD", password).env("HOME", place.files.path()).output().unwrap()
    };
    let all = "SELECT name FROM goods WHERE id = 1";
    let output = ask("geheim-7", all, &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("geheim") && !text(&output.stderr).contains("geheim"));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let answer = &document["answer"];
    assert_eq!(answer["unix"]["process"], own.child.id());
    let checked = answer["same_work"].as_array().unwrap();
    let over_unix = |what: &str| &checked.iter().find(|it| it["what"] == what).unwrap()["unix"];
    assert_eq!(over_unix("login"), "mysql_native_password");
    assert!(over_unix("version").as_str().unwrap().ends_with("-MariaDB"), "{checked:?}");

    let refused = |password: &str, query: &str, parts: &[&str]| {
        assert_refused(&ask(password, query, &[]), parts);
    };
    let read_only = ["over the Unix socket", "READ ONLY", "--writes"];
    for query in
        ["INSERT INTO goods VALUES (2, 'oil')", "CREATE TABLE x (id INT)", "DROP TABLE goods", "CALL sell()"]
    {
        refused("geheim-7", query, &read_only);
    }
    refused("geheim-7", "SELECT 1; DROP TABLE goods", &["the query failed", "1064"]);
    refused("geheim-7", "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE goods", &["the query failed"]);
    refused("geheim-7", "SELECT name FROM goods WHERE id > 1", &["returns nothing"]);
    refused("wrong", all, &["Access denied", "MYSQL_PWD"]);
    refused("geheim-7", "SELECT name FROM nowhere", &["the query failed", "nowhere"]);
    // A file of options, as other clients take it.
    fs::write(place.file(".my.cnf"), "[client]\nuser = keeper\npassword = geheim-7\n").unwrap();
    let quietly = |more: &[&str]| {
        let arguments = [&at[..], &["--epochs", "1", "--concurrency", "1"], more].concat();
        place.command(&arguments).env_remove("MYSQL_PWD").env("HOME", place.files.path()).output().unwrap()
    };
    let output = quietly(&[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_refused(&quietly(&["--database", "none"]), &["the server refused the login", "none"]);
    // With --writes it is written to, with as many rows as were asked for.
    let output = ask("geheim-7", "INSERT INTO goods VALUES (NULL, 'x')", &["--writes"]);
    assert_refused(&output, &["cannot be null"]);
    let output = ask("geheim-7", "REPLACE INTO goods VALUES (2, 'oil')", &["--writes"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    drop(own);
    assert_refused(&quietly(&[]), &["no server listens at"]);
    place.assert_clean();
}

#[test]
fn a_private_server_may_be_written_to_if_asked_for() {
    let place = place();
    if installed(&place, &["redis"]).is_empty() {
        return;
    }
    let ask = ["app", "redis", "--command", "INCR a", "--concurrency", "1", "--epochs", "1"];
    assert_refused(&place.run(&ask), &["INCR is not known to only read", "--writes"]);
    let document = place.document(&[&ask[..], &["--writes"]].concat());
    assert_eq!(document["answer"]["requests"][1]["request"], "INCR a");
    assert_no_server_is_left(&place);
}

#[test]
fn a_mistake_is_one_line_that_says_what_to_do() {
    let place = place();
    let refused = |arguments: &[&str], parts: &[&str]| {
        assert_refused(&place.run(&[&["app"], arguments].concat()), parts);
    };
    refused(&["postgers"], &["unknown server \"postgers\"", "postgres"]);
    refused(&["ngimx"], &["did you mean \"nginx\"?", "known: postgres, mariadb", "valkey"]);
    refused(&["redis", "--query", "SET a b"], &["SET is not known to only read", "--writes"]);
    refused(&["redis", "--tcp", "192.0.2.1:6379"], &["192.0.2.1 is not a loopback address"]);
    refused(&["redis", "--tcp", "1"], &["no server listens at", "127.0.0.1:1"]);
    refused(&["redis", "--unix", "/nowhere/at-all"], &["no server listens at /nowhere/at-all"]);
    refused(&["redis", "--unix", "/tmp"], &["/tmp is a directory; give the path of a socket"]);
    refused(&["redis", "--unix", ""], &["--unix is empty"]);
    refused(&["redis", "--tcp", ":6379"], &["--tcp :6379 names no host", "127.0.0.1:6379"]);
    refused(&["redis", "--concurrency", "0"], &["--concurrency"]);
    if !installed(&place, &["mariadb"]).is_empty() {
        refused(&["mariadb", "--query", "SELEC 1"], &["the query failed", "SELEC"]);
        refused(&["mariadb", "--query", "SELECT id FROM typical WHERE id = 0"], &["returns nothing"]);
        refused(&["mariadb", "--query", "DELETE FROM typical", "--writes"], &["DELETE command denied"]);
    }
    if installed(&place, &["postgres"]).is_empty() {
        return;
    }
    refused(&["postgres", "--query", "SELEC 1"], &["the query failed: syntax error", "SELEC"]);
    refused(&["postgres", "--query", "CREATE TEMP TABLE x (a int)"], &["read-only", "--writes"]);
    refused(&["postgres", "--query", "SELECT 1 WHERE false"], &["returns nothing"]);
    refused(&["postgres", "--query-file", "/nowhere.sql"], &["cannot read /nowhere.sql"]);
    assert_no_server_is_left(&place);
}

#[test]
fn an_interrupt_shows_what_was_measured_and_ends_the_server() {
    let place = place();
    if installed(&place, &["redis"]).is_empty() {
        return;
    }
    let child = place.start(&["app", "redis", "--epochs", "100000", "--concurrency", "1"]);
    let second = || {
        let dirs = fs::read_dir(place.tmp.path()).unwrap().flatten();
        dirs.filter_map(|dir| fs::read_dir(dir.path()).ok()).flatten().flatten().count()
    };
    // Each epoch has a server, and each server a directory.
    place.wait_until("some epochs are complete", || second() > 4);
    crate::common::signal(child.id(), "INT");
    let output = wait(child);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("Equal conditions?"), "{}", text(&output.stdout));
    assert_no_server_is_left(&place);
}
