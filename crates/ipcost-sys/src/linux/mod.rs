//! Linux: what every Unix has, and what Linux alone has.

pub mod counting;
pub mod loopback;
pub mod net_namespace;
pub mod perf;
pub mod permissions;
pub mod pipe_buffer;
pub mod shared_word;

pub use crate::unix::{channel, control, interrupt, limits, private_dir, process, usage, worker};
