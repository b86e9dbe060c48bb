//! `ipcost resume`: go on with a run that was killed.

use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::{anyhow, ensure};
use ipcost_engine::{ProcessBench, System, resume};
use ipcost_model::{Begun, NATIVE, Resumed};

use crate::args::ResumeArgs;
use crate::exit::{Problem, note, problem};
use crate::here;
use crate::history;
use crate::outputs;
use crate::peers::{self, Peers};
use crate::run::{Outputs, Recorder, about, finish, finished, listen, now};

/// Goes on with it: the same seed, orders and operation counts, in what is left of its budget.
///
/// # Errors
/// That there is no such run, that the machine or the program is another one, or what failed.
pub fn run(args: &ResumeArgs) -> Result<ExitCode, Problem> {
    let outputs = Outputs { files: &args.outputs, redacting: args.redacting, save: true, quiet: args.quiet };
    outputs::check(&args.outputs).map_err(Problem::usage)?;
    let (mut file, samples) = history::reopen(&args.run).map_err(Problem::usage)?;
    let begun = &samples.begun;
    let name = begun.name.clone();
    let now_here = about(&begun.job, begun.plan.seed);
    history::check_same(begun, &now_here).map_err(Problem::usage)?;
    let peers = peers::prepare(&begun.job, args.quiet);
    check_peers(begun, &peers).map_err(Problem::usage)?;
    here::check(&begun.plan).map_err(Problem::usage)?;
    let interrupt = listen()?;
    let resumed = Resumed { at: now(SystemTime::now()), after_epoch: samples.epochs.len() as u32 };
    if !args.quiet {
        note(&format!("run {} goes on after epoch {}", begun.id, resumed.after_epoch));
    }
    file.resumed(&resumed);

    let about = ipcost_engine::About { host: begun.host.clone(), started: begun.started.clone(), ..now_here };
    let programs = peers::with_native(peers.programs).map_err(Problem::failed)?;
    let guard = peers::own_command("guard").map_err(Problem::failed)?;
    let mut bench = ProcessBench::new(&begun.plan, programs, &guard, interrupt).map_err(problem)?;
    let mut recorder = Recorder::new(args.quiet, about.clone(), Some(file));
    let outcome = resume(samples, resumed, &mut bench, &mut System::default(), &mut recorder);
    drop(bench);
    let (finished, file) = finished(outcome, about, name, recorder);
    finish(&outputs, finished, file)
}

/// Whether every peer that the plan counts on can still be used.
fn check_peers(begun: &Begun, peers: &Peers) -> anyhow::Result<()> {
    let cells = begun.plan.measurable().map(|index| &begun.plan.cells[index]);
    for name in cells.flat_map(|cell| [&cell.client, &cell.server]) {
        let known = name == NATIVE || peers.programs.iter().any(|program| program.name == *name);
        let reason = peers.states.iter().find(|state| state.name == *name);
        let reason = reason.and_then(|state| state.unavailable.clone());
        ensure!(
            known,
            anyhow!(
                "peer {name} cannot be used any more: {}; make it available again, then resume",
                reason.unwrap_or_else(|| "it is not known".to_owned())
            )
        );
    }
    Ok(())
}
