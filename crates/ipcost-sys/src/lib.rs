//! Every system call of `ipcost`, and the only crate with `unsafe`.
//!
//! # What a platform must offer
//!
//! | topic | file | contract |
//! |---|---|---|
//! | transports | [`transport`] | a registry of [`transport::Transport`]s; each says itself whether it can be used here |
//! | time | [`clock`] | a monotonic clock in nanoseconds, cheap enough to read twice an operation |
//! | usage | [`usage`] | user and system time and switches of this process, all threads |
//! | peers | [`process`] | a child with pipes, in a group of its own, that dies with its parent |
//! | workers | [`worker`] | copies of this process, each with one task |
//! | control | [`control`] | lines from standard input, while waiting for connections too |
//! | shared memory | [`shared_word`] | a word that two processes have in common |
//! | placement | [`placement`] | which processors there are, and pinning to them |
//! | files | [`private_dir`] | a directory that only this user can enter and that is gone afterwards |
//! | locks | [`file_lock`] | whether another program still uses a file |
//! | signals | [`interrupt`] | being asked to stop, as a descriptor to wait on |
//! | the machine | [`host`], [`facts`], [`counters`], [`limits`] | facts, kernel counters, limits |
//! | others | [`others`], [`quota`] | who else is busy, and what CPU quotas do |
//! | events | [`perf`], [`idle`] | what processors and kernel count of processes, and of idling |
//! | network | [`net_namespace`], [`firewall`] | a network of one's own, and what packets of loopback go through |
//!
//! Nothing outside this crate asks which system it runs on: what is absent says so through these contracts.

#![allow(unsafe_code)]

pub mod clock;
pub mod control;
pub mod counters;
pub mod facts;
pub mod file_lock;
pub mod firewall;
pub mod host;
pub mod idle;
pub mod interrupt;
pub mod limits;
pub mod net_namespace;
pub mod others;
pub mod perf;
pub mod placement;
pub mod private_dir;
pub mod process;
pub mod quota;
pub mod relations;
pub mod shared_word;
pub mod transport;
pub mod usage;
pub mod worker;

use std::io;

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
