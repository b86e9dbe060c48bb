//! `ipcost replicate`: published experiments, run again here, and what holds of their claims.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{anyhow, ensure};
use ipcost_features::answer::AnsweredRun;
use ipcost_features::replicate::needs::Needs;
use ipcost_features::replicate::{
    ReplicateRequest, Replication, ReplicationRecord, catalogue, check, figure, overview, published, repeat,
    run as measure, scale,
};
use ipcost_model::Document;
use ipcost_sys::host;
use ipcost_sys::interrupt::Interrupt;

use crate::args::{OutputArgs, RecordFiles, ReplicateArgs};
use crate::exit::{FAILED, INTERRUPTED, Problem, complain, ended, note, warn};
use crate::finish::{Finished, RunOutputs, finish};
use crate::measuring::begin_measuring;
use crate::output::{is_standard_output, print, room};
use crate::progress::ProgressLine;
use crate::{document_outputs, record_outputs};

/// Runs what the arguments ask for.
pub fn run(args: &ReplicateArgs) -> Result<ExitCode, Problem> {
    if args.list {
        let list = match args.names.is_empty() {
            true => catalogue::list(room())?,
            false => catalogue::described(&catalogue::chosen(&args.names)?, room())?,
        };
        print(&list).map_err(Problem::failed)?;
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
        check(replication)
            .and_then(|()| figure::check(replication))
            .map_err(|reason| Problem::usage(anyhow!("{}: {reason}", replication.id)))?;
    }
    if let Some(missing) =
        Needs::of(&replications)?.text(!args.full && !args.as_published).filter(|_| !args.common.quiet)
    {
        note(&missing);
    }
    let interrupt = begin_measuring(args.common.quiet, args.common.waiting)?;
    let request = request(args, &replications);
    let mut line = ProgressLine::new(args.common.quiet);
    if args.as_published {
        return as_published(args, &request, &replications, &interrupt, &mut line);
    }
    if let Some(version) = host::read().more.get(host::WINE).filter(|_| !args.common.quiet) {
        let version = version.as_str().unwrap_or_default();
        warn(&ipcost_lab::rules::wine(version).sentence());
    }
    let outputs = RunOutputs::of(&args.common);
    let mut decide = |replication: &Replication| {
        let (run, interrupted) = measure(&request, replication, &interrupt, &mut line);
        line.clear();
        match run.unmeasured().filter(|_| args.full && !interrupted) {
            Some(reasons) => Err(nothing_measured(&run, &reasons)),
            None => Ok(Decided { run: args.common.redacting.apply_to_answered(run)?, interrupted }),
        }
    };
    match replications.as_slice() {
        [only] => decide(only)?.end(&outputs),
        _ => several(args, &replications, &interrupt, &outputs, &mut decide),
    }
}

/// What holds of an experiment.
struct Decided {
    run: AnsweredRun<ReplicationRecord>,
    interrupted: bool,
}

fn nothing_measured(record: &ReplicationRecord, reasons: &[String]) -> Problem {
    Problem::failed(anyhow!("{}: nothing was measured: {}", record.id, reasons.join("; ")))
}

impl Decided {
    /// Saves, shows and writes it.
    fn end(self, outputs: &RunOutputs<'_>) -> Result<ExitCode, Problem> {
        let reasons = self.run.unmeasured().filter(|_| !self.interrupted);
        let failure = reasons.map(|reasons| nothing_measured(&self.run, &reasons));
        let document = self.run.document;
        let ended = finish(outputs, Finished { document, failure, samples: None }, None)?;
        Ok(if self.interrupted { ExitCode::from(INTERRUPTED) } else { ended })
    }
}

