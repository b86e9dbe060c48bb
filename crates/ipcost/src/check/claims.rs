//! Reading a file of claims, and the documents that it names.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use ipcost_features::check::{ClaimsFile, Reference, differences, parse_claims};
use ipcost_model::{Document, Warning};
use ipcost_sys::host;

use crate::documents;

/// The largest file of claims that is read.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a file of claims.
///
/// # Errors
/// What is wrong with it, with its line and column where it has one.
pub fn read(path: &Path) -> anyhow::Result<ClaimsFile> {
    let shown = path.display();
    let context = || format!("cannot read {shown}");
    let length = std::fs::metadata(path).with_context(context)?.len();
    ensure!(length <= MOST_BYTES, "{shown} has {length} bytes; a file of claims has at most {MOST_BYTES}");
    let text = std::fs::read_to_string(path).with_context(context)?;
    parse_claims(&text).map_err(|error| anyhow!("{shown}:{error}"))
}

/// Every document that a claim names, by that name, and what weakens a comparison with it. A file is looked for beside
/// the file of claims first.
///
/// # Errors
/// Where one cannot be read, with the line and column of the claim.
pub fn baselines(
    path: &Path,
    file: &ClaimsFile,
) -> anyhow::Result<(BTreeMap<String, Document>, Vec<Warning>)> {
    let mut found = BTreeMap::new();
    let mut warnings = Vec::new();
    let here = host::read();
    for claim in &file.claims {
        let Reference::Baseline(name) = &claim.reference else { continue };
        if found.contains_key(&name.value) {
            continue;
        }
        let beside = path.parent().unwrap_or(Path::new("")).join(&name.value);
        let meant = if beside.is_file() { beside.display().to_string() } else { name.value.clone() };
        let document = documents::load(&meant).map_err(|error| {
            let error = name.place.error(format!("{error:#}; ipcost check --record FILE writes a baseline"));
            anyhow!("{}:{error}", path.display())
        })?;
        let differences = differences(&document, &here);
        if !differences.is_empty() {
            warnings.push(Warning {
                code: "other-host".to_owned(),
                message: format!(
                    "{} was measured on another machine or system ({}), so its claims compare those, too; record it again here unless that is what they are about",
                    name.value,
                    differences.join("; ")
                ),
            });
        }
        warnings.extend(otherwise(&name.value, &document));
        found.insert(name.value.clone(), document);
    }
    Ok((found, warnings))
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
