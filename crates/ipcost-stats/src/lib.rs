//! The statistics of `ipcost`: pure functions of numbers, with no I/O, no clock, and seeds passed in.
//!
//! The unit of inference is the epoch: a fresh set of processes. All functions take one number per epoch.

mod allocation;
mod arc;
mod carry_over;
mod change_points;
mod dependence;
mod discoveries;
mod forecast;
mod histogram;
mod interval;
mod looks;
mod mean_ratio;
mod median;
mod moderated;
mod modes;
mod outliers;
mod proportion;
mod random;
mod random_effects;
mod ranks;
mod series;
mod shared_shift;
mod shift;
mod shifted_groups;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
mod spread_ratio;
mod unpaired;
mod verdict;

pub use allocation::{Allocation, Variances, allocate};
pub use arc::{Arc, arc};
pub use carry_over::{CarryOver, Placed, carry_over};
pub use change_points::{
    ChangePoint, ChangePoints, FEWEST_IN_HISTORY, FEWEST_IN_LEVEL, LevelChange, change_points, step,
};
pub use dependence::{
    EpochInterval, epoch_interval, epochs_to_expect, nested_intervals, planned_epochs_to_expect,
    planned_interval, serial_correlation,
};
pub use discoveries::answered_together;
pub use forecast::epochs_to_exclude;
pub use histogram::Histogram;
pub use interval::{Interval, sign_e_value, sign_interval};
pub use looks::{Look, Looks, Start};
pub use mean_ratio::{MeanRatio, exceeds_share, mean_ratio, unseen_share};
pub use median::{median, nearest_rank, quantile_sorted};
pub use moderated::usual_spread;
pub use modes::{Groups, ModeGroup, two_groups};
pub use outliers::outliers;
pub use proportion::{chi_square_quantile, clopper_pearson, fisher_tail, incomplete_beta, student_quantile};
pub use random::Random;
pub use random_effects::{RandomEffects, UnitValue, random_effects};
pub use ranks::{RankTrend, mann_whitney, sign_test, trend};
pub use series::Series;
pub use shared_shift::shared_shift;
pub use shift::{FEWEST_UNEQUAL, Shift, shift, shift_of_unequal};
pub use shifted_groups::{CellSet, GroupEvidence, GroupShift, all_but, shifted_groups};
pub use spread_ratio::spread_ratio;
pub use unpaired::{
    ENOUGH_DEGREES, RunMedian, RunsSpread, SpreadBetweenRuns, Unpaired, error_of_difference, moderated,
    run_median, unpaired,
};
pub use verdict::Verdict;