/// Decides the claims of several experiments, one after the other, and tells who was right.
fn several(
    args: &ReplicateArgs,
    replications: &[Replication],
    interrupt: &Interrupt,
    outputs: &RunOutputs<'_>,
    decide: &mut dyn FnMut(&Replication) -> Result<Decided, Problem>,
) -> Result<ExitCode, Problem> {
    let taken = args.common.outputs.files().any(is_standard_output);
    // Each is shown and saved once it is decided; the file is of all.
    let none = OutputArgs { details: args.common.outputs.details, ..OutputArgs::default() };
    let each = RunOutputs { files: &none, shown: !taken, ..*outputs };
    let mut all: Vec<AnsweredRun<ReplicationRecord>> = Vec::new();
    let (mut left_out, mut problems) = (Vec::new(), Vec::new());
    let mut status = ExitCode::SUCCESS;
    let counted = |one: &&Replication| !args.full || one.as_published.is_some();
    for replication in replications.iter().filter(counted) {
        let decided = match decide(replication) {
            Ok(decided) => decided,
            // The others are as they are without it.
            Err(problem) => {
                problem.print();
                left_out.push(problem);
                continue;
            }
        };
        if !all.is_empty() && !taken {
            print("\n").map_err(Problem::failed)?;
        }
        all.push(decided.run.clone());
        let is_measured = decided.run.unmeasured().is_none();
        match decided.end(&each) {
            Ok(ended) => status = ended,
            Err(problem) if is_measured => problems.push(problem),
            // The others are as they are without it.
            Err(problem) => {
                problem.print();
                left_out.push(problem);
            }
        }
        if interrupt.asked() {
            break;
        }
    }
    let files = RecordFiles::of(&args.common.outputs).map_err(Problem::failed)?;
    let page = overview(&all);
    let documents: Vec<&Document> = all.iter().map(|run| &run.document).collect();
    // One has been shown.
    let terminal = || match all.len() {
        0 | 1 => String::new(),
        _ => format!("\n{}", page.terminal(false, room())),
    };
    problems.extend(record_outputs::write_and_show(&documents, &files, &page, None, &terminal).err());
    if all.iter().all(|run| run.unmeasured().is_some()) && !left_out.is_empty() {
        status = ExitCode::from(FAILED);
    }
    ended(problems).map(|_| status)
}

/// Whether there is something with counts of its own to run, where that was asked for.
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
    document_outputs::check(&args.common.outputs, None)?;
    let OutputArgs { json, formats, .. } = &args.common.outputs;
    let of_several = [json.as_deref(), formats.get("html"), formats.get("markdown")];
    let is_of_several = |file: &Path| of_several.contains(&Some(file));
    if let Some(file) = args.common.outputs.files().find(|file| !is_of_several(file)) {
        ensure!(
            replications.len() == 1,
            "{} takes one experiment at a time, and these are {}; name one, write --html, --markdown or --json, or write saved runs with ipcost show RUN",
            file.display(),
            replications.len()
        );
    }
    if args.common.outputs.files().all(|file| args.common.outputs.json.as_deref() == Some(file)) {
        return Ok(());
    }
    ensure!(
        !args.as_published,
        "--as-published prints what the article printed; write files with --full, or without either"
    );
    Ok(())
}

fn request(args: &ReplicateArgs, replications: &[Replication]) -> ReplicateRequest {
    let given = [("--tcp", &args.redis_tcp), ("--unix", &args.redis_unix)].into_iter();
    let given = given.filter_map(|(flag, address)| Some(("redis", [flag.to_owned(), address.clone()?])));
    let full = args.full.then(|| args.divide.unwrap_or(1));
    let (budget, scale) = scale(replications, args.budget);
    ReplicateRequest {
        scale,
        budget,
        seed: args.seed,
        full,
        given: given.collect(),
        admits: args.expose_to_local_users,
    }
}

/// Runs the experiments as they were published, one after the other.
fn as_published(
    args: &ReplicateArgs,
    request: &ReplicateRequest,
    replications: &[Replication],
    interrupt: &Interrupt,
    line: &mut ProgressLine,
) -> Result<ExitCode, Problem> {
    let mut status = ExitCode::SUCCESS;
    for replication in replications {
        let Some(article) = &replication.as_published else { continue };
        print(&format!("# {}: {}\n", replication.id, replication.question)).map_err(Problem::failed)?;
        match repeat(request, article, args.divide.unwrap_or(1), interrupt, line) {
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
