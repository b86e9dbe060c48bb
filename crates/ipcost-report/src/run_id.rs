//! What distinguishes a run from every other one, where the outputs of many come together.

use ipcost_model::Document;
use sha2::{Digest, Sha256};

/// The time at which the run started, and eight digits from what else is its own: seed, machine, number of samples. The same
/// document has the same id, whichever command reads it.
pub fn run_id(document: &Document) -> String {
    let host = document.host.name();
    let own = format!("{}\n{}\n{host}\n{}", document.seed, document.started, document.samples.len());
    let digest = Sha256::digest(own.as_bytes());
    let digits: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let time: String = document.started.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    format!("{time}-{digits}")
}
