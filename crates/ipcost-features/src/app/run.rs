//! From a request to cells, and a look at the server before anything is measured.

use std::net::SocketAddr;
use std::time::Duration;

use ipcost_lab::bench::Bench;
use ipcost_lab::lab::own_command;
use ipcost_lab::{LabError, ProcessBench};
use ipcost_model::pace::RATE;
use ipcost_model::{
    Job, Lasts, Matrix, OptionLists, OptionName, OptionValue, Pattern, PeerCommand, Placement, Plan,
    ServiceCommand,
};
use ipcost_peer::adapters::app::{
    BURST_PATIENCE, GivenAddress, Login, NamedServer, ServerAddress, ServerFacts, ServerKind, backlog,
    burst as burst_at, find_named, look as look_at,
};
use ipcost_sys::{limits, net_namespace, whereabouts};
use serde::{Deserialize, Serialize};

use super::{Burst, BurstOutcome, Others};

/// A server that takes longer to start lasts the whole run.
const QUICK: Duration = Duration::from_millis(500);
/// Requests that are sent at once where a protocol lets them.
const PIPELINE: u64 = 16;

/// How often clients come at once, over either socket.
const ROUNDS: u32 = 3;
/// What a first round is taken to need: refused clients try again after a second over TCP.
const FIRST_ROUND: Duration = Duration::from_secs(2);
/// The part of the budget that bursts leave.
const LEFT_FOR_TIMING: f64 = 0.25;
/// Descriptors of this process besides those of a burst.
const OTHER_DESCRIPTORS: u64 = 100;

/// What `app` was asked to do.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct AppRequest {
    /// The name of the kind of server.
    pub server: String,
    /// The alias that it was named by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The user's own server; a private one if empty.
    pub given: GivenAddress,
    /// Whether both are said to be of the same server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_server: bool,
    pub login: Login,
    /// What is asked, the least first.
    pub requests: Vec<String>,
    /// Clients at once, besides one.
    pub concurrency: u32,
    /// The last request is also offered so many times a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<u64>,
    /// Whether the client waits for replies in `recv`.
    pub blocking: bool,
    /// So many clients connect at the same moment; 0 for none.
    pub burst: u32,
    /// What keeps other users of this machine from a private server.
    pub others: Option<Others>,
    /// Budget, margin, epochs, seed and timeout.
    pub settings: Job,
}

impl AppRequest {
    pub fn named(&self, kind: &'static ServerKind) -> NamedServer {
        let alias =
            self.alias.as_deref().and_then(|name| find_named(name).ok()).and_then(|named| named.alias);
        NamedServer {
            kind,
            alias: alias.filter(|alias| kind.aliases.iter().any(|own| own.name == alias.name)),
        }
    }
}

/// The command of a peer that asks a kind of server.
pub fn peer_of(kind: &ServerKind) -> Result<Vec<String>, LabError> {
    let mut command = own_command("peer")?;
    command.extend(["app".to_owned(), kind.name.to_owned()]);
    Ok(command)
}

