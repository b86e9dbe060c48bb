//! The server's side: accounts for what the real server's processes use. It serves nothing itself.

use ipcost_model::Cell;
use ipcost_model::protocol::{PROCESSES, processes_of};
use ipcost_sys::clock::now_ns;
use ipcost_sys::process_tree::UsedByTree;
use ipcost_sys::{driven_program, process_tree};

use crate::adapters::refused;
use crate::adapters::server_address::ServerAddress;
use crate::adapters::side_channel::{self, Words};
use crate::{Gathering, JoinedReports, Order, PeerError, Prepared, Role, RoleState};

struct Accounting {
    words: Words,
    /// The process that listens, or all that were started; none if the system does not tell.
    processes: Vec<u32>,
    /// Whether it is a private server, which runs where this process may run.
    is_placed: bool,
    before: UsedByTree,
}

/// Finds the server's processes, and waits for the client.
pub(super) fn prepare(cell: &Cell, at: &ServerAddress, is_private: bool) -> Result<Prepared, PeerError> {
    let mut processes = processes_of(&at.address);
    if !at.address.contains_key(PROCESSES) {
        processes.extend(process(at)?);
    }
    let mut address = at.address.clone();
    if !processes.is_empty() {
        address.insert(PROCESSES.to_owned(), processes.clone().into());
    }
    let server = side_channel::offer(cell, &mut address)?;
    let part = RoleState::Gathering(Gathering::new(server, 1, move |channels| {
        let words = Words::of_client(channels)?;
        Ok(Box::new(Accounting { words, processes, is_placed: is_private, before: UsedByTree::default() }))
    }));
    Ok(Prepared { address, effective: Vec::new(), part })
}

/// The process that listens at an address.
pub(super) fn process(at: &ServerAddress) -> Result<Option<u32>, PeerError> {
    if at.is_remote() {
        // Another machine's or container's, which this system does not tell about.
        return Ok(None);
    }
    if let Some(port) = at.port() {
        return Ok(process_tree::listener_at(port));
    }
    let connection = at.client(None, 0)?.connect()?;
    // In a container it may have another number there than here.
    Ok(driven_program::listener(&connection).filter(|process| *process > 0))
}

impl Role for Accounting {
    fn arm(&mut self, _order: Order) -> Result<(), PeerError> {
        if self.is_placed {
            let all: Vec<u32> =
                self.processes.iter().flat_map(|process| process_tree::of(*process)).collect();
            let placed = process_tree::place_here(&all);
            placed.map_err(|error| refused(format!("cannot place the server's processes: {error}")))?;
        }
        self.before = self.used().ok_or_else(|| refused("the server ended before the batch began"))?;
        Ok(())
    }

    /// Waits for the client's message that it has finished.
    fn run(&mut self, _order: Order) -> Result<JoinedReports, PeerError> {
        let began_ns = now_ns();
        if !self.words.hear() {
            // The client knows best why it is gone.
            side_channel::let_others_speak();
            return Err(match self.used().is_none() {
                true => refused("the server ended in the middle of a batch"),
                false => refused("the client ended before the batch did"),
            });
        }
        let wall_ns = now_ns() - began_ns;
        let after = self.used().ok_or_else(|| refused("the server ended in the middle of a batch"))?;
        let usage = after.since(&self.before);
        Ok(JoinedReports { wall_ns, usage, ..JoinedReports::default() })
    }
}

impl Accounting {
    /// What the server's processes have used; `None` if one of those that were started has ended.
    fn used(&self) -> Option<UsedByTree> {
        UsedByTree::now(&self.processes, &self.before)
    }
}
