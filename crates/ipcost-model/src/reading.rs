//! From bytes to a document that the rest of the program can rely on.

use std::collections::HashSet;

use serde::Deserialize;
use thiserror::Error;

use crate::document::{Document, Estimate, SCHEMA, Verdict};

/// The largest document that is read, bytes: fifty times a usual one.
pub const MAX_DOCUMENT_BYTES: u64 = 1 << 30;

/// Why something is not a document that can be shown.
#[derive(Debug, Error)]
pub enum ReadError {
    /// More bytes than [`MAX_DOCUMENT_BYTES`].
    #[error("{bytes} bytes are too many for a document; at most {MAX_DOCUMENT_BYTES} are read")]
    TooLarge {
        /// How many there are.
        bytes: u64,
    },
    /// No JSON, or only the beginning of it.
    #[error("not a whole JSON document: {0}")]
    NotJson(#[source] serde_json::Error),
    /// JSON of something else.
    #[error("JSON, but no document of ipcost: it has no \"schema\" of the kind \"{SCHEMA}\"")]
    Foreign,
    /// A document of another version.
    #[error("the document's schema is {schema:?}, and this program reads {SCHEMA:?}; {advice}")]
    OtherSchema {
        /// What it says it is.
        schema: String,
        /// What to do.
        advice: &'static str,
    },
    /// Keys that are missing or hold something else.
    #[error("a document of {SCHEMA:?}, but not as its schema says: {0}")]
    Shape(#[source] serde_json::Error),
    /// Parts that contradict one another.
    #[error("a document of {SCHEMA:?} that contradicts itself: {0}")]
    Inconsistent(String),
}

/// Reads a document, and checks what every rendering relies on: indices and ids lead somewhere, numbers are finite,
/// costs are positive, intervals contain what they are about.
///
/// # Errors
/// What is wrong with it, in one line.
pub fn read_document(bytes: &[u8]) -> Result<Document, ReadError> {
    #[derive(Deserialize)]
    struct Probe {
        schema: Option<serde_json::Value>,
    }
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(ReadError::TooLarge { bytes: bytes.len() as u64 });
    }
    let probe: Result<Probe, _> = serde_json::from_slice(bytes);
    let schema = match probe {
        Ok(probe) => probe.schema,
        Err(error) if error.is_data() => return Err(ReadError::Foreign),
        Err(error) => return Err(ReadError::NotJson(error)),
    };
    match schema.as_ref().and_then(serde_json::Value::as_str) {
        Some(SCHEMA) => {}
        Some(other) if other.starts_with("ipcost/") => return Err(other_schema(other)),
        _ => return Err(ReadError::Foreign),
    }
    let document: Document = serde_json::from_slice(bytes).map_err(ReadError::Shape)?;
    consistent(&document).map_err(ReadError::Inconsistent)?;
    Ok(document)
}

fn other_schema(schema: &str) -> ReadError {
    let version = |text: &str| text.split_once('/').and_then(|(_, number)| number.parse::<u32>().ok());
    let advice = match (version(schema), version(SCHEMA)) {
        (Some(theirs), Some(ours)) if theirs < ours => "it is older; read it with the version that wrote it",
        _ => "it is newer; take a newer ipcost",
    };
    ReadError::OtherSchema { schema: schema.chars().take(40).collect(), advice }
}

fn consistent(document: &Document) -> Result<(), String> {
    let mut ids = HashSet::new();
    for cell in &document.cells {
        if !ids.insert(cell.id.as_str()) {
            return Err(format!("two cells have the id {:?}", cell.id));
        }
        let costs = [cell.wall_ns_per_op, cell.cpu_ns_per_op, cell.sent_ns_per_op];
        if !costs.iter().flatten().all(is_estimate) {
            return Err(format!("a cost of cell {:?} is no positive number within its interval", cell.id));
        }
        if !cell.modes.iter().all(|mode| mode.wall_ns_per_op.is_finite() && (0.0..=1.0).contains(&mode.share))
        {
            return Err(format!("a mode of cell {:?} is no share with a cost", cell.id));
        }
        if let Some(floor) = &cell.floor {
            let sound = |ns: f64| ns.is_finite() && ns >= 0.0;
            if !is_estimate(&floor.multiple)
                || !sound(floor.ns_per_op)
                || !floor.parts.iter().all(|part| sound(part.count) && sound(part.ns))
            {
                return Err(format!("the floor of cell {:?} is no positive number", cell.id));
            }
        }
        let rates = [cell.ops_per_s, cell.bytes_per_s];
        if !rates.iter().flatten().all(|rate| rate.is_finite() && *rate >= 0.0) {
            return Err(format!("a rate of cell {:?} is no positive number", cell.id));
        }
    }
    let known = |id: &str, what: &str| match ids.contains(id) {
        true => Ok(()),
        false => Err(format!("{what} names the cell {id:?}, which there is not")),
    };
    let parts = document.cells.iter().flat_map(|cell| &cell.floor).flat_map(|floor| &floor.parts);
    parts.into_iter().try_for_each(|part| known(&part.cell, "a floor"))?;
    for workload in &document.workloads {
        let named = workload.cells.iter().chain(&workload.baseline);
        let fastest = workload.fastest.iter().flat_map(|fastest| [&fastest.cell, &fastest.runner_up]);
        named.chain(fastest).try_for_each(|id| known(id, "a workload"))?;
        if let Some(fastest) = &workload.fastest {
            is_ratio(fastest.ratio, fastest.lo, fastest.hi, fastest.verdict)?;
        }
    }
    for contrast in &document.contrasts {
        [&contrast.a, &contrast.b].into_iter().try_for_each(|id| known(id, "a contrast"))?;
        is_ratio(contrast.ratio, contrast.lo, contrast.hi, contrast.verdict)?;
    }
    if let Some(sample) = document.samples.iter().find(|sample| sample.cell as usize >= document.cells.len())
    {
        return Err(format!("a sample belongs to cell {}, which there is not", sample.cell));
    }
    if document.samples.iter().any(|sample| sample.ops == 0 || sample.epoch == 0) {
        return Err("a sample has no operations or no epoch".to_owned());
    }
    let analysis = &document.analysis;
    let shares = [analysis.alpha, analysis.alpha_each];
    if !shares.iter().all(|share| (0.0..=1.0).contains(share)) || !(0.0..1e3).contains(&analysis.margin) {
        return Err("alpha or the margin is out of range".to_owned());
    }
    if !(document.elapsed_s.is_finite() && document.elapsed_s >= 0.0) {
        return Err("the elapsed time is out of range".to_owned());
    }
    Ok(())
}

fn is_estimate(estimate: &Estimate) -> bool {
    let Estimate { median, lo, hi } = *estimate;
    median.is_finite()
        && median >= 0.0
        && lo.is_none_or(|lo| lo >= 0.0 && lo <= median)
        && hi.is_none_or(|hi| hi.is_finite() && hi >= median)
}

fn is_ratio(ratio: f64, lo: Option<f64>, hi: Option<f64>, verdict: Verdict) -> Result<(), String> {
    let bounded = lo.is_some() && hi.is_some();
    let fits = is_estimate(&Estimate { median: ratio, lo, hi }) && ratio > 0.0;
    match fits && (bounded || verdict == Verdict::Undecided) {
        true => Ok(()),
        false => Err("a ratio lies outside its interval, or has a verdict without one".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read_document(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_document_is_told_in_one_line() {
        let deep = "[".repeat(100_000);
        for (text, says) in [
            ("", "not a whole JSON document"),
            ("{\"schema\": \"ipcost/1\"", "not a whole JSON document"),
            (deep.as_str(), "not a whole JSON document"),
            ("{\"schema\": NaN}", "not a whole JSON document"),
            ("[1]", "no document of ipcost"),
            ("{}", "no document of ipcost"),
            ("{\"schema\": 3}", "no document of ipcost"),
            ("{\"schema\": \"other/1\"}", "no document of ipcost"),
            ("{\"schema\": \"ipcost/0\"}", "it is older"),
            ("{\"schema\": \"ipcost/2\"}", "it is newer"),
            ("{\"schema\": \"ipcost/1\"}", "missing field"),
        ] {
            let error = error(text);
            assert!(error.contains(says) && !error.contains('\n'), "{text:.40}: {error}");
        }
    }
}
