//! The registry of answers, and reading them.

use std::any::Any;
use std::fmt;

use ipcost_lab::planning::ALPHA;
use ipcost_model::{
    Analysis, Document, Job, LatencyMode, Lookup, Multiplicity, ReadError, SCHEMA, Schedule, Stopped, Timing,
    check_document, read_document, read_measured, read_record,
};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::answer::{Answer, AnswerKind, answered};
use crate::check::CHECK_SCHEMA;
use crate::replicate::Ledger;
use crate::{app, check, compare, explain, load, replicate, sweep};

/// Every kind of answer.
pub const KINDS: [AnswerKind; 11] = [
    explain::ANSWER,
    check::ANSWER,
    compare::ANSWER,
    load::ANSWER,
    sweep::SIZE_ANSWER,
    sweep::CORES_ANSWER,
    sweep::LAYOUT_ANSWER,
    sweep::PACE_ANSWER,
    sweep::WORK_ANSWER,
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
        /// The schema.
        schema: &'static str,
        /// What does not match.
        error: serde_json::Error,
    },
}

/// The answer of a document; `None` if it is a plain run.
///
/// # Errors
/// That it is of another version, or broken.
pub fn answer_of(document: &Document) -> Result<Option<Box<dyn Answer>>, AnswerError> {
    let Some(record) = &document.answer else { return Ok(None) };
    let schema = schema_of(record);
    let kind = kind_of(schema).ok_or_else(|| AnswerError::Unknown(schema.to_owned()))?;
    let answer = kind.read(record.clone());
    answer.map(Some).map_err(|error| AnswerError::Shape { schema: kind.schema, error })
}

/// The answer of a document, if it is one of this type.
///
/// # Errors
/// As [`answer_of`].
pub fn answer_as<T: Answer>(document: &Document) -> Result<Option<Box<T>>, AnswerError> {
    let found = answer_of(document)?;
    Ok(found.and_then(|answer| (answer as Box<dyn Any>).downcast().ok()))
}

/// What made a document, in a word for lists: `explain`, or `replicate c-stream`; `None` for a plain run.
pub fn kind(document: &Document) -> Option<String> {
    let record = document.answer.as_ref()?;
    let schema = schema_of(record);
    let Some(kind) = kind_of(schema) else { return Some(schema.to_owned()) };
    let which = kind.which.and_then(|field| record[field].as_str());
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

/// The documents that a file stands for which is none itself: those that `ipcost replicate --json` writes of several experiments, and what
/// earlier versions wrote, ledgers alone and the claims of `ipcost check --json` with a document in them. `None` if it is neither.
///
/// # Errors
/// That it is one of these, and not sound.
pub fn documents_in(json: &[u8]) -> Result<Option<Vec<Document>>, ReadError> {
    if json.trim_ascii_start().starts_with(b"[") {
        let Some(all) = sound(read_measured::<Vec<Box<RawValue>>>(json))? else { return Ok(None) };
        let found: Result<Option<Vec<Document>>, ReadError> =
            all.into_iter().map(|result| of_result(result.get().as_bytes())).collect();
        return Ok(found?.filter(|found| !found.is_empty()));
    }
    let carried = sound(read_measured(json))?;
    let Some(Carried { document: Some(document), answer }) = carried else { return Ok(None) };
    let document = Document { answer: Some(answer), ..*document };
    let is_check = || schema_of(document.answer.as_ref().unwrap_or(&Value::Null)) == CHECK_SCHEMA;
    if document.schema != SCHEMA || !is_check() || answer_of(&document).is_err() {
        return Ok(None);
    }
    check_document(&document)?;
    Ok(Some(vec![document]))
}

/// The result of an experiment: a document, or a ledger alone. `None` if it is neither.
fn of_result(json: &[u8]) -> Result<Option<Document>, ReadError> {
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    let Some(Schema { schema }) = sound(read_measured(json))? else { return Ok(None) };
    if schema == SCHEMA {
        let document = read_document(json)?;
        return Ok(answer_of(&document).is_ok().then_some(document));
    }
    // As a value first: its reader is there already, and that of a text would make the program much larger.
    let ledger = sound(read_record::<Value>(json))?;
    Ok(ledger.and_then(|ledger| serde_json::from_value(ledger).ok()).map(of_ledger))
}

/// What was read, or nothing if it is something else.
fn sound<T>(read: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Err(error @ (ReadError::TooLarge { .. } | ReadError::TooMany { .. } | ReadError::Number(_))) => {
            Err(error)
        }
        read => Ok(read.ok()),
    }
}

