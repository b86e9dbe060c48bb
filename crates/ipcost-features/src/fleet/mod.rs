//! What many hosts say together: `ipcost fleet`.

mod cheapest;
mod data;
mod disagreement;
mod drawn;
mod facts;
mod files;
mod gather;
mod host_key;
mod jobs;
mod judge;
mod page;
mod record;
pub mod words;

pub(crate) use self::files::FleetFiles;
pub use self::gather::Gatherer;
pub use self::host_key::{HostKey, names};
pub use self::page::{figure, page};
pub use self::record::*;