/// The job: each request on a kept connection, with a server of the user's own also from a client that is pinned; the least also on a connection of its own, by several clients at once, and
/// pipelined where the protocol has it; the last at each rate that is asked for; over both sockets.
pub fn prepare(kind: &'static ServerKind, asked: &AppRequest, several_cores: bool) -> Result<Job, LabError> {
    let mut command = peer_of(kind)?;
    let is_private = asked.given.is_empty();
    let service = if is_private { Some(service(kind, asked, command.clone())?) } else { None };
    command.extend(flags(asked));
    // A server of the user's own runs where it runs.
    let placed: Vec<Placement> = match is_private && several_cores {
        true => vec![Placement::Together, Placement::Apart],
        false => vec![Placement::Free],
    };
    let transports = match (&asked.given.unix, &asked.given.tcp) {
        (Some(_), None) => vec!["unix".to_owned()],
        (None, Some(_)) => vec!["tcp".to_owned()],
        _ => vec!["unix".to_owned(), "tcp".to_owned()],
    };
    let matrix = |pattern: Pattern, requests: &[String], placement: Vec<Placement>| Matrix {
        pattern: vec![pattern].into(),
        transport: transports.clone().into(),
        request: requests.to_vec().into(),
        placement: placement.into(),
        client: vec![kind.name.to_owned()].into(),
        server: vec![kind.name.to_owned()].into(),
        ..Matrix::default()
    };
    let least = &asked.requests[..1];
    let mut cells = vec![
        matrix(Pattern::Rr, &asked.requests, placed.clone()),
        matrix(Pattern::Connect, least, placed.clone()),
    ];
    if !is_private && several_cores && is_seen(&asked.given) {
        // The client follows the server, which no one moves: next to it and apart from it.
        cells.push(matrix(Pattern::Rr, &asked.requests, vec![Placement::Together, Placement::Apart]));
    }
    if asked.concurrency > 1 {
        for pattern in [Pattern::Rr, Pattern::Connect] {
            let several = matrix(pattern, least, vec![Placement::Free]);
            cells.push(Matrix { concurrency: vec![asked.concurrency].into(), ..several });
        }
    }
    if !asked.rates.is_empty() {
        let mut options = OptionLists::default();
        let name = OptionName::find(RATE)?;
        options.0.insert(name, asked.rates.iter().map(|per_s| OptionValue::Int(*per_s)).collect());
        let last = &asked.requests[asked.requests.len() - 1..];
        cells.push(Matrix { options, ..matrix(Pattern::Rr, last, placed.clone()) });
    }
    if kind.pipelines {
        let mut options = OptionLists::default();
        let name = OptionName::find("pipeline")?;
        options.0.insert(name, vec![OptionValue::Int(PIPELINE)]);
        cells.push(Matrix { options, ..matrix(Pattern::Rr, least, placed) });
    }
    let peers = [(kind.name.to_owned(), PeerCommand { command, service })].into();
    Ok(Job { cells, peers, ..asked.settings.clone() })
}

/// The private server of an epoch.
fn service(
    kind: &'static ServerKind,
    asked: &AppRequest,
    mut command: Vec<String>,
) -> Result<ServiceCommand, LabError> {
    if let Some(reason) = kind.unavailable() {
        return Err(LabError::Refused(reason));
    }
    command.push("--service".to_owned());
    let switches = [("--tls", asked.login.tls), ("--writes", asked.login.writes)];
    command.extend(switches.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name.to_owned()));
    if let Some(program) = asked.named(kind).program() {
        command.extend(["--program".to_owned(), program.to_owned()]);
    }
    if let Some(script) = kind.own_script(&asked.requests) {
        command.extend(["--own-script".to_owned(), script.to_owned()]);
    }
    Ok(ServiceCommand { command, lasts: Lasts::Epoch })
}

/// Where connections over TCP go from one source address: to a server beyond loopback, where sources are not spread.
pub fn ports_to(asked: &AppRequest) -> Option<SocketAddr> {
    asked.given.tcp.as_ref().filter(|at| at.is_remote())?.socket()
}

/// Keeps other users of this machine from a private server: by its own means, or else by a network of its own, which this process
/// moves into.
pub fn keep_others_out(kind: &ServerKind, admits: bool) -> Result<Others, LabError> {
    let Some(why) = kind.is_open_to_all(None) else { return Ok(Others::Secret) };
    if admits {
        return Ok(Others::Admitted);
    }
    net_namespace::enter().map(|_| Others::Network).map_err(|error| no_network(why, &error.to_string()))
}

/// That a server would be open to other users of this machine.
pub(crate) fn no_network(why: &str, error: &str) -> LabError {
    LabError::Refused(format!(
        "{why}, and a network of its own cannot be made here ({error}); run as root, allow user namespaces, or give --expose-to-local-users if you are the only user of this machine"
    ))
}

/// Whether the system tells where the threads of a server run: it is on this machine, and so is the accounting.
fn is_seen(given: &GivenAddress) -> bool {
    let is_local = |at: &Option<ServerAddress>| at.as_ref().is_none_or(|at| !at.is_remote());
    is_local(&given.unix) && is_local(&given.tcp) && whereabouts::threads(std::process::id()).is_some()
}

