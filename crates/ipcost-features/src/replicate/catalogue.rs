//! The experiments that travel with the program, and files of the user's own.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ipcost_lab::LabError;
use ipcost_model::units::counted;
use ipcost_model::{Matrix, unknown};
use ipcost_report::wrap::{wrapped, wrapped_under};
use ipcost_sys::OS;

use super::Replication;
use super::needs::Needs;
use crate::texts;

/// Their names; the files are under `replications/`.
const FILES: [&str; 22] = [
    "celluloid-connect", "c-stream", "go-pingpong", "socat-bulk", "redis-incr", "ipc-bench-pingpong",
    "rust-pingpong", "local-ipc-kernels", "inet-vs-unix", "rigtorp-ipc-bench", "cpp-pingpong", "kernel-tax",
    "iceperf", "io-uring-ipc", "five-ipc-unix", "smc-loopback", "uvloop-echo", "mysql-point-select",
    "postgres-select", "redis-unix", "php-fpm-unix", "http-proxy-unix",
];
/// What each is about, for the list.
const ABOUT: [(&str, &str); 22] = [
    ("celluloid-connect", "TCP or Unix sockets, a connection per request, from Ruby"),
    ("c-stream", "TCP or Unix sockets from C, by message size"),
    ("go-pingpong", "Unix sockets, TCP and named pipes from Go on Windows"),
    ("socat-bulk", "pipes, FIFOs, Unix sockets and TCP for bulk data"),
    ("redis-incr", "TCP or a Unix socket to Redis, a connection per request"),
    ("ipc-bench-pingpong", "ping-pong over signals, sockets, pipes, queues, shared memory"),
    ("rust-pingpong", "ping-pong over pipes, TCP, UDP and shared memory from Rust"),
    ("local-ipc-kernels", "TCP and Unix sockets under two kernels"),
    ("inet-vs-unix", "TCP or Unix sockets for bulk data, by write size"),
    ("rigtorp-ipc-bench", "ping-pong and small messages over TCP, Unix sockets, pipes"),
    ("cpp-pingpong", "ping-pong over sockets, queues, pipes, shared memory from C++"),
    ("kernel-tax", "pipe, Unix socket and shared memory at real-time priority"),
    ("iceperf", "POSIX queues, Unix datagrams and shared memory, by size"),
    ("io-uring-ipc", "pipes, sockets, eventfd and an io_uring channel"),
    ("five-ipc-unix", "pipes, FIFOs, queues, shared memory and sockets"),
    ("smc-loopback", "SMC-D's loopback device against TCP and Unix sockets"),
    ("uvloop-echo", "TCP or Unix sockets for an echo server in Python"),
    ("mysql-point-select", "MySQL over TCP or a Unix socket"),
    ("postgres-select", "PostgreSQL over TCP or a Unix socket"),
    ("redis-unix", "Redis over TCP or a Unix socket, with pipelining"),
    ("php-fpm-unix", "PHP-FPM behind TCP or a Unix socket"),
    ("http-proxy-unix", "a reverse proxy with its upstream on TCP or a Unix socket"),
];
/// The largest file of the user's own that is read.
const MOST_BYTES: u64 = 1 << 20;

/// What they are called.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.into_iter()
}

/// The text of one of them.
fn text(name: &str) -> &'static str {
    texts::text(&format!("replications/{name}.toml"))
}

/// Those that travel along, in the order of the list: real servers come last.
pub fn all() -> Result<Vec<Replication>, LabError> {
    FILES.iter().map(|name| parse_here(name, text(name))).collect()
}

/// One that travels along, by its name; `None` if there is none.
pub fn known(name: &str) -> Option<Replication> {
    FILES.contains(&name).then(|| parse_here(name, text(name)).ok()).flatten()
}

/// The ones that were asked for, in that order.
pub fn chosen(names: &[String]) -> Result<Vec<Replication>, LabError> {
    if names.is_empty() {
        return Err(wrong(format!(
            "name an experiment, such as ipcost replicate c-stream, or give --all or --apps; --list describes them: {}",
            FILES.join(", ")
        )));
    }
    names.iter().map(|name| one(name)).collect()
}

fn one(name: &str) -> Result<Replication, LabError> {
    if FILES.contains(&name) {
        return parse_here(name, text(name));
    }
    let path = Path::new(name);
    if path.extension().is_some_and(|end| end == "toml") {
        let cannot = |error: std::io::Error| wrong(format!("cannot read {name}: {error}"));
        let mut text = String::new();
        // A device or a pipe has no length that could be asked for.
        let file = File::open(path).map_err(cannot)?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(cannot)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(wrong(format!(
                "{name}: a replication has at most {MOST_BYTES} bytes, and this one has more"
            )));
        }
        return parse_here(name, &text);
    }
    Err(wrong(unknown("experiment", name, FILES)))
}

