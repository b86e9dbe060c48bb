//! A private redis-server.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ipcost_model::protocol::Address;
use ipcost_model::{Cell, Pattern};
use ipcost_sys::Launch;
use ipcost_sys::driven::Driven;

use super::desk::Desk;
use super::{PACKAGE, PROGRAM};
use crate::PeerError;
use crate::adapters::at::{At, nobody_listens};
use crate::adapters::port::Port;
use crate::adapters::{refused, system};

/// How long it may take to start listening, and to answer.
pub const PATIENCE: Duration = Duration::from_secs(8);
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// A server that is stopped when this value is dropped.
pub struct Private {
    program: Driven,
    /// Its socket's file.
    path: Option<PathBuf>,
}

impl Private {
    /// Starts one at the engine's address, and waits until it answers.
    pub fn start(cell: &Cell, address: &Address) -> Result<(Self, At), PeerError> {
        let mut at = At::of(&cell.transport, address).map_err(refused)?;
        let path = at.path().map(PathBuf::from);
        let held = match &path {
            Some(path) => check_path(path).map(|()| None)?,
            None => Some(Port::hold(&mut at.address)?),
        };
        let server = Self::listening(cell, &at, path)?;
        drop(held);
        Ok((server, at))
    }

    fn listening(cell: &Cell, at: &At, path: Option<PathBuf>) -> Result<Self, PeerError> {
        let program = launch(&arguments(cell, at))?;
        let mut server = Self { program, path };
        let deadline = Instant::now() + PATIENCE;
        while !server.answers(at)? {
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

    /// Its process.
    pub fn id(&self) -> u32 {
        self.program.id()
    }

    /// Reports why it is gone, if it is.
    pub fn check_alive(&mut self, when: &str) -> Result<(), PeerError> {
        if !self.program.has_ended() {
            return Ok(());
        }
        Err(refused(self.program.finish().err().unwrap_or_else(|| format!("{PROGRAM} ended {when}"))))
    }

    /// Whether this very process answers.
    fn answers(&self, at: &At) -> Result<bool, PeerError> {
        let mut desk = match Desk::open(at, PATIENCE) {
            Ok(desk) => desk,
            Err(error) if nobody_listens(&error) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        desk.ask(&["PING"])?;
        match desk.ask_info("server", "process_id")? {
            Some(id) if id == self.id().to_string() => Ok(true),
            _ => Err(refused(format!("a server other than the one started here answers at {at}"))),
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

fn check_path(path: &Path) -> Result<(), PeerError> {
    let shown = path.display();
    if path.exists() {
        // The server would remove it, whatever it is.
        return Err(refused(format!("{shown} exists already; give the socket a path of its own")));
    }
    if path.is_relative() {
        return Err(refused(format!(
            "{shown} is relative, and {PROGRAM} runs in a directory of its own; give an absolute path"
        )));
    }
    Ok(())
}

/// It needs a working directory, though started this way it writes nothing. Nothing can be written to this one, and nobody
/// has to remove it.
const DIRECTORY: &str = "/proc";

fn launch(arguments: &[String]) -> Result<Driven, PeerError> {
    let started = Driven::start(Launch {
        program: PROGRAM,
        arguments,
        complains_on_output: true,
        directory: Some(Path::new(DIRECTORY)),
        ..Launch::default()
    });
    started.map_err(system(format!("cannot start {PROGRAM} of Debian's package {}", PACKAGE)))
}

/// Protected mode refuses clients from addresses other than 127.0.0.1, even from the rest of 127.0.0.0/8 (redis 7.0;
/// later versions accept them). The server listens on loopback only either way, so turning it off admits no client
/// that could not come from 127.0.0.1 just as well.
fn arguments(cell: &Cell, at: &At) -> Vec<String> {
    let spreads = cell.pattern == Pattern::Connect && cell.options.bool("spread_sources").unwrap_or(true);
    let protected = if cell.transport == "tcp" && spreads { "no" } else { "yes" };
    let mut words = vec!["--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", "."];
    words.extend(["--protected-mode", protected]);
    let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if let Some(path) = at.path() {
        add("--unixsocket", path.to_owned());
        add("--unixsocketperm", "700".to_owned());
        add("--port", "0".to_owned());
    }
    if let Some((host, port)) = at.host().zip(at.port()) {
        add("--bind", host.to_owned());
        add("--port", port.to_string());
    }
    if let Some(backlog) = cell.options.int("backlog") {
        add("--tcp-backlog", backlog.to_string());
    }
    words
}
