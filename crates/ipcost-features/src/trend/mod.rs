//! What a cell cost over many saved runs, and when that changed: `ipcost list --trend`.

mod drawn;
mod gather;
mod judge;
mod page;
mod record;

pub use self::drawn::timeline;
pub use self::gather::*;
pub use self::judge::*;
pub use self::page::page;
pub use self::record::*;
