//! Stubs for what a system lacks; they say so, and why. Each system includes the ones it needs.

#[cfg(not(target_os = "linux"))]
pub mod abstract_address;
#[cfg(not(target_os = "linux"))]
pub mod call_counts;
#[cfg(not(target_os = "linux"))]
pub mod call_samples;
#[cfg(not(target_os = "linux"))]
pub mod calling;
#[cfg(windows)]
pub mod cheapest_call;
#[cfg(not(target_os = "linux"))]
pub mod congestion;
#[cfg(not(target_os = "linux"))]
pub mod connecting;
#[cfg(not(target_os = "linux"))]
pub mod counter;
#[cfg(not(target_os = "linux"))]
pub mod credentials;
#[cfg(not(target_os = "linux"))]
pub mod descriptor_table;
#[cfg(not(target_os = "linux"))]
pub mod driven_program;
#[cfg(windows)]
pub mod fifo;
#[cfg(not(target_os = "linux"))]
pub mod futex;
#[cfg(not(target_os = "linux"))]
pub mod kernel_texts;
#[cfg(windows)]
pub mod keys;
#[cfg(not(target_os = "linux"))]
pub mod loopback;
#[cfg(not(target_os = "linux"))]
pub mod measuring;
#[cfg(not(target_os = "linux"))]
pub mod message_queue;
#[cfg(not(target_os = "linux"))]
pub mod more_sockets;
#[cfg(not(target_os = "linux"))]
pub mod net_namespace;
#[cfg(unix)]
pub mod npipe;
#[cfg(not(target_os = "linux"))]
pub mod other_memory;
#[cfg(not(target_os = "linux"))]
pub mod passed_memory;
#[cfg(not(target_os = "linux"))]
pub mod pausing;
#[cfg(not(target_os = "linux"))]
pub mod perf;
#[cfg(not(target_os = "linux"))]
pub mod permissions;
#[cfg(not(target_os = "linux"))]
pub mod pieces;
#[cfg(not(target_os = "linux"))]
pub mod process_tree;
#[cfg(not(target_os = "linux"))]
pub mod running;
#[cfg(not(target_os = "linux"))]
pub mod shared_ring;
#[cfg(not(target_os = "linux"))]
pub mod sockets;
#[cfg(not(target_os = "linux"))]
pub mod suspension;
#[cfg(not(target_os = "linux"))]
pub mod tcp_ends;
#[cfg(not(target_os = "linux"))]
pub mod vmsplice;
#[cfg(not(target_os = "linux"))]
pub mod wake;
#[cfg(not(target_os = "linux"))]
pub mod whole_command;
#[cfg(windows)]
pub mod worker;

use std::io;

/// The error of an unsupported operation.
fn unsupported(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, reason)
}
