//! Keeps a private server while the engine needs it: a process of its own, which tells where the server listens.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use ipcost_model::Cell;
use ipcost_model::protocol::{Address, Hello, PROCESSES, PeerRole, RUNS_AS};
use ipcost_sys::SysError;
use ipcost_sys::driven_program::{self, DrivenProgram};
use ipcost_sys::process::{kill_group, spawn_guard};
use ipcost_sys::{Launch, unguessable};

use super::client::{Asker, Trouble};
use super::kind::{Ending, Login, ServerKind, Setup, Started};
use super::{Arguments, PATTERNS, TRANSPORTS};
use crate::adapters::port::Port;
use crate::adapters::server_address::{SECRET, ServerAddress, no_reply, nobody_listens};
use crate::adapters::{hello, refused, system};
use crate::{JoinedReports, Order, Peer, PeerError, Prepared, Role, RoleState};

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(30);
const ASK_AGAIN: Duration = Duration::from_millis(1);
/// How long it has to end by itself.
const FAREWELL: Duration = Duration::from_secs(1);
/// Who runs a server if none of its package's users is there.
const NOBODY: &str = "nobody";

/// A peer that plays no role, but keeps the server that others talk to.
pub(super) struct Service(Arguments);

impl Service {
    pub(super) fn new(given: Arguments) -> Self {
        Self(given)
    }
}

impl Peer for Service {
    fn hello(&self) -> Hello {
        hello(self.0.kind.name, self.0.kind.title.to_owned(), TRANSPORTS, PATTERNS, &[])
    }

    fn prepare(&self, role: PeerRole, _cell: &Cell, address: &Address) -> Result<Prepared, PeerError> {
        let [dir, kept] = ["dir", "kept"].map(|name| address.get(name).and_then(|dir| dir.as_str()));
        let (PeerRole::Server, Some(dir)) = (role, dir) else {
            return Err(refused("a service is given a directory (dir), and plays no other role"));
        };
        let dirs = (Path::new(dir), Path::new(kept.unwrap_or(dir)));
        let (private, address) = PrivateServer::start(&self.0, dirs)?;
        Ok(Prepared { address, effective: Vec::new(), part: RoleState::Playing(Box::new(private)) })
    }
}

/// What the servers of a run know their clients by: drawn by the first, and kept from everyone but this user.
fn secret_in(kept: &Path) -> Result<String, PeerError> {
    let path = kept.join("secret");
    if let Ok(known) = fs::read_to_string(&path) {
        return Ok(known);
    }
    let drawn = unguessable().map_err(system("cannot get random numbers"))?;
    driven_program::make_file(&path, drawn.as_bytes(), None)
        .map_err(system(format!("cannot write {}", path.display())))?;
    Ok(drawn)
}

/// A server that is ended when this value is dropped.
struct PrivateServer {
    guard: ServiceGuard,
    /// One process, or one for each socket: the Unix socket first.
    programs: Vec<DrivenProgram>,
    ending: Ending,
}

impl PrivateServer {
    /// In a directory of its own, and one that servers of the same run have after one another.
    fn start(given: &Arguments, (dir, kept): (&Path, &Path)) -> Result<(Self, Address), PeerError> {
        let Arguments { kind, settings, login: Login { writes, .. }, .. } = given;
        let program = settings.program.map_or_else(|| kind.found(), |program| kind.found_as(program));
        let program = program.ok_or_else(|| refused(kind.unavailable().unwrap_or_default()))?;
        let users: Vec<&str> = kind.users.iter().copied().chain([NOBODY]).collect();
        let user = driven_program::instead_of_root(&users);
        if user.is_none() && driven_program::is_root() {
            return Err(refused(format!(
                "{} is not started as root, and there is neither a user {} nor one {NOBODY}; run as another user",
                kind.title, kind.users[0]
            )));
        }
        let made = |dir: &Path| system(format!("cannot make {}", dir.display()));
        for dir in BTreeSet::from([dir, kept]) {
            if dir == kept && dir.exists() {
                continue;
            }
            driven_program::make_directory(dir, user).map_err(made(dir))?;
        }
        let room = &dir.join("w");
        driven_program::give_directory(room, user).map_err(made(room))?;
        let secret = &secret_in(kept)?;
        let (held, mut tcp) = held_port()?;
        let port = ServerAddress::of("tcp", &tcp).ok().and_then(|at| at.port()).unwrap_or_default();
        let (socket, writes) = (&room.join("s"), *writes);
        let program = &program;
        let setup = Setup { program, dir, room, kept, secret, writes, socket, port, user, settings };
        let mut started = (kind.start)(&setup)?;
        started.held.push(held);
        tcp = started.tcp.take().unwrap_or(tcp);
        for address in [&mut started.unix, &mut tcp] {
            address.insert(SECRET.to_owned(), secret.clone().into());
        }
        let mut private =
            Self { guard: ServiceGuard::start()?, programs: Vec::new(), ending: started.ending };
        let began = Instant::now();
        if let Some((program, arguments)) = &started.behind {
            private.launch(program, arguments, &setup, &started)?;
        }
        for arguments in [&started.arguments].into_iter().chain(&started.second) {
            private.launch(program, arguments, &setup, &started)?;
        }
        let at = [ServerAddress::of("unix", &started.unix), ServerAddress::of("tcp", &tcp)];
        let at = at.into_iter().collect::<Result<Vec<_>, _>>()?;
        for at in &at {
            private.await_answer(kind, at, user.map_or_else(driven_program::own_user, |user| user.id))?;
        }
        started.held.clear();
        let writing = Login { writes: true, ..kind.login() };
        for at in at.iter().take(1 + usize::from(started.second.is_some())) {
            for request in &started.then {
                asked(kind, &writing, at, request)?;
            }
        }
        let processes: Vec<u32> = private.programs.iter().map(DrivenProgram::id).collect();
        let address = [("unix", started.unix), ("tcp", tcp)].map(|(transport, mut address)| {
            if started.behind.is_some() {
                address.insert(PROCESSES.to_owned(), processes.clone().into());
            }
            (transport.to_owned(), address.into())
        });
        let mut address = Address::from_iter(address);
        address.insert(RUNS_AS.to_owned(), driven_program::name_of(user).into());
        address.insert("start_ns".to_owned(), (began.elapsed().as_nanos() as u64).into());
        Ok((private, address))
    }

