//! `ipcost replicate`: published experiments, run again here, and what holds of their claims.

use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use indicatif::ProgressBar;
use ipcost_features::replicate::needs::Needs;
use ipcost_features::replicate::{
    Ledger, Replication, Request, Watching, catalogue, cells_of_run, check, figure, overview, page,
    published, repeat, run as measure, scale,
};
use ipcost_lab::progress::Observer;
use ipcost_model::Document;
use ipcost_sys::host;
use ipcost_sys::interrupt::Interrupt;
use serde_json::Value;

use crate::args::{OutputArgs, RecordFiles, ReplicateArgs};
use crate::exit::{FAILED, INTERRUPTED, Problem, complain, ended, note, warn};
use crate::finish::{Finished, Outputs, finish};
use crate::output::{is_standard_output, print, room, write_pretty};
use crate::progress::{Line, bar};
use crate::redact::Redacting;
use crate::run::begin_measuring;
use crate::{outputs, record_files};

/// Runs what the arguments ask for.
///
/// # Errors
/// What is wrong with the arguments or a replication file, or what failed.
pub fn run(args: &ReplicateArgs) -> Result<ExitCode, Problem> {
    if args.list {
        print(&catalogue::list()?).map_err(Problem::failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.divide.is_some() && !args.full && !args.as_published {
        return Err(Problem::usage(anyhow!(
            "--divide changes the article's own counts; add --full (claims) or --as-published (the article's output)"
        )));
    }
    let replications = match args.all || args.apps {
        true => {
            let mut all = catalogue::all()?;
            all.retain(|replication| args.all || replication.is_of_apps());
            all
        }
        false => catalogue::chosen(&args.names)?,
    };
    check_counts(args, &replications).map_err(Problem::usage)?;
    check_files(args, &replications).map_err(Problem::usage)?;
    for replication in &replications {
        let cells = |run: &_| cells_of_run(run).map_err(|error| error.to_string());
        check(replication, &cells)
            .and_then(|()| figure::check(replication, &cells))
            .map_err(|reason| Problem::usage(anyhow!("{}: {reason}", replication.id)))?;
    }
    if let Some(missing) =
        Needs::of(&replications)?.text(!args.full && !args.as_published).filter(|_| !args.quiet)
    {
        note(&missing);
    }
    let interrupt = begin_measuring(args.quiet, args.waiting)?;
    let request = request(args, &replications);
    let mut shown = Shown::new(args.quiet);
    if args.as_published {
        return as_published(args, &request, &replications, &interrupt, &mut shown);
    }
    if let Some(version) = host::read().more.get(host::WINE).filter(|_| !args.quiet) {
        let version = version.as_str().unwrap_or_default();
        warn(&ipcost_lab::rules::wine(version).sentence());
    }
    let outputs = Outputs::new(&args.outputs, args.redacting, !args.saving.no_save, args.quiet);
    match replications.as_slice() {
        [only] => experiment(args, &request, only, &interrupt, &mut shown, &outputs, &mut Vec::new()),
        _ => several(args, &request, &replications, &interrupt, &mut shown, &outputs),
    }
}

/// Decides the claims of one experiment, and adds what is written of it as JSON to the results.
///
/// # Errors
/// What failed, or cannot be written.
fn experiment(
    args: &ReplicateArgs,
    request: &Request,
    replication: &Replication,
    interrupt: &Interrupt,
    shown: &mut Shown,
    outputs: &Outputs<'_>,
    results: &mut Vec<Decided>,
) -> Result<ExitCode, Problem> {
    let (ledger, document, interrupted) = measure(request, replication, interrupt, shown);
    shown.line.clear();
    if let Some(reason) = ledger.unmeasured().filter(|_| args.full && !interrupted) {
        return Err(Problem::failed(anyhow!("{}: {reason}", replication.id)));
    }
    let ended = match &document {
        Some(document) => {
            let document = document.clone();
            finish(outputs, Finished { document, failure: None, samples: None }, None)
        }
        None => unmeasured(args.redacting.apply(ledger.clone())?, outputs),
    };
    results.push(Decided { ledger, document });
    if interrupted { ended.map(|_| ExitCode::from(INTERRUPTED)) } else { ended }
}

/// What holds of an experiment.
struct Decided {
    ledger: Ledger,
    document: Option<Document>,
}

/// Shows and writes what was decided without measuring anything.
///
/// # Errors
/// What cannot be written.
fn unmeasured(ledger: Ledger, outputs: &Outputs<'_>) -> Result<ExitCode, Problem> {
    let files = RecordFiles::of(outputs.files);
    record_files::write(&ledger, &files, &page(&ledger), None, outputs.files.wide)?;
    Ok(ExitCode::SUCCESS)
}

/// Decides the claims of several experiments, one after the other, and tells who was right.
///
/// # Errors
/// What failed, or cannot be written.
fn several(
    args: &ReplicateArgs,
    request: &Request,
    replications: &[Replication],
    interrupt: &Interrupt,
    shown: &mut Shown,
    outputs: &Outputs<'_>,
) -> Result<ExitCode, Problem> {
    let taken = args.outputs.files().any(is_standard_output);
    // Each is shown and saved once it is decided; the file is of all.
    let none = OutputArgs { wide: args.outputs.wide, ..OutputArgs::default() };
    let each = Outputs { files: &none, shown: !taken, ..*outputs };
    let (mut results, mut problems) = (Vec::new(), Vec::new());
    let mut status = ExitCode::SUCCESS;
    let counted = |one: &&Replication| !args.full || one.as_published.is_some();
    for (number, replication) in replications.iter().filter(counted).enumerate() {
        if number > 0 && !taken {
            print("\n").map_err(Problem::failed)?;
        }
        match experiment(args, request, replication, interrupt, shown, &each, &mut results) {
            Ok(ended) => status = ended,
            Err(problem) => problems.push(problem),
        }
        if interrupt.asked() {
            break;
        }
    }
    if let Some(path) = &args.outputs.json {
        let results = results.iter().map(|decided| decided.result(args.redacting));
        let results = results.collect::<Result<Vec<_>, _>>();
        problems.extend(results.and_then(|all| write_pretty(&all, path).map_err(Problem::failed)).err());
    }
    let ledgers: Vec<Ledger> = results.into_iter().map(|decided| decided.ledger).collect();
    if ledgers.len() > 1 && !taken {
        print(&format!("\n{}", overview(&ledgers).terminal(false, room()))).map_err(Problem::failed)?;
    }
    // One that cannot be repeated leaves the others as they are.
    if !ledgers.is_empty() && args.full {
        problems.drain(..).for_each(|problem| problem.tell());
    }
    ended(problems).map(|_| status)
}

impl Decided {
    /// What is written of it: its document, or the ledger alone where nothing was measured.
    ///
    /// # Errors
    /// Where a name is a word of its form.
    fn result(&self, redacting: Redacting) -> Result<Value, Problem> {
        let value = match &self.document {
            Some(document) => serde_json::to_value(redacting.apply_to_document(document.clone())?),
            None => serde_json::to_value(redacting.apply(self.ledger.clone())?),
        };
        value.map_err(|error| Problem::failed(error.into()))
    }
}

/// Whether there is something with counts of its own to run, where that was asked for.
///
/// # Errors
/// If there is nothing.
fn check_counts(args: &ReplicateArgs, replications: &[Replication]) -> anyhow::Result<()> {
    ensure!(
        !(args.full || args.as_published) || replications.iter().any(|one| one.as_published.is_some()),
        "{} has no counts of its own to repeat; decide its claims without --full and --as-published",
        replications.iter().map(|one| one.id.as_str()).collect::<Vec<_>>().join(", ")
    );
    Ok(())
}

/// What is wrong with the files that were asked for, before anything is measured.
///
/// # Errors
/// If they hold one experiment, and these are several, or nothing is decided that they could show.
fn check_files(args: &ReplicateArgs, replications: &[Replication]) -> anyhow::Result<()> {
    outputs::check(&args.outputs, None)?;
    let Some(file) = args.outputs.files().find(|file| args.outputs.json.as_deref() != Some(*file)) else {
        return Ok(());
    };
    ensure!(
        replications.len() == 1,
        "{} takes one experiment at a time, and these are {}; name one, or write saved runs with ipcost report RUN",
        file.display(),
        replications.len()
    );
    ensure!(
        !args.as_published,
        "--as-published prints what the article printed; write files with --full, or without either"
    );
    Ok(())
}

fn request(args: &ReplicateArgs, replications: &[Replication]) -> Request {
    let given = [("--tcp", &args.redis_tcp), ("--unix", &args.redis_unix)].into_iter();
    let given = given.filter_map(|(flag, address)| Some(("redis", [flag.to_owned(), address.clone()?])));
    let full = args.full.then(|| args.divide.unwrap_or(1));
    Request {
        scale: scale(replications, args.budget),
        seed: args.seed,
        full,
        given: given.collect(),
        admits: args.expose_to_local_users,
    }
}

/// A line for what is timed, a bar for repetitions.
struct Shown {
    line: Line,
    bar: ProgressBar,
    quiet: bool,
}

impl Shown {
    fn new(quiet: bool) -> Self {
        let bar = bar(quiet, 1, "{pos} of {len}, {eta} left: {msg}");
        Self { line: Line::new(quiet), bar, quiet }
    }
}

impl Watching for Shown {
    fn timed(&mut self) -> &mut dyn Observer {
        self.line = Line::new(self.quiet);
        &mut self.line
    }

    fn note(&mut self, text: &str) {
        self.line.clear();
        if !self.quiet {
            note(text);
        }
    }

    fn estimate(&mut self, text: &str) {
        note(text);
    }

    fn repetition(&mut self, done: u64, of: u64, what: &str) {
        self.bar.set_length(of);
        self.bar.set_position(done);
        self.bar.set_message(what.to_owned());
        if done == of {
            self.bar.finish_and_clear();
            self.bar.reset();
        }
    }
}

/// Runs the experiments as they were published, one after the other.
fn as_published(
    args: &ReplicateArgs,
    request: &Request,
    replications: &[Replication],
    interrupt: &Interrupt,
    shown: &mut Shown,
) -> Result<ExitCode, Problem> {
    let mut status = ExitCode::SUCCESS;
    for replication in replications {
        let Some(article) = &replication.as_published else { continue };
        print(&format!("# {}: {}\n", replication.id, replication.question)).map_err(Problem::failed)?;
        match repeat(request, article, args.divide.unwrap_or(1), interrupt, shown) {
            Ok(repetitions) => {
                print(&published::render(article.output, &repetitions)).map_err(Problem::failed)?;
            }
            Err(_) if interrupt.asked() => return Ok(ExitCode::from(INTERRUPTED)),
            Err(error) => {
                complain(&format!("{}: {error}", replication.id));
                status = ExitCode::from(FAILED);
            }
        }
    }
    Ok(status)
}
