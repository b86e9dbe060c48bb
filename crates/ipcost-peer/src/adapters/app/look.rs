//! What a server is like over either socket, before anything is measured: whether it does the same work on both.

use std::io;

use ipcost_model::{Cell, Pattern};
use ipcost_sys::transport::Channel;

use super::client::{Asker, Trouble};
use super::kind::{Login, ReportedFacts, ServerKind, Speech};
use super::server;
use super::service::no_server;
use crate::adapters::refused;
use crate::adapters::server_address::{ServerAddress, no_reply};
use crate::{PeerError, ended, send_all};

/// How often a request is asked: a server that keeps connections for few replies only is found out.
const TIMES: u64 = 25;

/// What is known of a server over one socket.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerFacts {
    pub address: String,
    /// Whether it is reached over more than loopback.
    pub is_remote: bool,
    /// What it tells of itself.
    pub reported: ReportedFacts,
    /// The process that listens, if the system tells.
    pub process: Option<u32>,
    /// For each request, the bytes of it and of its reply.
    pub requests: Vec<AskedRequest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedRequest {
    pub sent: u64,
    /// Bytes of the reply.
    pub replied: u64,
}

pub fn look(
    kind: &ServerKind,
    login: &Login,
    at: &ServerAddress,
    requests: &[String],
) -> Result<ServerFacts, PeerError> {
    let client = at.client(None, 0).map_err(|error| no_server(kind, at, &error))?;
    drop({ client }.connect().map_err(|error| no_server(kind, at, &error))?);
    let side = if at.path().is_some() { "the Unix socket" } else { "TCP" };
    let wrong = |error: PeerError| refused(format!("over {side}: {error}"));
    let reported = (kind.facts)(&login.at(at), at).map_err(wrong)?;
    let process = server::process(at)?;
    let asked = requests.iter().map(|request| asked(kind, login, at, request)).collect::<Result<_, _>>();
    Ok(ServerFacts {
        address: at.to_string(),
        is_remote: at.is_remote(),
        reported,
        process,
        requests: asked.map_err(wrong)?,
    })
}

fn asked(
    kind: &ServerKind,
    login: &Login,
    at: &ServerAddress,
    request: &str,
) -> Result<AskedRequest, PeerError> {
    let cell = Cell { request: Some(request.to_owned()), ..Cell::new(Pattern::Rr, at.transport, 1) };
    let mut asker = Asker::new(kind, login, &cell, (at, at.client(None, 0)?))?;
    let mut connection = asker.connect_patiently()?;
    let mut ask = |asker: &mut Asker| {
        let replied = asker.ask_kept(&mut connection, 1).map_err(|trouble| match trouble {
            Trouble::Moving(error) => refused(format!("\"{request}\" has no reply: {}", no_reply(&error))),
            Trouble::Refused(reason) => refused(format!("\"{request}\": {reason}")),
        })?;
        match asker.is_last() {
            true => Err(refused(format!(
                "\"{request}\": the server closes its connections after few replies; let it keep them"
            ))),
            false => Ok(replied),
        }
    };
    let mut replied = 0;
    for _ in 0..TIMES {
        replied = ask(&mut asker)?;
    }
    if asker.is_empty() && !login.writes {
        return Err(refused(format!(
            "\"{request}\" returns nothing, as often do requests with a mistake; give one that returns something"
        )));
    }
    Ok(AskedRequest { sent: asker.request_bytes(), replied })
}

/// Asks once, on a connection for it alone; the reply as it came.
pub(super) fn hear(speech: &mut dyn Speech, at: &ServerAddress) -> Result<Vec<u8>, PeerError> {
    let mut connection = at.connect_patiently()?;
    speech.greet(&mut connection)?;
    let failed = |error: io::Error| refused(format!("there is no reply: {}", no_reply(&error)));
    send_all(&mut *connection, speech.request()).map_err(failed)?;
    let (mut reply, mut taken, mut buffer) = (Vec::new(), 0, [0; 4096]);
    loop {
        let part = speech.take(&reply[taken..])?;
        taken += part.bytes;
        if part.complete {
            return Ok(reply);
        }
        match connection.receive(&mut buffer).map_err(failed)? {
            0 if taken == reply.len() && speech.ends_with_connection() => return Ok(reply),
            0 => return Err(failed(ended())),
            more => reply.extend_from_slice(&buffer[..more]),
        }
    }
}
