//! Programs that a peer drives: this system does not report enough about them.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, PipeReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use ipcost_model::Usage;

use crate::SysError;
use crate::contract::{Launch, ListenerOwner, Listens, User, Woken};
use crate::system::descriptor::Descriptor;
use crate::transport::Connection;

#[derive(Debug)]
pub struct DrivenProgram(Infallible);

impl DrivenProgram {
    pub fn start(_launch: Launch<'_>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn start_held(_launch: Launch<'_>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn release(&self) -> io::Result<()> {
        match self.0 {}
    }

    pub fn id(&self) -> u32 {
        match self.0 {}
    }

    pub fn has_ended(&self) -> bool {
        match self.0 {}
    }

    pub fn await_end(&self, _beside: Option<&Connection>) -> io::Result<Woken> {
        match self.0 {}
    }

    pub fn finish(&mut self) -> Result<Usage, SysError> {
        match self.0 {}
    }
}

pub fn make_link(_to: &Path, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn name_of(_user: Option<User>) -> String {
    String::new()
}

pub fn instead_of_root(_names: &[&str]) -> Option<User> {
    None
}

pub fn make_directory(_path: &Path, _passed_by: Option<User>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn give_directory(_path: &Path, _owner: Option<User>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn make_file(_path: &Path, _content: &[u8], _owner: Option<User>) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn is_root() -> bool {
    false
}

pub fn ask_to_end(driven: &DrivenProgram, _quickly: bool, _patience: Duration) -> io::Result<()> {
    match driven.0 {}
}

pub fn used_by(_process: u32) -> Option<(u64, Usage)> {
    None
}

pub fn bytes_read(_process: u32) -> Option<u64> {
    None
}

pub fn name_and_sleep(_process: u32) -> Option<(String, bool)> {
    None
}

pub fn connect_at_once(_to: Listens<'_>, _patience: Duration) -> io::Result<Connection> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn await_reply(_connection: &Connection) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn path_listens(_path: &str) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn port_listens(_port: u64) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn await_input(_file: &PipeReader, _beside: Option<&Connection>) -> io::Result<Woken> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn ends(_connection: &Connection) -> io::Result<Option<(File, File)>> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn is_a_strangers(_connection: &Connection) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn listener(_connection: &Connection) -> Option<u32> {
    None
}

pub fn listener_owner(_connection: &Connection) -> io::Result<ListenerOwner> {
    Ok(ListenerOwner::Unknown)
}

pub fn owner_at(_at: SocketAddr) -> io::Result<ListenerOwner> {
    Ok(ListenerOwner::Unknown)
}

/// Users have no numbers here.
pub fn own_user() -> u32 {
    0
}

/// Users have no numbers here.
pub fn user_number(_name: &str) -> Option<u32> {
    None
}

pub fn is_unix(_connection: &Connection) -> bool {
    false
}

pub fn limit_waits(_connection: &Connection, _patience: Duration) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[derive(Debug)]
pub struct EndsAt(());

pub fn end_after(_connection: &Connection, _patience: Duration) -> io::Result<EndsAt> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn let_wait(_connection: &Connection) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub fn shut(_connection: &Connection) {}

/// Not looked up here.
pub fn address_of_localhost() -> Option<Ipv4Addr> {
    None
}

pub fn hold_port(_at: SocketAddr) -> io::Result<(Descriptor, u16)> {
    Err(io::ErrorKind::Unsupported.into())
}
