//! What `ipcost` does beside running a job, one folder a feature. A folder holds the feature's record (plain data, as it is written),
//! its judgement (pure functions from what the lab measured to the record) and its words.

pub mod ab;
pub mod answer;
pub mod answers;
pub mod app;
pub mod check;
pub mod claims;
pub mod compare;
pub mod doctor;
mod error;
pub mod explain;
pub mod fleet;
pub mod history;
pub mod load;
pub mod replicate;
pub mod schema;
pub mod search;
pub mod selftest;
pub mod sweep;
mod texts;
pub mod trend;
pub mod watch;

pub use self::error::FeatureError;
