//! The table of built-in peers: to add one is to add its sources under `peers/` and an entry here.

use ipcost_model::PeerState;

use crate::sources;
use crate::tools::RubyWay;

/// A peer that travels inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name in cells.
    pub name: &'static str,
    /// One line for help texts: what it is.
    pub summary: &'static str,
    /// The Debian packages with what it needs on this machine.
    pub packages: &'static [&'static str],
    /// Whether its two sides understand each other only, since it speaks a wire format of its own.
    pub own_wire: bool,
    /// The one size and reply that it can carry, where it cannot carry others.
    pub only: Option<(u64, u64)>,
    /// The directory under `peers/` that holds the program.
    pub(crate) directory: &'static str,
    /// Other directories under `peers/` that the program uses; they lie beside its own.
    pub(crate) beside: &'static [&'static str],
    /// What it is written in, and so how it is made ready.
    pub(crate) language: Language,
    /// Programs that it starts, each with its package.
    pub(crate) programs: &'static [(&'static str, &'static str)],
    /// Arguments that make it this peer.
    pub(crate) arguments: &'static [&'static str],
}

/// What a peer is written in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language {
    /// C11, compiled from every `.c` in its directory and these of the directories beside it.
    C { also: &'static [&'static str] },
    /// Go; modules of others are needed on Windows alone, and pinned.
    Go,
    /// Python, started with this file.
    Python { start: &'static str },
    /// Ruby, started with this file, in the first way in which its libraries are there; the package has them.
    Ruby { start: &'static str, ways: &'static [RubyWay], package: &'static str },
}

/// What most entries have in common.
const PLAIN: BuiltIn = BuiltIn {
    name: "",
    summary: "",
    packages: &[],
    own_wire: false,
    only: None,
    directory: "",
    beside: &[],
    language: Language::Go,
    programs: &[],
    arguments: &[],
};

/// Without its package manager, Ruby starts in a third of the time, unless a library then cannot be found.
const BARE_RUBY: &[RubyWay] =
    &[(&["--disable-gems"], &["json", "socket", "fiddle"]), (&[], &["json", "socket"])];

const TABLE: &[BuiltIn] = &[
    BuiltIn {
        name: "c",
        summary: "system calls from C and nothing else",
        packages: &["gcc", "libc6-dev"],
        directory: "c",
        language: Language::C { also: &[] },
        ..PLAIN
    },
    BuiltIn {
        name: "go",
        summary: "Go with its package net, goroutines for workers",
        packages: &["golang-go"],
        directory: "go",
        language: Language::Go,
        ..PLAIN
    },
    BuiltIn {
        name: "python",
        summary: "Python with its module socket, threads for workers",
        packages: &["python3"],
        directory: "python",
        language: Language::Python { start: "ipcost_peer.py" },
        ..PLAIN
    },
    BuiltIn {
        name: "ruby",
        summary: "Ruby with its socket library, threads for workers",
        packages: &["ruby"],
        directory: "ruby",
        language: Language::Ruby { start: "ipcost_peer.rb", ways: BARE_RUBY, package: "ruby" },
        ..PLAIN
    },
    BuiltIn {
        name: "ruby-celluloid",
        summary: "Ruby on Celluloid-IO, actors for the server",
        packages: &["ruby", "ruby-celluloid-io", "ruby-parallel"],
        directory: "ruby-celluloid",
        beside: &["ruby"],
        language: Language::Ruby {
            start: "ipcost_peer.rb",
            ways: &[(&[], &["celluloid/io", "parallel"])],
            package: "ruby-celluloid-io ruby-parallel",
        },
        ..PLAIN
    },
    REDIS,
    BuiltIn {
        name: "redis-resolve",
        summary: "the same; the client looks up localhost before it connects",
        arguments: &["--resolve"],
        ..REDIS
    },
    SOCAT,
    BuiltIn {
        name: "socat-started",
        summary: "the same, timed once both have started",
        own_wire: false,
        arguments: &["--started"],
        ..SOCAT
    },
];

const REDIS: BuiltIn = BuiltIn {
    name: "redis",
    summary: "a real redis-server that is sent INCR; takes --sizes 64 --replies 13",
    packages: &["gcc", "libc6-dev", "redis-server"],
    own_wire: true,
    only: Some((64, 13)),
    directory: "redis",
    beside: &["c"],
    language: Language::C { also: REDIS_SHARES },
    programs: &[("redis-server", "redis-server")],
    ..PLAIN
};

const SOCAT: BuiltIn = BuiltIn {
    name: "socat",
    summary: "two real socats, timed with their start; for pattern stream",
    packages: &["gcc", "libc6-dev", "socat"],
    own_wire: true,
    directory: "socat",
    beside: &["c"],
    language: Language::C { also: SOCAT_SHARES },
    programs: &[("socat", "socat")],
    ..PLAIN
};

/// What the peers that drive real programs share with the C peer.
const REDIS_SHARES: &[&str] = &[
    "c/cell.c",
    "c/channel.c",
    "c/control.c",
    "c/course.c",
    "c/crew.c",
    "c/fields.c",
    "c/json.c",
    "c/latency.c",
    "c/socket.c",
    "c/text.c",
    "c/work.c",
    "c/program/port.c",
    "c/program/process.c",
    "c/program/program.c",
];
const SOCAT_SHARES: &[&str] = &[
    "c/cell.c",
    "c/channel.c",
    "c/control.c",
    "c/course.c",
    "c/fields.c",
    "c/json.c",
    "c/socket.c",
    "c/text.c",
    "c/work.c",
    "c/program/port.c",
    "c/program/process.c",
    "c/program/program.c",
];

/// The built-in peers whose sources this program was built with, in the order of help texts.
pub fn all() -> impl Iterator<Item = &'static BuiltIn> + Clone {
    TABLE.iter().filter(|peer| sources::directory(peer.directory).is_some())
}

