//! Load tools of the servers themselves in the client's place: each batch starts one, and takes the time that it tells.

use std::io::{Read, Write, pipe};
use std::path::Path;
use std::time::Instant;

use ipcost_model::protocol::Address;
use ipcost_model::{Cell, ModelError, Pattern, Usage};
use ipcost_sys::Launch;
use ipcost_sys::driven_program::DrivenProgram;
use ipcost_sys::programs;

use super::kind::{Login, ServerKind};
use crate::adapters::server_address::ServerAddress;
use crate::adapters::side_channel::{self, Words};
use crate::adapters::{refused, system};
use crate::{JoinedReports, Order, PeerError, Prepared, Role, RoleState, WorkKind};

/// What a load tool is to the rest.
pub struct LoadTool {
    /// Its name in commands, and its program.
    pub name: &'static str,
    /// Debian's package with it.
    pub package: &'static str,
    /// The kinds of server that it loads.
    kinds: &'static [&'static str],
    /// Whether it does one operation each time that it is started.
    is_single: bool,
    /// Why everyone sees what it proves itself with; `None` if no one does.
    pub(super) shows_secret: Option<&'static str>,
    /// The variable that it takes a password from, if it takes it so.
    password: Option<&'static str>,
    arguments: fn(&Task<'_>) -> Result<Vec<String>, PeerError>,
    /// What it reads from its standard input.
    input: fn(&Task<'_>) -> String,
    /// What it tells of a batch; `None` if that is not understood.
    read: fn(&str, &Task<'_>) -> Option<ToolOutput>,
}

/// What a tool is to do.
struct Task<'a> {
    at: &'a ServerAddress,
    login: &'a Login,
    request: &'a str,
    clients: u64,
    ops: u64,
    pipeline: u64,
    /// Whether connections are kept.
    keeps: bool,
    tls: bool,
}

/// What a tool tells of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ToolOutput {
    /// How long it took; `None` if it does not tell.
    seconds: Option<f64>,
    /// Requests that were answered with an error, or not at all.
    bad: f64,
}

/// The measure of replies that are errors.
const BAD: &str = "bad_replies";

