//! What a machine has, and what of it bends results: plain data, first the facts, then what is made of them.

mod examination;
mod facts;
mod probes;

pub use examination::{DOCTOR_SCHEMA, Examination, Finding, State, Topic};
pub use facts::{IdleState, LimitFacts, NetworkFacts, ProcessorFacts, SchedulerFacts};
pub use probes::{
    BuiltInPeer, Counting, Facts, PermissionFacts, Reading, Sample, ToolFacts, UnavailableTransport,
};
