//! What distinguishes a run from every other one, where the outputs of many come together.

use ipcost_model::Document;
use sha2::{Digest, Sha256};

/// The time at which the run started, and eight digits from what else is its own: seed, machine, number of samples. The same
/// document has the same id, whichever command reads it.
pub fn run_id(document: &Document) -> String {
    let host = host_name(document);
    let own = format!("{}\n{}\n{host}\n{}", document.seed, document.started, document.samples.len());
    let digest = Sha256::digest(own.as_bytes());
    let digits: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let time: String = document.started.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    format!("{time}-{digits}")
}

/// The machine's name; empty if the document does not hold it.
pub fn host_name(document: &Document) -> &str {
    document.host.more.get("name").and_then(|name| name.as_str()).unwrap_or_default()
}
