//! `ipcost show`: a document that was measured before, on the terminal or in another format.

use std::process::ExitCode;

use anyhow::{Context, bail};
use ipcost_features::answer::AnsweredRun;
use ipcost_features::answers::answer_of;
use ipcost_features::replicate::{ReplicationRecord, overview};
use ipcost_features::watch::shown_page;
use ipcost_model::Document;
use ipcost_report::run_page;

use crate::args::{RecordFiles, ShowArgs};
use crate::document_outputs::{self, DocumentOutputs, Showing, warnings_of};
use crate::documents::NamedRun;
use crate::exit::{Problem, ended};
use crate::output::{print, room};
use crate::{documents, many, record_outputs};

/// Writes every output that was asked for; without any, shows the document on the terminal.
pub fn run(args: &ShowArgs) -> Result<ExitCode, Problem> {
    document_outputs::check(&args.outputs, None).map_err(Problem::usage)?;
    if let Some(file) = &args.otava {
        return many::write(args, file);
    }
    let run = only(&args.runs).map_err(Problem::usage)?;
    let document = match documents::load_any(run).map_err(Problem::usage)? {
        NamedRun::One(document) => *document,
        NamedRun::Watch(watched) => {
            let watched =
                if args.redacting.redact { args.redacting.apply(watched.redacted())? } else { *watched };
            let files = RecordFiles::of(&args.outputs).map_err(Problem::usage)?;
            let page = shown_page(&watched, args.outputs.details);
            record_outputs::write(&watched, &files, &page, None, args.outputs.details)?;
            return Ok(ExitCode::SUCCESS);
        }
        NamedRun::Experiments(all) => {
            let all = all.into_iter().map(|one| args.redacting.apply_to_answered(one));
            let all: Vec<AnsweredRun<ReplicationRecord>> = all.collect::<Result<_, _>>()?;
            let documents: Vec<&Document> = all.iter().map(|one| &one.document).collect();
            let files = RecordFiles::of(&args.outputs).map_err(Problem::usage)?;
            record_outputs::write(&documents, &files, &overview(&all), None, args.outputs.details)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let mut document = args.redacting.apply_to_document(document)?;
    // Nothing is written where a picture cannot be drawn: this can be asked again with another one.
    let answer = answer_of(&document).with_context(|| run.to_owned()).map_err(Problem::usage)?;
    if args.warnings {
        document.warnings = warnings_of(&document, answer.as_deref());
        let texts = run_page::all_warnings(&document, room());
        let texts = if texts.is_empty() { "No warnings and no notes.\n" } else { &texts };
        print(texts).map_err(Problem::failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let outputs = DocumentOutputs::new(&document, answer.as_deref());
    let pictures = outputs.draw(&args.outputs);
    let pictures = pictures.with_context(|| run.to_owned()).map_err(Problem::usage)?;
    if args.outputs.files().next().is_none() {
        let texts = format!("ipcost show {run} --warnings");
        let showing = Showing { details: args.outputs.details, quiet: args.quiet, texts: &texts };
        outputs.show(showing).map_err(Problem::failed)?;
    }
    let written = outputs.write(&args.outputs, pictures);
    ended(written.into_iter().filter_map(Result::err).map(Problem::failed).collect())
}

fn only(runs: &[String]) -> anyhow::Result<&str> {
    match runs {
        [run] => Ok(run),
        _ => {
            bail!("{} RUNs in one output: --otava FILE takes them; ipcost compare compares them", runs.len())
        }
    }
}
