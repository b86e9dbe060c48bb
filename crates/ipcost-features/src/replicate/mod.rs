//! Published experiments, run again: `ipcost replicate`.

mod judge;
pub mod published;
mod record;
pub mod words;

pub use self::judge::*;
pub use self::record::*;
