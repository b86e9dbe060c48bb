//! Which host a document is from, and what outputs call it.

use std::collections::HashMap;

use ipcost_model::Host;

/// What stands for the name of a host in a redacted document.
const NAMELESS: [&str; 2] = ["", "[host]"];
/// So much of a machine's pseudonym tells hosts of one name apart.
const SHORT: usize = 6;

/// Which host a document is from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostKey {
    /// By name and machine.
    Known(String, Option<String>),
    /// The document does not tell; by its place.
    Unknown(u64),
}

impl HostKey {
    /// Of a document, with its place among all.
    pub fn of(host: &Host, place: u64) -> Self {
        match host.machine() {
            None if NAMELESS.contains(&host.name()) => Self::Unknown(place),
            machine => Self::Known(host.name().to_owned(), machine.map(str::to_owned)),
        }
    }

    pub fn machine(&self) -> Option<&str> {
        match self {
            Self::Known(_, machine) => machine.as_deref(),
            Self::Unknown(_) => None,
        }
    }
}

/// What outputs call hosts, in their order: by name, with a part of the machine's pseudonym if several have the same.
pub fn names<'a>(keys: impl Iterator<Item = &'a HostKey> + Clone) -> Vec<String> {
    let mut of_name: HashMap<&str, usize> = HashMap::new();
    for key in keys.clone() {
        if let HostKey::Known(name, _) = key {
            *of_name.entry(name).or_default() += 1;
        }
    }
    let mut unknown = 0;
    let name = |key: &HostKey| match key {
        HostKey::Unknown(_) => {
            unknown += 1;
            format!("unnamed host {unknown}")
        }
        HostKey::Known(name, machine) => {
            let short = machine.as_deref().map(|id| id.chars().take(SHORT).collect::<String>());
            match short {
                Some(short) if NAMELESS.contains(&name.as_str()) => format!("host {short}"),
                Some(short) if of_name[name.as_str()] > 1 => format!("{name} ({short})"),
                _ => name.clone(),
            }
        }
    };
    keys.map(name).collect()
}
