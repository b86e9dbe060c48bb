//! What outputs show of claims, whether one run decided them or many hosts.

use super::{Check, CheckedClaim};
use crate::check::words::how;

/// Claims, decided.
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
    /// What outputs show of it.
    pub fn view(&self) -> View<'_> {
        let how = how(self);
        View {
            file: &self.file,
            claims: &self.claims,
            started: &self.envelope.started,
            elapsed_s: self.elapsed_s,
            properties: [
                ("ipcost.version", self.envelope.tool.version.clone()),
                ("host.kernel", self.envelope.host.kernel.clone()),
                ("host.cpu", self.envelope.host.cpu.clone()),
            ]
            .into_iter()
            .chain(self.seed.map(|seed| ("seed", seed.to_string())))
            .collect(),
            how,
        }
    }
}
