//! `ipcost app`: what a Unix socket saves a database, a cache or a web server.

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use ipcost_features::answer::answered;
use ipcost_features::app::{
    App, AppRequest, Burst, BurstRoom, GivenAddress, KINDS, Login, NamedServer, Others, SeenServer,
    ServerAddress, ServerKind, UNKNOWN_OWNER, burst, find, find_named, judge, keep_others_out, look,
    ports_to, prepare, to_explain,
};
use ipcost_features::explain;
use ipcost_features::load::most_connections;
use ipcost_lab::journal;
use ipcost_lab::lab::{about, fresh_seed};
use ipcost_lab::{Contrasts, Lab, PlanSettings};
use ipcost_model::units::duration_text;
use ipcost_model::{Job, Lasts, Matrix, Placement, Plan, Purpose, and_joined};
use ipcost_sys::placement::Topology;
use ipcost_sys::{driven_program, process_tree, programs};
use serde_json::Value;

use crate::args::{AppArgs, OutputArgs, ServerArgs, Waiting};
use crate::consent::ask_to_load;
use crate::exit::{Problem, note, step_printer, warn};
use crate::explain::explained;
use crate::finish::{Finished, RunOutputs, finish};
use crate::measuring::{RunRecorder, begin_measuring, finished};
use crate::output::print;
use crate::resume::Killed;

/// With what comes before and after, the answer is there within 45 s.
const DEFAULT_BUDGET: Duration = Duration::from_secs(40);
/// What requests at a rate take on top of that: their epochs are longer.
const BUDGET_FOR_RATES: Duration = Duration::from_secs(30);

/// Measures a server over both sockets.
pub fn run(args: AppArgs) -> Result<ExitCode, Problem> {
    let Some(name) = &args.server else {
        if args.asked != ServerArgs::default() {
            return Err(Problem::usage(which_server(&args.asked)));
        }
        return print(&list()).map(|()| ExitCode::SUCCESS).map_err(Problem::failed);
    };
    let quiet = args.common.quiet;
    let outputs = RunOutputs::of(&args.common);
    outputs.check(None).map_err(Problem::usage)?;
    let named = find_named(name).map_err(|error| Problem::usage(error.into()))?;
    let kind = named.kind;
    let request = request(named, &args).map_err(Problem::usage)?;
    let others = guarded(kind, &request, args.asked.expose_to_local_users)?;
    let request = AppRequest { others, ..request };
    let mut job = prepare(kind, &request, Topology::read().cores.len() > 1)?;
    let for_rates = if request.rates.is_empty() { Duration::ZERO } else { BUDGET_FOR_RATES };
    job.budget.get_or_insert(DEFAULT_BUDGET + for_rates);
    if let Some(what) = loading(&request) {
        ask_to_load(&what, args.asked.yes).map_err(Problem::usage)?;
    }
    if let Some(substitute) = named.substitute().filter(|_| request.given.is_empty() && !quiet) {
        note(&substitute);
    }
    let lab = Lab::open(&job, &mut step_printer(quiet))?;
    let settings = PlanSettings { ports_to: ports_to(&request), ..PlanSettings::of(&job, fresh_seed()) };
    let plan = lab.plan(lab.cells(&job)?, &settings)?;
    let interrupt = begin_measuring(quiet, args.common.waiting)?;
    let mut bench = lab.bench(&plan, &interrupt)?;
    let seen = look(kind, &request, &mut bench)?;
    let burst = burst(kind, &request, &seen, &bench, BurstRoom::of(&plan, Duration::ZERO))?;
    if !quiet {
        plan.notes.iter().for_each(|text| note(text));
    }
    let job = lasting(job, kind, &seen);
    let (about, name) = (about(&job, plan.seed), args.name.clone());
    let purpose = Purpose { request: serde_json::to_value(&request).ok(), answer: None };
    let begin = |plan: &Plan| RunRecorder::begin(&outputs, &about, name.as_deref(), plan, purpose);
    let (outcome, recorder) = lab.run_on(bench, plan, &Contrasts, begin)?;
    let measured =
        finish(&outputs, saving(kind, &request, &seen, burst, finished(outcome, name, recorder)), None)?;
    if !args.explain || measured != ExitCode::SUCCESS {
        return Ok(measured);
    }
    print("\n").map_err(Problem::failed)?;
    let request = explain::ExplainRequest {
        job: to_explain(&job, &request),
        by_id: false,
        floor: false,
        flame: false,
        trial: false,
        seed: args.measuring.seed,
    };
    let none = OutputArgs { details: args.common.outputs.details, ..OutputArgs::default() };
    explained(&request, &lab, &interrupt, &RunOutputs { files: &none, ..outputs }, None)
}

