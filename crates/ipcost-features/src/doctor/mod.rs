//! What this machine has and how it bends results: `ipcost doctor`.

mod gather;
mod installation;
mod judge;
mod measured;
mod page;
mod record;

pub use self::gather::examination;
pub use self::judge::*;
pub use self::page::page;
pub use self::record::*;
