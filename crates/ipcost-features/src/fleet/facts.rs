//! What documents record of their hosts, kept small: each name and each value once.

use std::collections::HashMap;

use ipcost_model::Document;

use crate::compare::{BATCH, VOLATILE, facts};

/// Facts that identify a host, and so tell any host from the others; the length of batches is any host's own, too.
const IDENTITY: [&str; 3] = ["name", "machine", BATCH];
/// What is looked at first where several facts tell hosts apart equally well: how their names begin.
const FIRST: [&str; 13] = [
    "container", "hypervisor", "kernel", "os", "arch", "cpu", "mitigations", "governor", "frequency driver",
    "boost", "smt", "idle", "version of ipcost",
];

/// Texts with a number each.
#[derive(Debug, Default)]
pub struct Interned {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Interned {
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        let number = self.texts.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }

    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    pub fn len(&self) -> usize {
        self.texts.len()
    }
}

/// The facts of many hosts.
#[derive(Debug, Default)]
pub struct FactTable {
    names: Interned,
    values: Interned,
}

/// A host's facts: for each name the number of a value.
pub type HostFacts = Vec<Option<u32>>;

impl FactTable {
    /// Those of a document.
    pub fn of(&mut self, document: &Document) -> HostFacts {
        let mut found = Vec::new();
        for (name, value) in facts(document) {
            if VOLATILE.contains(&name.as_str()) || IDENTITY.contains(&name.as_str()) {
                continue;
            }
            let name = self.names.number(&name.replace('_', " ")) as usize;
            if found.len() <= name {
                found.resize(name + 1, None);
            }
            found[name] = Some(self.values.number(&value));
        }
        found
    }

    /// Those of hosts with these values of so many facts.
    #[cfg(test)]
    pub fn planted(hosts: &[Vec<u64>]) -> (Self, Vec<HostFacts>) {
        let mut facts = Self::default();
        let mut of = |host: &Vec<u64>| -> HostFacts {
            let fact = |(number, value): (usize, &u64)| {
                facts.names.number(&format!("fact {number}"));
                Some(facts.values.number(&value.to_string()))
            };
            host.iter().enumerate().map(fact).collect()
        };
        let hosts = hosts.iter().map(&mut of).collect();
        (facts, hosts)
    }

    /// Every name, the most relevant first, with its number.
    pub fn names(&self) -> Vec<(usize, &str)> {
        let mut names: Vec<(usize, &str)> =
            (0..self.names.len()).map(|number| (number, self.names.text(number as u32))).collect();
        let rank = |name: &str| FIRST.iter().position(|first| name.starts_with(first)).unwrap_or(FIRST.len());
        names.sort_by_key(|(number, name)| (rank(name), *number));
        names
    }

    /// A value of a fact.
    pub fn value(&self, number: Option<u32>) -> &str {
        number.map_or("unknown", |number| self.values.text(number))
    }
}
