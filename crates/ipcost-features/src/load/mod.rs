//! Latency against load, and the load at which it stops working: `ipcost load`.

mod judge;
mod page;
mod record;
mod run;

use ipcost_model::Document;
use ipcost_report::page::Page;

use crate::answer::{Answer, AnswerKind};

use std::time::Duration;

pub use self::record::*;
pub use self::run::{load, most_connections};

/// Its line of the registry.
pub(crate) const ANSWER: AnswerKind = AnswerKind::of::<LoadCurves>(LOAD_SCHEMA, "load");

impl Answer for LoadCurves {
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a> {
        page::page(self, document)
    }

    fn has_own_data(&self) -> bool {
        true
    }
}

/// How long it may take where no one says it.
pub const USUAL_BUDGET: Duration = Duration::from_secs(60);
/// The same of a server: it is started, looked at and asked over more connections.
pub const SERVER_BUDGET: Duration = Duration::from_secs(100);
