//! Running the load tools, one client each, on its processor.

use std::path::Path;

use anyhow::{Context, Result};
use ipcost_model::Pattern;
use tempfile::TempDir;

use super::SubjectAt;
use super::loads::ServerLoad;
use super::server::ServerSocket;
use crate::figures;
use crate::processes::output_of;
use xtask::shell::path_text;

/// Requests on a kept connection: about half a second, so that clocks of milliseconds do.
const REQUESTS: u64 = 25_000;
/// Connections to a server that accepts them itself. There are 28 000 ports, and each is held for a second.
const CONNECTIONS: u64 = 6_000;
/// Connections to a server that forks for each.
const FORKS: u64 = 200;

/// The time of a request by redis-benchmark.
pub fn redis_benchmark(load: &ServerLoad, at: &SubjectAt<'_>, socket: ServerSocket) -> Result<f64> {
    let to = match socket {
        ServerSocket::Unix => ["-s", &at.server.path],
        ServerSocket::Tcp => ["-p", &at.server.port],
    };
    let connects = load.pattern == Pattern::Connect;
    let (count, keeps) = if connects { (CONNECTIONS, "0") } else { (REQUESTS * load.pipeline, "1") };
    let (count, pipeline) = (count.to_string(), load.pipeline.to_string());
    let fixed = ["-c", "1", "-n", &count, "-P", &pipeline, "-k", keeps, "--csv"];
    let request: Vec<&str> = load.request.split(' ').collect();
    let words = [&["redis-benchmark"], &to[..], &fixed, &request].concat();
    figures::redis_benchmark(&output_of(Some(at.client), &words)?)
}

/// The time of a transaction by pgbench, in the simple protocol, as ipcost's client speaks it.
pub fn pgbench(load: &ServerLoad, at: &SubjectAt<'_>, socket: ServerSocket) -> Result<f64> {
    let dir = TempDir::new()?;
    let script = dir.path().join("script.sql");
    std::fs::write(&script, load.request)?;
    let connects = load.pattern == Pattern::Connect;
    let count = if connects { FORKS } else { REQUESTS }.to_string();
    let (user, database) = login(at)?;
    let to = format!(
        "host={} port={} user={user} dbname={database} sslmode=disable gssencmode=disable",
        libpq_host(at, socket)?,
        at.server.port
    );
    let mut words = vec!["pgbench", "-n", "-M", "simple", "-c", "1", "-t", &count, "-f", path_text(&script)?];
    words.extend(connects.then_some("-C"));
    words.push(&to);
    figures::pgbench(&output_of(Some(at.client), &words)?)
}

/// The time of a query by sysbench's driver for PostgreSQL, which asks as libpq's `PQexec` does.
pub fn sysbench_postgres(load: &ServerLoad, at: &SubjectAt<'_>, socket: ServerSocket) -> Result<f64> {
    let (user, database) = login(at)?;
    let host = libpq_host(at, socket)?;
    let to = [("host", host.as_str()), ("port", &at.server.port), ("user", user), ("db", database)];
    sysbench(load, at, "pgsql", &to)
}

/// The time of a query by sysbench's driver for MariaDB and MySQL.
pub fn sysbench_mariadb(load: &ServerLoad, at: &SubjectAt<'_>, socket: ServerSocket) -> Result<f64> {
    let (user, database) = login(at)?;
    let to = match socket {
        ServerSocket::Unix => [("host", "localhost"), ("socket", &at.server.path)],
        ServerSocket::Tcp => [("host", "127.0.0.1"), ("port", &at.server.port)],
    };
    sysbench(load, at, "mysql", &[&to[..], &[("user", user), ("db", database)]].concat())
}

/// The time of a query by one of sysbench's drivers.
fn sysbench(load: &ServerLoad, at: &SubjectAt<'_>, driver: &str, to: &[(&str, &str)]) -> Result<f64> {
    let dir = TempDir::new()?;
    let script = dir.path().join("query.lua");
    std::fs::write(
        &script,
        format!(
            "function thread_init() connection = sysbench.sql.driver():connect() end\n\
             function event() connection:query([[{}]]) end\n",
            load.request
        ),
    )?;
    let mut words = vec!["sysbench".to_owned(), format!("--db-driver={driver}")];
    words.extend(to.iter().map(|(name, value)| format!("--{driver}-{name}={value}")));
    words.extend(["--threads=1", "--time=0"].map(str::to_owned));
    words.extend([format!("--events={REQUESTS}"), path_text(&script)?.to_owned(), "run".to_owned()]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    figures::sysbench(&output_of(Some(at.client), &words)?)
}

/// The time of a request by h2load over HTTP/1.1.
pub fn h2load(load: &ServerLoad, at: &SubjectAt<'_>, socket: ServerSocket) -> Result<f64> {
    let port = &at.server.port;
    let to = match socket {
        ServerSocket::Unix => format!("unix:{}", at.server.path),
        ServerSocket::Tcp => format!("http://127.0.0.1:{port}"),
    };
    let path = load.request.strip_prefix("GET ").context("h2load asks with GET")?;
    let (page, count) = (format!("http://127.0.0.1:{port}{path}"), REQUESTS.to_string());
    figures::h2load(&output_of(
        Some(at.client),
        &["h2load", "--h1", "-c", "1", "-m", "1", "-n", &count, "-B", &to, &page],
    )?)
}

/// The user and the database of a private server.
fn login(at: &SubjectAt<'_>) -> Result<(&'static str, &'static str)> {
    at.kind.private_login.with_context(|| format!("{} has no login", at.kind.name))
}

/// The host as libpq takes it: the directory of the Unix socket, or an address.
fn libpq_host(at: &SubjectAt<'_>, socket: ServerSocket) -> Result<String> {
    match socket {
        ServerSocket::Unix => {
            let dir = Path::new(&at.server.path).parent().context("a socket lies in a directory")?;
            Ok(path_text(dir)?.to_owned())
        }
        ServerSocket::Tcp => Ok("127.0.0.1".to_owned()),
    }
}
