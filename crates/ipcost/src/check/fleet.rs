//! `ipcost check --fleet`: claims over the documents of many hosts.

use std::path::Path;
use std::process::ExitCode;

use anyhow::anyhow;
use ipcost_features::check::fleet::{Choosing, FleetCheck, askable};
use ipcost_report::words::escaped;

use super::{claims, outputs, status};
use crate::args::{CheckArgs, RecordFiles};
use crate::build::tool;
use crate::exit::{Problem, warn};
use crate::fleet::documents;

/// So many files that are not counted are named.
const MOST_FILES: usize = 5;

/// Decides the claims from documents. They are read twice: how many hosts there are decides how sure each must be.
pub fn run(args: &CheckArgs, path: &Path) -> Result<ExitCode, Problem> {
    let files = RecordFiles::of(&args.common.outputs).map_err(Problem::usage)?;
    let name = path.display().to_string();
    let (file, _) = claims::read(path).map_err(Problem::usage)?;
    askable(&file).map_err(|error| Problem::usage(anyhow!("{name}:{error}")))?;
    let mut choosing = Choosing::default();
    documents(&args.fleet, args.common.redacting, args.common.quiet, |place, name, document| {
        match document {
            Ok(document) => choosing.add(&file, place, name, &document),
            Err(reason) => choosing.unreadable(name, reason),
        }
        Ok(())
    })?;
    let skipped = choosing.skipped().to_vec();
    let mut deciding = choosing.decide(file);
    if deciding.hosts() == 0 {
        let why = skipped.first().map_or_else(
            || "there is no document".to_owned(),
            |first| format!("no document has the cells of the claims; {}: {}", first.file, first.reason),
        );
        return Err(Problem::usage(anyhow!(why)));
    }
    documents(&args.fleet, args.common.redacting, args.common.quiet, |place, _, document| {
        if let Ok(document) = document
            && deciding.counts(place)
        {
            deciding.add(place, &document);
        }
        Ok(())
    })?;
    let check = deciding.finish(name, tool());
    if !args.common.quiet {
        not_counted(&check);
    }
    outputs::write_fleet(args, &check, &files)?;
    Ok(status(check.word))
}

fn not_counted(check: &FleetCheck) {
    for skipped in check.skipped.iter().take(MOST_FILES) {
        warn(&format!("not counted: {}: {}", escaped(&skipped.file), escaped(&skipped.reason)));
    }
    let shown = check.skipped.len().min(MOST_FILES) as u64;
    if check.skipped_files > shown {
        warn(&format!("not counted: {} more of {} files", check.skipped_files - shown, check.files));
    }
}
