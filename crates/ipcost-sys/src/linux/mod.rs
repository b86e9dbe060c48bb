//! Linux: the parts common to every Unix, and those of Linux alone.

pub mod abstract_address;
mod bpf;
mod bpf_instructions;
pub mod call_counts;
mod call_names;
mod call_program;
mod call_records;
pub mod call_samples;
pub mod calling;
pub mod child;
pub mod close_on_exec;
pub mod congestion;
pub mod connecting;
mod count_program;
pub mod counter;
pub mod counting;
pub mod credentials;
pub mod descriptor_table;
pub mod directory;
pub mod driven_program;
pub mod futex;
pub mod kernel_texts;
mod kernel_types;
pub mod leftovers;
pub mod loopback;
pub mod measuring;
pub mod message_queue;
pub mod more_sockets;
mod mounts;
mod moving_calls;
pub mod net_namespace;
pub mod other_memory;
pub mod passed_memory;
pub mod pausing;
pub mod perf;
mod perf_event;
pub mod permissions;
pub mod pieces;
pub mod pipe_buffer;
pub mod process_tree;
mod processor_rings;
pub mod processors;
mod request_program;
pub mod request_trace;
pub mod running;
mod sample_records;
mod sample_ring;
pub mod shared_ring;
pub mod shared_word;
pub mod sockets;
pub mod source_address;
pub mod suspension;
pub mod tcp_ends;
#[cfg(test)]
mod tests;
mod tracefs;
pub mod vmsplice;
pub mod wake;
pub mod whole_command;

pub use crate::unix::{
    channel, cheapest_call, control, descriptor, fifo, file_writer, found_file, interrupt, kernel_files,
    keys, limits, local_stream, machine, monotonic, pipe, private_dir, process, processor_times, programs,
    socket, usage, user_dirs, worker,
};
pub use crate::unsupported::npipe;
