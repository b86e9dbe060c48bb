//! Reading a file of claims, and the documents that it names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use ipcost_features::check::{Baselines, ClaimsFile, Reference, differences, parse_claims};
use ipcost_features::compare::{DEFAULT_SPREAD, PastRuns};
use ipcost_model::{Document, Warning};
use ipcost_sys::host;

use crate::job::if_no_toml;
use crate::{documents, history};

/// The largest file of claims that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a file of claims, which stays open.
pub fn read(path: &Path) -> anyhow::Result<(ClaimsFile, File)> {
    let shown = path.display();
    let context = || format!("cannot read {shown}");
    let (file, mut text) = (File::open(path).with_context(context)?, String::new());
    (&file).take(MOST_BYTES + 1).read_to_string(&mut text).with_context(context)?;
    let length = text.len() as u64;
    ensure!(
        length <= MOST_BYTES,
        "{shown}: a file of claims has at most {MOST_BYTES} bytes, and this one has more"
    );
    let claims = parse_claims(&text).map_err(|error| anyhow!("{shown}:{error}{}", if_no_toml(path)))?;
    Ok((claims, file))
}

/// Every document that a claim names, by that name, saved runs of the same job, and what weakens a comparison with them. A file
/// is looked for beside the file of claims first. Runs differ by `run_to_run`, if given, where baselines do not tell it.
pub fn baselines(
    path: &Path,
    file: &ClaimsFile,
    run_to_run: Option<f64>,
) -> anyhow::Result<(Baselines, Vec<Warning>)> {
    let mut found = BTreeMap::new();
    let mut by = Vec::new();
    let mut warnings = Vec::new();
    let here = host::read();
    for claim in &file.claims {
        let Reference::Baseline(names) = &claim.reference else { continue };
        by.push(claim.metric.compared_by());
        for name in &names.value {
            if found.contains_key(name) {
                continue;
            }
            let beside = path.parent().unwrap_or(Path::new("")).join(name);
            let meant = if beside.is_file() { beside.display().to_string() } else { name.clone() };
            let document = documents::load_found(&meant).map_err(|error| {
                let error =
                    names.place.error(format!("{error:#}; ipcost check --record FILE writes a baseline"));
                anyhow!("{}:{error}", path.display())
            })?;
            let differences = differences(&document, &here);
            if !differences.is_empty() {
                warnings.push(Warning {
                    code: "other-host".to_owned(),
                    message: format!(
                        "{name} was measured on another machine or system ({}), so its claims compare those, too; record it again here unless that is what they are about",
                        differences.join("; ")
                    ),
                });
            }
            warnings.extend(otherwise(name, &document));
            found.insert(name.clone(), document);
        }
    }
    let documents: Vec<Document> = found.values().cloned().collect();
    let past = match run_to_run {
        Some(_) => PastRuns::default(),
        None => history::past_checks(&documents, by),
    };
    let assumed_spread = run_to_run.unwrap_or(DEFAULT_SPREAD);
    Ok((Baselines { documents: found, past, assumed_spread }, warnings))
}

/// What of a document bends its costs.
fn otherwise(name: &str, document: &Document) -> Option<Warning> {
    let debug = document.warnings.iter().any(|warning| warning.code == "debug-build");
    (debug != cfg!(debug_assertions)).then(|| Warning {
        code: "other-build".to_owned(),
        message: format!(
            "{name} was measured by a program built {} optimisation, and this one is built {}; use --release for both",
            if debug { "without" } else { "with" },
            if debug { "with it" } else { "without" }
        ),
    })
}