/// Every tool, in the order of their servers.
pub const TOOLS: &[LoadTool] = &[
    LoadTool {
        name: "pgbench",
        package: "postgresql-contrib",
        kinds: &["postgres"],
        is_single: false,
        shows_secret: None,
        password: Some("PGPASSWORD"),
        arguments: |task| {
            let (host, port) = postgres_place(task.at)?;
            let each = (task.ops / task.clients).max(1).to_string();
            let (clients, threads) = (task.clients.to_string(), task.clients.div_ceil(2).to_string());
            let words =
                ["-n", "-M", "simple", "-f", "/dev/stdin", "-t", &each, "-c", &clients, "-j", &threads];
            let mut words = owned(&words);
            words.extend(owned(&["-h", &host, "-p", &port]));
            words.extend(task.login.user.iter().flat_map(|user| owned(&["-U", user])));
            words.extend((!task.keeps).then(|| "-C".to_owned()));
            // libpq takes TLS over TCP if the server offers it, and never over a Unix socket.
            let mode = if task.tls { "prefer" } else { "disable" };
            let database = task.login.database.as_deref().unwrap_or("postgres");
            words.push(format!("dbname={database} sslmode={mode}"));
            Ok(words)
        },
        input: |task| format!("{};\n", task.request),
        read: |output, task| {
            let rate = number_after(output, "tps = ")?;
            let bad = number_after(output, "number of failed transactions: ").unwrap_or_default();
            Some(ToolOutput { seconds: Some(task.ops as f64 / rate), bad })
        },
    },
    LoadTool {
        name: "redis-benchmark",
        package: "redis-tools",
        kinds: &["redis"],
        is_single: false,
        shows_secret: Some(
            "redis-benchmark shows its password to every user of this machine, on its command line",
        ),
        password: None,
        arguments: |task| {
            let mut words = place(task.at, ["-s", "-h", "-p"])?;
            words.extend(owned(&["-c", &task.clients.to_string(), "-n", &task.ops.to_string(), "--csv"]));
            words.extend(owned(&[
                "-P",
                &task.pipeline.to_string(),
                "-k",
                if task.keeps { "1" } else { "0" },
            ]));
            if let Some(secret) = &task.login.secret {
                words.extend(owned(&["--user", crate::adapters::redis::USER, "-a", secret]));
            }
            words.extend(task.request.split_whitespace().map(str::to_owned));
            Ok(words)
        },
        input: |_| String::new(),
        read: |output, task| {
            // The request, requests a second and latencies, each in quotes, below a line with their names.
            let line = output.lines().rfind(|line| line.starts_with('"'))?;
            let rate: f64 = line.split("\",\"").nth(1)?.trim_matches('"').parse().ok()?;
            Some(ToolOutput { seconds: Some(task.ops as f64 / rate), bad: 0.0 })
        },
    },
    LoadTool {
        name: "sysbench",
        package: "sysbench",
        kinds: &["mariadb"],
        is_single: false,
        shows_secret: None,
        password: None,
        arguments: |task| {
            let mut words = owned(&[task.request, "--db-driver=mysql", "--mysql-ssl=off", "--tables=1"]);
            words.extend(mysql_place(task)?);
            words.push(format!("--mysql-db={}", task.login.database.as_deref().unwrap_or_default()));
            words.push(format!("--table-size={SYSBENCH_ROWS}"));
            words.extend([format!("--threads={}", task.clients), format!("--events={}", task.ops)]);
            words.extend(owned(&["--time=0", "--config-file=/dev/stdin", "run"]));
            Ok(words)
        },
        // Everyone can read its command line.
        input: |task| task.login.secret.iter().map(|secret| format!("mysql-password={secret}\n")).collect(),
        read: |output, _| {
            let seconds = number_after(output, "total time:")?;
            Some(ToolOutput {
                seconds: Some(seconds),
                bad: number_after(output, "ignored errors:").unwrap_or_default(),
            })
        },
    },
    LoadTool {
        name: "mariadb-dump",
        package: "mariadb-client",
        kinds: &["mariadb"],
        is_single: true,
        shows_secret: None,
        password: Some("MYSQL_PWD"),
        arguments: |task| {
            // No other's settings; and what a dump locks and asks of tables needs more rights than reading.
            let mut words =
                owned(&["--no-defaults", "--skip-ssl", "--skip-lock-tables", "--single-transaction"]);
            words.extend(mysql_place(task)?.into_iter().map(|word| word.replacen("--mysql-", "--", 1)));
            words.extend(task.login.database.clone());
            words.extend(task.request.split_whitespace().map(str::to_owned));
            Ok(words)
        },
        input: |_| String::new(),
        read: |_, _| Some(ToolOutput { seconds: None, bad: 0.0 }),
    },
    LoadTool {
        name: "ab",
        package: "apache2-utils",
        kinds: &["http", "nginx-php", "h2o-nginx"],
        is_single: false,
        shows_secret: Some(
            "ab shows the paths that it asks for to every user of this machine, on its command line",
        ),
        password: None,
        arguments: |task| {
            let path = task.request.strip_prefix("GET ").unwrap_or(task.request).trim();
            let mut words =
                owned(&["-q", "-r", "-c", &task.clients.to_string(), "-n", &task.ops.to_string()]);
            words.extend(task.keeps.then(|| "-k".to_owned()));
            let (true, at) = (task.at.port().is_some(), task.at) else {
                return Err(refused("ab has no Unix sockets; let it load a server in front of another"));
            };
            let secret: String = task.login.secret.iter().map(|secret| format!("/{secret}")).collect();
            words.push(format!("http://{at}{secret}{path}"));
            Ok(words)
        },
        input: |_| String::new(),
        read: |output, _| {
            let count = |label| number_after(output, label).unwrap_or_default();
            // Pages that tell the time differ in length, which ab counts as failures, too.
            let bad =
                count("Non-2xx responses:") + count("Connect: ") + count("Receive: ") + count("Exceptions: ");
            Some(ToolOutput { seconds: Some(number_after(output, "Time taken for tests:")?), bad })
        },
    },
];

/// The rows that sysbench asks for, of those that the table has.
const SYSBENCH_ROWS: u32 = 1000;

