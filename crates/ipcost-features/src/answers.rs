//! The registry of answers, and reading them.

use std::any::Any;

use ipcost_model::Document;
use serde_json::Value;

use crate::answer::{Answer, AnswerKind, AnsweredRun};
use crate::{app, check, compare, explain, load, replicate, sweep};

/// Every kind of answer.
pub const KINDS: [AnswerKind; 9] = [
    explain::ANSWER,
    check::ANSWER,
    compare::ANSWER,
    load::ANSWER,
    sweep::SIZE_ANSWER,
    sweep::CORES_ANSWER,
    sweep::OPTION_ANSWER,
    app::ANSWER,
    replicate::ANSWER,
];

/// Why a document's answer cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// Another version wrote it, or another program.
    #[error(
        "the document's answer has the schema {0:?}, which this version does not know; take a newer ipcost"
    )]
    Unknown(String),
    /// It does not match its schema.
    #[error("the document's answer does not match its schema {schema:?}: {error}")]
    Shape {
        schema: &'static str,
        /// What does not match.
        error: serde_json::Error,
    },
}

/// The answer of a document; `None` if it is a plain run.
pub fn answer_of(document: &Document) -> Result<Option<Box<dyn Answer>>, AnswerError> {
    let Some(record) = &document.answer else { return Ok(None) };
    let schema = schema_of(record);
    let kind = kind_of(schema).ok_or_else(|| AnswerError::Unknown(schema.to_owned()))?;
    let answer = kind.read(record.clone());
    answer.map(Some).map_err(|error| AnswerError::Shape { schema: kind.schema, error })
}

/// The answer of a document, if it is one of this type.
pub fn answer_as<T: Answer>(document: &Document) -> Result<Option<Box<T>>, AnswerError> {
    let found = answer_of(document)?;
    Ok(found.and_then(|answer| (answer as Box<dyn Any>).downcast().ok()))
}

/// The same with the document.
pub fn answered_as<T: Answer>(document: Document) -> Result<Option<AnsweredRun<T>>, AnswerError> {
    let answer = answer_as::<T>(&document)?;
    Ok(answer.map(|answer| AnsweredRun { document, answer: *answer }))
}

/// What made a document, in a word for lists: `explain`, or `replicate c-stream`; `None` for a plain run.
pub fn kind(document: &Document) -> Option<String> {
    let record = document.answer.as_ref()?;
    let schema = schema_of(record);
    let Some(kind) = kind_of(schema) else { return Some(schema.to_owned()) };
    let which = kind.which.and_then(|field| record.pointer(field)?.as_str());
    Some(which.map_or_else(|| kind.name.to_owned(), |which| format!("{} {which}", kind.name)))
}

fn kind_of(schema: &str) -> Option<&'static AnswerKind> {
    #[cfg(test)]
    let more = &tests::MORE_KINDS;
    #[cfg(not(test))]
    let more = &[];
    KINDS.iter().chain(more).find(|kind| kind.schema == schema)
}

fn schema_of(record: &Value) -> &str {
    record["schema"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Identity, redacted_document};
    use ipcost_report::fixture;
    use ipcost_report::page::{Column, FieldValue as Shown, Page, Paragraph, Table};

    use crate::answer::{answered, whole};
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::history::RunSummary;

    /// What a new answer takes: a record, a page, and a line of the registry.
    #[derive(Debug, Serialize, Deserialize)]
    struct Sockets {
        schema: String,
        host: String,
        open: u64,
    }

    pub(super) const MORE_KINDS: [AnswerKind; 1] = [AnswerKind::of::<Sockets>("ipcost-sockets/1", "sockets")];

    impl Answer for Sockets {
        fn page<'a>(&'a self, _: &'a Document) -> Page<'a> {
            let mut page = Page::new("Sockets of this machine");
            page.answer.push(Paragraph::plain(format!("{} are open.", self.open)).into());
            let columns = [Column::text("host"), Column::number("open")];
            let row = vec![self.host.as_str().into(), Shown::Count(self.open).into()];
            page.blocks.push(Table::new(&columns).rows([row]).into());
            page
        }
    }

    #[test]
    fn a_new_answer_is_read_listed_redacted_and_drawn_like_any_other() {
        let sockets =
            Sockets { schema: "ipcost-sockets/1".to_owned(), host: "/home/ann".to_owned(), open: 41 };
        let document = answered(fixture::document(), &sockets);
        assert_eq!(kind(&document).as_deref(), Some("sockets"));
        let summary = RunSummary::of(&document, "20260101-000000-0000", "2026-01-01T00:00:00Z", 1);
        assert_eq!(summary.kind.as_deref(), Some("sockets"));
        let identity = Identity { users: vec!["ann".to_owned()], homes: vec!["/home/ann".to_owned()] };
        let document = redacted_document(document, &identity).unwrap();
        let answer = answer_as::<Sockets>(&document).unwrap().expect("it is of this type");
        assert!(!answer.host.contains("ann"), "{answer:?}");
        assert!(answer_as::<crate::replicate::ReplicationRecord>(&document).unwrap().is_none());
        let page = answer.page(&document);
        let outputs = [page.terminal(false, 80), page.markdown(), whole(&document, Some(&*answer)).html()];
        outputs.iter().for_each(|output| assert!(output.contains("41 are open."), "{output}"));
        assert!(page.csv().lines().nth(1).is_some_and(|row| row.ends_with(",41")), "{}", page.csv());
    }

    #[test]
    fn a_plain_run_has_no_answer_and_a_foreign_one_is_named() {
        let document = fixture::document();
        assert!(matches!(answer_of(&document), Ok(None)) && kind(&document).is_none());
        let foreign = answered(document.clone(), &json!({"schema": "ipcost-oracle/1"}));
        let error = answer_of(&foreign).unwrap_err().to_string();
        assert!(error.contains("ipcost-oracle/1") && error.contains("newer ipcost"), "{error}");
        let broken = answered(document, &json!({"schema": explain::EXPLANATION_SCHEMA, "cells": 7}));
        let error = answer_of(&broken).unwrap_err().to_string();
        assert!(
            error.contains("does not match its schema") && kind(&broken).as_deref() == Some("explain"),
            "{error}"
        );
    }
}
