//! Every system call of `ipcost`, and the only crate with `unsafe`.
//!
//! # What a platform must offer
//!
//! What differs between systems is in one directory each: `linux`, `windows` and `other_unix`, with what every Unix has in
//! `unix` and what is lacking in `unsupported`. One of them is chosen below, as the module `system`; modules of one name are
//! twins, with the same signatures.
//!
//! | topic | file | contract |
//! |---|---|---|
//! | transports | [`transport`] | a registry of [`transport::Transport`]s; each says itself whether it can be used here |
//! | time | [`clock`] | a monotonic clock in nanoseconds, cheap enough to read twice an operation |
//! | usage | [`usage`] | user and system time and switches of this process, all threads |
//! | peers | [`process`] | a child with pipes, in a group (a job) of its own, that dies with its parent |
//! | workers | [`worker`] | copies of this process, each with one task |
//! | real programs | [`driven`] | programs that a peer drives: started, held, watched, ended |
//! | control | [`control`], [`lines`] | lines from standard input, while waiting for connections too |
//! | shared memory | [`shared_word`] | a word that two processes have in common |
//! | placement | [`placement`], [`whereabouts`] | which processors there are, pinning to them, and where threads ran |
//! | files | [`private_dir`], [`user_dirs`] | a directory that only this user can enter and that is gone afterwards; where a user's programs keep what is theirs |
//! | locks | [`file_lock`] | whether another program still uses a file |
//! | programs | [`programs`] | finding and building those that peers need |
//! | signals | [`interrupt`] | being asked to stop, as something to wait on |
//! | by hand | [`local_stream`] | the other side of a peer, for the conformance suite |
//! | the machine | [`host`], [`facts`], [`counters`], [`limits`] | facts, kernel counters, limits |
//! | texts of the kernel | [`kernel_texts`] | their readers, each a pure function, for tests and fuzzers |
//! | others | [`others`], [`quota`] | who else is busy, and what CPU quotas do |
//! | storage | [`disk`] | bytes that processes read from it and write to it |
//! | events | [`perf`], [`idle`] | what processors and kernel count of processes, and of idling |
//! | network | [`net_namespace`], [`firewall`] | a network of one's own, and what packets of loopback go through |
//!
//! Nothing outside this crate asks which system it runs on: what is absent says so through these contracts.
#![warn(missing_docs)]
#![allow(unsafe_code)]

pub mod clock;
mod contract;
mod control_group;
pub mod counters;
pub mod disk;
pub mod facts;
pub mod file_lock;
pub mod firewall;
pub mod host;
pub mod idle;
pub mod kernel_texts;
pub mod lines;
pub mod others;
pub mod placement;
mod private_name;
pub mod quota;
pub mod relations;
pub mod transport;
pub mod whereabouts;

// The system is chosen here, once; the modules of one system have the names and signatures of another's.
#[cfg(target_os = "linux")]
#[path = "linux/mod.rs"]
mod system;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "other_unix/mod.rs"]
mod system;
#[cfg(windows)]
#[path = "windows/mod.rs"]
mod system;
#[cfg(unix)]
mod unix;
mod unsupported;

pub use system::{
    control, descriptor_table, driven, interrupt, limits, local_stream, net_namespace, perf, private_dir,
    process, programs, shared_word, usage, user_dirs, worker,
};

use std::io;

pub use contract::{Launch, Woken};
pub use system::descriptor::Descriptor;

/// A system call that failed: what was tried, and the system's answer.
#[derive(Debug, thiserror::Error)]
#[error("{action}: {source}")]
pub struct SysError {
    /// What was tried, on what.
    pub action: String,
    /// The system's answer.
    #[source]
    pub source: io::Error,
}

/// Adds what was tried to a system's answer.
pub trait Context<T> {
    /// Names the action that failed.
    ///
    /// # Errors
    /// The same error, with its action.
    fn context(self, action: impl FnOnce() -> String) -> Result<T, SysError>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, action: impl FnOnce() -> String) -> Result<T, SysError> {
        self.map_err(|error| SysError { action: action(), source: error.into() })
    }
}
