//! `fifo`: a pair of named pipes (`fifo(7)`), one for each direction.
//!
//! Opening a FIFO waits for the other side, so the order matters. The server opens `to_server` for reading without
//! waiting and is ready; the client opens `to_client` for reading without waiting, then `to_server` for writing; the
//! server opens `to_client` for writing as soon as it has a reader. Peers that use plain, blocking opens work on either
//! side.

use std::io;
use std::path::Path;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, OptionGroup};
use serde::{Deserialize, Serialize};

use super::inherited::of_worker;
use super::{
    Client, Connection, Effective, Provision, Rendezvous, Server, Transport, Waitable, address_list,
    capacity, list_address, supported,
};
use crate::system::channel::PipePair;
use crate::system::descriptor::Descriptor;
use crate::system::fifo::{LACKS, make, open_to_read, open_to_write, set_buffer, try_open_to_write};
use crate::{Context, SysError};

pub struct Fifo;

const CAPABILITIES: Capabilities = Capabilities {
    name: "fifo",
    summary: "a pair of named pipes",
    both_ways: false,
    os: &["linux", "macos"],
    option_groups: &[OptionGroup::PipeBuffer],
    in_default_suite: true,
    ..Capabilities::PLAIN
};

#[derive(Clone, Serialize, Deserialize)]
struct FifoPaths {
    to_server: String,
    to_client: String,
}

impl Transport for Fifo {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(LACKS)
    }

    fn capacity_bytes(&self, cell: &Cell) -> Option<u64> {
        capacity::pipe(cell)
    }

    fn provision(&self, place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        let mut list = Vec::new();
        for worker in 0..place.cell.concurrency {
            let made = |direction: &str| -> Result<String, SysError> {
                let path = place.dir.join(format!("{}-{worker}-{direction}", place.name));
                make(&path).context(|| format!("cannot make the FIFO {}", path.display()))?;
                Ok(path.to_string_lossy().into_owned())
            };
            list.push(FifoPaths { to_server: made("to-server")?, to_client: made("to-client")? });
        }
        let address = list_address(&list);
        Ok(Provision { server: address, ..Provision::default() })
    }

    fn serve(&self, address: &Address, cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        let paths: Vec<FifoPaths> = address_list(CAPABILITIES.name, address)?;
        let mut effective = Vec::new();
        let mut waiting = Vec::new();
        for pair in paths {
            let read = reading(&pair.to_server)?;
            effective.extend(set_buffer(&read, cell)?);
            waiting.push((pair, read));
        }
        waiting.reverse();
        Ok(Box::new(FifoServer { address: address.clone(), waiting, cell: cell.clone(), effective }))
    }

    fn reach(&self, address: &Address, _cell: &Cell, worker: u32) -> Result<Box<dyn Client>, SysError> {
        let paths = of_worker(address_list(CAPABILITIES.name, address)?, worker)?;
        Ok(Box::new(FifoClient(paths)))
    }
}

struct FifoServer {
    address: Address,
    /// Pairs whose write end is not open yet; the next worker's last.
    waiting: Vec<(FifoPaths, Descriptor)>,
    cell: Cell,
    effective: Vec<Effective>,
}

impl Server for FifoServer {
    fn address(&self) -> Address {
        self.address.clone()
    }

    fn try_accept(&mut self) -> Result<Option<Connection>, SysError> {
        let Some((paths, _)) = self.waiting.last() else {
            return Err(SysError::Invalid("the address names fewer FIFOs than there are workers"));
        };
        let path = Path::new(&paths.to_client);
        let opened =
            try_open_to_write(path).context(|| format!("cannot open {} for writing", path.display()))?;
        let Some(write) = opened else { return Ok(None) };
        self.effective.extend(set_buffer(&write, &self.cell)?);
        let (_, read) = self.waiting.pop().expect("just looked at");
        Ok(Some(PipePair { read, write }.into()))
    }

    fn accept(&self) -> io::Result<Connection> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn waiting(&self) -> Option<Waitable<'_>> {
        None
    }

    fn effective(&self) -> Vec<Effective> {
        self.effective.clone()
    }
}

struct FifoClient(FifoPaths);

impl Client for FifoClient {
    fn connect(&mut self) -> Result<Connection, SysError> {
        let read = reading(&self.0.to_client)?;
        let path = Path::new(&self.0.to_server);
        let write = open_to_write(path).context(|| format!("cannot open {} for writing", path.display()))?;
        Ok(PipePair { read, write }.into())
    }
}

fn reading(path: &str) -> Result<Descriptor, SysError> {
    open_to_read(Path::new(path)).context(|| format!("cannot open {path} for reading"))
}
