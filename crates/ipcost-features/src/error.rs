//! Why a question cannot be asked, or a document does not answer it.

use ipcost_lab::LabError;
use ipcost_model::{ModelError, Percentile, unknown};

use crate::answers::AnswerError;
use crate::check::ClaimMetric;

/// What is wrong, where, and what to do about it, in one line.
#[derive(Debug, thiserror::Error)]
pub enum FeatureError {
    #[error("{place}: {error}")]
    At {
        /// The part of a file, or the document.
        place: String,
        error: Box<Self>,
    },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Lab(Box<LabError>),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),

    #[error("\"last\" always means the newest run; take another name")]
    RunNamedLast,
    #[error(
        "{name:?} is not a valid name: start with a letter; then use letters, digits, . _ + - (at most {longest} characters)"
    )]
    RunName { name: String, longest: usize },

    #[error("no cell of the run is {0}")]
    NoCell(String),
    #[error("{one} and {other} are both {selector}; say more")]
    SelectsTwo { selector: String, one: String, other: String },
    #[error("\"{name}\" is {} cells; name one by its id: {}", ids.len(), ids.join(", "))]
    NamesSeveral { name: String, ids: Vec<String> },
    #[error("{}", unknown("cell", name, known.iter().map(String::as_str)))]
    UnknownCell { name: String, known: Vec<String> },

    #[error("effect \"{0}\" must not decide; say decides = false")]
    EffectDecides(String),
    #[error("effect \"{0}\" compares with nothing; give b")]
    EffectAlone(String),
    #[error("test \"{0}\" compares system calls with nothing; give b")]
    CallsAlone(String),
    #[error("test \"{0}\" compares no ratio with another; give b")]
    RatioAlone(String),
    #[error("test \"{0}\" says neither below nor above; give one, or decides = false")]
    Unbounded(String),
    #[error(
        "condition \"{0}\" changes no cell that a claim names; set a placement, for cells that have none, an option that acts on them, or peers that they have"
    )]
    ConditionIdle(String),
    #[error("condition \"{0}\" sets neither a placement nor an option nor peers; set one")]
    ConditionEmpty(String),
    #[error("two conditions are named \"{0}\"; give one of them another name")]
    ConditionTwice(String),

    #[error("differ_in and values belong together")]
    ValuesAlone,
    #[error("{labels} labels for {values} values")]
    Labels { labels: usize, values: usize },
    #[error("{pointers} pointers for {places} places")]
    Pointers { pointers: usize, places: usize },
    #[error("results have {what} at {pointer}")]
    Results { what: &'static str, pointer: String },

    #[error("it is a document of ipcost {0}; a fleet takes those of run, check and replicate")]
    OtherAnswer(String),
    #[error("nothing was measured: {}", .0.join("; "))]
    NothingMeasured(Vec<String>),
    #[error("it has no contrasts: nothing was compared, or too little was measured")]
    NoContrasts,

    #[error("{0} is not a ratio; write it as a number above 0, such as 0.9")]
    NotRatio(String),
    #[error("{0} is not a share; write it as \"5%\" or 0.05")]
    NotShare(String),
    #[error("{0} has no unit; write a time as \"{0}us\", or name the cell it is a ratio to: against = \"…\"")]
    NoUnit(f64),

    #[error("{0} has not been read")]
    BaselineUnread(String),
    #[error("{one} and {other} are the same run; baselines are runs that were measured independently")]
    SameRun { one: String, other: String },
    #[error(
        "its cell {cell} is another: {what} {there} there, {here} here; record it again, or rename the cell"
    )]
    OtherCell { cell: String, what: &'static str, there: String, here: String },
    #[error(
        "{name} has not measured {}; it has {}; record it again with ipcost check --record",
        lacking.join(", "), has.join(", ")
    )]
    BaselineLacks { name: String, lacking: Vec<String>, has: Vec<String> },
    #[error(
        "{name} does not have {} of {} by epoch: an epoch has less than {} operations of it, or an earlier version wrote it; record it again with ipcost check --record",
        percentile.title(), lacking.join(", "), percentile.least_ops()
    )]
    BaselineLacksPercentile { name: String, percentile: Percentile, lacking: Vec<String> },

    #[error("{} is a latency, and latency = \"off\" samples none; take that setting out", .0.title())]
    LatencyOff(ClaimMetric),
    #[error("{} is a latency of single operations, and {cell} is a stream, which has none; use wall", metric.title())]
    LatencyOfStream { metric: ClaimMetric, cell: String },
    #[error(
        "{} of {open} counts from when operations were due, and {closed} is a closed loop, which hides what waits; compare two cells with a rate, or two without",
        metric.title()
    )]
    OpenAndClosed { metric: ClaimMetric, open: String, closed: String },
    #[error(
        "in an epoch it used no processor time that the kernel counted; give longer batches (batch = \"200ms\")"
    )]
    NoCpuTime,
    #[error("an epoch has no cost of it")]
    NoCost,
    #[error("the document has no percentiles of {0} by epoch; measure it again")]
    NoPercentiles(String),
    #[error("the client of {0} gives no latencies")]
    NoLatencies(String),
    #[error(
        "an epoch samples {fewest} operations of {cell}, and {} takes {}{}; {}",
        percentile.title(), percentile.least_ops(), lower(*fewest), more(batch.as_deref())
    )]
    TooFewSampled {
        cell: String,
        percentile: Percentile,
        /// Operations of the smallest epoch.
        fewest: u64,
        /// The length of batches that have enough; `None` where batches do not give latencies.
        batch: Option<String>,
    },
}

impl FeatureError {
    pub(crate) fn at(self, place: impl Into<String>) -> Self {
        Self::At { place: place.into(), error: Box::new(self) }
    }
}

impl From<LabError> for FeatureError {
    fn from(error: LabError) -> Self {
        Self::Lab(Box::new(error))
    }
}

/// The percentile that so few operations give, if any.
fn lower(fewest: u64) -> String {
    Percentile::highest_of(fewest)
        .map_or_else(String::new, |lower| format!("; metric = \"{lower}\" would do"))
}

fn more(batch: Option<&str>) -> String {
    match batch {
        Some(batch) => format!("longer batches have more: batch = \"{batch}\""),
        None => "latency = \"inline\" samples the timed batches, which are longer".to_owned(),
    }
}
