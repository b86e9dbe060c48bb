//! `npipe`: a named pipe of Windows, in byte mode, with blocking calls (`CreateNamedPipe`, `ConnectNamedPipe`).
//!
//! The server has an instance for every connection, and one more that waits for the next client. A client that comes
//! before an instance exists waits: there is no queue as for listening sockets, and so no option backlog.

use std::io;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};
use serde::{Deserialize, Serialize};

use super::{
    Client, Connection, Effective, Provision, Rendezvous, Server, Transport, Waitable, from_address,
    supported, to_address,
};
use crate::system::npipe::{self, NamedPipeListener};
use crate::{Context, SysError};

pub struct Npipe;

/// The prefix of local named pipes.
const PIPES: &str = r"\\.\pipe\";
/// The system's buffer for each direction, bytes, unless the cell sets it: a Linux pipe's size.
const BUFFER_BYTES: u64 = 65_536;

const CAPABILITIES: Capabilities = Capabilities {
    name: "npipe",
    summary: "a Windows named pipe in byte mode",
    connects: true,
    os: &["windows"],
    option_groups: &[OptionGroup::PipeBuffer],
    in_default_suite: true,
    ..Capabilities::PLAIN
};

#[derive(Serialize, Deserialize)]
struct PipeName {
    pipe: String,
}

impl Transport for Npipe {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(npipe::LACKS)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        // The directory's name is random, so no other program can guess the pipe's and create it first.
        let secret = place.dir.file_name().unwrap_or_default().to_string_lossy();
        let pipe = format!("{PIPES}{secret}-{}", place.name);
        Ok(Provision { server: to_address(&PipeName { pipe }), ..Provision::default() })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        let path = path(address)?;
        let asked = cell.options.pipe_size();
        let bytes = u32::try_from(asked.unwrap_or(BUFFER_BYTES)).unwrap_or(u32::MAX);
        let listener =
            NamedPipeListener::open(&path, bytes).context(|| format!("cannot make the pipe {path}"))?;
        let mut effective = Vec::new();
        if let Some(asked) = asked {
            let became = listener.buffer().context(|| format!("cannot read the buffer size of {path}"))?;
            effective.push(Effective { name: "pipe_size", asked, became });
        }
        Ok(Box::new(NpipeServer { address: address.clone(), listener, effective }))
    }

    fn reach(&self, address: &Address, _cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        Ok(Box::new(NpipeClient { path: path(address)? }))
    }
}

/// Reads an address and refuses any outside this machine.
fn path(address: &Address) -> Result<String, SysError> {
    let PipeName { pipe } = from_address(CAPABILITIES.name, address)?;
    let local = pipe.get(..PIPES.len()).is_some_and(|start| start.eq_ignore_ascii_case(PIPES));
    if local && pipe.len() > PIPES.len() {
        return Ok(pipe);
    }
    Err(SysError::Address {
        transport: CAPABILITIES.name,
        address: pipe,
        reason: format!(r"a pipe of this machine begins with {PIPES}"),
    })
}

struct NpipeServer {
    address: Address,
    listener: NamedPipeListener,
    effective: Vec<Effective>,
}

impl Server for NpipeServer {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, SysError> {
        let accepted = self.listener.try_accept().context(|| "cannot accept a connection".to_owned())?;
        Ok(accepted.map(Connection::Other))
    }

    #[inline]
    fn accept(&self) -> io::Result<Connection> {
        self.listener.accept().map(Connection::Other)
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
        None
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}

struct NpipeClient {
    path: String,
}

impl Client for NpipeClient {
    #[inline]
    fn connect(&mut self) -> Result<Connection, SysError> {
        let connected = npipe::connect(&self.path);
        Ok(Connection::Other(connected.context(|| format!("cannot connect to {}", self.path))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_of_other_machines_are_refused() {
        let address = |pipe: &str| to_address(&PipeName { pipe: pipe.to_owned() });
        assert_eq!(path(&address(r"\\.\PIPE\x")).unwrap(), r"\\.\PIPE\x");
        for wrong in [r"\\server\pipe\x", r"C:\x", r"\\.\pipe\", "", "é"] {
            let error = path(&address(wrong)).unwrap_err().to_string();
            assert!(error.contains(r"begins with \\.\pipe\"), "{error}");
        }
    }
}
