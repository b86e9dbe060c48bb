//! What this machine has and how it bends results: `ipcost doctor`.

mod gather;
mod installation;
mod judge;
mod measured;
mod record;
pub mod words;

pub use self::gather::examination;
pub use self::judge::*;
pub use self::record::*;