/// Goes on with a run that was killed: the server is looked at again, and clients come at once again.
pub fn resume(
    request: Value,
    killed: Killed,
    waiting: Waiting,
    outputs: &RunOutputs<'_>,
) -> Result<ExitCode, Problem> {
    let request: AppRequest = serde_json::from_value(request)
        .map_err(|error| Problem::usage(anyhow!("what the run was asked cannot be read: {error}")))?;
    if request.requests.is_empty() {
        return Err(Problem::usage(anyhow!("what the run was asked cannot be read: it names no request")));
    }
    let kind = find(&request.server).map_err(|error| Problem::usage(error.into()))?;
    let others = guarded(kind, &request, request.others == Some(Others::Admitted))?;
    let request = AppRequest { others, ..request };
    let begun = &killed.samples.begun;
    let lab = Lab::open(&begun.job, &mut step_printer(outputs.quiet))?;
    lab.check(begun)?;
    let interrupt = begin_measuring(outputs.quiet, waiting)?;
    let mut bench = lab.bench(&begun.plan, &interrupt)?;
    let seen = look(kind, &request, &mut bench)?;
    let spent = killed.samples.epochs.last().map_or(0, |epoch| epoch.elapsed_ns);
    let room = BurstRoom::of(&begun.plan, Duration::from_nanos(spent));
    let burst = burst(kind, &request, &seen, &bench, room)?;
    let finished = killed.go_on(outputs.quiet, |samples, resumed, recorder| {
        lab.resume_on(bench, samples, resumed, &Contrasts, recorder)
    })?;
    finish(outputs, saving(kind, &request, &seen, burst, finished), None)
}

/// What a server of the user's own gets that may be more than it carries; `None` if nothing is.
fn loading(request: &AppRequest) -> Option<String> {
    if request.given.is_empty() {
        return None;
    }
    let rates =
        request.rates.iter().map(|rate| format!("{rate} requests a second, whether or not it answers"));
    let burst =
        (request.burst > 0).then(|| format!("{} connections at the same moment, a few times", request.burst));
    let all: Vec<String> = rates.chain(burst).collect();
    (!all.is_empty()).then(|| format!("{} gets {}", server_at(request), and_joined(&all)))
}

/// The addresses of a server of the user's own. Behind one may be another machine's.
fn server_at(request: &AppRequest) -> String {
    let at: Vec<String> = [&request.given.unix, &request.given.tcp]
        .into_iter()
        .flatten()
        .map(ServerAddress::to_string)
        .collect();
    format!("the server at {} (or what a tunnel or a proxy there leads to)", and_joined(&at))
}

/// What keeps others from a private server, before anything is started and while this process has a single thread: others would stay
/// outside a network of its own. What a killed run has left is undone before, in the network that it was left in.
pub(crate) fn guarded(
    kind: &ServerKind,
    request: &AppRequest,
    admits: bool,
) -> Result<Option<Others>, Problem> {
    if !request.given.is_empty() {
        return Ok(None);
    }
    if kind.is_open_to_all(None).is_some() {
        journal::undo().iter().for_each(|told| warn(told));
    }
    Ok(Some(keep_others_out(kind, admits)?))
}

