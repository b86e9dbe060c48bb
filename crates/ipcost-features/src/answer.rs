//! The answers that documents carry: what a command asked of its measurements besides the document's own contrasts.

use std::fmt;

use ipcost_lab::planning::ALPHA;
use ipcost_model::{
    Analysis, Document, Job, LatencyMode, Multiplicity, ReadError, SCHEMA, Schedule, Stopped, Timing,
    check_document, read_measured, read_record,
};
use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::app::{self, APP_SCHEMA, App};
use crate::check::{self, CHECK_SCHEMA, Check};
use crate::compare::{self, COMPARISON_SCHEMA, Comparison};
use crate::explain::{self, EXPLANATION_SCHEMA, Explanation};
use crate::replicate::{self, LEDGER_SCHEMA, Ledger};
use crate::sweep::{
    self, CORES_SCHEMA, CoreSweep, LAYOUT_SCHEMA, LayoutSweep, SWEEP_SCHEMA, SizeSweep, WORK_SCHEMA,
    WorkSweep,
};

/// An answer by its kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Of `explain`.
    Explanation(Box<Explanation>),
    /// Of `check`.
    Check(Box<Check>),
    /// Of `replicate`.
    Ledger(Box<Ledger>),
    /// Of `sweep size`.
    Sweep(Box<SizeSweep>),
    /// Of `sweep cores`.
    Cores(Box<CoreSweep>),
    /// Of `sweep layout`.
    Layout(Box<LayoutSweep>),
    /// Of `sweep work`.
    Work(Box<WorkSweep>),
    /// Of `app`.
    App(Box<App>),
    /// Of `ab`.
    Comparison(Box<Comparison>),
}

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

impl Answer {
    /// The answer of a document; `None` if it is a plain run.
    ///
    /// # Errors
    /// That it is of another version, or broken.
    pub fn of(document: &Document) -> Result<Option<Self>, AnswerError> {
        let Some(answer) = &document.answer else { return Ok(None) };
        // What some measured is the document itself.
        let whole = || {
            let mut answer = answer.clone();
            answer[DOCUMENT] = json(&Document { answer: None, samples: Vec::new(), ..document.clone() });
            answer
        };
        let found = match schema_of(answer) {
            EXPLANATION_SCHEMA => Self::Explanation(read(answer.clone(), EXPLANATION_SCHEMA)?),
            CHECK_SCHEMA => Self::Check(read(whole(), CHECK_SCHEMA)?),
            CORES_SCHEMA => Self::Cores(read(whole(), CORES_SCHEMA)?),
            LAYOUT_SCHEMA => Self::Layout(read(whole(), LAYOUT_SCHEMA)?),
            LEDGER_SCHEMA => Self::Ledger(read(answer.clone(), LEDGER_SCHEMA)?),
            WORK_SCHEMA => Self::Work(read(whole(), WORK_SCHEMA)?),
            APP_SCHEMA => Self::App(read(answer.clone(), APP_SCHEMA)?),
            COMPARISON_SCHEMA => Self::Comparison(read(answer.clone(), COMPARISON_SCHEMA)?),
            SWEEP_SCHEMA => Self::Sweep(read(answer.clone(), SWEEP_SCHEMA)?),
            other => return Err(AnswerError::Unknown(other.to_owned())),
        };
        Ok(Some(found))
    }

    /// Whether the document's own tables belong to the answer: they have the intervals that it leaves out.
    pub fn needs_tables(&self) -> bool {
        matches!(self, Self::Cores(_))
    }

    /// The answer as its command prints it, in `room` columns of text; with everything that it leaves out on a screen, or not.
    pub fn render(&self, details: bool, room: usize) -> String {
        match self {
            Self::Explanation(explanation) => explain::words::render(explanation, room),
            Self::Check(check) => check::words::render(&check.view(), room),
            Self::Ledger(ledger) => replicate::words::render(ledger, false, room),
            Self::Sweep(sweep) => sweep::words::render(sweep, room),
            Self::Cores(sweep) => sweep::words::matrix(sweep, room),
            Self::Layout(sweep) => sweep::layout_table(sweep, room),
            Self::Work(sweep) => sweep::work_table(sweep, room),
            Self::App(app) => app::words::render(app, room),
            Self::Comparison(comparison) => compare::page(comparison).terminal(details, room),
        }
    }
}

/// The key under which some records hold the document.
const DOCUMENT: &str = "document";

