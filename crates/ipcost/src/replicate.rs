//! `ipcost replicate`: published experiments, run again here, and what holds of their claims.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail, ensure};
use indicatif::ProgressBar;
use ipcost_features::replicate::needs::Needs;
use ipcost_features::replicate::{
    Ledger, Replication, Request, Watching, catalogue, cells_of_run, check, figure, overview, page,
    published, repeat, run as measure, scale,
};
use ipcost_lab::progress::Observer;
use ipcost_report::picture::Background;
use ipcost_sys::host;
use ipcost_sys::interrupt::Interrupt;

use crate::args::ReplicateArgs;
use crate::exit::{FAILED, INTERRUPTED, Problem, complain, note, warn};
use crate::history;
use crate::output::{
    at_most_one_on_standard_output, is_standard_output, no_picture_on_terminal, print, room, write_picture,
    write_pretty,
};
use crate::outputs;
use crate::progress::{Line, bar};
use crate::run::begin_measuring;

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
    check_pictures(args, &replications).map_err(Problem::usage)?;
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
    let mut ledgers = Vec::new();
    let (mut interrupted, mut left_out) = (false, false);
    if let Some(version) = host::read().more.get(host::WINE).filter(|_| !args.quiet) {
        let version = version.as_str().unwrap_or_default();
        warn(&ipcost_lab::rules::wine(version).sentence());
    }
    let counted = |one: &&Replication| !args.full || one.as_published.is_some();
    for replication in replications.iter().filter(counted) {
        let (ledger, document, was_interrupted) = measure(&request, replication, &interrupt, &mut shown);
        shown.line.clear();
        if let Some(reason) = ledger.unmeasured().filter(|_| args.full && !was_interrupted) {
            complain(&format!("{}: {reason}", replication.id));
            left_out = true;
            continue;
        }
        let ledger = args.redacting.apply(ledger)?;
        if !takes_standard_output(args) {
            let gap = if ledgers.is_empty() { "" } else { "\n" };
            print(&format!("{gap}{}", page(&ledger).terminal(args.details, room())))
                .map_err(Problem::failed)?;
        }
        if let Some(document) = document {
            history::keep_answer(args.redacting.apply_to_document(document)?, args.saving, args.quiet);
        }
        ledgers.push(ledger);
        if was_interrupted {
            interrupted = true;
            break;
        }
    }
    // What was measured takes time to measure again: a picture that cannot be drawn keeps nothing else from being written.
    let drawn = ledgers.first().map_or(Ok(()), |ledger| write_pictures(args, ledger));
    if let Some(path) = &args.json {
        write_pretty(&ledgers, path).map_err(Problem::failed)?;
    }
    if ledgers.len() > 1 && !takes_standard_output(args) {
        print(&format!("\n{}", overview(&ledgers).terminal(false, room()))).map_err(Problem::failed)?;
    }
    drawn.map_err(Problem::failed)?;
    Ok(match () {
        () if interrupted => ExitCode::from(INTERRUPTED),
        () if left_out && ledgers.is_empty() => ExitCode::from(FAILED),
        () => ExitCode::SUCCESS,
    })
}

/// Whether an output takes standard output, so that nothing else may go there.
fn takes_standard_output(args: &ReplicateArgs) -> bool {
    files(args).any(is_standard_output)
}

fn files(args: &ReplicateArgs) -> impl Iterator<Item = &Path> {
    [&args.json, &args.svg, &args.png].into_iter().filter_map(|file| file.as_deref())
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

/// What is wrong with the pictures that were asked for, before anything is measured.
///
/// # Errors
/// If they are of several experiments, of one without a figure, or nothing is decided that they could show.
fn check_pictures(args: &ReplicateArgs, replications: &[Replication]) -> anyhow::Result<()> {
    at_most_one_on_standard_output(files(args))?;
    if args.svg.is_none() && args.png.is_none() {
        return Ok(());
    }
    let [replication] = replications else {
        bail!(
            "--svg and --png draw one experiment at a time, and these are {}; name one, or draw saved runs with ipcost report RUN --svg FILE",
            replications.len()
        );
    };
    ensure!(
        !args.as_published,
        "--as-published prints what the article printed; draw with --full, or without either"
    );
    ensure!(
        replication.figure.is_some(),
        "{} has no figure; a replication file has one in its section [figure]",
        replication.id
    );
    no_picture_on_terminal(args.png.as_deref())
}

/// Draws the published figures next to the measured ones.
fn write_pictures(args: &ReplicateArgs, ledger: &Ledger) -> anyhow::Result<()> {
    if args.svg.is_none() && args.png.is_none() {
        return Ok(());
    }
    let picture = outputs::published(ledger, Background::default()).context("no picture is drawn")?;
    write_picture(&picture, args.svg.as_deref(), args.png.as_deref())
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