/// The key under which records of earlier versions hold their document.
const DOCUMENT: &str = "document";

/// An answer that carries its document.
struct Carried {
    document: Option<Box<Document>>,
    answer: Value,
}

impl<'de> Deserialize<'de> for Carried {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Carried;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Carried, A::Error> {
                let (mut document, mut answer) = (None, Map::new());
                while let Some(key) = map.next_key::<String>()? {
                    if key == DOCUMENT {
                        // Its many samples are never general values.
                        document = Some(map.next_value()?);
                    } else {
                        answer.insert(key, map.next_value()?);
                    }
                }
                Ok(Carried { document, answer: answer.into() })
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// A document with nothing but a ledger.
fn of_ledger(ledger: Ledger) -> Document {
    let envelope = ledger.envelope.clone();
    let epochs = ledger.runs.iter().map(|run| run.epochs).max().unwrap_or(0);
    let elapsed_s = ledger.runs.iter().map(|run| run.elapsed_s).sum();
    let document = Document {
        schema: ipcost_model::SCHEMA.to_owned(),
        tool: envelope.tool,
        host: envelope.host,
        job: Job::default(),
        name: None,
        seed: ledger.seed,
        started: envelope.started,
        resumed: Vec::new(),
        elapsed_s,
        stopped: Stopped::Resolved,
        schedule: Schedule {
            rounds: 0,
            epochs,
            batch_ms: 0.0,
            lead_in_ms: 0.0,
            budget_s: 0.0,
            latency: LatencyMode::Off,
            timing: Timing::default(),
        },
        analysis: Analysis {
            alpha: ALPHA,
            family: 0,
            alpha_each: ALPHA,
            multiplicity: Multiplicity::default(),
            discoveries: None,
            margin: 0.05,
            epochs_needed: 0,
            longer: None,
        },
        cells: Vec::new(),
        workloads: Vec::new(),
        contrasts: Vec::new(),
        over_pace: Vec::new(),
        pause_parts: Vec::new(),
        samples: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        arms: None,
        ran_as: std::collections::BTreeMap::new(),
        answer: None,
        runs: Vec::new(),
        lookup: Lookup::default(),
    };
    answered(document, &ledger)
}

#[cfg(test)]
mod tests {
    use ipcost_model::{Identity, redacted_document};
    use ipcost_report::fixture;
    use ipcost_report::page::{Column, Page, Paragraph, Table, Value as Shown};

    use crate::answer::whole;
    use serde::Serialize;
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
        assert!(answer_as::<Ledger>(&document).unwrap().is_none());
        let page = answer.page(&document);
        let outputs = [page.terminal(false, 80), page.markdown(), whole(&document, Some(&*answer)).html()];
        outputs.iter().for_each(|output| assert!(output.contains("41 are open."), "{output}"));
        assert!(page.csv().lines().nth(1).is_some_and(|row| row.ends_with(",41")), "{}", page.csv());
    }

    #[test]
    fn answers_alone_stand_for_documents_if_they_are_sound() {
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/answers/");
        let changed = |name: &str, place: &str, value: Value| {
            let bytes = std::fs::read(format!("{corpus}{name}.json")).unwrap();
            let mut whole: Value = serde_json::from_slice(&bytes).unwrap();
            *whole.pointer_mut(place).unwrap() = value;
            documents_in(whole.to_string().as_bytes()).map(|found| found.map(|found| found.len()))
        };
        assert!(matches!(changed("ledgers", "/0/question", json!("?")), Ok(Some(2))));
        assert!(matches!(changed("check", "/file", json!("?")), Ok(Some(1))));
        for (name, place, value, says) in [
            ("ledgers", "/0/runs/0/elapsed_s", json!(1e300), "a century is the longest time"),
            ("ledgers", "/1/claims/0/tests/0/value", json!(1e300), "out of range"),
            ("check", "/elapsed_s", json!(1e300), "a century is the longest time"),
            ("check", "/document/elapsed_s", json!(1e300), "a century is the longest time"),
            ("check", "/document/samples/0/ops", json!(u64::MAX), "add up to more than 64 bits"),
            ("check", "/document/samples/0/cell", json!(77), "refers to cell 77"),
        ] {
            let error = changed(name, place, value).unwrap_err().to_string();
            assert!(error.contains(says), "{place}: {error}");
        }
        for (name, place, value) in [
            ("ledgers", "/0/claims", json!(7)),
            ("check", "/document/schema", json!("x")),
            ("check", "/claims", json!(7)),
        ] {
            assert!(matches!(changed(name, place, value), Ok(None)), "{place}");
        }
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
