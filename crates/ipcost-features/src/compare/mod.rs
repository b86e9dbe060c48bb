//! What changed between two sets of runs: `ipcost compare`.

mod differences;
mod judge;
mod record;
pub mod words;

pub(crate) use self::differences::{differing, facts};
pub use self::judge::*;
pub use self::record::*;
