//! A redis-server that was there already: who owns it, and that nothing of this peer stays in it.

use std::io;
use std::time::Duration;

use ipcost_sys::worker::Keeper;
use ipcost_sys::{SysError, driven_program};

use super::PROGRAM;
use super::control::ControlConnection;
use super::key::RedisKey;
use super::resp::Reply;
use crate::PeerError;
use crate::adapters::refused;
use crate::adapters::server_address::ServerAddress;
use crate::adapters::server_address::nobody_listens;

const PATIENCE: Duration = Duration::from_secs(3);
const KEEPERS_PATIENCE: Duration = Duration::from_secs(1);

/// Connects to it, once it has answered like redis.
pub fn open(at: &ServerAddress) -> Result<ControlConnection, PeerError> {
    let mut control = ControlConnection::open(at, PATIENCE).map_err(|error| no_server(at, error))?;
    let server = &control.server.clone();
    match control.exchange(&["PING"]) {
        Ok(Reply::Simple(word)) if word == "PONG" => Ok(control),
        Ok(Reply::Error(reason)) => {
            let way_out = if reason.starts_with("NOAUTH") { " Give one that wants no password." } else { "" };
            Err(refused(format!("the redis server at {server} refused PING: {reason}{way_out}")))
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            let seconds = PATIENCE.as_secs();
            Err(refused(format!(
                "the server at {server} did not answer PING within {seconds} seconds; is it redis?"
            )))
        }
        Ok(_) | Err(_) => Err(refused(format!(
            "the server at {server} does not answer PING as redis does; give the address of a {PROGRAM}"
        ))),
    }
}

fn no_server(at: &ServerAddress, error: PeerError) -> PeerError {
    if let Err(refused) = at.check_is_socket() {
        return refused;
    }
    let how = match &error {
        PeerError::System(SysError::Call { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            "there is no such socket"
        }
        PeerError::System(error) if nobody_listens(error) => "connection refused",
        _ => return refused(format!("cannot connect to the redis server at {at}: {error}")),
    };
    refused(format!(
        "no server listens at {at} ({how}); start {PROGRAM} there, or give no address to start a private one"
    ))
}

pub fn version(at: &ServerAddress) -> Result<String, PeerError> {
    let mut control = open(at)?;
    control.ask_info("server", "redis_version")?.ok_or_else(|| {
        refused(format!("the server at {at} does not tell a version of redis in INFO server; is it redis?"))
    })
}

/// Its process. In a container, the process may have another number than here: then its name decides.
pub fn process(control: &mut ControlConnection) -> Result<Option<u32>, PeerError> {
    if let Some(listener) = control.listener() {
        return Ok(Some(listener));
    }
    let process = control.ask_info("server", "process_id")?.and_then(|id| id.parse().ok());
    Ok(process.filter(|id| driven_program::name_and_sleep(*id).is_some_and(|(name, _)| name == PROGRAM)))
}

/// Starts a process that removes the key once this one has ended, even if killed.
pub fn keep_clean(at: &ServerAddress, key: &RedisKey) -> Result<Keeper, PeerError> {
    let (at, key) = (at.clone(), key.padded.clone());
    Ok(Keeper::start(move || {
        if let Ok(mut control) = ControlConnection::open(&at, KEEPERS_PATIENCE) {
            let _ = control.exchange(&["DEL", &key]);
        }
    })?)
}
