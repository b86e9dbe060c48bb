//! Claims that a project keeps about its own machine, and whether they hold: `ipcost check`.

mod checked;
pub mod fleet;
pub mod github;
mod judge;
pub mod junit;
pub(crate) mod page;
mod record;
mod run;
mod view;
mod words;

use crate::answer::AnswerKind;

pub use self::checked::*;
pub use self::judge::*;
pub use self::page::page;
pub use self::record::*;
pub use self::run::{measure, record};
pub use self::view::View;

/// Its line of the registry.
pub(crate) const ANSWER: AnswerKind = AnswerKind::of::<Check>(CHECK_SCHEMA, "check");