impl LoadTool {
    /// Finds a tool by its name, for a kind of server.
    pub fn find(name: &str, kind: &str) -> Result<&'static Self, PeerError> {
        let of_kind = || TOOLS.iter().filter(|tool| tool.kinds.contains(&kind));
        let unknown = || ModelError::unknown("load tool", name, of_kind().map(|tool| tool.name));
        Ok(of_kind().find(|tool| tool.name == name).ok_or_else(unknown)?)
    }

    /// The program that is missing, and its package; `None` if it is there.
    pub fn missing(&self) -> Option<(&'static str, &'static str)> {
        (!programs::is_there(self.name)).then_some((self.name, self.package))
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The first number after a label.
fn number_after(text: &str, label: &str) -> Option<f64> {
    let rest = text.split_once(label)?.1.trim_start();
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A place as arguments: the flag of a path, or those of a host and a port.
fn place(at: &ServerAddress, [path, host, port]: [&str; 3]) -> Result<Vec<String>, PeerError> {
    match (at.path(), at.host(), at.port()) {
        (Some(socket), ..) => Ok(owned(&[path, socket])),
        (None, Some(name), Some(number)) => Ok(owned(&[host, name, port, &number.to_string()])),
        _ => Err(refused("the server has told no address")),
    }
}

/// libpq names a Unix socket by its directory and a number at the end of its name.
fn postgres_place(at: &ServerAddress) -> Result<(String, String), PeerError> {
    let Some(path) = at.path().map(Path::new) else {
        let words = place(at, ["", "", ""])?;
        return Ok((words[1].clone(), words[3].clone()));
    };
    let number = path.extension().map(|end| end.to_string_lossy().into_owned());
    let dir = path.parent().map(|dir| dir.to_string_lossy().into_owned());
    dir.zip(number).ok_or_else(|| {
        refused(format!("{at} is no socket of PostgreSQL, such as /run/postgresql/.s.PGSQL.5432"))
    })
}

fn mysql_place(task: &Task<'_>) -> Result<Vec<String>, PeerError> {
    let words = place(task.at, ["--mysql-socket", "--mysql-host", "--mysql-port"])?;
    let mut words: Vec<String> = words.chunks(2).map(|pair| pair.join("=")).collect();
    words.extend(task.login.user.iter().map(|user| format!("--mysql-user={user}")));
    Ok(words)
}

/// The client's role, played by a tool.
struct Driving {
    tool: &'static LoadTool,
    login: Login,
    cell: Cell,
    request: String,
    at: ServerAddress,
    tls: bool,
    words: Words,
}

/// Connects to the server's side; the tool itself is started in each batch.
pub(super) fn prepare(
    tool: &'static LoadTool,
    (kind, login, tls): (&ServerKind, &Login, bool),
    cell: &Cell,
    at: &ServerAddress,
    address: &Address,
) -> Result<Prepared, PeerError> {
    if let Some((program, package)) = tool.missing() {
        return Err(refused(format!("{program} is not installed ({}: {package})", programs::INSTALL)));
    }
    let words = side_channel::reach(cell, address)?;
    let request = cell.request.clone().unwrap_or_else(|| kind.least.to_owned());
    let driving =
        Driving { tool, login: login.at(at), cell: cell.clone(), request, at: at.clone(), tls, words };
    Ok(Prepared {
        address: Address::new(),
        effective: Vec::new(),
        part: RoleState::Playing(Box::new(driving)),
    })
}

impl Role for Driving {
    fn run(&mut self, order: Order) -> Result<JoinedReports, PeerError> {
        let clients = u64::from(self.cell.concurrency);
        let (ops, times) = match self.tool.is_single {
            // Nothing that it says can be compared with anything, so once is enough to see that it works.
            true if order.kind == WorkKind::Verify => (1, 1),
            true => (1, order.ops),
            false => (order.ops.max(clients), 1),
        };
        let pipeline = self.cell.options.pipeline().unwrap_or(1);
        let keeps = self.cell.pattern == Pattern::Rr;
        let task = Task {
            at: &self.at,
            login: &self.login,
            request: &self.request,
            clients,
            ops,
            pipeline,
            keeps,
            tls: self.tls,
        };
        let (mut seconds, mut bad, mut usage) = (0.0, 0.0, Usage::default());
        for _ in 0..times {
            let began = Instant::now();
            let (used, output) = self.once(&task)?;
            let heard = (self.tool.read)(&output, &task).ok_or_else(|| {
                let last = output.lines().last().unwrap_or_default();
                refused(format!("what {} says is not understood: {last}", self.tool.name))
            })?;
            // In a batch of very few, a tool may tell no time at all.
            let own = heard.seconds.filter(|seconds| seconds.is_normal());
            seconds += own.unwrap_or_else(|| began.elapsed().as_secs_f64());
            bad += heard.bad;
            usage = usage + used;
        }
        self.words.say_done()?;
        // Of more operations than were asked for, the part that was.
        let part = (order.ops as f64 / (ops * times) as f64).min(1.0);
        let wall_ns = (seconds * 1e9 * part) as u64;
        let measures = [(BAD.to_owned(), bad * part)];
        Ok(JoinedReports { wall_ns, usage, measures: measures.into(), ..JoinedReports::default() })
    }
}

impl Driving {
    /// Starts the tool, and waits for its end; what it has used and written.
    fn once(&self, task: &Task<'_>) -> Result<(Usage, String), PeerError> {
        let failed = |what| system(format!("cannot {what} {}", self.tool.name));
        let (input, mut fed) = pipe().map_err(failed("speak to"))?;
        let (mut printed, output) = pipe().map_err(failed("listen to"))?;
        // Shorter than a pipe holds.
        fed.write_all((self.tool.input)(task).as_bytes()).map_err(failed("speak to"))?;
        drop(fed);
        let arguments = (self.tool.arguments)(task)?;
        let env: Vec<(&str, &str)> =
            self.tool.password.zip(self.login.secret.as_deref()).into_iter().collect();
        let started = DrivenProgram::start(Launch {
            program: self.tool.name,
            arguments: &arguments,
            env: &env,
            input: Some(input.into()),
            output: Some(output.into()),
            ..Launch::default()
        });
        let mut program = started.map_err(failed("start"))?;
        let mut text = Vec::new();
        printed.read_to_end(&mut text).map_err(failed("listen to"))?;
        let usage = program.finish()?;
        Ok((usage, String::from_utf8_lossy(&text).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn task<'a>(at: &'a ServerAddress, login: &'a Login, request: &'a str) -> Task<'a> {
        Task { at, login, request, clients: 10, ops: 1000, pipeline: 16, keeps: true, tls: false }
    }

    fn tool(name: &str) -> &'static LoadTool {
        TOOLS.iter().find(|tool| tool.name == name).unwrap()
    }

    #[test]
    fn what_tools_tell_is_read_from_what_they_print() {
        let (at, login) = (ServerAddress::of_port(Ipv4Addr::LOCALHOST.into(), 80), Login::default());
        let task = task(&at, &login, "");
        let heard = |name: &str, text: &str| (tool(name).read)(text, &task);
        let takes = |seconds, bad| Some(ToolOutput { seconds: Some(seconds), bad });
        let pgbench =
            "number of failed transactions: 3 (0.300%)\nlatency average = 0.1 ms\ntps = 500.0 (without …)\n";
        assert_eq!(heard("pgbench", pgbench), takes(2.0, 3.0));
        let redis = "\"test\",\"rps\",\"avg_latency_ms\"\n\"GET a,b\",\"4000.00\",\"0.2\"\n";
        assert_eq!(heard("redis-benchmark", redis), takes(0.25, 0.0));
        let sysbench = "    ignored errors:    2    (2.00 per sec.)\n    total time:      0.5000s\n";
        assert_eq!(heard("sysbench", sysbench), takes(0.5, 2.0));
        let ab = "Time taken for tests:   0.300 seconds\nFailed requests:        9\n   (Connect: 1, Receive: 0, Length: 7, Exceptions: 1)\nNon-2xx responses:      5\n";
        assert_eq!(heard("ab", ab), takes(0.3, 7.0), "pages of other lengths are no failures");
        for tool in TOOLS.iter().filter(|tool| !tool.is_single) {
            assert_eq!(heard(tool.name, "Killed"), None, "{}", tool.name);
        }
    }

    #[test]
    fn tools_reach_both_sockets_with_the_load_that_was_asked_for() {
        let login =
            Login { user: Some("ipcost".to_owned()), database: Some("shop".to_owned()), ..Login::default() };
        let port = ServerAddress::of_port(Ipv4Addr::LOCALHOST.into(), 5432);
        let path = ServerAddress::of_path("/run/x/.s.PGSQL.5433").unwrap();
        let words = |name: &str, at: &ServerAddress, request: &str| {
            (tool(name).arguments)(&task(at, &login, request))
                .map(|words| words.join(" "))
                .map_err(|error| error.to_string())
        };
        let over_tcp = words("pgbench", &port, "SELECT 1").unwrap();
        assert!(over_tcp.contains("-t 100 -c 10 -j 5 -h 127.0.0.1 -p 5432 -U ipcost"), "{over_tcp}");
        assert!(over_tcp.ends_with("dbname=shop sslmode=disable"), "{over_tcp}");
        assert!(words("pgbench", &path, "SELECT 1").unwrap().contains("-h /run/x -p 5433"));
        let redis = words("redis-benchmark", &path, "GET a").unwrap();
        assert_eq!(redis, "-s /run/x/.s.PGSQL.5433 -c 10 -n 1000 --csv -P 16 -k 1 GET a");
        let sysbench = words("sysbench", &path, "oltp_point_select").unwrap();
        assert!(sysbench.contains("--mysql-socket=/run/x/.s.PGSQL.5433 --mysql-user=ipcost --mysql-db=shop"));
        assert!(
            words("mariadb-dump", &port, "goods")
                .unwrap()
                .ends_with("--host=127.0.0.1 --port=5432 --user=ipcost shop goods")
        );
        assert!(words("ab", &port, "GET /a").unwrap().ends_with("-k http://127.0.0.1:5432/a"));
        assert!(words("ab", &path, "GET /a").unwrap_err().contains("no Unix sockets"));
        assert!(LoadTool::find("ab", "postgres").is_err_and(|error| error.to_string().contains("pgbench")));
    }
}
