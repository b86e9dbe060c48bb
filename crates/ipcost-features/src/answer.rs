//! What every answer of a command can do, whatever it was asked of its measurements besides the document's own contrasts.

use std::any::Any;
use std::fmt::Debug;

use derive_more::Deref;
use ipcost_model::{Document, Warning};
use ipcost_report::page::{Page, Section};
use ipcost_report::run_page;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An answer of a kind that is in the registry, [`crate::answers::KINDS`].
pub trait Answer: Any + Debug {
    /// What it says, of the document that has it.
    fn page<'a>(&'a self, document: &'a Document) -> Page<'a>;

    /// Whether the document's own tables belong to it: they have the intervals that it leaves out.
    fn needs_tables(&self) -> bool {
        false
    }

    /// Whether its CSV holds its own data, and not the cells of the document.
    fn has_own_data(&self) -> bool {
        false
    }

    /// What weakens it: the document's warnings, unless it has its own.
    fn warnings(&self, document: &Document) -> Vec<Warning> {
        document.warnings.clone()
    }
}

/// All that a document says: what was asked, and what was measured for it.
pub fn whole<'a>(document: &'a Document, answer: Option<&'a dyn Answer>) -> Page<'a> {
    let Some(answer) = answer else { return run_page::page(document) };
    let mut page = answer.page(document);
    let measured = run_page::measured(document);
    if answer.needs_tables() {
        page.blocks.extend(measured);
        page.notes.push(run_page::promise(document));
    } else {
        // An answer has a promise of its own.
        let all = Section::new("", "Tables and charts").with_all(measured).with(run_page::promise(document));
        let all = all.folded();
        page.blocks.push(Section::new("measured", "What was measured").with(all).open());
    }
    page.notes.extend(run_page::notes(document, &answer.warnings(document)));
    page.document = Some(document);
    page.with_terms()
}

/// A kind of answers: a line of the registry.
#[derive(Debug, Clone, Copy)]
pub struct AnswerKind {
    /// The version of its record, by which it is known again.
    pub schema: &'static str,
    /// What lists call it: the command that gives it.
    pub name: &'static str,
    /// The JSON pointer to what tells answers of this kind apart in lists, such as the name of a server.
    pub which: Option<&'static str>,
    read: fn(Value) -> Result<Box<dyn Answer>, serde_json::Error>,
}

impl AnswerKind {
    /// The kind of a type, by the version of its record and the command that gives it.
    pub const fn of<T: Answer + DeserializeOwned>(schema: &'static str, name: &'static str) -> Self {
        Self { schema, name, which: None, read: read::<T> }
    }

    /// The same, with the JSON pointer to what tells its answers apart.
    pub const fn told_apart_by(self, field: &'static str) -> Self {
        Self { which: Some(field), ..self }
    }

    pub fn read(&self, record: Value) -> Result<Box<dyn Answer>, serde_json::Error> {
        (self.read)(record)
    }
}

fn read<T: Answer + DeserializeOwned>(record: Value) -> Result<Box<dyn Answer>, serde_json::Error> {
    Ok(Box::new(serde_json::from_value::<T>(record)?))
}

/// A document, and its answer as a type.
#[derive(Debug, Clone, Deref)]
pub struct AnsweredRun<T> {
    pub document: Document,
    #[deref]
    pub answer: T,
}

/// A document with the answer of the command that measured it.
pub fn answered(document: Document, answer: &impl Serialize) -> Document {
    let answer = serde_json::to_value(answer).expect("records are JSON");
    Document { answer: Some(answer), ..document }
}

/// One document of several runs of a command: the first, with the others in it.
pub fn of_runs(documents: Vec<Document>) -> Option<Document> {
    let mut documents = documents.into_iter();
    let first = documents.next()?;
    Some(Document { runs: documents.collect(), ..first })
}
