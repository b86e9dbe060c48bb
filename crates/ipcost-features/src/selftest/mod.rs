//! How often the tool is wrong on this machine: `ipcost selftest`.

mod judge;
mod noise;
mod record;
mod run;
pub mod words;

pub use self::judge::*;
pub use self::noise::hog;
pub use self::record::*;
pub use self::run::{Request, run};
