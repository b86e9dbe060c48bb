//! The command line as clap reads it, a command a file; what it means is decided elsewhere.

mod ab;
mod app;
mod as_typed;
mod cells;
mod check;
mod common;
mod compare;
mod conformance;
mod doctor;
mod explain;
mod fleet;
mod help;
mod history;
mod load;
mod measuring;
mod output;
mod replicate;
mod run;
mod saving;
mod schema;
mod search;
mod selftest;
mod shell;
mod show;
mod sweep;
mod trend;
mod waiting;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{FromArgMatches, Parser};

pub use ab::AbArgs;
pub use app::{AppArgs, ServerArgs};
pub use cells::{CellArgs, options};
pub use check::CheckArgs;
pub use common::Common;
pub use compare::CompareArgs;
pub use conformance::ConformanceArgs;
pub use doctor::DoctorArgs;
pub use explain::ExplainArgs;
pub use fleet::FleetArgs;
pub use help::{OF_ANOTHER, is_internal, table, whole_table};
pub use history::{ListArgs, PruneArgs, ResumeArgs};
pub use load::LoadArgs;
pub use measuring::MeasuringArgs;
pub use output::{OutputArgs, RecordFiles, TextFiles};
pub use replicate::ReplicateArgs;
pub use run::RunArgs;
pub use saving::SavingArgs;
pub use schema::SchemaArgs;
pub use search::SearchArgs;
pub use selftest::SelfTestArgs;
pub use shell::{CompletionsArgs, HelpArgs, ManArgs, NoArgs, PeerArgs, ShellArgs};
pub use show::ShowArgs;
pub use sweep::{
    CoreSweepArgs, LayoutSweepArgs, OneRunArgs, PaceSweepArgs, SizeSweepArgs, SweepArgs, SweepOver,
    SweptArgs, WorkSweepArgs,
};
pub use trend::TrendArgs;
pub use waiting::Waiting;
pub use watch::{WatchArgs, Whom};

use self::as_typed::Understood;
use crate::commands::Command;
use crate::exit::{USAGE, complain, note};

/// Measures what local inter-process communication costs, how sure that is, and why.
///
/// Without a command it runs the default suite: a connection per request, small and large round trips, and
/// streams of small and large messages, over every usual local transport, in about a minute. The flags of run and
/// job files work without the word, too: ipcost --transports unix,tcp, or ipcost job.toml.
#[derive(Debug, Parser)]
#[command(name = "ipcost", version = crate::build::version(), max_term_width = 100)]
#[command(
    override_usage = "ipcost [COMMAND]\n       ipcost [FLAGS OF RUN] [JOB.toml]",
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Reads the command line; help, versions and errors are dealt with here.
pub fn parse(args: impl Iterator<Item = OsString>) -> Result<Cli, ExitCode> {
    let commands = table();
    let understood = as_typed::understood(args.collect(), &commands);
    let Understood { words: mut args, note: read_as } = understood.map_err(|text| {
        complain(&text);
        ExitCode::from(USAGE)
    })?;
    if let Some(text) = read_as {
        note(&text);
    }
    let without_command = args.get(1).is_some_and(|first| is_of_run(&first.to_string_lossy()));
    if without_command {
        args.insert(1, "run".into());
    }
    let typed = args.clone();
    let read =
        commands.try_get_matches_from(args).and_then(|mut found| Cli::from_arg_matches_mut(&mut found));
    let cli = read.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Someone who pages the help and leaves early is fine.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // The list of what there is shows which one is meant.
            let _ = error.print();
            ExitCode::from(USAGE)
        }
        kind => {
            let mut line = match kind {
                ErrorKind::ArgumentConflict => conflict(&error, &typed),
                _ => one_line(&error.render().to_string()),
            };
            if kind == ErrorKind::UnknownArgument && without_command {
                line.push_str("; without a command, flags are those of run: ipcost run --help lists them");
            }
            complain(&line);
            ExitCode::from(USAGE)
        }
    })?;
    if let Some(command) = cli.command.as_ref().filter(|_| without_command).and_then(command_as_job) {
        complain(&format!(
            "{command} is a command, and its flags follow it: ipcost {command} --help lists them"
        ));
        return Err(ExitCode::from(USAGE));
    }
    Ok(cli)
}

