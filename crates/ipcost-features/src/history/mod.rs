//! Saved runs, listed: `ipcost list`.

mod alike;
mod page;
mod record;

pub use self::alike::Alike;
pub use self::page::{job, page};
pub use self::record::*;
