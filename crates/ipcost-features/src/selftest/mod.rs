//! How often the tool is wrong on this machine: `ipcost selftest`.

mod judge;
mod record;
pub mod words;

pub use self::judge::*;
pub use self::record::*;
