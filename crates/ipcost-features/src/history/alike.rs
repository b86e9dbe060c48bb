//! Which saved runs belong to one history.

use ipcost_model::{Document, Job};

use crate::answers::kind;
use crate::compare::alike_batches;

/// What runs must have in common to be in one history.
#[derive(Debug, Clone)]
pub struct AlikeRuns {
    pub host: String,
    /// The command and the job, without what only says how long to measure.
    pub job: (Option<String>, Job),
    /// The version of a real server, where the document tells.
    pub server: Option<String>,
    /// How long batches last, milliseconds: what a batch costs once is a larger part of short ones.
    pub batch_ms: f64,
    /// Whether the tool was built without optimisation.
    pub debug: bool,
}

impl AlikeRuns {
    pub fn of(document: &Document) -> Self {
        let answer = document.answer.as_ref();
        let server = answer.and_then(|answer| answer.get("server").and(answer.get("version")));
        Self {
            host: document.host.name().to_owned(),
            job: (kind(document), what_is_measured(&document.job)),
            server: server.and_then(|version| version.as_str()).map(str::to_owned),
            batch_ms: document.schedule.batch_ms,
            debug: document.tool.profile.as_deref() == Some("debug"),
        }
    }

    /// Whether runs like these two are in one history. No equality: two lengths of batches may both be alike with a third, and not with
    /// each other.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.host, &self.job, &self.server, self.debug)
            == (&other.host, &other.job, &other.server, other.debug)
            && self.has_batches_like(other)
    }

    /// Whether their batches are of about one length.
    pub fn has_batches_like(&self, other: &Self) -> bool {
        alike_batches([self.batch_ms, other.batch_ms])
    }
}

/// The job without its budget, its seed and how its results are judged.
fn what_is_measured(job: &Job) -> Job {
    Job {
        baseline: None,
        budget: None,
        margin: None,
        epochs: None,
        seed: None,
        keep_all: false,
        timeout: None,
        ..job.clone()
    }
}
