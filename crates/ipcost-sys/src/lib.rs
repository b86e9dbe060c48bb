//! Every system call of `ipcost`, and the only crate with `unsafe`.
//!
//! # What a platform must offer
//!
//! Code that differs between systems is in one directory each: `linux`, `windows` and `other_unix`, with the parts
//! common to every Unix in `unix` and stubs for missing parts in `unsupported`. One of them is chosen below, as the
//! module `system`; modules of the same name are twins, with the same signatures.
//!
//! | topic | file | contract |
//! |---|---|---|
//! | transports | [`transport`] | a registry of [`transport::Transport`]s; each reports whether it works here |
//! | time | [`clock`], [`pausing`] | a monotonic clock in nanoseconds, cheap enough to read twice an operation; sleeping until a moment |
//! | usage | [`usage`] | user and system time and switches of this process, all threads |
//! | peers | [`process`] | a child with pipes, in a group (a job) of its own, that dies with its parent |
//! | workers | [`worker`] | copies of this process, each with one task |
//! | real programs | [`driven_program`] | programs that a peer drives: started, held, watched, ended |
//! | servers | [`process_tree`] | a server with all that it has forked: what it uses, where it runs |
//! | control | [`control`], [`lines`] | lines from standard input, while waiting for connections too |
//! | shared memory | [`shared_word`] | a word that two processes share |
//! | placement | [`placement`], [`whereabouts`] | the processors, pinning to them, and where threads ran |
//! | files | [`private_dir`], [`user_dirs`], [`found_file`], [`file_writer`] | a directory that only this user can enter and that is removed afterwards; where a user's programs keep their files; opening files that were found and not named; writing every file |
//! | data | [`data_dir`] | where this program keeps its own files |
//! | commands | [`whole_command`] | shell commands that end with everything they started |
//! | neighbours | [`measuring`] | other processes of this program that measure |
//! | locks | [`file_lock`] | whether another program still uses a file |
//! | programs | [`programs`] | finding and building the programs that peers need |
//! | signals | [`interrupt`] | requests to stop, as something to wait on |
//! | by hand | [`local_stream`] | the other side of a peer, for the conformance suite |
//! | the machine | [`host`], [`facts`], [`counters`], [`limits`] | facts, kernel counters, limits |
//! | kernel texts | [`kernel_texts`] | their parsers, each a pure function, for tests and fuzzers |
//! | programs that run | [`running`], [`sockets`], [`observed`] | their sockets, pipes and shared memory, and what TCP has counted |
//! | their calls | [`call_samples`] | the calls that move data, when they began and ended, of programs that already run |
//! | who connects | [`connecting`] | the process behind each TCP connection that is opened, however short |
//! | their counts | [`call_counts`] | bytes and calls through each socket and pipe, counted by the kernel, of programs that already run |
//! | their requests | [`request_trace`] | how long each took, and what the threads of a slow one did |
//! | keys | [`keys`] | those that are pressed while a table is redrawn |
//! | others | [`others`], [`quota`] | who else is busy, and what CPU quotas do |
//! | storage | [`disk`] | bytes that processes read from it and write to it |
//! | events | [`perf`], [`idle`] | event counts of processes, and idle states |
//! | network | [`net_namespace`], [`firewall`], [`tcp_ends`] | a private network, what loopback packets go through, and what connections wait for |
//!
//! Nothing outside this crate asks which system it runs on: missing parts say so through these contracts.
#![allow(unsafe_code)]

/// The system, as Rust names it: no other crate asks.
pub const OS: &str = std::env::consts::OS;

pub mod clock;
mod contract;
mod control_group;
mod copying;
pub mod counters;
pub mod data_dir;
pub mod disk;
mod error;
pub mod facts;
pub mod file_lock;
pub mod firewall;
pub mod host;
pub mod idle;
pub mod kernel_texts;
pub mod lines;
pub mod observed;
pub mod others;
pub mod placement;
mod private_name;
mod process_stat;
pub mod quota;
pub mod relations;
pub mod shell;
pub mod transport;
pub mod whereabouts;

// The one place that chooses the system; its modules have the same names and signatures on every system.
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
    call_counts, call_samples, connecting, control, descriptor_table, driven_program, file_writer,
    found_file, interrupt, keys, limits, local_stream, measuring, net_namespace, pausing, perf, private_dir,
    process, process_tree, programs, request_trace, running, shared_word, sockets, tcp_ends, usage,
    user_dirs, wake, whole_command, worker,
};

pub use contract::{Launch, ListenerOwner, Listens, Neighbour, TcpEnd, User, Woken};
pub use error::{Context, SysError};
pub use system::abstract_address::unguessable;
pub use system::descriptor::Descriptor;
