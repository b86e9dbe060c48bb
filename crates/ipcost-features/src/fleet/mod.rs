//! What many hosts say together: `ipcost fleet`.

mod cheapest;
mod csv;
mod disagreement;
mod drawn;
mod facts;
mod files;
mod gather;
mod host_key;
mod jobs;
mod judge;
mod markdown;
mod page;
mod record;
mod terminal;
pub mod words;

pub use self::csv::csv;
pub use self::drawn::{by_host, overview};
pub(crate) use self::files::Files;
pub use self::gather::Gatherer;
pub use self::host_key::{HostKey, names};
pub use self::markdown::markdown;
pub use self::page::page;
pub(crate) use self::page::{by_host_of, look, not_counted};
pub use self::record::*;
pub use self::terminal::render;
