//! Where one transport overtakes another: `ipcost sweep`.

mod judge;
mod record;
pub mod words;

pub use self::judge::*;
pub use self::record::*;
