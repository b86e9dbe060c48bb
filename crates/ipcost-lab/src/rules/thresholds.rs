//! Thresholds that several places share.

/// The share of the processors' time that others may take.
pub const NEIGHBOUR_SHARE: f64 = 0.05;
/// A process that took less than this part of what others took is not to blame.
pub const BLAME: f64 = 0.25;
/// The share of stolen time that is worth reporting.
pub const STEAL_SHARE: f64 = 0.01;
/// Clock readings that cost more are not cheap.
pub const SLOW_CLOCK_NS: u64 = 200;
/// Steps of the clock above this are coarse.
pub const COARSE_CLOCK_NS: u64 = 1_000;
/// The share of an operation's cost from which on a reading of the clock is worth a word.
pub const CLOCK_SHARE: f64 = 0.02;
/// The share of an offered rate that is carried if this much is done: random arrivals make batches longer and shorter.
pub const CARRIED_SHARE: f64 = 0.9;
/// The share of an offered rate that is offered if this much is begun.
pub const OFFERED_SHARE: f64 = 0.95;
/// The share of the time from which on a wait for delayed acknowledgements is worth a word.
pub const LEAST_HELD_BACK: f64 = 0.1;
