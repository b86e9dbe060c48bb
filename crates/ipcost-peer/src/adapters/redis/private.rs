//! A private redis-server.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ipcost_model::protocol::{Address, RUNS_AS};
use ipcost_model::{Cell, Pattern};
use ipcost_sys::driven_program::{self, DrivenProgram};
use ipcost_sys::{Launch, User, unguessable};
use sha2::{Digest, Sha256};

use super::control::{ControlConnection, USER};
use super::{PACKAGE, PROGRAM};
use crate::PeerError;
use crate::adapters::port::Port;
use crate::adapters::server_address::{SECRET, ServerAddress, nobody_listens};
use crate::adapters::{refused, system};

/// How long it may take to start listening, and to answer.
pub const PATIENCE: Duration = Duration::from_secs(8);
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// The users of the packages, whose rights a private server has where this program runs as root.
pub const USERS: [&str; 3] = ["redis", "valkey", "nobody"];
/// What the one user of a server that counts may ask for; everything else is off.
const ALLOWED: &str = "-@all +ping +info +exists +get +set +incr";

/// The rules of access of a private server (`user` in redis.conf): its command line shows everyone a hash of the secret.
pub fn access(secret: &str, allowed: &str) -> Vec<String> {
    let hash: String = Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect();
    let words = format!("--user default off --user {USER} on #{hash} ~* {allowed}");
    words.split(' ').map(str::to_owned).collect()
}

/// A server that is stopped when this value is dropped.
pub struct PrivateRedis {
    program: DrivenProgram,
    /// The directory of its socket.
    dir: Option<PathBuf>,
}

impl PrivateRedis {
    /// Starts one at the engine's address, and waits until it answers.
    pub fn start(cell: &Cell, address: &Address) -> Result<(Self, ServerAddress), PeerError> {
        let mut at = ServerAddress::of(&cell.transport, address)?;
        let user = driven_program::instead_of_root(&USERS);
        if user.is_none() && driven_program::is_root() {
            return Err(refused(format!(
                "{PROGRAM} is not started as root, and there is none of the users {}; run as another user",
                USERS.join(", ")
            )));
        }
        let secret = unguessable().map_err(system("cannot get random numbers"))?;
        at.address.insert(SECRET.to_owned(), secret.into());
        // The server's own directory, in that of this process, which the server cannot enter: it is started in there.
        let dir = at.path().map(|path| PathBuf::from(format!("{path}.d")));
        let held = match &dir {
            Some(dir) => {
                driven_program::give_directory(dir, user)
                    .map_err(system(format!("cannot make {}", dir.display())))?;
                at.address.insert("path".to_owned(), dir.join(SOCKET).to_string_lossy().into());
                None
            }
            None => Some(Port::hold(&mut at.address)?),
        };
        at.address.insert(RUNS_AS.to_owned(), driven_program::name_of(user).into());
        let server = Self::listening(cell, &at, (dir, user))?;
        drop(held);
        Ok((server, at))
    }

    fn listening(
        cell: &Cell,
        at: &ServerAddress,
        (dir, user): (Option<PathBuf>, Option<User>),
    ) -> Result<Self, PeerError> {
        let started = DrivenProgram::start(Launch {
            program: PROGRAM,
            arguments: &arguments(cell, at),
            complains_on_output: true,
            directory: Some(dir.as_deref().unwrap_or(Path::new(NOWHERE))),
            user,
            without_environment: true,
            ..Launch::default()
        });
        let program =
            started.map_err(system(format!("cannot start {PROGRAM} of Debian's package {PACKAGE}")))?;
        let mut server = Self { program, dir };
        let deadline = Instant::now() + PATIENCE;
        let user = user.map_or_else(driven_program::own_user, |user| user.id);
        while at.is_listened_on_by(user).is_err() || !server.answers(at)? {
            server.check_alive("before it listened")?;
            if Instant::now() > deadline {
                let seconds = PATIENCE.as_secs();
                return Err(refused(format!(
                    "{PROGRAM} did not answer PING within {seconds} seconds; is the machine too busy?"
                )));
            }
            thread::sleep(ASK_AGAIN);
        }
        Ok(server)
    }

    pub fn id(&self) -> u32 {
        self.program.id()
    }

    /// Reports why it is gone, if it is.
    pub fn check_alive(&mut self, when: &str) -> Result<(), PeerError> {
        if !self.program.has_ended() {
            return Ok(());
        }
        self.program.finish()?;
        Err(refused(format!("{PROGRAM} ended {when}")))
    }

    /// Whether this very process answers.
    fn answers(&self, at: &ServerAddress) -> Result<bool, PeerError> {
        let mut control = match ControlConnection::open(at, PATIENCE) {
            Ok(control) => control,
            Err(PeerError::System(error)) if nobody_listens(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        control.ask(&["PING"])?;
        match control.ask_info("server", "process_id")? {
            Some(id) if id == self.id().to_string() => Ok(true),
            _ => Err(refused(format!("a server other than the one started here answers at {at}"))),
        }
    }
}

impl Drop for PrivateRedis {
    fn drop(&mut self) {
        if let Some(dir) = &self.dir {
            let _ = fs::remove_dir_all(dir);
        }
    }
}

/// The name of its socket.
const SOCKET: &str = "s";
/// It needs a working directory, though started this way it writes nothing. Nothing can be written to this one, and no one
/// has to remove it.
const NOWHERE: &str = "/proc";

/// Protected mode refuses clients from addresses other than 127.0.0.1, even from the rest of 127.0.0.0/8 (redis 7.0;
/// later versions accept them). The server listens on loopback only either way, so turning it off admits no client
/// that could not come from 127.0.0.1 just as well.
fn arguments(cell: &Cell, at: &ServerAddress) -> Vec<String> {
    let spreads = cell.pattern == Pattern::Connect && cell.options.spread_sources().unwrap_or(true);
    let protected = if cell.transport == "tcp" && spreads { "no" } else { "yes" };
    let mut words = vec!["--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", "."];
    words.extend(["--protected-mode", protected]);
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if at.path().is_some() {
        add("--unixsocket", SOCKET.to_owned());
        add("--unixsocketperm", "700".to_owned());
        add("--port", "0".to_owned());
    }
    if let Some((host, port)) = at.host().zip(at.port()) {
        add("--bind", host.to_owned());
        add("--port", port.to_string());
    }
    if let Some(backlog) = cell.options.backlog() {
        add("--tcp-backlog", backlog.to_string());
    }
    words.extend(at.secret().into_iter().flat_map(|secret| access(secret, ALLOWED)));
    words
}
