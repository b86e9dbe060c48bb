//! What changed between two sets of runs: `ipcost compare`.

mod compared_by;
mod data;
mod differences;
mod drawn;
mod groups;
mod judge;
mod latency;
pub(crate) mod levels;
mod page;
mod record;
mod sides;
mod spread;
mod unpaired;
mod words;

use ipcost_model::Document;
use ipcost_report::page::Page;

use crate::answer::{Answer, AnswerKind};

pub use self::compared_by::ComparedBy;
pub(crate) use self::differences::{BATCH, VOLATILE, alike_batches, differing, facts};
pub use self::groups::CellGroup;
pub(crate) use self::groups::{AskedGroup, NamedCells, groups, with_parts};
pub(crate) use self::judge::compared_run;
pub use self::judge::*;
pub(crate) use self::latency::sorted;
pub(crate) use self::levels::{Evidence, Levels, all_together, cell_level, levels, would_show};
pub use self::page::page;
pub use self::record::*;
pub(crate) use self::spread::PastFigures;
pub use self::spread::PastRuns;
pub(crate) use self::unpaired::{FEWEST_IN_GROUP, UnpairedRuns};

/// The line of the registry of what `ab` answers.
pub(crate) const ANSWER: AnswerKind = AnswerKind::of::<Comparison>(COMPARISON_SCHEMA, "ab");

impl Answer for Comparison {
    fn page<'a>(&'a self, _: &'a Document) -> Page<'a> {
        page(self)
    }
}
