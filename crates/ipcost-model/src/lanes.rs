//! What a thread does at a moment, in records and pictures.

use crate::named;

named! {
    /// What a thread did.
    LaneState, "state of a thread" {
        /// It ran.
        Runs = "runs",
        /// It could run, and did not.
        Ready = "ready" as "ready, does not run",
        /// It waited.
        Waits = "waits",
        /// It was stopped.
        Stopped = "stopped",
        /// That is not known any more.
        Unknown = "unknown" as "not known",
    }
}
