//! What many hosts say together: `ipcost fleet`.

mod disagreement;
mod facts;
mod gather;
mod judge;
mod record;

pub use self::gather::Gatherer;
pub use self::record::*;
