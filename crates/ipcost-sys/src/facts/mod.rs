//! Facts about the machine that bear on results, a topic a file.
//!
//! What a file of the kernel says is read by pure functions of its text; what is not there, not permitted or not
//! understood is unknown, and never an error. Settings are cheap and stand in every document; what takes a while
//! ([`sample`], [`permissions`]) is for those who ask.

mod limits;
pub(crate) mod network;
mod processor;
pub mod sample;
mod scheduler;
pub(crate) mod text;

pub use crate::system::permissions;
pub use limits::limits;
pub use network::network;
pub use processor::processor;
pub(crate) use processor::{clock_source, cpu_model};
pub use scheduler::scheduler;

use crate::clock;

/// Reads a text as each kind of file there is here.
pub(crate) fn read_text(text: &str) {
    text::read_text(text);
    scheduler::read_text(text);
    network::read_text(text);
}

/// What reading the clock is like.
pub fn clock() -> ipcost_model::facts::Reading {
    let clock::Quality { read_ns, step_ns } = clock::quality();
    ipcost_model::facts::Reading { read_ns, step_ns }
}
