//! What this machine has and how it bends results: `ipcost doctor`.

mod judge;
mod record;
pub mod words;

pub use self::judge::*;
pub use self::record::*;
