//! Published experiments, run again: `ipcost replicate`.

mod as_published;
pub mod catalogue;
mod checking;
mod claim_words;
mod compared;
mod conditions;
pub mod figure;
mod generalise;
mod judge;
mod level;
mod multiples;
mod named_cells;
pub mod needs;
mod page;
mod peers;
pub mod published;
mod reader_questions;
mod record;
mod run;
mod source;
mod table;
mod test_figures;
mod tracing;
pub(crate) mod words;

use ipcost_model::Document;
use ipcost_report::page::Page;

use crate::answer::AnswerKind;

pub use self::as_published::repeat;
pub use self::checking::check;
use self::claim_words::retell;
pub use self::compared::Compared;
pub use self::conditions::Condition;
pub use self::judge::*;
pub use self::multiples::claims;
pub use self::named_cells::*;
pub use self::page::{claims_in_lines, overview, page};
pub use self::peers::{Peers, RunPeer};
pub use self::reader_questions::{ReaderQuestion, answers};
pub use self::record::*;
pub use self::run::{ReplicateRequest, cells_of_run, run, scale};
pub use self::source::SourceFile;
pub use self::test_figures::by_epoch;

/// Its line of the registry.
pub(crate) const ANSWER: AnswerKind =
    AnswerKind::of::<ReplicationRecord>(REPLICATION_SCHEMA, "replicate").told_apart_by("/id");

impl crate::answer::Answer for ReplicationRecord {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        page(self, document)
    }

    fn has_own_data(&self) -> bool {
        true
    }
}
