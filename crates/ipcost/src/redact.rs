//! `--redact`: what is written tells neither who nor where.

use std::env;

use clap::Args;
use ipcost_features::answer::{Answer, AnsweredRun};
use ipcost_features::answers::answered_as;
use ipcost_model::{Document, Identity, redacted, redacted_document};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::exit::Problem;

/// For every command that writes what could be passed on.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Redacting {
    /// Write placeholders for the names of host and user, home directories and peers' commands
    #[arg(long)]
    pub redact: bool,
}

impl Redacting {
    /// What is to be written, with placeholders where that was asked for.
    pub fn apply<T: Serialize + DeserializeOwned>(self, value: T) -> Result<T, Problem> {
        match self.redact {
            true => redacted(&value, &identity()).map_err(|error| Problem::failed(error.into())),
            false => Ok(value),
        }
    }

    /// A document with placeholders; `None` where they were not asked for.
    pub fn redacted(self, document: &Document) -> Result<Option<Document>, Problem> {
        self.redact.then(|| self.apply_to_document(document.clone())).transpose()
    }

    /// [`Redacting::apply`] for a document and its answer.
    pub fn apply_to_answered<T: Answer>(self, run: AnsweredRun<T>) -> Result<AnsweredRun<T>, Problem> {
        if !self.redact {
            return Ok(run);
        }
        let redacted = answered_as(self.apply_to_document(run.document)?);
        let redacted = redacted.map_err(|error| Problem::failed(error.into()))?;
        Ok(redacted.expect("it is an answer of this kind still"))
    }

    /// [`Redacting::apply`] for a document.
    pub fn apply_to_document(self, document: Document) -> Result<Document, Problem> {
        match self.redact {
            true => redacted_document(document, &identity()).map_err(|error| Problem::failed(error.into())),
            false => Ok(document),
        }
    }
}

/// Who this user is, by the environment.
fn identity() -> Identity {
    let set = |names: &[&str]| names.iter().filter_map(|name| env::var(name).ok()).collect();
    Identity { users: set(&["USER", "LOGNAME", "SUDO_USER"]), homes: set(&["HOME"]) }
}
