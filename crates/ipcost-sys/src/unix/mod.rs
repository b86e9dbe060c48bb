//! The parts common to every Unix.

pub mod channel;
pub mod cheapest_call;
pub mod control;
pub mod descriptor;
pub mod fifo;
pub mod file_writer;
pub mod found_file;
pub mod interrupt;
pub mod kernel_files;
pub mod keys;
pub mod limits;
pub mod local_stream;
pub mod machine;
pub mod monotonic;
pub mod pipe;
pub mod private_dir;
pub mod process;
pub mod processor_times;
pub mod programs;
pub mod socket;
pub mod usage;
pub mod user_dirs;
pub mod worker;
