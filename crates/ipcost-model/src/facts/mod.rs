//! The facts of a machine: plain data that `doctor` and `explain` judge.

mod machine;
mod probes;

pub use machine::{IdleState, LimitFacts, NetworkFacts, ProcessorFacts, SchedulerFacts, USUAL_PIPE_BYTES};
pub use probes::{
    ActivitySample, BuiltInPeer, Counting, MachineFacts, PermissionFacts, Reading, ToolFacts,
    UnavailableTransport,
};
