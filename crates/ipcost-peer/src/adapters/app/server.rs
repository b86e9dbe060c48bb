//! The server's side: accounts for what the real server's processes use. It serves nothing itself.

use ipcost_model::{Cell, Usage};
use ipcost_sys::clock::now_ns;
use ipcost_sys::{driven, process_tree};

use crate::adapters::at::At;
use crate::adapters::beside::{self, Words};
use crate::adapters::refused;
use crate::{Gathering, Order, Part, PeerError, Prepared, Role, Together};

struct Accounting {
    words: Words,
    /// The process that listens; `None` if the system does not tell.
    process: Option<u32>,
    /// Whether it is a private server, which runs where this process may run.
    is_placed: bool,
    before: Usage,
}

/// Finds the server's processes, and waits for the client.
pub(super) fn prepare(cell: &Cell, at: &At, is_private: bool) -> Result<Prepared, PeerError> {
    let process = process(at)?;
    let mut told = at.address.clone();
    let server = beside::offer(cell, &mut told)?;
    let part = Part::Gathering(Gathering::new(server, 1, move |channels| {
        let words = Words::of_client(channels)?;
        Ok(Box::new(Accounting { words, process, is_placed: is_private, before: Usage::default() }))
    }));
    Ok(Prepared { address: told, effective: Vec::new(), part })
}

/// The process that listens at an address.
pub(super) fn process(at: &At) -> Result<Option<u32>, PeerError> {
    if let Some(port) = at.port() {
        return Ok(process_tree::listener_at(port));
    }
    let connection = at.client(None, 0)?.connect()?;
    // In a container it may have another number there than here.
    Ok(driven::listener(&connection).filter(|process| *process > 0))
}

impl Role for Accounting {
    fn arm(&mut self, _order: Order) -> Result<(), PeerError> {
        let Some(process) = self.process else { return Ok(()) };
        if self.is_placed {
            let placed = process_tree::place_here(&process_tree::of(process));
            placed.map_err(|error| refused(format!("cannot place the server's processes: {error}")))?;
        }
        self.before =
            process_tree::used(process).ok_or_else(|| refused("the server ended before the batch began"))?;
        Ok(())
    }

    /// Waits for the client's message that it has finished.
    fn run(&mut self, _order: Order) -> Result<Together, PeerError> {
        let began_ns = now_ns();
        if !self.words.hear() {
            // The client knows best why it is gone.
            beside::let_others_speak();
            return Err(match self.process.is_some_and(|process| process_tree::used(process).is_none()) {
                true => refused("the server ended in the middle of a batch"),
                false => refused("the client ended before the batch did"),
            });
        }
        let wall_ns = now_ns() - began_ns;
        let usage = match self.process {
            Some(process) => {
                let after = process_tree::used(process)
                    .ok_or_else(|| refused("the server ended in the middle of a batch"))?;
                after - self.before
            }
            None => Usage::default(),
        };
        Ok(Together { wall_ns, usage, ..Together::default() })
    }
}
