//! `ipcost app` against the load tools of the servers themselves, by turns: docs/trust.md.
//!
//! One server runs for both, so its configuration favours neither. The tools never see ipcost's client.

mod clients;
mod loads;
mod ours;
mod server;

use anyhow::{Context, Result, bail, ensure};
use ipcost_features::app::{ServerKind, find};
use ipcost_model::Placement;
use ipcost_stats::{Random, epoch_interval, median};

use self::loads::{SERVERS, ServerLoad, Tested};
use self::server::{ServerSocket, StartedServer};
use crate::common::{build_ipcost, processors};
use crate::table::TextTable;
use crate::tools::tried;
use crate::verdict::{
    BenchVerdict, ComparedRow, ensure_none_wrong, print_compared, quotient_or_none, time_or_none, verdict,
};

/// The probability that a row's interval misses.
const ALPHA: f64 = 0.05;

/// What a request takes over both sockets, nanoseconds, and the ratio: ipcost's is the one that it shows.
#[derive(Debug, Clone, Copy)]
struct LoadTimes {
    unix_ns: f64,
    tcp_ns: f64,
    ratio: f64,
}

/// One load of one server, while it is measured.
struct LoadSubject {
    tested: &'static Tested,
    load: &'static ServerLoad,
    theirs: Vec<LoadTimes>,
    ours: Vec<LoadTimes>,
    failure: Option<String>,
}

/// Measures every load with the server's own tool and with ipcost once in each turn, in random order.
pub fn bench(turns: u32, words: &[&str]) -> Result<()> {
    if cfg!(not(target_os = "linux")) {
        bail!("the tools are those of Linux");
    }
    let (placement, names) = match words {
        ["apart", names @ ..] => (Placement::Apart, names),
        names => (Placement::Together, names),
    };
    for name in names {
        let known: Vec<&str> = SERVERS.iter().map(|tested| tested.kind).collect();
        ensure!(known.contains(name), "{name} is none of {}", known.join(", "));
    }
    build_ipcost()?;
    let (client, server) = processors(placement)?;
    let (mut subjects, mut not_run) = (Vec::new(), Vec::new());
    for tested in SERVERS.iter().filter(|tested| names.is_empty() || names.contains(&tested.kind)) {
        let (can, cannot): (Vec<&ServerLoad>, Vec<&ServerLoad>) =
            tested.loads.iter().partition(|load| tested.lacks(load).is_none());
        not_run.extend(
            cannot.iter().filter_map(|load| Some(format!("{}: {}", tested.name(load), tested.lacks(load)?))),
        );
        if !can.is_empty() {
            let kind = find(tested.kind).map_err(anyhow::Error::msg)?;
            let server = StartedServer::start(kind.name, server)?;
            subjects.extend(measured(tested, &can, turns, &SubjectAt { kind, server: &server, client })?);
        }
    }
    let rows: Vec<ComparedRow<7>> = subjects.iter().map(row).collect();
    let table = TextTable {
        header: ["load", "by", "unix", "tcp", "unix / tcp", "ipcost / tool", "verdict"],
        numbers: 2..4,
        rows: rows.iter().flat_map(|row| row.lines.iter().cloned()).collect(),
    };
    print_compared(&table, "Times are of one request, ratios are unix / tcp.", &rows, &not_run);
    println!();
    table.markdown().iter().for_each(|line| println!("{line}"));
    ensure_none_wrong(&rows, "loads")
}

/// A server, and the processor of those who ask it.
struct SubjectAt<'a> {
    kind: &'static ServerKind,
    server: &'a StartedServer,
    client: usize,
}

/// All turns with one server.
fn measured(
    tested: &'static Tested,
    loads: &[&'static ServerLoad],
    turns: u32,
    at: &SubjectAt<'_>,
) -> Result<Vec<LoadSubject>> {
    let of = |load: &&'static ServerLoad| LoadSubject {
        tested,
        load,
        theirs: Vec::new(),
        ours: Vec::new(),
        failure: None,
    };
    let mut subjects: Vec<LoadSubject> = loads.iter().map(of).collect();
    let mut random = Random::new(1);
    // One run of ipcost measures all loads.
    let ours = subjects.len();
    let mut order: Vec<usize> = (0..=ours).collect();
    for turn in 0..turns {
        eprint!("\rxtask: {}, turn {} of {turns} ", tested.kind, turn + 1);
        random.shuffle(&mut order);
        for &index in &order {
            if index == ours {
                let answer = ours::answer(tested, at).context("ipcost")?;
                for subject in &mut subjects {
                    subject.ours.push(ours::times(&answer, subject.load)?);
                }
                continue;
            }
            let subject = &mut subjects[index];
            let unix_first = random.below(2) == 0;
            if subject.failure.is_none() {
                match tried(|| theirs(subject.load, at, unix_first)) {
                    Ok(times) => subject.theirs.push(times),
                    Err(error) => subject.failure = Some(format!("{error:#}")),
                }
            }
        }
    }
    eprintln!();
    Ok(subjects)
}

/// The tool's figures over both sockets, one right after the other.
fn theirs(load: &ServerLoad, at: &SubjectAt<'_>, unix_first: bool) -> Result<LoadTimes> {
    let over = |socket| {
        let time_ns = (load.run)(load, at, socket).context(load.tool.name)?;
        ensure!(time_ns.is_finite() && time_ns > 0.0, "the figure of {} is {time_ns}", load.tool.name);
        Ok(time_ns)
    };
    let (unix_ns, tcp_ns) = if unix_first {
        let unix_ns = over(ServerSocket::Unix)?;
        (unix_ns, over(ServerSocket::Tcp)?)
    } else {
        let tcp_ns = over(ServerSocket::Tcp)?;
        (over(ServerSocket::Unix)?, tcp_ns)
    };
    Ok(LoadTimes { unix_ns, tcp_ns, ratio: unix_ns / tcp_ns })
}

/// Two lines for each load, so that both ratios are one below the other.
fn row(subject: &LoadSubject) -> ComparedRow<7> {
    let LoadSubject { tested, load, theirs, ours, failure } = subject;
    let over = |logs: Vec<f64>| epoch_interval(&logs, ALPHA).map(|found| found.interval);
    let pairs = ours.iter().zip(theirs);
    let quotient = over(pairs.map(|(ours, theirs)| (ours.ratio / theirs.ratio).ln()).collect());
    let verdict = match (failure, &quotient) {
        (None, Some(quotient)) => verdict(quotient, load.differs),
        _ => BenchVerdict::Failed,
    };
    let line = |name: &str, by: &str, all: &[LoadTimes], quotient: String, word: &str| {
        let time = |time_ns: fn(&LoadTimes) -> f64| {
            time_or_none(median(&all.iter().map(time_ns).collect::<Vec<_>>()))
        };
        let ratio = over(all.iter().map(|times| times.ratio.ln()).collect());
        let (unix, tcp) = (time(|times| times.unix_ns), time(|times| times.tcp_ns));
        [
            name.to_owned(),
            by.to_owned(),
            unix,
            tcp,
            quotient_or_none(ratio.as_ref()),
            quotient,
            word.to_owned(),
        ]
    };
    let (name, tool) = (tested.name(load), load.tool.name);
    ComparedRow {
        lines: vec![
            line(&name, tool, theirs, String::new(), ""),
            line("", "ipcost", ours, quotient_or_none(quotient.as_ref()), verdict.word()),
        ],
        remark: load.differs.map(|reason| (format!("{name} by {tool}"), format!("{}.", reason.text()))),
        name,
        verdict,
        failure: failure.clone(),
    }
}
