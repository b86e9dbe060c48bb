//! The nouns of `ipcost`: [`Cell`], [`Job`], [`Plan`], the control protocol and the [`Document`].
//!
//! Plain data with serde: no I/O, no clock, no dependence on the machine it runs on.
//! Data flows one way through the workspace, and this crate names what flows:
//!
//! ```text
//! job → plan → samples → analysis → document → rendering
//! ```

mod arms;
mod capabilities;
mod cell;
mod cell_id;
mod cell_record;
mod claim;
mod consistency;
mod contrast_record;
mod document;
mod error;
mod expand;
pub mod facts;
mod figure;
mod floor;
pub mod job;
pub mod job_file;
mod json_scan;
mod lanes;
mod layout;
mod lookup;
mod measure;
mod message;
mod named;
mod options;
pub mod pace;
mod plan;
pub mod protocol;
mod reading;
mod redact;
mod sample;
mod samples_file;
mod samples_reading;
#[cfg(feature = "schema")]
mod schema;
mod suggest;
mod system_call;
mod text;
pub mod units;
mod workload;

pub use arms::{Arm, ArmName, ArmSetting, Arms, ArmsRecord};
pub use capabilities::{Capabilities, Delivery, FloorKind, OptionGroup, PeerState, TransportState};
pub use cell::{Cell, Pattern, Placement, Point, PointProperty, Ran, SpeaksFirst, Wait, Work};
pub use cell_id::parse_cell_id;
pub use cell_record::{
    CellRecord, FloorPart, FloorRecord, HeldBackRecord, LatencySummary, LayoutEffect, LayoutPlace, Mode,
    PaceRecord, Percentiles, PooledLatency, RanRecord, UsagePerOp,
};
pub use claim::ClaimVerdict;
pub use consistency::MAX_NAME_BYTES;
pub use contrast_record::{
    Bound, ContrastRecord, ContrastWithin, Fastest, LatencyContrast, MeanContrast, PauseCause, PausePart,
    Percentile, SpreadContrast, WorkloadRecord,
};
pub use document::{
    Analysis, Document, Envelope, Estimate, HELD_BACK, Host, LongerRun, Metric, Multiplicity, Resumed,
    SCHEMA, Schedule, Stopped, Timing, Tool, Warning,
};
pub use error::ModelError;
pub use expand::{Expanded, MAX_CONCURRENCY, Offers, PlannedCell, expand, option_words};
pub use figure::{
    FigureKind, FigurePanel, FigurePlace, FigureSeries, FigureUnit, FigureValue, PublishedFigure,
};
pub use floor::{FloorRecipe, FloorShare};
pub use ipcost_stats::Verdict;
pub use job::{
    Job, Lasts, LatencyMode, Matrix, NATIVE, OneOrMany, OptionLists, PeerCommand, ServiceCommand, Size,
    check_peer_name,
};
pub use job_file::{JobFileError, job_text, parse_job};
pub use lanes::LaneState;
pub use layout::{BufferLayout, Offsets, PAGE_BYTES, fixed_offset};
pub use lookup::Lookup;
pub use measure::{Measure, Quantity};
pub use message::{MessageError, read_message};
pub use options::{
    CATALOGUE, COMMON_CONGESTION, MOST_PIECES, OptionKind, OptionName, OptionSpec, OptionValue, Options,
    STEADY, TCP_CONGESTION, choices, paces,
};
pub use plan::{KeptFile, Plan, PlannedArms, PlannedContrast};
pub use reading::{
    MAX_DOCUMENT_BYTES, ReadError, check_document, read_document, read_documents, read_record,
};
pub use redact::{Identity, RedactError, redacted, redacted_document};
pub use sample::{Sample, Usage, Whereabouts};
pub use samples_file::{
    BatchOperations, Begun, Calibrated, CellLatency, EpochRecord, HeldBack, Incidents, MachineRecord,
    ProcessorTimes, Purpose, RunState, SAMPLES_SCHEMA, Samples, SamplesLine, Throttling, WatchedBatches,
};
pub use samples_reading::{SamplesError, read_samples};
pub use suggest::{nearest, unknown};
pub use system_call::{CallMode, Object};
pub use text::{and_joined, escaped, escaped_but_styles, escaped_lines, first_few, is_invisible};
pub use workload::{DEFAULT_BASELINE, Workload};