fn wrong(reason: String) -> LabError {
    LabError::Refused(reason)
}

/// What of a file belongs to this system.
fn parse_here(name: &str, text: &str) -> Result<Replication, LabError> {
    Ok(parse(name, text)?.on(OS))
}

fn parse(name: &str, text: &str) -> Result<Replication, LabError> {
    let replication: Replication = toml::from_str(text).map_err(|error| {
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        let start = error.span().map_or(0, |span| span.start);
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        wrong(format!("{name}:{line}: {message}"))
    })?;
    let cells = replication.runs.iter().flat_map(|run| &run.cells);
    cells
        .clone()
        .try_for_each(Matrix::check_requests_of_a_file)
        .map_err(|reason| wrong(format!("{name}: {reason}")))?;
    Ok(replication)
}

/// Under the names of the list.
const INDENT: &str = "                    ";

/// All of them, a line each: how long they take, what they are about, and whether something is missing for them here, in lines of
/// at most `room` columns.
pub fn list(room: usize) -> Result<String, LabError> {
    let mut out = String::new();
    let replications = all()?;
    let needs = Needs::of(&replications)?;
    let mut apps = None;
    for replication in &replications {
        if apps.replace(replication.is_of_apps()) != Some(replication.is_of_apps()) {
            out.push_str(match replication.is_of_apps() {
                false => "Transports\n",
                true => "\nReal servers (--apps)\n",
            });
        }
        let name = &replication.id;
        let about = ABOUT.iter().find(|(known, _)| known == name).map_or("", |(_, about)| about);
        let missing = if needs.line(name).is_some() { " (*)" } else { "" };
        let line =
            wrapped_under(&format!("{name:<18}  {}  {about}{missing}", size(replication)), room, INDENT);
        out.push_str(&format!("{line}\n"));
    }
    out.push_str("\nipcost replicate --list NAME describes one; ipcost replicate NAME measures it.\n");
    if !needs.missing.is_empty() {
        out.push_str("(*) needs software that is missing here.\n");
    }
    out.extend(needs.remedy().map(|remedy| format!("{}\n", wrapped(&remedy, room))));
    Ok(out)
}

/// How many claims, and how long it takes.
fn size(replication: &Replication) -> String {
    let budgets = replication.runs.iter().filter_map(|run| run.budget);
    let seconds: u64 = budgets.map(|budget| budget.as_secs()).sum();
    let claims = format!("{},", counted(replication.claims.len() as u32, "claim"));
    format!("{claims:<9} at most {seconds:>3} s")
}

