//! Saved runs, listed: `ipcost list`.

mod record;
pub mod words;

pub use self::record::*;
