//! What is kept of saved runs beside their documents, so that lists need not read those.

use ipcost_model::{Document, Pattern, Placement, RunState, Stopped, Verdict};
use serde::{Deserialize, Serialize};

use crate::FeatureError;
use crate::answers::kind;

/// The version of [`RunSummary`] as it is stored.
pub const SUMMARY_SCHEMA: &str = "ipcost-summary/1";

/// The version of [`RunList`].
pub const RUNS_SCHEMA: &str = "ipcost-runs/1";

/// The longest name of a run, characters.
const MOST_IN_NAME: usize = 40;

/// A saved run in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The saved run's own; sorts by time.
    pub id: String,
    /// What the user calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The command that measured it, where that was not `run`: `explain`, or `replicate c-stream`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// When it was saved, RFC 3339.
    pub saved: String,
    /// When it started, RFC 3339.
    pub started: String,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// Whether it has ended.
    #[serde(default)]
    pub state: RunState,
    pub stopped: Stopped,
    pub epochs: u32,
    /// The version of the tool that measured.
    pub tool_version: String,
    /// The machine's name; empty where the document does not tell.
    pub host: String,
    pub kernel: String,
    /// The processor's model name.
    pub cpu: String,
    pub cells: u32,
    /// The cells' patterns, each once, in the document's order.
    pub patterns: Vec<Pattern>,
    /// The cells' transports, likewise.
    pub transports: Vec<String>,
    /// The cells' sizes, bytes, likewise.
    pub sizes: Vec<u64>,
    /// The cells' concurrencies, likewise.
    pub concurrency: Vec<u32>,
    /// The cells' placements, likewise.
    pub placements: Vec<Placement>,
    /// The peers that played client or server, likewise.
    pub peers: Vec<String>,
    /// What the headline's contrasts are known to be.
    pub verdicts: VerdictCounts,
    /// How large the saved file is, bytes.
    pub file_bytes: u64,
}

/// How many contrasts have which verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// With [`Verdict::Different`].
    pub different: u32,
    /// With [`Verdict::Equivalent`].
    pub equivalent: u32,
    /// With [`Verdict::Direction`].
    pub direction: u32,
    /// With [`Verdict::Undecided`].
    pub undecided: u32,
}

impl VerdictCounts {
    /// Each verdict with its count, in the order of the documentation.
    pub fn each(&self) -> [(Verdict, u32); 4] {
        [
            (Verdict::Different, self.different),
            (Verdict::Equivalent, self.equivalent),
            (Verdict::Direction, self.direction),
            (Verdict::Undecided, self.undecided),
        ]
    }
}

/// A file among the saved runs that cannot be read as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableRun {
    /// Its name within the directory of saved runs.
    pub file: String,
    /// Why not, in one line.
    pub reason: String,
}

/// Saved runs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunList {
    pub schema: String,
    pub directory: String,
    /// How many readable ones there are, listed or not.
    pub total: u64,
    pub runs: Vec<RunSummary>,
    /// What else is there.
    pub unreadable: Vec<UnreadableRun>,
}

impl RunSummary {
    /// What a document says in short. `saved` is RFC 3339; `file_bytes` is the size of the file that holds it.
    pub fn of(document: &Document, id: &str, saved: &str, file_bytes: u64) -> Self {
        let cells = &document.cells;
        let peers = cells.iter().flat_map(|cell| [&cell.client, &cell.server]);
        Self {
            id: id.to_owned(),
            name: document.name.clone(),
            kind: kind(document),
            saved: saved.to_owned(),
            started: document.started.clone(),
            elapsed_s: document.elapsed_s,
            state: RunState::Finished,
            stopped: document.stopped,
            epochs: document.schedule.epochs,
            tool_version: document.tool.version.clone(),
            host: document.host.name().to_owned(),
            kernel: document.host.kernel.clone(),
            cpu: document.host.cpu.clone(),
            cells: cells.len() as u32,
            patterns: each_once(cells.iter().map(|cell| cell.pattern)),
            transports: each_once(cells.iter().map(|cell| cell.transport.clone())),
            sizes: each_once(cells.iter().map(|cell| cell.size)),
            concurrency: each_once(cells.iter().map(|cell| cell.concurrency)),
            placements: each_once(cells.iter().map(|cell| cell.placement)),
            peers: each_once(peers.cloned()),
            verdicts: verdicts(document),
            file_bytes,
        }
    }
}

fn verdicts(document: &Document) -> VerdictCounts {
    let mut counts = VerdictCounts::default();
    for contrast in document.contrasts.iter().filter(|contrast| contrast.headline) {
        let count = match contrast.verdict {
            Verdict::Different => &mut counts.different,
            Verdict::Equivalent => &mut counts.equivalent,
            Verdict::Direction => &mut counts.direction,
            Verdict::Undecided => &mut counts.undecided,
        };
        *count += 1;
    }
    counts
}

fn each_once<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut known, value| {
        if !known.contains(&value) {
            known.push(value);
        }
        known
    })
}

/// Whether a run may be called so: a letter, then letters, digits, `.`, `_`, `+` and `-`; and not `last`, which is
/// the newest run whatever it is called.
pub fn check_run_name(name: &str) -> Result<(), FeatureError> {
    let rest = |c: char| c.is_alphanumeric() || "._+-".contains(c);
    let fits = name.starts_with(char::is_alphabetic) && name.chars().all(rest);
    if name == "last" {
        return Err(FeatureError::RunNamedLast);
    }
    match fits && name.chars().count() <= MOST_IN_NAME {
        true => Ok(()),
        false => Err(FeatureError::RunName { name: name.to_owned(), longest: MOST_IN_NAME }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_be_taken_for_ids_positions_or_flags() {
        for good in ["before", "kernel-6.9", "gcc14", "Ünterschied", "a+b_c"] {
            assert!(check_run_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(41);
        for wrong in ["", "-", "--all", "2026", "last", "last~1", "a b", "a/b", "a\n", "b~1", &long] {
            let error = check_run_name(wrong).unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn values_are_told_once_in_their_order() {
        assert_eq!(each_once(["rr", "stream", "rr"].into_iter()), ["rr", "stream"]);
    }
}
