//! `ipcost`: what local inter-process communication costs, how sure that is, and why.

// Whatever is printed goes through `output`, which escapes texts of others.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod ab;
mod app;
mod args;
mod build;
mod check;
mod commands;
mod compare;
mod conformance;
mod consent;
mod doctor;
mod document_outputs;
mod documents;
mod exit;
mod explain;
mod finish;
mod fleet;
mod history;
mod job;
mod load;
mod many;
mod measuring;
mod output;
mod progress;
mod record_outputs;
mod redact;
mod replicate;
mod resume;
mod run;
mod schema;
mod search;
mod selftest;
mod shell;
mod show;
mod sweep;
mod watch;

use std::process::ExitCode;

use args::parse;

fn main() -> ExitCode {
    ipcost_lab::lab::set_tool(build::tool());
    let cli = match parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(exit) => return exit,
    };
    let result = cli.command.unwrap_or_default().run();
    result.unwrap_or_else(|problem| exit::report(&problem))
}
