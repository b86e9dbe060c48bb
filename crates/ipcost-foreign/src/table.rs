//! The table of built-in peers: to add one, add its sources under `peers/` and an entry here. The ones that drive
//! real programs are in `ipcost_peer::adapters`.

use std::sync::LazyLock;

use ipcost_model::PeerState;
use ipcost_peer::adapters::{ADAPTERS, Adapter};

use crate::sources;
use crate::tools::RubyWay;

/// A peer bundled in the binary.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name in cells.
    pub name: &'static str,
    /// One-line summary for help texts.
    pub summary: &'static str,
    /// The Debian packages it needs on this machine.
    pub packages: &'static [&'static str],
    /// Whether its two sides understand only each other, since it uses its own wire format.
    pub own_wire: bool,
    /// The only size and reply it can carry, if it is limited to one.
    pub only: Option<(u64, u64)>,
    /// The directory under `peers/` that holds the program; for an adapter, its name.
    pub(crate) directory: &'static str,
    /// Other directories under `peers/` that the program uses; they are written next to its own.
    pub(crate) beside: &'static [&'static str],
    /// Its language, which decides how it is made ready; `None` for an adapter, which is part of this program.
    pub(crate) language: Option<Language>,
    /// Programs that it drives, each with its package.
    pub(crate) programs: &'static [(&'static str, &'static str)],
    /// Arguments that select this peer.
    pub(crate) arguments: &'static [&'static str],
}

impl BuiltIn {
    /// What cells need to know about it on this machine.
    pub fn state(&self, unavailable: Option<String>) -> PeerState {
        PeerState { name: self.name.to_owned(), unavailable, wire: self.own_wire.then_some(self.directory) }
    }
}

