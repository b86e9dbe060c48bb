//! Where the time of cells goes, and what makes the difference between them: `ipcost explain`.

mod account_words;
pub mod flame;
mod floors;
mod judge;
mod page;
mod record;
mod run;
mod sentences;
mod tables;
mod tries;
pub mod words;

pub use self::floors::{Floors, MeasuredFloors};
pub use self::judge::*;
pub use self::page::page;
pub use self::record::*;
pub use self::run::{Examined, Request, Watching, examine, prepare};
pub use self::tries::try_remedies;
