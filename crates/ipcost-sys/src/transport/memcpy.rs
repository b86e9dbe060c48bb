//! `memcpy`, a floor: copying a message within one process, once, or in and out again.

use std::hint::black_box;

use ipcost_model::protocol::Address;
use ipcost_model::{Capabilities, Cell, FloorKind, OptionGroup};

use super::inherited::{InheritedClient, InheritedServer};
use super::part::FloorPartLoop;
use super::{Client, Provision, Rendezvous, Server, Transport};
use crate::SysError;
use crate::copying::copy_slice;

pub struct Memcpy;

const CAPABILITIES: Capabilities = Capabilities {
    name: "memcpy",
    summary: "copying a message within one process",
    option_groups: &[OptionGroup::Copying],
    floor: Some(FloorKind::Copy),
    ..Capabilities::PLAIN
};

impl Transport for Memcpy {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn provision(&self, _place: &Rendezvous<'_>) -> Result<Provision, SysError> {
        Ok(Provision::default())
    }

    fn serve(&self, address: &Address, _cell: &Cell) -> Result<Box<dyn Server>, SysError> {
        Ok(Box::new(InheritedServer::new(address, vec![FloorPartLoop::Nothing])))
    }

    fn reach(&self, _address: &Address, cell: &Cell, _worker: u32) -> Result<Box<dyn Client>, SysError> {
        Ok(Box::new(InheritedClient::new(FloorPartLoop::Copy(Copier::new(cell)))))
    }
}

/// Copies messages to consecutive places of a buffer, wrapping around.
pub struct Copier {
    /// The first of two copies writes it and the second reads it.
    between: Option<Vec<u8>>,
    area: Vec<u8>,
    size: usize,
    /// Where the next copy goes.
    next: usize,
    /// Where the last one went.
    last: usize,
}

impl Copier {
    fn new(cell: &Cell) -> Self {
        let size = cell.size as usize;
        let bytes = (cell.options.working_set().unwrap_or(cell.size) / cell.size * cell.size) as usize;
        // Written now, so that no page fault falls into the measurement.
        let between = (cell.options.copies() == Some(2)).then(|| vec![1; size]);
        Self { between, area: vec![1; bytes], size, next: 0, last: 0 }
    }

    /// Copies a message to the next place for its size.
    ///
    /// # Panics
    /// If it is longer than the working set.
    #[inline]
    pub fn copy(&mut self, message: &[u8]) {
        let target = &mut self.area[self.next..self.next + message.len()];
        match &mut self.between {
            None => copy_slice(black_box(message), target),
            Some(between) => {
                copy_slice(black_box(message), between);
                copy_slice(black_box(between), target);
            }
        }
        black_box(target);
        self.last = self.next;
        self.next += self.size;
        if self.next == self.area.len() {
            self.next = 0;
        }
    }

    pub fn copied(&self) -> &[u8] {
        &self.area[self.last..self.last + self.size]
    }
}

#[cfg(test)]
mod tests {
    use ipcost_model::{OptionValue, Options, Pattern};

    use super::*;

    #[test]
    fn copies_go_around_in_the_whole_working_set() {
        let mut options = Options::default();
        options.set("working_set", OptionValue::Int(17)).unwrap();
        let mut copier = Copier::new(&Cell { options, ..Cell::new(Pattern::Floor, "memcpy", 5) });
        let mut reached = Vec::new();
        for message in 0..4 {
            copier.copy(&[message; 5]);
            reached.push(copier.last);
        }
        assert_eq!(reached, [0, 5, 10, 0], "as often as it fits, and around");
        assert_eq!(copier.area, [3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    }
}
