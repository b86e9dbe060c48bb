//! Where one transport overtakes another: `ipcost sweep`.

mod judge;
mod layout;
mod pace;
mod page;
mod record;
mod sizes;
mod work;

use ipcost_model::Document;
use ipcost_report::page::Page;

use crate::answer::{Answer, AnswerKind};

pub use self::judge::*;
pub use self::layout::{layout_job, page_of_layout};
pub use self::pace::{pace_job, page_of_pace};
pub(crate) use self::page::operation;
pub use self::page::{page_of_cores, page_of_sizes};
pub use self::record::*;
pub use self::sizes::{SizeRequest, sizes};
pub use self::work::{page_of_work, work_job};

/// Their lines of the registry.
pub(crate) const SIZE_ANSWER: AnswerKind = AnswerKind::of::<SizeSweep>(SWEEP_SCHEMA, "sweep size");
pub(crate) const CORES_ANSWER: AnswerKind = AnswerKind::of::<CoreSweep>(CORES_SCHEMA, "sweep cores");
pub(crate) const LAYOUT_ANSWER: AnswerKind = AnswerKind::of::<LayoutSweep>(LAYOUT_SCHEMA, "sweep layout");
pub(crate) const PACE_ANSWER: AnswerKind = AnswerKind::of::<PaceSweep>(PACE_SCHEMA, "sweep pace");
pub(crate) const WORK_ANSWER: AnswerKind = AnswerKind::of::<WorkSweep>(WORK_SCHEMA, "sweep work");

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

impl Answer for LayoutSweep {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        page_of_layout(self, document)
    }
}

impl Answer for PaceSweep {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        page_of_pace(self, document)
    }
}

impl Answer for WorkSweep {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        page_of_work(self, document)
    }
}
