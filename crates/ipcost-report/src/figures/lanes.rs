//! What threads did during a time, a lane each.

pub use ipcost_model::LaneState;

/// Lanes of one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lanes {
    pub title: String,
    /// How long it was, microseconds.
    pub lasts_us: f64,
    /// Moments in it, microseconds after its begin, with what happened.
    pub moments: Vec<(f64, &'static str)>,
    pub lanes: Vec<Lane>,
}

/// What a thread did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lane {
    pub name: String,
    pub spans: Vec<LaneSpan>,
}

/// A part of a lane.
#[derive(Debug, Clone, PartialEq)]
pub struct LaneSpan {
    /// Microseconds after the begin.
    pub from_us: f64,
    pub to_us: f64,
    pub state: LaneState,
    /// What is shown when the pointer rests on it.
    pub title: String,
    /// What stands in it, if there is room.
    pub name: String,
}