/// The load that `ipcost load app NAME` offers, at no rate yet: the last of its requests, asked of a server as [`run`] finds or starts it.
pub(crate) fn load(
    name: &str,
    args: &ServerArgs,
    (connections, budget): (u32, Duration),
    placement: Placement,
) -> Result<ServerUnderLoad, Problem> {
    let named = find_named(name).map_err(|error| Problem::usage(error.into()))?;
    let kind = named.kind;
    let request = asked(named, args).map_err(Problem::usage)?;
    if !request.given.is_empty() {
        let what = format!(
            "{} gets as many requests as it carries, over up to {} connections at once, for about {}, and its other clients wait meanwhile",
            server_at(&request),
            most_connections(connections),
            duration_text(budget)
        );
        ask_to_load(&what, args.yes).map_err(Problem::usage)?;
    }
    let others = guarded(kind, &request, args.expose_to_local_users)?;
    let request = AppRequest { others, ..request };
    let job = prepare(kind, &request, Topology::read().cores.len() > 1)?;
    let text = request.requests.last().cloned().unwrap_or_default();
    let cells = to_explain(&job, &request).cells.into_iter();
    // A server of the user's own runs where it runs.
    let placement = if request.given.is_empty() { placement } else { Placement::Free };
    let cells = cells.map(|cell| Matrix { placement: vec![placement].into(), ..cell }).collect();
    let mut job = Job { cells, ..job };
    // Under load for a minute, one server is asked, as those are that people run.
    if let Some(service) = job.peers.get_mut(kind.name).and_then(|peer| peer.service.as_mut()) {
        service.lasts = Lasts::Run;
    }
    Ok(ServerUnderLoad { server: kind.name.to_owned(), request: text, placement, job })
}

/// What is asked of a server under load.
pub(crate) struct ServerUnderLoad {
    /// The kind of server.
    pub server: String,
    pub request: String,
    /// Where client and server run.
    pub placement: Placement,
    /// A job with its cells over both sockets.
    pub job: Job,
}

/// The job with how long its private server lasts.
fn lasting(mut job: Job, kind: &ServerKind, seen: &SeenServer) -> Job {
    let service = job.peers.get_mut(kind.name).and_then(|peer| peer.service.as_mut());
    if let Some((service, lasts)) = service.zip(seen.lasts) {
        service.lasts = lasts;
    }
    job
}

/// What was measured, with the answer.
fn saving(
    kind: &'static ServerKind,
    request: &AppRequest,
    seen: &SeenServer,
    burst: Option<Burst>,
    finished: Finished,
) -> Finished {
    let answer = App { burst, ..judge(kind, request, seen, &finished.document) };
    Finished { document: answered(finished.document, &answer), ..finished }
}

/// Every kind of server, and what is missing for a private one.
fn list() -> String {
    let line = |kind: &ServerKind| {
        let state = kind.missing().map_or_else(
            || "ready".to_owned(),
            |(program, package)| format!("{program} is not installed ({}: {package})", programs::INSTALL),
        );
        let aliases: Vec<&str> = kind.aliases.iter().map(|alias| alias.name).collect();
        format!("{:<9}  {:<51}  {state}\n", kind.name, aliases.join(", "))
    };
    let lines: String = KINDS.iter().map(line).collect();
    format!(
        "Measure a private server:  ipcost app NAME\nMeasure your own server:   ipcost app NAME --unix PATH --tcp HOST:PORT\n\n{:<9}  {:<51}  private server\n{lines}",
        "NAME", "also known as"
    )
}

/// What to say of addresses without the name of a server: the program that listens there is taken from the kernel's tables.
fn which_server(asked: &ServerArgs) -> anyhow::Error {
    if let Err(error) = given(asked) {
        return error;
    }
    let known = KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    // Of another machine's ports this one's tables say nothing.
    let Some(tcp) = asked.tcp.as_ref().filter(|_| !asked.remote) else {
        return anyhow!("name the server first, such as ipcost app redis; there are {known}");
    };
    let port = tcp.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
    let Some(program) = port.and_then(process_tree::listener_at).and_then(driven_program::name_and_sleep)
    else {
        return anyhow!(
            "name the server at {tcp} first, such as ipcost app redis --tcp {tcp}; no program that you may see listens there; there are {known}"
        );
    };
    let (program, _) = program;
    match KINDS.iter().find(|kind| kind.is_program(&program)) {
        Some(kind) => {
            anyhow!("{program} listens at {tcp}; to measure it: ipcost app {} --tcp {tcp}", kind.name)
        }
        None => anyhow!(
            "{program} listens at {tcp}; name the server whose protocol it answers, such as ipcost app http --tcp {tcp}; there are {known}"
        ),
    }
}