/// Some of them, with what they ask, how long they take, what they rest on, and what is missing for them here.
pub fn described(replications: &[Replication], room: usize) -> Result<String, LabError> {
    let mut out = String::new();
    let needs = Needs::of(replications)?;
    for replication in replications {
        let name = &replication.id;
        let mut said = |before: &str, text: &str| {
            let line = wrapped_under(&format!("{before:<18}  {text}"), room, INDENT);
            out.push_str(&format!("{line}\n"));
        };
        said(name, &size(replication));
        said("", &replication.question);
        replication.source.iter().for_each(|source| said("", &source.to_string()));
        replication.runs.iter().for_each(|run| said("", &format!("{}: {}", run.software, run.about)));
        needs.line(name).iter().for_each(|missing| said("", missing));
    }
    out.extend(needs.remedy().map(|remedy| format!("{}\n", wrapped(&remedy, room))));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use ipcost_model::PlannedCell;

    use super::*;
    use crate::replicate::{ReplicationRun, Software, cells_of_run, check};

    #[test]
    fn a_file_says_what_is_measured_and_neither_whom_to_ask_nor_what_file_to_send() {
        let text = text("redis-unix");
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            parse("mine", &text.replacen(from, to, 1)).unwrap_err().to_string()
        };
        let peer = "[runs.peers.evil]\napp = \"redis\"\nsettings = [\"--tcp\", \"127.0.0.1:6379\", \"--writes\"]\n[[runs.cells]]\n";
        let error = refused("[[runs.cells]]\n", peer);
        assert!(error.contains("settings"), "{error}");
        let asks = "request = \"@/etc/passwd\"";
        let error = refused("request = \"GET ipcost:small\"", asks);
        assert!(error.contains("only a command line"), "{error}");
    }

    #[test]
    fn every_file_is_sound() {
        assert_eq!(all().unwrap().len(), FILES.len());
        let on = |os| FILES.map(|name| parse(name, text(name)).unwrap().on(os));
        for replication in ["linux", "macos", "windows"].into_iter().flat_map(on) {
            let replication = &replication;
            check(replication).unwrap();
            for claim in &replication.claims {
                let is_decided = claim.tests.iter().any(|test| test.decides) || claim.takes.is_some();
                assert!(is_decided, "{}: {}", replication.id, claim.text);
            }
            // Of software that is not here there are no counts to repeat.
            let has_original = replication.runs.iter().any(|run| run.software == Software::Original);
            assert!(replication.as_published.is_some() || replication.is_of_apps() || !has_original);
        }
        let list = list(100).unwrap();
        assert!(FILES.iter().all(|name| list.contains(name)), "{list}");
        assert_eq!(ABOUT.map(|(name, _)| name), FILES);
        let described = described(&[one("c-stream").unwrap()], 1000).unwrap();
        assert!(described.contains("how do PF_UNIX and PF_INET stream sockets differ"), "{described}");
    }

    #[test]
    fn the_article_on_windows_is_measured_there_as_it_was() {
        let windows = one("go-pingpong")
            .map(|_| parse("go-pingpong", text("go-pingpong")).unwrap().on("windows"))
            .unwrap();
        let published: Vec<u64> =
            windows.method["sizes"].as_array().unwrap().iter().flat_map(|size| size.as_u64()).collect();
        for run in &windows.runs {
            let cells = cells_of_run(run).unwrap();
            for transport in ["unix", "tcp", "npipe"] {
                for buffer in [8192, 65_537] {
                    let sizes: Vec<u64> = cells
                        .iter()
                        .filter(|cell| cell.cell.transport == transport && cell.server == cell.client)
                        .filter(|cell| cell.cell.options.server_buffer() == Some(buffer))
                        .map(|cell| cell.cell.size)
                        .collect();
                    assert_eq!(sizes, published, "{transport} with {buffer}");
                }
            }
        }
        let linux = parse("go-pingpong", text("go-pingpong")).unwrap().on("linux");
        let uses = |replication: &Replication, name: &str| {
            replication
                .runs
                .iter()
                .any(|run| cells_of_run(run).unwrap().iter().any(|cell| cell.cell.transport == name))
        };
        assert!(uses(&linux, "fifo") && !uses(&linux, "npipe"));
        assert!(!uses(&windows, "fifo") && uses(&windows, "npipe"));
        assert_ne!(linux.differs, windows.differs);
    }

    /// What the article's own counts are run with and what decides its claims are the same cells: no option, no peer, no
    /// message of another size. A server's buffer may be one of several that were published.
    #[test]
    fn what_decides_is_what_was_published() {
        let software = |peer: &str| {
            peer.split_once('-')
                .filter(|_| peer != "ruby-celluloid")
                .map_or(peer, |(name, _)| name)
                .to_owned()
        };
        let options = |cell: &PlannedCell| -> Vec<String> {
            let set = cell.cell.options.iter().map(|(name, value)| format!("{name}={value:?}"));
            set.filter(|option| !option.starts_with("server_buffer=")).collect()
        };
        for name in FILES {
            let text = text(name);
            let replication = parse(name, text).unwrap().on("linux");
            if replication.as_published.is_none() {
                continue;
            }
            let run = replication.runs.iter().find(|run| run.software == Software::Original).unwrap();
            let deciding = cells_of_run(run).unwrap();
            let mut compared = 0;
            for published in &replication.as_published.as_ref().unwrap().cells {
                let as_run = ReplicationRun { cells: vec![published.cell.clone()], ..run.clone() };
                for cell in cells_of_run(&as_run).unwrap() {
                    let is_like = |known: &&PlannedCell| {
                        known.work() == cell.work()
                            && known.transport == cell.transport
                            && software(&known.client) == software(&cell.client)
                            && software(&known.server) == software(&cell.server)
                    };
                    let like: Vec<&PlannedCell> = deciding.iter().filter(is_like).collect();
                    if like.is_empty() {
                        continue;
                    }
                    compared += 1;
                    assert!(
                        like.iter().any(|known| options(known) == options(&cell)),
                        "{name}: {} is none of {:?}",
                        cell.id,
                        like.iter().map(|known| &known.id).collect::<Vec<_>>()
                    );
                }
            }
            assert!(compared > 1, "{name}: nothing published is measured");
        }
    }

    #[test]
    fn names_that_are_none() {
        let error = |name: &str| chosen(&[name.to_owned()]).unwrap_err().to_string();
        assert!(
            error("celluloid").contains("did you mean") || error("celluloid").contains("celluloid-connect")
        );
        assert!(error("no-such.toml").contains("cannot read"));
        assert!(chosen(&[]).unwrap_err().to_string().contains("--list"));
    }
}
