//! Saved runs, listed: `ipcost list`.

mod alike;
mod record;
pub mod words;

pub use self::alike::Alike;
pub use self::record::*;
