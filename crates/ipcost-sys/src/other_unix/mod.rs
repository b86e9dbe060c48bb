//! Another Unix, such as macOS: what every Unix has, and nothing of what Linux alone has. It is compiled, and was
//! never run.

pub mod child;
pub mod close_on_exec;
pub mod leftovers;
pub mod pipe_buffer;
pub mod processors;
pub mod shared_word;
pub mod source_address;

pub use crate::unix::{
    channel, cheapest_call, control, descriptor, fifo, interrupt, kernel_files, limits, local_stream,
    machine, monotonic, pipe, private_dir, process, processor_times, programs, socket, usage, user_dirs,
    worker,
};
pub use crate::unsupported::{
    abstract_address, counter, credentials, descriptor_table, driven, futex, kernel_texts, loopback,
    message_queue, net_namespace, npipe, perf, permissions, shared_ring, suspension,
};
