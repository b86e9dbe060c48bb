//! `ipcost sweep cores`: what it costs where two processes run.

use std::process::ExitCode;

use anyhow::ensure;
use ipcost_features::answer::answered;
use ipcost_features::sweep::{CORES_SCHEMA, CoreSweep};
use ipcost_lab::Lab;
use ipcost_lab::lab::fresh_seed;
use ipcost_model::{Job, Matrix, OptionLists, OptionName, OptionValue, Size};
use ipcost_sys::relations::{Relation, distinct};

use super::ended;
use crate::args::CoreSweepArgs;
use crate::exit::{Problem, teller};
use crate::history;
use crate::output::{Showing, is_standard_output, show, write_json};
use crate::run::{Finished, carry_out, listen};

/// Measures every transport over every relation of two processors that this machine has, in the same rounds.
///
/// # Errors
/// What is wrong with the arguments, or what failed.
pub fn run(args: &CoreSweepArgs) -> Result<ExitCode, Problem> {
    let relations = distinct();
    let job = job(args, &relations).map_err(Problem::usage)?;
    let lab = Lab::open(&job, &mut teller(args.quiet))?;
    let plan = lab.plan_job(&job, fresh_seed())?;
    let Finished { document, failure } = carry_out(&lab, &job, plan, &listen()?, args.quiet)?;
    let sweep = CoreSweep {
        schema: CORES_SCHEMA.to_owned(),
        relations: relations.iter().map(|(relation, _)| relation.words()).collect(),
        document,
    };
    let document = answered(sweep.document.clone(), &sweep);
    let document = args.redacting.apply_to_document(document)?;
    if document.schedule.epochs > 0 {
        if let Some(path) = &args.json {
            write_json(&document, path).map_err(Problem::failed)?;
        }
        if !args.json.as_deref().is_some_and(is_standard_output) {
            show(&document, Showing { wide: false, quiet: args.quiet, texts: "--json FILE" })
                .map_err(Problem::failed)?;
        }
    }
    let stopped = document.stopped;
    history::keep_answer(document, args.saving, args.quiet);
    ended(failure, stopped)
}

fn job(args: &CoreSweepArgs, relations: &[(Relation, (usize, usize))]) -> anyhow::Result<Job> {
    ensure!(
        relations.len() > 1,
        "this program may use one processor only, so there is nothing to compare; give it more (taskset, cpuset)"
    );
    let mut cells = Vec::new();
    for (relation, (client_cpu, server_cpu)) in relations {
        for transport in &args.transports {
            let mut options = OptionLists::default();
            for (name, cpu) in [("client_cpu", client_cpu), ("server_cpu", server_cpu)] {
                let name = OptionName::find(name).map_err(anyhow::Error::msg)?;
                options.0.entry(name).or_default().push(OptionValue::Int(*cpu as u64));
            }
            cells.push(Matrix {
                label: Some(format!("{transport}, {}", relation.words())),
                pattern: args.patterns.clone().into(),
                transport: vec![transport.clone()].into(),
                size: args.sizes.iter().copied().map(Size).collect::<Vec<_>>().into(),
                client: vec![args.client.clone()].into(),
                server: vec![args.server.clone()].into(),
                options,
                ..Matrix::default()
            });
        }
    }
    // The closest relation of the last transport is what the rest is seen against.
    let baseline = args.transports.last().map(|transport| format!("{transport}, {}", relations[0].0.words()));
    Ok(Job {
        cells,
        baseline,
        budget: Some(args.budget),
        epochs: args.epochs,
        seed: args.seed,
        ..Job::default()
    })
}
