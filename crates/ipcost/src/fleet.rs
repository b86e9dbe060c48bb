//! `ipcost fleet`: what many hosts say together.

use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use ipcost_features::fleet::{self, Fleet, FleetContrast, Gatherer};
use ipcost_model::{Document, escaped, unknown};

use crate::args::FleetArgs;
use crate::build::tool;
use crate::exit::Problem;
use crate::many::{GivenDocuments, each};
use crate::progress::bar;
use crate::record_outputs;
use crate::redact::Redacting;

/// Reads the documents, and shows and writes what they say together.
pub fn run(args: &FleetArgs) -> Result<ExitCode, Problem> {
    check(args).map_err(Problem::usage)?;
    let mut gatherer = Gatherer::new(args.metric);
    documents(&args.documents, args.redacting, args.quiet, |_, file, document| {
        match document {
            Ok(document) => gatherer.add(file, &document),
            Err(reason) => gatherer.unreadable(file, reason),
        }
        Ok(())
    })?;
    let fleet = gatherer.finish(tool());
    if fleet.hosts.is_empty() {
        return Err(Problem::usage(nothing(&fleet)));
    }
    write(&fleet, args)?;
    Ok(ExitCode::SUCCESS)
}

fn check(args: &FleetArgs) -> anyhow::Result<()> {
    record_outputs::check(&args.files)?;
    ensure!(
        args.contrast.is_none() || args.files.draws(),
        "--contrast says what --svg and --png draw; give one of them"
    );
    Ok(())
}

/// Uses every document of the runs and directories, or the reason why it cannot be read, with its place, from 1, and its name.
pub fn documents(
    names: &[String],
    redacting: Redacting,
    quiet: bool,
    mut used: impl FnMut(u64, &str, Result<Document, String>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let all = GivenDocuments::all(names).map_err(Problem::usage)?;
    let bar = bar(quiet, all.len() as u64, "{pos} of {len} documents");
    let mut place = 0;
    each(&all, GivenDocuments::documents, |given, documents| {
        place += 1;
        bar.set_position(place);
        // A file is often named after its host.
        let name = if redacting.redact { format!("file {place}") } else { given.name.clone() };
        match documents {
            Ok(documents) => documents
                .into_iter()
                .try_for_each(|document| used(place, &name, Ok(redacting.apply_to_document(document)?))),
            Err(_) if redacting.redact => {
                used(place, &name, Err("it cannot be read as a document".to_owned()))
            }
            Err(error) => used(place, &name, Err(reason(&error, &given.name))),
        }
    })?;
    bar.finish_and_clear();
    Ok(())
}

/// An error without the name of the file, which stands before it.
fn reason(error: &anyhow::Error, file: &str) -> String {
    let causes: Vec<String> = error.chain().map(ToString::to_string).filter(|cause| cause != file).collect();
    causes.join(": ")
}

/// That there is nothing that counts, and why.
fn nothing(fleet: &Fleet) -> anyhow::Error {
    let Some(first) = fleet.skipped.first() else {
        return anyhow!(
            "there is no document; a fleet takes files of ipcost run --json FILE, or directories of them"
        );
    };
    let more = match fleet.skipped_files - 1 {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    anyhow!("no document counts: {}: {}{more}", escaped(&first.file), escaped(&first.reason))
}

fn write(fleet: &Fleet, args: &FleetArgs) -> Result<(), Problem> {
    let contrast = args.contrast.as_deref().map(|name| contrast(fleet, name)).transpose();
    let figure = contrast.map_err(Problem::usage)?.map(|contrast| fleet::figure(fleet, contrast));
    record_outputs::write(fleet, &args.files, &fleet::page(fleet), figure.as_ref(), args.details)
}

/// The contrast that a user means.
fn contrast<'a>(fleet: &'a Fleet, name: &str) -> anyhow::Result<&'a FleetContrast> {
    let names = |contrast: &FleetContrast| {
        [
            format!("{}/{}", contrast.a_label, contrast.b_label),
            format!("{}/{}", contrast.a, contrast.b),
            contrast.a.clone(),
        ]
    };
    let mut found =
        fleet.contrasts.iter().filter(|contrast| names(contrast).iter().any(|known| known == name));
    let Some(first) = found.next() else {
        let known: Vec<String> = fleet.contrasts.iter().map(|contrast| contrast.a.clone()).collect();
        return Err(anyhow!(unknown("contrast", name, known.iter().map(String::as_str))));
    };
    ensure!(
        found.next().is_none(),
        "several contrasts are called {name}; name one by the ids of its cells, such as --contrast {}/{}",
        first.a,
        first.b
    );
    Ok(first)
}
