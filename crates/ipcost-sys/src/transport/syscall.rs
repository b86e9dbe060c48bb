//! `syscall`, a floor: entering and leaving the kernel.
//!
//! The call is `getppid(2)`: it takes no argument, lock or descriptor, reads one field of the process and is never
//! answered from user space, neither by the vDSO nor by a caching library. A cheaper call would have to ask for
//! something that does not exist, which seccomp filters and tracers may treat differently.

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, FloorKind};

use super::inherited::{InheritedClient, InheritedServer};
use super::part::FloorPartLoop;
use super::{Client, Provision, Rendezvous, Server, Transport, supported};
use crate::SysError;
use crate::system::cheapest_call::{LACKS, call};

pub struct Syscall;

const CAPABILITIES: Capabilities = Capabilities {
    name: "syscall",
    summary: "the cheapest system call (getppid)",
    os: &["linux", "macos"],
    carries_payload: false,
    has_buffers: false,
    floor: Some(FloorKind::SystemCall),
    ..Capabilities::PLAIN
};

impl Transport for Syscall {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), SysError> {
        supported(LACKS)
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        Ok(Provision::default())
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        Ok(Box::new(InheritedServer::new(address, vec![FloorPartLoop::Nothing])))
    }

    fn reach(&self, _address: &Address, _cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        Ok(Box::new(InheritedClient::new(FloorPartLoop::Call(call))))
    }
}
