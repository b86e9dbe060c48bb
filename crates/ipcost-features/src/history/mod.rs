//! Saved runs, listed: `ipcost list`.

mod alike;
mod page;
mod record;

pub use self::alike::AlikeRuns;
pub use self::page::{job, page};
pub use self::record::*;
