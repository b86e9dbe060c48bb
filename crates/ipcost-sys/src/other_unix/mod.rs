//! Another Unix, such as macOS: the parts common to every Unix, and none of those of Linux alone. It compiles, but has
//! never been run.

pub mod child;
pub mod close_on_exec;
pub mod directory;
pub mod leftovers;
pub mod pipe_buffer;
pub mod processors;
pub mod shared_word;
pub mod source_address;

pub use crate::unix::{
    channel, cheapest_call, control, descriptor, fifo, file_writer, found_file, interrupt, kernel_files,
    keys, limits, local_stream, machine, monotonic, pipe, private_dir, process, processor_times, programs,
    socket, usage, user_dirs, worker,
};
pub use crate::unsupported::{
    abstract_address, call_counts, call_samples, calling, congestion, connecting, counter, credentials,
    descriptor_table, driven_program, futex, kernel_texts, loopback, measuring, message_queue, more_sockets,
    net_namespace, npipe, other_memory, passed_memory, pausing, perf, permissions, pieces, process_tree,
    request_trace, running, shared_ring, sockets, suspension, tcp_ends, vmsplice, wake, whole_command,
};
