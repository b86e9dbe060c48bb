//! Published experiments, run again: `ipcost replicate`.

mod as_published;
pub mod catalogue;
pub mod figure;
mod judge;
mod multiples;
pub mod needs;
mod page;
mod peers;
pub mod published;
mod record;
mod run;
mod source;
mod strata;
mod telling;
mod tracing;
pub mod words;

pub use self::as_published::repeat;
pub use self::judge::*;
pub use self::multiples::claims;
pub use self::page::{overview, page};
pub use self::peers::{Peers, RunPeer};
pub use self::record::*;
pub use self::run::{Request, Watching, cells_of_run, run, scale};
pub use self::source::Source;
pub use self::strata::Stratum;