/// A document with the answer of the command that measured it.
pub fn answered(document: Document, answer: &impl Serialize) -> Document {
    let mut value = json(answer);
    if let Some(map) = value.as_object_mut() {
        map.remove(DOCUMENT);
    }
    Document { answer: Some(value), ..document }
}

/// One document of several runs of a command: the first, with the others in it.
pub fn of_runs(documents: Vec<Document>) -> Option<Document> {
    let mut documents = documents.into_iter();
    let first = documents.next()?;
    Some(Document { runs: documents.collect(), ..first })
}

/// The documents that an output of a command stands for which holds answers alone: the ledgers that `ipcost replicate --json` writes, and the
/// claims of `ipcost check --json`. Nothing is left of the samples of ledgers. `None` if it is neither.
///
/// # Errors
/// That it is one of these, and not sound.
pub fn documents_in(json: &[u8]) -> Result<Option<Vec<Document>>, ReadError> {
    if json.trim_ascii_start().starts_with(b"[") {
        // As values first: their readers are there already, and those of texts would make the program much larger.
        let Some(ledgers) = sound(read_record::<Vec<Value>>(json))? else { return Ok(None) };
        let ledgers = ledgers.into_iter().map(serde_json::from_value::<Ledger>);
        let ledgers: Result<Vec<Ledger>, _> = ledgers.collect();
        let found = ledgers.map(|ledgers| ledgers.into_iter().map(of_ledger).collect::<Vec<_>>());
        return Ok(found.ok().filter(|found| !found.is_empty()));
    }
    let carried = sound(read_measured(json))?;
    let Some(Carried { document: Some(document), answer }) = carried else { return Ok(None) };
    let document = Document { answer: Some(answer), ..*document };
    if document.schema != SCHEMA || !matches!(Answer::of(&document), Ok(Some(Answer::Check(_)))) {
        return Ok(None);
    }
    check_document(&document)?;
    Ok(Some(vec![document]))
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
        },
        cells: Vec::new(),
        workloads: Vec::new(),
        contrasts: Vec::new(),
        samples: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        arms: None,
        ran_as: std::collections::BTreeMap::new(),
        answer: None,
        runs: Vec::new(),
    };
    answered(document, &ledger)
}

/// What made a document, in a word for lists: `explain`, or `replicate c-stream`; `None` for a plain run.
pub fn kind(document: &Document) -> Option<String> {
    let answer = document.answer.as_ref()?;
    Some(match schema_of(answer) {
        EXPLANATION_SCHEMA => "explain".to_owned(),
        CHECK_SCHEMA => "check".to_owned(),
        COMPARISON_SCHEMA => "ab".to_owned(),
        SWEEP_SCHEMA => "sweep size".to_owned(),
        CORES_SCHEMA => "sweep cores".to_owned(),
        LAYOUT_SCHEMA => "sweep layout".to_owned(),
        WORK_SCHEMA => "sweep work".to_owned(),
        APP_SCHEMA => format!("app {}", answer["server"].as_str().unwrap_or_default()),
        LEDGER_SCHEMA => format!("replicate {}", answer["id"].as_str().unwrap_or_default()),
        other => other.to_owned(),
    })
}

fn schema_of(answer: &Value) -> &str {
    answer["schema"].as_str().unwrap_or_default()
}

/// A record as JSON, which every one can be.
fn json(record: &impl Serialize) -> Value {
    serde_json::to_value(record).expect("records are JSON")
}

fn read<T: DeserializeOwned>(value: Value, schema: &'static str) -> Result<Box<T>, AnswerError> {
    serde_json::from_value(value).map(Box::new).map_err(|error| AnswerError::Shape { schema, error })
}

#[cfg(test)]
mod tests {
    use ipcost_report::fixture;
    use serde_json::json;

    use super::*;

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
        assert!(matches!(Answer::of(&document), Ok(None)) && kind(&document).is_none());
        let foreign = answered(document.clone(), &json!({"schema": "ipcost-oracle/1"}));
        let error = Answer::of(&foreign).unwrap_err().to_string();
        assert!(error.contains("ipcost-oracle/1") && error.contains("newer ipcost"), "{error}");
        let broken = answered(document, &json!({"schema": EXPLANATION_SCHEMA, "cells": 7}));
        let error = Answer::of(&broken).unwrap_err().to_string();
        assert!(
            error.contains("does not match its schema") && kind(&broken).as_deref() == Some("explain"),
            "{error}"
        );
    }
}
