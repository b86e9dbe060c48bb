//! `ipcost app`: what a Unix socket saves a database, a cache or a web server.

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use ipcost_features::answer::answered;
use ipcost_features::app::{
    App, Asked, At, Given, KINDS, Kind, Login, burst, find, judge, keep_others_out, look, prepare, to_explain,
};
use ipcost_features::explain;
use ipcost_lab::journal;
use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::{Contrasts, Lab};
use ipcost_model::{Job, Plan};
use ipcost_sys::placement::Topology;

use crate::args::{AppArgs, OutputArgs};
use crate::exit::{Problem, note, teller, warn};
use crate::explain::explained;
use crate::finish::{Finished, Outputs, finish};
use crate::history;
use crate::output::print;
use crate::run::{Recorder, begin_measuring, finished};

/// With what comes before and after, the answer is there within 45 s.
const DEFAULT_BUDGET: Duration = Duration::from_secs(40);

/// Measures a server over both sockets.
///
/// # Errors
/// What is wrong with the arguments or the server, or what failed.
pub fn run(args: AppArgs) -> Result<ExitCode, Problem> {
    let Some(name) = &args.server else {
        return print(&list()).map(|()| ExitCode::SUCCESS).map_err(Problem::failed);
    };
    let outputs = Outputs::new(&args.outputs, args.redacting, !args.no_save, args.quiet);
    outputs.check(None).map_err(Problem::usage)?;
    let kind = find(name).map_err(|error| Problem::usage(anyhow!("{error}")))?;
    let asked = asked(kind, &args).map_err(Problem::usage)?;
    let cores = Topology::read().cores.len();
    let asked = Asked { concurrency: args.concurrency.unwrap_or(cores as u32), ..asked };
    // What a killed run has left is undone in its own network; and before this process has threads, which would stay outside.
    if asked.given.is_empty() && kind.is_open_to_all(None).is_some() {
        journal::undo().iter().for_each(|told| warn(told));
    }
    let others = asked.given.is_empty().then(|| keep_others_out(kind, args.expose_to_local_users));
    let asked = Asked { others: others.transpose()?, ..asked };
    let mut job = prepare(kind, &asked, cores > 1)?;
    job.budget.get_or_insert(DEFAULT_BUDGET);
    let lab = Lab::open(&job, &mut teller(args.quiet))?;
    let plan = lab.plan_job(&job, fresh_seed())?;
    let interrupt = begin_measuring(args.quiet, args.waiting)?;
    let mut bench = lab.bench(&plan, &interrupt)?;
    let seen = look(kind, &asked, &mut bench)?;
    let clients = args.burst.unwrap_or(if asked.given.is_empty() { kind.burst } else { 0 });
    let burst = match clients {
        0 => None,
        clients => Some(burst(kind, &asked, clients, &seen, &bench)?),
    };
    let service = job.peers.get_mut(kind.name).and_then(|peer| peer.service.as_mut());
    if let Some((service, lasts)) = service.zip(seen.lasts) {
        service.lasts = lasts;
    }
    if !args.quiet {
        plan.notes.iter().for_each(|text| note(text));
    }
    let (about, name) = (about(&job, plan.seed), args.name.clone());
    let begin = |plan: &Plan| {
        let samples = if outputs.save { history::begin(&about, name.as_deref(), plan, None) } else { None };
        Recorder::new(args.quiet, about.clone(), samples)
    };
    let (outcome, recorder) = lab.run_on(bench, plan, &Contrasts, begin)?;
    let finished = finished(outcome, name, recorder);
    let answer = App { burst, ..judge(kind, &asked, &seen, &finished.document) };
    let finished = Finished { document: answered(finished.document, &answer), ..finished };
    let measured = finish(&outputs, finished, None)?;
    if !args.explain || measured != ExitCode::SUCCESS {
        return Ok(measured);
    }
    print("\n").map_err(Problem::failed)?;
    let request = explain::Request {
        job: to_explain(&job, &asked),
        by_id: false,
        floor: false,
        flame: false,
        trial: false,
        seed: args.seed,
    };
    let none = OutputArgs { wide: args.outputs.wide, ..OutputArgs::default() };
    explained(&request, &lab, &interrupt, &Outputs { files: &none, ..outputs }, None)
}

/// Every kind of server, and what is missing for a private one.
fn list() -> String {
    let line = |kind: &Kind| {
        let state = kind.unavailable().unwrap_or_else(|| "ready: a private one can be started".to_owned());
        format!("{:<10} {}; asked with {} TEXT\n           {state}\n", kind.name, kind.title, kind.flag)
    };
    let lines: String = KINDS.iter().map(line).collect();
    format!(
        "{lines}\nipcost app NAME measures a private server; with --unix PATH --tcp HOST:PORT your own.\n"
    )
}

fn asked(kind: &Kind, args: &AppArgs) -> anyhow::Result<Asked> {
    let given = Given {
        unix: args.unix.as_deref().map(At::of_path).transpose().map_err(|error| anyhow!("{error}"))?,
        tcp: args
            .tcp
            .as_deref()
            .map(|text| At::of_host_and_port(text, args.remote))
            .transpose()
            .map_err(|error| anyhow!("{error}"))?,
    };
    if args.as_configured && !kind.takes_tls {
        bail!(
            "clients of {} take no TLS unasked, so nothing is made equal; leave --as-configured out",
            kind.title
        );
    }
    let login = Login {
        user: args.user.clone(),
        database: args.database.clone(),
        writes: args.writes,
        tls: args.as_configured,
        ..Login::default()
    };
    let texts = [
        ("--query", &args.query),
        ("--command", &args.command),
        ("--request", &args.request),
        ("--script", &args.script),
    ];
    let mut own: Vec<String> = Vec::new();
    for (flag, text) in texts {
        if let Some(text) = text {
            if flag != kind.flag {
                bail!("{} is asked with {} TEXT, not with {flag}", kind.title, kind.flag);
            }
            own.push(text.clone());
        }
    }
    if let Some(path) = &args.query_file {
        // The peers read it, however long it is.
        let path = fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))?;
        own.push(format!("@{}", path.display()));
    }
    if own.is_empty() {
        let typical = kind.typical_for(&given);
        let missing =
            || anyhow!("what a {} of yours answers is not known; give {} TEXT", kind.title, kind.flag);
        own.push(typical.ok_or_else(missing)?.to_owned());
    }
    let least = kind.least_for(&given).map(str::to_owned);
    own.retain(|request| Some(request) != least.as_ref());
    let requests: Vec<String> = least.into_iter().chain(own).collect();
    Ok(Asked {
        given,
        login,
        requests,
        concurrency: 1,
        blocking: args.blocking,
        others: None,
        settings: Job {
            budget: args.budget,
            margin: args.margin,
            epochs: args.epochs,
            seed: args.seed,
            timeout: args.timeout,
            ..Job::default()
        },
    })
}