/// The addresses of a server of the user's own.
fn given(args: &ServerArgs) -> anyhow::Result<GivenAddress> {
    let tcp = args.tcp.as_deref().map(|text| ServerAddress::of_host_and_port(&with_host(text), args.remote));
    Ok(GivenAddress {
        unix: args.unix.as_deref().map(ServerAddress::of_path).transpose()?,
        tcp: tcp.transpose()?,
    })
}

/// An address as `HOST:PORT`: a port alone is one of this machine.
fn with_host(tcp: &str) -> String {
    if tcp.parse::<u16>().is_ok() { format!("127.0.0.1:{tcp}") } else { tcp.to_owned() }
}

fn request(named: NamedServer, args: &AppArgs) -> anyhow::Result<AppRequest> {
    let kind = named.kind;
    if args.as_configured && !kind.takes_tls {
        bail!(
            "clients of {} take no TLS unasked, so nothing is made equal; leave --as-configured out",
            kind.title
        );
    }
    let asked = asked(named, &args.asked)?;
    let burst = args.burst.unwrap_or(if asked.given.is_empty() { kind.burst } else { 0 });
    Ok(AppRequest {
        login: Login { tls: args.as_configured, ..asked.login.clone() },
        concurrency: args.concurrency.unwrap_or_else(|| Topology::read().cores.len() as u32),
        rates: args.rate.clone(),
        blocking: args.blocking,
        burst,
        settings: args.measuring.over(Job { timeout: args.timeout, ..Job::default() }),
        ..asked
    })
}

/// Users whose servers may learn the password.
fn owners(names: &[String]) -> anyhow::Result<Vec<String>> {
    for name in names {
        if name != UNKNOWN_OWNER && driven_program::user_number(name).is_none() {
            bail!(
                "--trust-owner {name}: this machine has no such user; give a name, a number, or {UNKNOWN_OWNER}"
            );
        }
    }
    Ok(names.to_vec())
}

/// Which server it is and what it is asked, by one client at a time.
pub(crate) fn asked(named: NamedServer, args: &ServerArgs) -> anyhow::Result<AppRequest> {
    let kind = named.kind;
    let given = given(args)?;
    if given.is_empty() {
        let for_own = [
            ("--user", args.user.is_some()),
            ("--database", args.database.is_some()),
            ("--same-server", args.same_server),
        ];
        if let Some((flag, _)) = for_own.into_iter().find(|(_, is_given)| *is_given) {
            bail!(
                "{flag} is for a server of your own; say where it listens with --unix PATH or --tcp HOST:PORT"
            );
        }
    }
    let login = Login {
        user: args.user.clone(),
        database: args.database.clone(),
        writes: args.writes,
        trusted_owners: owners(&args.trust_owner)?,
        ..Login::default()
    };
    let mut own: Vec<String> = args.request.iter().cloned().collect();
    if let Some(path) = &args.request_file {
        // The peers read it, however long it is.
        let path = fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))?;
        own.push(format!("@{}", path.display()));
    }
    if own.is_empty() {
        let typical = kind.typical_for(&given);
        let missing = || anyhow!("what a {} of yours answers is not known; give --request TEXT", kind.title);
        own.push(typical.ok_or_else(missing)?.to_owned());
    }
    let least = kind.least_for(&given).map(str::to_owned);
    own.retain(|request| Some(request) != least.as_ref());
    let requests: Vec<String> = least.into_iter().chain(own).collect();
    Ok(AppRequest {
        same_server: args.same_server,
        server: kind.name.to_owned(),
        alias: named.alias.map(|alias| alias.name.to_owned()),
        given,
        login,
        requests,
        concurrency: 1,
        rates: Vec::new(),
        blocking: false,
        burst: 0,
        others: None,
        settings: Job::default(),
    })
}
