//! The facts of a machine: plain data that `doctor` and `explain` judge.

mod machine;
mod probes;

pub use machine::{IdleState, LimitFacts, NetworkFacts, ProcessorFacts, SchedulerFacts};
pub use probes::{
    BuiltInPeer, Counting, Facts, PermissionFacts, Reading, Sample, ToolFacts, UnavailableTransport,
};
