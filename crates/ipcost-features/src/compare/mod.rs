//! What changed between two sets of runs: `ipcost compare`.

mod differences;
mod groups;
mod judge;
mod levels;
mod record;
mod sides;
mod spread;
mod unpaired;
pub mod words;

pub(crate) use self::differences::{VOLATILE, differing, facts};
pub use self::groups::CellGroup;
pub(crate) use self::groups::{AskedGroup, groups};
pub(crate) use self::judge::compared_run;
pub use self::judge::*;
pub(crate) use self::levels::{Evidence, Levels, cell_level, levels, would_show};
pub use self::record::*;
pub use self::spread::PastRuns;
pub(crate) use self::unpaired::{UnpairedRuns, least_alpha};
