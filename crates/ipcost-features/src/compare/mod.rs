//! What changed between two sets of runs: `ipcost compare`.

mod csv;
mod differences;
mod drawn;
mod groups;
mod judge;
pub(crate) mod levels;
mod markdown;
mod page;
mod record;
mod sides;
mod spread;
mod terminal;
mod unpaired;
mod words;

pub use self::csv::csv;
pub(crate) use self::differences::{BATCH, VOLATILE, alike_batches, differing, facts};
pub use self::drawn::drawn;
pub use self::groups::CellGroup;
pub(crate) use self::groups::{AskedGroup, NamedCells, groups, with_parts};
pub(crate) use self::judge::compared_run;
pub use self::judge::*;
pub(crate) use self::levels::{Evidence, Levels, all_together, cell_level, levels, would_show};
pub use self::markdown::markdown;
pub use self::page::{page, section};
pub use self::record::*;
pub(crate) use self::sides::modes_apart;
pub use self::spread::PastRuns;
pub use self::terminal::render;
pub(crate) use self::unpaired::{FEWEST_IN_GROUP, UnpairedRuns};
