//! What a cell cost over many saved runs, and when that changed: `ipcost list --trend`.

mod csv;
mod drawn;
mod gather;
mod judge;
mod record;
pub mod words;

pub use self::csv::csv;
pub use self::drawn::timeline;
pub use self::gather::*;
pub use self::judge::*;
pub use self::record::*;
