//! The measuring side: from a job to a document.
//!
//! ```text
//! Settings + cells ──plan──▶ Plan ──campaign──▶ CampaignState ──document──▶ Document
//!                                     │ ▲
//!                                     ▼ │
//!                                    Bench   (processes, or a script in tests)
//! ```
//!
//! [`campaign`] knows epochs, rounds and when to stop, and nothing of processes; [`mod@bench`] is the contract
//! between the two; `processes` keeps it with real peers.

pub mod analysis;
pub mod attached;
pub mod batches;
pub mod bench;
mod calibration;
pub mod campaign;
mod diagnostics;
pub mod document;
pub mod error;
pub mod estimate;
mod findings;
pub mod floor;
pub mod guard;
pub mod histograms;
pub mod journal;
pub mod lab;
pub mod layout_effect;
mod longer_run;
pub mod machine_observer;
mod peer_control;
pub mod percentiles;
pub mod planning;
pub mod plausibility;
mod processes;
pub mod profile;
pub mod progress;
pub mod question;
pub mod rules;
pub mod stacks;
pub mod strace;
pub mod system_calls;
pub mod tracing;
mod warnings;

pub use batches::Batches;
pub use calibration::{Rate, rate};
pub use campaign::{CampaignState, NO_TIME, resume, run};
pub use document::{About, document, so_far, unmeasured};
pub use error::EngineError;
pub use lab::{Lab, LabError};
pub use machine_observer::{HeldPorts, MachineObserver, Snapshot, System};
pub use peer_control::PeerProgram;
pub use percentiles::Percentiles;
pub use planning::{PlanError, PlanSettings, plan};
pub use processes::ProcessBench;
pub use processes::watching::{SocketEnds, watch_ends};
pub use question::{Answered, Contrasts, Needed, Question};