/// What a peer is written in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language {
    /// C11, compiled from every `.c` in its directory.
    C,
    /// Go; needs modules of others, pinned, only on Windows.
    Go,
    /// Python, started with this file.
    Python { start: &'static str },
    /// Ruby, started with this file in the first of several ways that finds its libraries; the package provides them.
    Ruby { start: &'static str, ways: &'static [RubyWay], package: &'static str },
    /// A separate program under `extra/`, since it needs a library: this one, next to this program or in `PATH`.
    Program(&'static str),
}

/// Defaults of most entries.
const PLAIN: BuiltIn = BuiltIn {
    name: "",
    summary: "",
    packages: &[],
    own_wire: false,
    only: None,
    directory: "",
    beside: &[],
    language: None,
    programs: &[],
    arguments: &[],
};

/// Without its package manager, Ruby starts in a third of the time, unless a library is then not found.
const BARE_RUBY: &[RubyWay] =
    &[(&["--disable-gems"], &["json", "socket", "fiddle"]), (&[], &["json", "socket"])];

const TABLE: &[BuiltIn] = &[
    BuiltIn {
        name: "c",
        summary: "system calls from C and nothing else",
        packages: &["gcc", "libc6-dev"],
        directory: "c",
        language: Some(Language::C),
        ..PLAIN
    },
    BuiltIn {
        name: "go",
        summary: "Go with its package net, goroutines for workers",
        packages: &["golang-go"],
        directory: "go",
        language: Some(Language::Go),
        ..PLAIN
    },
    BuiltIn {
        name: "python",
        summary: "Python with its module socket, threads for workers",
        packages: &["python3"],
        directory: "python",
        language: Some(Language::Python { start: "ipcost_peer.py" }),
        ..PLAIN
    },
    BuiltIn {
        name: "ruby",
        summary: "Ruby with its socket library, threads for workers",
        packages: &["ruby"],
        directory: "ruby",
        language: Some(Language::Ruby { start: "ipcost_peer.rb", ways: BARE_RUBY, package: "ruby" }),
        ..PLAIN
    },
    BuiltIn {
        name: "ruby-celluloid",
        summary: "Ruby on Celluloid-IO, actors for the server",
        packages: &["ruby", "ruby-celluloid-io", "ruby-parallel"],
        directory: "ruby-celluloid",
        beside: &["ruby"],
        language: Some(Language::Ruby {
            start: "ipcost_peer.rb",
            ways: &[(&[], &["celluloid/io", "parallel"])],
            package: "ruby-celluloid-io ruby-parallel",
        }),
        ..PLAIN
    },
    BuiltIn {
        name: "zeromq",
        summary: "ZeroMQ: REQ and REP for rr, PAIR for stream",
        packages: &["libzmq3-dev"],
        own_wire: true,
        directory: "zeromq",
        language: Some(Language::Program("ipcost-peer-zeromq")),
        ..PLAIN
    },
    BuiltIn {
        name: "nng",
        summary: "nng: Req0 and Rep0 for rr, Pair0 for stream",
        packages: &["libnng-dev"],
        own_wire: true,
        directory: "nng",
        language: Some(Language::Program("ipcost-peer-nng")),
        ..PLAIN
    },
    BuiltIn {
        name: "hyper",
        summary: "HTTP/1.1 through hyper: a POST for every request of rr, on a connection that is kept",
        own_wire: true,
        directory: "hyper",
        language: Some(Language::Program("ipcost-peer-hyper")),
        ..PLAIN
    },
    BuiltIn {
        name: "tonic",
        summary: "gRPC through tonic: a unary call for every request of rr, on a connection that is kept",
        own_wire: true,
        directory: "tonic",
        language: Some(Language::Program("ipcost-peer-tonic")),
        ..PLAIN
    },
];

/// Peers in the table, then those that drive real programs.
static ALL: LazyLock<Vec<BuiltIn>> =
    LazyLock::new(|| TABLE.iter().copied().chain(ADAPTERS.iter().flat_map(peers_of)).collect());

fn peers_of(adapter: &'static Adapter) -> impl Iterator<Item = BuiltIn> {
    adapter.peers.iter().map(|(name, summary, arguments)| BuiltIn {
        name,
        summary,
        packages: adapter.packages,
        own_wire: adapter.own_wire.contains(name),
        only: adapter.only,
        directory: adapter.name,
        language: None,
        programs: adapter.programs,
        arguments,
        ..PLAIN
    })
}

/// The built-in peers whose sources are in this program, in the order of help texts.
pub fn all() -> impl Iterator<Item = &'static BuiltIn> + Clone {
    let travels = |peer: &&BuiltIn| match peer.language {
        None | Some(Language::Program(_)) => true,
        Some(_) => sources::directory(peer.directory).is_some(),
    };
    ALL.iter().filter(travels)
}

/// The built-in peers without using any: nothing is made ready, and nothing is missing.
pub fn states() -> Vec<PeerState> {
    all().map(|peer| peer.state(None)).collect()
}

/// A built-in peer by its name.
pub fn find(name: &str) -> Option<&'static BuiltIn> {
    all().find(|peer| peer.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_complete_and_can_be_named_in_cells() {
        for peer in ALL.iter() {
            ipcost_model::check_peer_name(peer.name).unwrap();
            assert!(!peer.summary.is_empty(), "{}", peer.name);
            // A program installed next to this one may bring all it needs.
            let complete = matches!(peer.language, Some(Language::Program(_)));
            assert!(complete || !peer.packages.is_empty(), "{}", peer.name);
            assert_eq!(ALL.iter().filter(|other| other.name == peer.name).count(), 1, "{}", peer.name);
        }
        assert_eq!(all().count(), ALL.len(), "the sources of every entry are there");
        for peer in all() {
            for directory in peer.beside {
                assert!(sources::directory(directory).is_some(), "{}: {directory}", peer.name);
            }
        }
    }

    #[test]
    fn every_peer_is_documented_as_it_is() {
        let page = include_str!("../../../docs/reference/peers.md");
        for peer in all() {
            let row = format!("| `{}` | {} |", peer.name, peer.summary);
            let row = page.lines().find(|line| line.starts_with(&row)).unwrap_or_else(|| panic!("{row}"));
            let packages: Vec<String> = peer.packages.iter().map(|name| format!("`{name}`")).collect();
            let last = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
            assert_eq!(last.trim(), packages.join(", "), "{row}");
        }
    }

    #[test]
    fn every_directory_under_peers_is_used() {
        for directory in sources::DIRECTORIES {
            assert!(all().any(|peer| peer.directory == directory.name), "{}", directory.name);
        }
    }
}
