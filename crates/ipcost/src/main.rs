//! `ipcost`: what local inter-process communication costs, how sure that is, and why.

// Whatever is printed goes through `output`, which escapes texts of others.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod ab;
mod app;
mod args;
mod build;
mod check;
mod compare;
mod conformance;
mod consent;
mod doctor;
mod documents;
mod exit;
mod explain;
mod finish;
mod fleet;
mod history;
mod job;
mod load;
mod many;
mod output;
mod outputs;
mod progress;
mod record_files;
mod redact;
mod replicate;
mod report;
mod resume;
mod run;
mod schema;
mod search;
mod selftest;
mod shell;
mod sweep;
mod watch;

use std::process::ExitCode;

use args::{Command, parse};
use exit::Problem;

fn main() -> ExitCode {
    ipcost_lab::lab::set_tool(build::tool());
    let cli = match parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let result = match cli.command.unwrap_or_default() {
        Command::Run(args) => run::run(*args),
        Command::App(args) => app::run(*args),
        Command::Report(args) => report::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Ab(args) => ab::run(*args),
        Command::Compare(args) => compare::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Fleet(args) => fleet::run(&args),
        Command::Show(args) => history::show(&args),
        Command::List(args) => history::list(&args),
        Command::Resume(args) => resume::run(&args),
        Command::Prune(args) => history::prune(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Replicate(args) => replicate::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Namespace => ipcost_sys::net_namespace::hold()
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| Problem::failed(error.into())),
        Command::Schema(args) => schema::run(&args),
        Command::Hog => ipcost_features::selftest::hog(),
        Command::Conformance(args) => conformance::run(&args),
        Command::Completions(args) => shell::completions(&args),
        #[cfg(feature = "man")]
        Command::Man(args) => shell::man(&args),
        Command::Help(args) => shell::help(&args),
        Command::Peer { name, arguments } => {
            let well = match name {
                None => ipcost_peer::run(Ok(Box::new(ipcost_peer::Native))),
                Some(name) => ipcost_peer::adapters::run(&name, &arguments),
            };
            Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Shell { lock, line } => ipcost_sys::whole_command::run(&line, lock)
            .map(ExitCode::from)
            .map_err(|error| Problem::failed(error.into())),
        Command::Guard => ipcost_lab::guard::run()
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| Problem::failed(error.into())),
    };
    result.unwrap_or_else(|problem| exit::report(&problem))
}