/// The job that explains the last request of such a job: one client over both sockets.
pub fn to_explain(job: &Job, asked: &AppRequest) -> Job {
    let last = asked.requests.last().cloned();
    let whole = |cell: &&Matrix| cell.pattern.0 == [Pattern::Rr] && cell.options.0.is_empty();
    let cells = job
        .cells
        .iter()
        .find(whole)
        .map(|cell| Matrix { request: last.into_iter().collect::<Vec<_>>().into(), ..cell.clone() });
    Job { cells: cells.into_iter().collect(), budget: asked.settings.budget, ..job.clone() }
}

fn flags(asked: &AppRequest) -> Vec<String> {
    let Login { user, database, writes, tls, trusted_owners, .. } = &asked.login;
    let values = [
        ("--unix", asked.given.unix.as_ref().map(ServerAddress::to_string)),
        ("--tcp", asked.given.tcp.as_ref().map(ServerAddress::to_string)),
        ("--host-name", asked.given.tcp.as_ref().and_then(|at| Some(at.name()?.to_owned()))),
        ("--user", user.clone()),
        ("--database", database.clone()),
    ];
    let flags = values.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
    let switches = [("--writes", *writes), ("--prefer-tls", *tls), ("--blocking", asked.blocking)];
    let switches = switches.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name.to_owned());
    let owners = trusted_owners.iter().flat_map(|owner| ["--trust-owner".to_owned(), owner.clone()]);
    flags.flatten().chain(switches).chain(owners).collect()
}

/// A server as it was seen, over the sockets that are measured.
pub struct SeenServer {
    /// Over the Unix socket.
    pub unix: Option<ServerFacts>,
    pub tcp: Option<ServerFacts>,
    /// How long it is to last, if it is a private one.
    pub lasts: Option<Lasts>,
}

impl SeenServer {
    /// Both sides, if both are measured.
    pub(super) fn both(&self) -> Option<(&ServerFacts, &ServerFacts)> {
        self.unix.as_ref().zip(self.tcp.as_ref())
    }

    /// A side that is measured.
    pub(super) fn either(&self) -> Option<&ServerFacts> {
        self.unix.as_ref().or(self.tcp.as_ref())
    }
}

/// How much of a run's time a burst may take.
#[derive(Debug, Clone, Copy)]
pub struct BurstRoom {
    /// The budget; `None` if the run has a number of epochs instead.
    pub budget: Option<Duration>,
    /// What the run took before it was killed, if it was.
    pub spent: Duration,
}

impl BurstRoom {
    /// The room for bursts of a plan that was carried out for so long already.
    pub fn of(plan: &Plan, spent: Duration) -> Self {
        Self { budget: plan.epochs_exact.is_none().then_some(plan.budget), spent }
    }

    /// How long bursts may go on after this much of the run, if another round that takes so long leaves enough of the budget.
    fn left(&self, elapsed: Duration, round: Duration) -> Option<Duration> {
        let Some(budget) = self.budget else { return Some(Duration::MAX) };
        let left = budget.mul_f64(1.0 - LEFT_FOR_TIMING).checked_sub(self.spent + elapsed)?;
        (round <= left).then_some(left)
    }
}

