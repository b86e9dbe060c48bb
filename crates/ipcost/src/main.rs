//! `ipcost`: what local inter-process communication costs, how sure that is, and why.

mod args;
mod conformance;
mod documents;
mod exit;
mod job;
mod output;
mod peers;
mod progress;
mod replicate;
mod report;
mod run;
mod schema;
mod selftest;
mod tables;

use std::process::ExitCode;

use args::{Command, parse};
use exit::Problem;

fn main() -> ExitCode {
    let cli = match parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let result = match cli.command.unwrap_or_default() {
        Command::Run(args) => run::run(*args),
        Command::Report(args) => report::run(&args),
        Command::Replicate(args) => replicate::run(&args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Hog => selftest::hog(),
        Command::Conformance(args) => conformance::run(&args),
        Command::Peer => Ok(if ipcost_peer::run() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        Command::Guard => ipcost_engine::guard::stand()
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| Problem::failed(error.into())),
    };
    result.unwrap_or_else(|problem| exit::report(&problem))
}
