//! The statistics of `ipcost`: pure functions of numbers, with no I/O, no clock, and seeds passed in.
//!
//! The unit of inference is the epoch: a fresh set of processes. Everything here takes one number an epoch.

mod interval;
mod median;
mod modes;
mod random;
mod verdict;

pub use interval::{Interval, epochs_needed, sign_e_value, sign_interval};
pub use median::{median, quantile_sorted};
pub use modes::{Group, Groups, two_groups};
pub use random::Random;
pub use verdict::{Judgement, judge};
