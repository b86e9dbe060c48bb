//! `ipcost conformance`: does a peer keep to the control protocol?

use std::process::ExitCode;

use anyhow::{Context, anyhow};
use ipcost_foreign::conformance::{ConformanceCheck, ConformanceFinding, ExaminedPeer, SuiteError, examine};
use ipcost_lab::lab::{command_of, own_command};
use ipcost_model::{NATIVE, unknown};

use crate::args::ConformanceArgs;
use crate::exit::{FAILED, INTERRUPTED, Problem, step_printer};
use crate::job::named_command;
use crate::measuring::listen;
use crate::output::print;

/// Examines the peer that the arguments name.
pub fn run(args: &ConformanceArgs) -> Result<ExitCode, Problem> {
    let subject = subject(args)?;
    let native = own_command("peer")?;
    let interrupt = listen()?;
    let mut show = |check: &ConformanceCheck| {
        if !args.quiet || matches!(check.finding, ConformanceFinding::Failed(_)) {
            // What is left to say is in the exit status.
            let _ = print(&format!("{check}\n"));
        }
    };
    let checks = match examine(&subject, &native, &args.only, &interrupt, &mut show) {
        Ok(checks) => checks,
        Err(SuiteError::Interrupted) => return Ok(ExitCode::from(INTERRUPTED)),
        Err(error) => return Err(Problem::failed(error.into())),
    };
    let count = |wanted: fn(&ConformanceFinding) -> bool| {
        checks.iter().filter(|check| wanted(&check.finding)).count()
    };
    let failed = count(|finding| matches!(finding, ConformanceFinding::Failed(_)));
    let passed = count(|finding| *finding == ConformanceFinding::Passed);
    let skipped = checks.len() - failed - passed;
    let summary = format!("{}: {passed} passed, {failed} failed, {skipped} skipped\n", subject.name);
    print(&summary).map_err(Problem::failed)?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn subject(args: &ConformanceArgs) -> Result<ExaminedPeer, Problem> {
    let only = args.size.zip(args.reply);
    let subject =
        |name: &str, command| ExaminedPeer { name: name.to_owned(), command, own_wire: args.own_wire, only };
    if args.peer.contains('=') {
        let (name, peer) = named_command(&args.peer).context(args.peer.clone()).map_err(Problem::usage)?;
        return Ok(subject(&name, peer.command));
    }
    if args.peer == NATIVE {
        return Ok(subject(NATIVE, own_command("peer")?));
    }
    let Some(built_in) = ipcost_foreign::find(&args.peer) else {
        let known = std::iter::once(NATIVE).chain(ipcost_foreign::all().map(|peer| peer.name));
        let unknown = unknown("peer", &args.peer, known);
        return Err(Problem::usage(anyhow!("{unknown}; give one of your own as NAME=COMMAND")));
    };
    let command = command_of(built_in, &mut step_printer(args.quiet))
        .with_context(|| format!("peer {}", built_in.name))
        .map_err(Problem::failed)?;
    Ok(ExaminedPeer {
        own_wire: args.own_wire || built_in.own_wire,
        only: only.or(built_in.only),
        ..subject(built_in.name, command)
    })
}
