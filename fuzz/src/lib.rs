//! Every parser of outside bytes, as a function of any bytes: it must not panic, hang, or take memory that grows
//! faster than its input.
//!
//! `fuzz_targets/` runs them under libFuzzer. `crates/ipcost-features/tests/inputs` includes this file and runs them over
//! the saved inputs, and over thousands of mutations of these, without any tool. To add one, add a function, a line in
//! [`TARGETS`] and three lines in `fuzz_targets/`.

mod document;
mod files;
mod peer;

pub use document::HOSTILE;

/// A function of any bytes.
pub type Target = fn(&[u8]);

/// All fuzz targets, by the name of their directory in `corpus/`.
pub const TARGETS: &[(&str, Target)] = &[
    ("job", files::job),
    ("claims", files::claims),
    ("replication", files::replication),
    ("manifest", files::manifest),
    ("cell_id", files::cell_id),
    ("peer", peer::said),
    ("document", document::document),
    ("samples", document::samples),
    ("kernel_texts", files::kernel_texts),
    ("trace", files::trace),
    ("resp", peer::replies),
    ("server_replies", peer::server_replies),
    ("server_logins", peer::server_logins),
    ("answers", document::answers),
];

/// Runs a target by its name.
///
/// # Panics
/// If there is no such target, or the target panics: then it has found something.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name");
    target(bytes);
}
