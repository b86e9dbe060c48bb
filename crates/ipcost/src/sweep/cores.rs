//! `ipcost sweep cores`: what it costs where two processes run.

use std::process::ExitCode;

use anyhow::ensure;
use ipcost_features::sweep::{CORES_SCHEMA, CoreSweep, PairOfProcessors};
use ipcost_model::{Job, Matrix, OptionLists, OptionName, OptionValue, Size};
use ipcost_sys::relations::{Relation, distinct};

use super::{USUAL, run_one};
use crate::args::CoreSweepArgs;
use crate::exit::Problem;

/// Measures every transport over every relation of two processors that this machine has, in the same rounds.
pub fn run(args: &CoreSweepArgs) -> Result<ExitCode, Problem> {
    let relations = distinct();
    let job = job(args, &relations).map_err(Problem::usage)?;
    let relations = relations
        .iter()
        .map(|(relation, (client, server))| PairOfProcessors {
            relation: relation.words(),
            client_cpu: *client as u64,
            server_cpu: *server as u64,
        })
        .collect();
    let sweep = CoreSweep { schema: CORES_SCHEMA.to_owned(), relations };
    run_one(&args.run, job, USUAL, &sweep)
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
                let name = OptionName::find(name)?;
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
    Ok(args.run.measuring.over(Job { cells, baseline, ..Job::default() }))
}
