//! Where one transport overtakes another: `ipcost sweep`.

mod judge;
mod layout;
mod option;
mod page;
mod record;
mod sizes;
mod work;

use ipcost_model::Document;
use ipcost_report::page::Page;

use crate::answer::{Answer, AnswerKind};

pub use self::judge::*;
pub use self::option::{OPTION_SCHEMA, OptionRequest, OptionSweep, Over, option_job};
pub(crate) use self::page::operation;
pub use self::page::{page_of_cores, page_of_sizes};
pub use self::record::*;
pub use self::sizes::{SizeRequest, sizes};

/// Their lines of the registry.
pub(crate) const SIZE_ANSWER: AnswerKind = AnswerKind::of::<SizeSweep>(SWEEP_SCHEMA, "sweep size");
pub(crate) const CORES_ANSWER: AnswerKind = AnswerKind::of::<CoreSweep>(CORES_SCHEMA, "sweep cores");
pub(crate) const OPTION_ANSWER: AnswerKind =
    AnswerKind::of::<OptionSweep>(OPTION_SCHEMA, "sweep").told_apart_by("/request/over");

impl Answer for SizeSweep {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        page_of_sizes(self, document)
    }

    fn has_own_data(&self) -> bool {
        true
    }
}

impl Answer for CoreSweep {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        page_of_cores(self, document)
    }

    fn needs_tables(&self) -> bool {
        true
    }
}

impl Answer for OptionSweep {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        option::page(&self.request, document)
    }
}
