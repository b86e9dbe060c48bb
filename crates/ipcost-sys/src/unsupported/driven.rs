//! Programs that a peer drives, where the system does not tell enough of them.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, PipeReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use ipcost_model::Usage;

use crate::contract::{Launch, Woken};
use crate::system::descriptor::Descriptor;
use crate::transport::Connection;

/// There is none here.
#[derive(Debug)]
pub struct Driven(Infallible);

impl Driven {
    /// Refused.
    ///
    /// # Errors
    /// Always.
    pub fn start(_launch: Launch<'_>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Refused.
    ///
    /// # Errors
    /// Always.
    pub fn start_held(_launch: Launch<'_>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn release(&self) -> io::Result<()> {
        match self.0 {}
    }

    /// Never called.
    pub fn id(&self) -> u32 {
        match self.0 {}
    }

    /// Never called.
    pub fn has_ended(&self) -> bool {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn await_end(&self, _beside: Option<&Connection>) -> io::Result<Woken> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn finish(&mut self) -> Result<Usage, String> {
        match self.0 {}
    }
}

/// Not told here.
pub fn used_by(_process: u32) -> Option<(u64, Usage)> {
    None
}

/// Not told here.
pub fn bytes_read(_process: u32) -> Option<u64> {
    None
}

/// Not told here.
pub fn name_and_sleep(_process: u32) -> Option<(String, bool)> {
    None
}

/// Refused.
///
/// # Errors
/// Always.
pub fn path_listens(_path: &str) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn port_listens(_port: u64) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn await_input(_file: &PipeReader, _beside: Option<&Connection>) -> io::Result<Woken> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn ends(_connection: &Connection) -> io::Result<Option<(File, File)>> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Refused.
///
/// # Errors
/// Always.
pub fn is_a_strangers(_connection: &Connection) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not told here.
pub fn listener(_connection: &Connection) -> Option<u32> {
    None
}

/// Refused.
///
/// # Errors
/// Always.
pub fn limit_waits(_connection: &Connection, _patience: Duration) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not looked for here.
pub fn address_of_localhost() -> Option<Ipv4Addr> {
    None
}

/// Refused.
///
/// # Errors
/// Always.
pub fn hold_port(_at: SocketAddr) -> io::Result<(Descriptor, u16)> {
    Err(io::ErrorKind::Unsupported.into())
}
