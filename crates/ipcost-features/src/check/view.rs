//! What outputs show of claims, whether one run decided them or many hosts.

use ipcost_model::Document;

use super::{Check, CheckedClaim};
use crate::check::words::how;

pub struct View<'a> {
    /// The file of claims, as it was named.
    pub file: &'a str,
    /// The claims, in the order of the file.
    pub claims: &'a [CheckedClaim],
    /// When it started, RFC 3339.
    pub started: &'a str,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// Where and with what, by name.
    pub properties: Vec<(&'static str, String)>,
    /// How the answers came about.
    pub how: String,
}

impl Check {
    /// What outputs show of it, of the document that has it.
    pub fn view<'a>(&'a self, document: &'a Document) -> View<'a> {
        let Document { tool, host, .. } = document;
        View {
            file: &self.file,
            claims: &self.claims,
            started: &document.started,
            elapsed_s: document.elapsed_s,
            properties: vec![
                ("ipcost.version", tool.version.clone()),
                ("host.kernel", host.kernel.clone()),
                ("host.cpu", host.cpu.clone()),
                ("seed", document.seed.to_string()),
            ],
            how: how(self, document),
        }
    }
}
