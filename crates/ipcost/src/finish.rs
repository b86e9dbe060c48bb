//! How everything that measures ends: what was measured is saved, and then shown and written to every output that can be.

use std::path::Path;
use std::process::ExitCode;

use ipcost_features::answers::answer_of;
use ipcost_model::{Document, Stopped};

use crate::args::{Common, OutputArgs};
use crate::document_outputs::{self, DocumentOutputs, Showing};
use crate::exit::{INTERRUPTED, Problem, complain, ended};
use crate::history::{self, SamplesFile};
use crate::output::{is_standard_output, print_error};
use crate::redact::Redacting;

/// What becomes of a run that has ended.
pub struct RunOutputs<'a> {
    /// The files that every command has.
    pub files: &'a OutputArgs,
    /// Whether names are replaced.
    pub redacting: Redacting,
    /// Whether the run is kept among the saved ones.
    pub save: bool,
    /// Whether warnings are left out.
    pub quiet: bool,
    /// Whether it is shown on standard output, unless a file takes that.
    pub shown: bool,
}

/// An output that one command has.
pub struct OwnOutput<'a> {
    /// The file, if it is one.
    pub path: Option<&'a Path>,
    /// Writes it, of the document as it is passed on.
    pub write: Box<WriteOwn<'a>>,
}

/// Writes an output of a document.
type WriteOwn<'a> = dyn Fn(&Document) -> Result<(), Problem> + 'a;

/// A run that has ended, whatever ended it.
pub struct Finished {
    /// What was measured, with the answer.
    pub document: Document,
    /// What ended it, if something failed.
    pub failure: Option<Problem>,
    /// Where its samples were kept while it ran.
    pub samples: Option<SamplesFile>,
}

impl<'a> RunOutputs<'a> {
    /// As the flags of a command say.
    pub fn of(common: &'a Common) -> Self {
        let Common { quiet, waiting: _, saving, redacting, outputs } = common;
        Self::new(outputs, *redacting, !saving.no_save, *quiet)
    }

    /// The outputs that every command has.
    pub fn new(files: &'a OutputArgs, redacting: Redacting, save: bool, quiet: bool) -> Self {
        Self { files, redacting, save, quiet, shown: true }
    }

    /// What the arguments get wrong together with the command's own files, before anything is measured.
    pub fn check(&self, own: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<()> {
        document_outputs::check(self.files, own)
    }
}

/// Saves, shows and writes what was measured, whatever ended the run, and the command's own outputs.
pub fn finish<'a>(
    outputs: &RunOutputs<'_>,
    finished: Finished,
    own: impl IntoIterator<Item = OwnOutput<'a>>,
) -> Result<ExitCode, Problem> {
    let Finished { document, failure, samples } = finished;
    let measured = document.schedule.epochs > 0;
    let (document, refused) = match outputs.redacting.redacted(&document) {
        Ok(redacted) => (redacted.unwrap_or(document), None),
        // What was measured is not lost for that: saved runs are for this user's eyes alone.
        Err(problem) => (document, Some(problem)),
    };
    let saved = match samples {
        samples if measured && outputs.save => history::keep(&document, samples),
        Some(samples) => {
            samples.remove();
            None
        }
        None => None,
    };
    let mut problems: Vec<Problem> = refused.into_iter().collect();
    let ended_well = matches!(document.stopped, Stopped::Resolved | Stopped::Budget);
    // An answer may say why nothing could be measured.
    let has_something = measured || document.stopped == Stopped::Failed && document.answer.is_some();
    if problems.is_empty() && (has_something || ended_well) {
        problems =
            write(outputs, &document, (has_something, saved.is_some()), &own.into_iter().collect::<Vec<_>>());
    }
    if let Some(saved) = saved.filter(|_| !outputs.quiet) {
        print_error(&saved);
    }
    let mut runs = std::iter::once(&document).chain(&document.runs);
    if runs.any(|run| run.stopped == Stopped::Interrupted) && failure.is_none() {
        if !measured {
            complain("interrupted before the first epoch was complete; nothing was measured");
        }
        // A terminal that is closed interrupts, and then shows nothing: that is no other ending.
        problems.iter().for_each(Problem::print);
        return Ok(ExitCode::from(INTERRUPTED));
    }
    // What ended it is the reason for the status.
    problems.extend(failure);
    ended(problems)
}

/// Shows it, and writes every output that was asked for: what was measured takes time to measure again, so that one that fails keeps no
/// other from being written.
fn write(
    outputs: &RunOutputs<'_>,
    document: &Document,
    (has_something, is_saved): (bool, bool),
    own: &[OwnOutput<'_>],
) -> Vec<Problem> {
    let texts = if is_saved { "ipcost show last --warnings" } else { "--html FILE or --json FILE" };
    let showing = Showing { details: outputs.files.details, quiet: outputs.quiet, texts };
    let taken = outputs.files.files().chain(own.iter().filter_map(|own| own.path)).any(is_standard_output);
    let answer = match answer_of(document) {
        Ok(answer) => answer,
        Err(error) => return vec![Problem::failed(error.into())],
    };
    let of_document = DocumentOutputs::new(document, answer.as_deref());
    let shown = if has_something && outputs.shown && !taken { of_document.show(showing) } else { Ok(()) };
    let (pictures, drawn) = match of_document.draw(outputs.files) {
        Ok(pictures) => (pictures, Ok(())),
        Err(error) => (Vec::new(), Err(error.context("no picture is drawn"))),
    };
    let written = [shown, drawn].into_iter().chain(of_document.write(outputs.files, pictures));
    let written = written.map(|result| result.map_err(Problem::failed));
    let own = own.iter().map(|own| (own.write)(document));
    written.chain(own).filter_map(Result::err).collect()
}
