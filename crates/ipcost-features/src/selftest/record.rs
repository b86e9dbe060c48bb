//! What a self-test found: how often the tool is wrong on this machine.

use ipcost_model::{Envelope, named};
use serde::{Deserialize, Serialize};

/// The version of the record.
pub const SELFTEST_SCHEMA: &str = "ipcost-selftest/1";

named! {
    /// What else is done to the machine during a self-test.
    Noise, "noise" {
        /// Nothing.
        Quiet = "none",
        /// Other processes take the processors in bursts.
        Cpu = "cpu",
        /// A CPU quota holds the measurement back.
        Quota = "quota",
    }
}

named! {
    /// What is known of a rate that was promised.
    Promise, "promise" {
        /// It is as good as promised.
        Kept = "kept",
        /// It is worse than promised.
        Broken = "broken",
        /// More trials are needed.
        Undecided = "undecided",
    }
}

/// A rate that was counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelftestRate {
    /// What was counted, in short; stable.
    pub code: String,
    /// What was counted, in words.
    pub what: String,
    /// How often.
    pub count: u64,
    /// Of how many.
    pub of: u64,
    /// The lower end of its interval (Clopper–Pearson; each end holds at 95 %); null of none.
    pub lo: Option<f64>,
    /// The upper end.
    pub hi: Option<f64>,
    /// The most that it may be, where something is promised.
    pub at_most: Option<f64>,
    /// Whether that is kept; null where nothing is promised.
    pub promise: Option<Promise>,
}

/// How a slowdown of known size was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Detection {
    /// How much more work was done, as a share.
    pub slowdown: f64,
    /// Campaigns that found it.
    pub found: u64,
    /// Campaigns that ended, by finding it or because there were no more epochs.
    pub of: u64,
    /// How long a campaign of two cells had at the most, seconds.
    pub within_s: f64,
    /// How long it took a campaign of two cells, median of those that found it, seconds.
    pub median_s: Option<f64>,
    /// The ratio that was measured, over all epochs.
    pub ratio: Option<f64>,
    /// The lower end of its interval.
    pub lo: Option<f64>,
    /// The upper end of its interval.
    pub hi: Option<f64>,
}

/// A self-test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfTest {
    /// What it is, what made it, where and when.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// What else was done to the machine.
    pub noise: Noise,
    /// The seed of every random order.
    pub seed: u64,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// Epochs in a campaign.
    pub epochs: u32,
    /// How often the tool is wrong.
    pub rates: Vec<SelftestRate>,
    /// Time to detect a difference.
    pub detections: Vec<Detection>,
}

impl SelfTest {
    /// Whether everything promised is kept: broken if one is, else undecided if one is.
    pub fn promise(&self) -> Promise {
        let promises = || self.rates.iter().filter_map(|rate| rate.promise);
        match () {
            () if promises().any(|promise| promise == Promise::Broken) => Promise::Broken,
            () if promises().any(|promise| promise == Promise::Undecided) => Promise::Undecided,
            () => Promise::Kept,
        }
    }
}
