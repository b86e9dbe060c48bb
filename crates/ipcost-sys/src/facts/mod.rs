//! Facts about the machine that bear on results, a topic a file.
//!
//! Pure functions parse the kernel's files; anything missing, forbidden or unparsable is unknown, never an error.
//! Settings are cheap and go into every document; slow checks ([`sample`], [`permissions`]) run only on request.

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

/// Reads a text as each kind of file here.
pub(crate) fn read_text(text: &str) {
    text::read_text(text);
    scheduler::read_text(text);
    network::read_text(text);
}

/// The clock's cost and resolution.
pub fn clock() -> ipcost_model::facts::Reading {
    let clock::Quality { read_ns, step_ns } = clock::quality();
    ipcost_model::facts::Reading { read_ns, step_ns }
}
