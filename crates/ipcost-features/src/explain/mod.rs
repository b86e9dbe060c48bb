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

use ipcost_model::{Document, Warning};
use ipcost_report::over_pace;
use ipcost_report::page::Page;

use crate::answer::{Answer, AnswerKind};

pub use self::floors::{Floors, MeasuredFloors};
pub use self::judge::*;
pub use self::page::page;
pub use self::record::*;
pub use self::run::{Examined, ExplainRequest, examine, prepare};
pub use self::tries::try_remedies;

/// Its line of the registry.
pub(crate) const ANSWER: AnswerKind = AnswerKind::of::<Explanation>(EXPLANATION_SCHEMA, "explain");

impl Answer for Explanation {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        let mut page = page(self, document);
        page.blocks.splice(0..0, over_pace::sections(document).into_iter().map(|section| section.open()));
        page
    }

    fn warnings(&self, _: &Document) -> Vec<Warning> {
        self.warnings.clone()
    }
}