/// The command that was taken for a job file, since flags went before it.
fn command_as_job(command: &Command) -> Option<String> {
    let Command::Run(run) = command else { return None };
    let job = run.job.as_ref().filter(|job| !job.exists())?.to_str()?;
    let commands = <Cli as clap::CommandFactory>::command();
    commands.get_subcommands().any(|known| known.get_name() == job).then(|| job.to_owned())
}

/// Whether a first word that is no command is meant for `run`.
fn is_of_run(first: &str) -> bool {
    let of_program = ["-h", "--help", "-V", "--version"].contains(&first);
    (first.starts_with('-') && !of_program) || first.ends_with(".toml")
}

/// Which of the words that were typed cannot stand together: clap lists all that cannot.
fn conflict(error: &clap::Error, typed: &[OsString]) -> String {
    let names = |value: Option<&ContextValue>| match value {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(many)) => many.clone(),
        _ => Vec::new(),
    };
    let of = names(error.get(ContextKind::InvalidArg)).concat();
    let is_typed = |name: &String| {
        let flag = name.split([' ', '=', '[']).next().unwrap_or_default();
        typed.iter().filter_map(|word| word.to_str()).any(|word| word.split('=').next() == Some(flag))
    };
    let mut with = names(error.get(ContextKind::PriorArg));
    if with.iter().any(is_typed) {
        with.retain(is_typed);
    }
    if of.is_empty() || with.is_empty() || with.len() > 3 {
        return one_line(&error.render().to_string());
    }
    format!("{of} cannot be used with {}", with.join(", "))
}

/// Clap's message without its usage lines: what is wrong, and the tip if there is one.
fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let telling =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    // A value of the positional arguments is a file or a name: none begins with a minus.
    let is_told = |line: &&str| !line.is_empty() && !line.starts_with("tip: to pass");
    let text = telling.filter(is_told).collect::<Vec<_>>().join("; ");
    let text = text.strip_prefix("error: ").unwrap_or(&text).replace(":; ", ": ");
    OF_NUMBERS.iter().fold(text, |text, (cause, said)| text.replace(cause, said))
}

/// What the standard library says of numbers that are none, and what a user understands.
const OF_NUMBERS: [(&str, &str); 4] = [
    ("invalid digit found in string", "it must be a whole number"),
    ("cannot parse integer from empty string", "it must be a whole number"),
    ("number too large to fit in target type", "it is too large"),
    ("invalid float literal", "it must be a number"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_of_flags_is_sound() {
        Cli::command().debug_assert();
    }

    fn run_args(line: &[&str]) -> RunArgs {
        match parse(line.iter().map(Into::into)).unwrap().command {
            Some(Command::Run(args)) => *args,
            other => panic!("{line:?} is {other:?}"),
        }
    }

    #[test]
    fn flags_of_run_and_job_files_work_without_the_word() {
        for rest in [&["--transports", "unix,tcp", "--epochs", "3"][..], &["job.toml", "--quiet"], &["-q"]] {
            let short = run_args(&[&["ipcost"], rest].concat());
            assert_eq!(format!("{short:?}"), format!("{:?}", run_args(&[&["ipcost", "run"], rest].concat())));
        }
        assert_eq!(run_args(&["ipcost", "--transports", "unix,tcp"]).cells.transports, ["unix", "tcp"]);
        assert!(parse(["ipcost", "list"].iter().map(Into::into)).unwrap().command.is_some());
        assert!(parse(["ipcost"].iter().map(Into::into)).unwrap().command.is_none());
        assert!(parse(["ipcost", "--quiet", "list"].iter().map(Into::into)).is_err());
        let subcommands = Cli::command();
        assert!(subcommands.get_subcommands().all(|command| !is_of_run(command.get_name())));
        assert!(["-h", "--help", "-V", "--version"].iter().all(|flag| !is_of_run(flag)));
    }

    #[test]
    fn errors_are_one_line() {
        let error = Cli::try_parse_from(["ipcost", "run", "--transprts", "unix"]).unwrap_err();
        let line = one_line(&error.render().to_string());
        assert!(line.contains("--transports") && !line.contains('\n'), "{line}");
    }
}
