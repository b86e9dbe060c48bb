//! Claims that a project keeps about its own machine, and whether they hold: `ipcost check`.

mod checked;
pub mod github;
mod judge;
pub mod junit;
mod record;
mod run;
pub mod words;

pub use self::checked::*;
pub use self::judge::*;
pub use self::record::*;
pub use self::run::{measure, record};