/// The built-in peers as they are where none of them is used: nothing is made ready, and nothing is missing.
pub fn states() -> Vec<PeerState> {
    all().map(|peer| PeerState { name: peer.name.to_owned(), unavailable: None }).collect()
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
        for peer in TABLE {
            ipcost_model::check_peer_name(peer.name).unwrap();
            assert!(!peer.summary.is_empty() && !peer.packages.is_empty(), "{}", peer.name);
            assert_eq!(TABLE.iter().filter(|other| other.name == peer.name).count(), 1, "{}", peer.name);
        }
        assert_eq!(all().count(), TABLE.len(), "the sources of every entry are there");
        for peer in all() {
            for directory in peer.beside {
                assert!(sources::directory(directory).is_some(), "{}: {directory}", peer.name);
            }
        }
    }

    #[test]
    fn every_peer_is_documented_as_it_is() {
        let page = include_str!("../../../docs/peers.md");
        for peer in all() {
            let row = format!("| `{}` | {} |", peer.name, peer.summary);
            let row = page.lines().find(|line| line.starts_with(&row)).unwrap_or_else(|| panic!("{row}"));
            let packages: Vec<String> = peer.packages.iter().map(|name| format!("`{name}`")).collect();
            assert!(row.ends_with(&format!("| {} |", packages.join(", "))), "{row}");
        }
    }

    #[test]
    fn shared_sources_are_those_that_makefiles_name() {
        for peer in all() {
            let Language::C { also } = peer.language else { continue };
            let makefile = format!("{}/../../peers/{}/Makefile", env!("CARGO_MANIFEST_DIR"), peer.directory);
            let makefile = std::fs::read_to_string(makefile).unwrap().replace("\\\n", " ");
            let shared = makefile.lines().find_map(|line| line.strip_prefix("SHARED = ")).unwrap_or_default();
            let shared: Vec<String> = shared.split_whitespace().map(|path| format!("c/{path}")).collect();
            assert_eq!(also, shared, "{}", peer.name);
        }
    }

    #[test]
    fn every_directory_under_peers_is_used() {
        for directory in sources::DIRECTORIES {
            assert!(all().any(|peer| peer.directory == directory.name), "{}", directory.name);
        }
    }
}