    fn launch(
        &mut self,
        program: &Path,
        arguments: &[String],
        setup: &Setup<'_>,
        started: &Started,
    ) -> Result<(), PeerError> {
        let launched = DrivenProgram::start(Launch {
            program: &program.to_string_lossy(),
            arguments,
            complains_on_output: true,
            directory: Some(setup.room),
            user: setup.user,
            without_environment: true,
            cleans_up: started.ending == Ending::Interrupted,
            ..Launch::default()
        });
        let launched = launched.map_err(system(format!("cannot start {}", program.display())))?;
        self.guard.watch(launched.id());
        self.programs.push(launched);
        Ok(())
    }

    fn await_answer(&mut self, kind: &ServerKind, at: &ServerAddress, user: u32) -> Result<(), PeerError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(program) = self.programs.iter_mut().find(|program| program.has_ended()) {
                program.finish()?;
                return Err(refused(format!("{} ended before it listened", kind.title)));
            }
            let last = match at.is_listened_on_by(user) {
                Err(error) => error,
                Ok(()) => match asked(kind, &kind.login(), at, kind.least) {
                    Ok(_) => return Ok(()),
                    Err(error) => error,
                },
            };
            if Instant::now() > deadline {
                let seconds = PATIENCE.as_secs();
                return Err(refused(format!("{} did not answer within {seconds} s: {last}", kind.title)));
            }
            thread::sleep(ASK_AGAIN);
        }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        for program in &self.programs {
            if self.ending != Ending::Killed {
                let _ = driven_program::ask_to_end(program, self.ending == Ending::Interrupted, FAREWELL);
            }
            // Not yet waited for, so its number belongs to no other process. The guard would wait for just that.
            kill_group(program.id());
            self.guard.forget(program.id());
        }
    }
}

/// Kills what is left of a server that leads a process group of its own, also if this process is killed.
///
/// PHP-FPM does: the engine's guard does not know that group, and its processes outlive a first one that is killed. Other servers
/// lead no group, so nothing of theirs is killed.
struct ServiceGuard(Child);

impl ServiceGuard {
    fn start() -> Result<Self, PeerError> {
        let own = env::current_exe().map_err(system("cannot find the path of this program"))?;
        let command = [own.to_string_lossy().into_owned(), "guard".to_owned()];
        spawn_guard(&command, None).map(Self).map_err(system("cannot start a guard of the server"))
    }

    fn watch(&mut self, group: u32) {
        if let Some(input) = &mut self.0.stdin {
            // The server runs without a guard too; one is needed only if this process is killed.
            let _ = writeln!(input, "watch {group}");
        }
    }

    /// Once nothing of the group is left.
    fn forget(&mut self, group: u32) {
        if let Some(input) = &mut self.0.stdin {
            let _ = writeln!(input, "forget {group}");
        }
    }

    fn end(&mut self) {
        self.0.stdin = None;
        let _ = self.0.wait();
    }
}

impl Drop for ServiceGuard {
    fn drop(&mut self) {
        self.end();
    }
}

/// A free port of loopback, which no one else gets while it is held.
pub(super) fn held_port() -> Result<(Port, Address), PeerError> {
    let mut address = ServerAddress::of_port(Ipv4Addr::LOCALHOST.into(), 0).address;
    Ok((Port::hold(&mut address)?, address))
}

/// Asks once, on a connection for it alone; the bytes of the reply.
pub(super) fn asked(
    kind: &ServerKind,
    login: &Login,
    at: &ServerAddress,
    request: &str,
) -> Result<u64, PeerError> {
    let client = at.client(None, 0).map_err(|error| no_server(kind, at, &error))?;
    let cell = Cell {
        request: Some(request.to_owned()),
        ..Cell::new(ipcost_model::Pattern::Connect, at.transport, 1)
    };
    let mut asker = Asker::new(kind, login, &cell, (at, client))?;
    let mut connection = asker.connect_patiently().map_err(|error| match &error {
        PeerError::System(error) => no_server(kind, at, error),
        _ => error,
    })?;
    asker.ask(&mut connection, 1).map_err(|trouble| match trouble {
        Trouble::Moving(error) => {
            refused(format!("the server at {at} does not answer: {}", no_reply(&error)))
        }
        Trouble::Refused(reason) => refused(format!("the server at {at}: {reason}")),
    })
}

pub(super) fn no_server(kind: &ServerKind, at: &ServerAddress, error: &SysError) -> PeerError {
    if let Err(refused) = at.check_is_socket() {
        return refused;
    }
    match nobody_listens(error) {
        true => refused(format!(
            "no server listens at {at}; start one there ({}), or give no address to have a private one started",
            kind.title
        )),
        false => refused(format!("cannot connect to {at}: {error}")),
    }
}

impl Role for PrivateServer {
    fn run(&mut self, _order: Order) -> Result<JoinedReports, PeerError> {
        Err(refused("a service runs no batch"))
    }
}
