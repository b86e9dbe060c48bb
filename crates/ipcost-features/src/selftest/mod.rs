//! How often the tool is wrong on this machine: `ipcost selftest`.

mod judge;
mod noise;
mod page;
mod record;
mod run;

pub use self::judge::*;
pub use self::noise::hog;
pub use self::page::page;
pub use self::record::*;
pub use self::run::{SelfTestRequest, run};