/// Lets as many clients as were asked for come at the same moment, over one socket after the other, a few times, as long as that leaves
/// a quarter of the budget.
pub fn burst(
    kind: &ServerKind,
    asked: &AppRequest,
    seen: &SeenServer,
    bench: &ProcessBench,
    room: BurstRoom,
) -> Result<Option<Burst>, LabError> {
    let clients = asked.burst;
    if clients == 0 {
        return Ok(None);
    }
    if limits::raise_descriptors() < u64::from(clients) + OTHER_DESCRIPTORS {
        return Err(LabError::Refused(format!(
            "{clients} clients at once need as many descriptors, and this process may have fewer; raise ulimit -n, or give --burst a smaller number"
        )));
    }
    let login = kind.login_for(&asked.given, &asked.login);
    let at = |transport: &str, given: &Option<ServerAddress>| match asked.given.is_empty() {
        true => ServerAddress::of(transport, &bench.address_of_service(kind.name, transport)?).ok(),
        false => given.clone(),
    };
    let sides = [at("unix", &asked.given.unix), at("tcp", &asked.given.tcp)];
    let sides = sides.map(|at| at.filter(|_| seen.either().is_some()));
    let none = |at: &ServerAddress| BurstOutcome { backlog: backlog(at), ..BurstOutcome::default() };
    let mut met = sides.each_ref().map(|at| at.as_ref().map(none));
    let mut round = Duration::ZERO;
    let round_of = |patience: Duration| -> Result<[Option<BurstOutcome>; 2], LabError> {
        let mut outcomes = [None; 2];
        for (at, outcome) in sides.iter().zip(&mut outcomes) {
            let Some(at) = at else { continue };
            let one = burst_at(kind, &login, at, &asked.requests[0], clients, patience);
            *outcome = Some(one.map_err(|error| LabError::Refused(error.to_string()))?);
        }
        Ok(outcomes)
    };
    let mut rounds = 0;
    while rounds < ROUNDS {
        let began = bench.elapsed();
        let Some(left) = room.left(began, round.max(FIRST_ROUND)) else { break };
        // A client waits for its connection and then for its reply, over either socket.
        let patience = BURST_PATIENCE.min(left / 4);
        let outcomes = round_of(patience)?;
        let took = bench.elapsed() - began;
        round = round.max(took);
        if took >= patience
            && patience < BURST_PATIENCE
            && outcomes.iter().flatten().any(|outcome| outcome.failed > 0)
        {
            // They might have been answered, had there been time to wait.
            break;
        }
        for (met, outcome) in met.iter_mut().zip(outcomes) {
            *met = met.zip(outcome).map(|(met, outcome)| met.and(outcome));
        }
        rounds += 1;
    }
    let somaxconn = std::fs::read_to_string("/proc/sys/net/core/somaxconn");
    let somaxconn = somaxconn.ok().and_then(|text| text.trim().parse().ok());
    let [unix, tcp] = met.map(|met| met.filter(|_| rounds > 0));
    Ok(Some(Burst { clients, somaxconn, unix, tcp, left_out: ROUNDS - rounds }))
}

/// Looks at the server over both sockets; starts it if it is a private one.
pub fn look(kind: &ServerKind, asked: &AppRequest, bench: &mut ProcessBench) -> Result<SeenServer, LabError> {
    let login = kind.login_for(&asked.given, &asked.login);
    let facts = |at: &ServerAddress| {
        look_at(kind, &login, at, &asked.requests).map_err(|error| LabError::Refused(error.to_string()))
    };
    if !asked.given.is_empty() {
        let [unix, tcp] = [&asked.given.unix, &asked.given.tcp].map(|at| at.as_ref().map(facts).transpose());
        return Ok(SeenServer { unix: unix?, tcp: tcp?, lasts: None });
    }
    bench.serve(kind.name)?;
    let lasts =
        if bench.service_took(kind.name).is_none_or(|took| took > QUICK) { Lasts::Run } else { Lasts::Epoch };
    bench.services_last(lasts);
    let [unix, tcp] = ["unix", "tcp"].map(|transport| {
        let address = bench.address_of_service(kind.name, transport).unwrap_or_default();
        facts(&ServerAddress::of(transport, &address).map_err(|error| LabError::Refused(error.to_string()))?)
    });
    Ok(SeenServer { unix: Some(unix?), tcp: Some(tcp?), lasts: Some(lasts) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_leave_a_quarter_of_the_budget() {
        let seconds = Duration::from_secs;
        let room =
            |budget: Option<u64>, spent| BurstRoom { budget: budget.map(seconds), spent: seconds(spent) };
        assert_eq!(room(Some(40), 0).left(seconds(1), FIRST_ROUND), Some(seconds(29)));
        assert_eq!(room(Some(40), 0).left(seconds(28), seconds(2)), Some(seconds(2)));
        assert_eq!(room(Some(40), 0).left(seconds(29), seconds(2)), None);
        assert_eq!(room(Some(40), 0).left(seconds(35), Duration::ZERO), None);
        assert_eq!(room(Some(40), 29).left(seconds(0), seconds(2)), None, "what was spent before counts");
        assert_eq!(room(Some(2), 0).left(Duration::ZERO, FIRST_ROUND), None);
        assert!(
            room(None, 0).left(seconds(1000), seconds(100)).is_some(),
            "a number of epochs has no budget"
        );
    }
}
