//! `ipcost ab`: whether a setting, a library or a build changes anything.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use ipcost_model::{Arm, Arms, Job, NATIVE, check_peer_name};
use ipcost_sys::transport;

use crate::args::AbArgs;
use crate::exit::Problem;
use crate::job::job;
use crate::run::run_job;

/// Measures every cell in both arms.
pub fn run(args: AbArgs) -> Result<ExitCode, Problem> {
    let job =
        job(&args.run, &transport::states()).and_then(|job| in_arms(&args, job)).map_err(Problem::usage)?;
    run_job(&args.run, job)
}

/// A job with the arms of the command line, or with its own where that has none.
fn in_arms(args: &AbArgs, job: Job) -> anyhow::Result<Job> {
    let arm = |side: &str,
               command: &Option<String>,
               env: &[String],
               exec: &Option<String>,
               peers: &[String]| {
        anyhow::Ok(Arm {
            command: command.clone(),
            env: environment(env).with_context(|| format!("--{side}-env"))?,
            exec: exec.as_deref().map_or(Ok(Vec::new()), words).with_context(|| format!("--{side}-exec"))?,
            peers: commands(peers).with_context(|| format!("--{side}-peer"))?,
        })
    };
    let a = arm("a", &args.a, &args.a_env, &args.a_exec, &args.a_peer)?;
    let b = arm("b", &args.b, &args.b_env, &args.b_exec, &args.b_peer)?;
    let given = a != Arm::default() || b != Arm::default();
    let of_job = job.ab.clone().filter(|_| !given);
    let own = of_job.unwrap_or(Arms { a, b, ..Arms::default() });
    let arms = Arms {
        restore: args.restore.clone().or(own.restore),
        keep: if args.keep.is_empty() { own.keep } else { args.keep.clone() },
        settle: args.settle.or(own.settle),
        command_timeout: args.command_timeout.or(own.command_timeout),
        ..own
    };
    arms.check()?;
    ensure!(
        job.baseline.is_none(),
        "ab compares arm B with arm A, so it has no other baseline; leave it out"
    );
    Ok(Job { ab: Some(arms), ..job })
}

fn environment(flags: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let pair = |flag: &String| match flag.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => bail!("{flag}: write it as NAME=VALUE"),
    };
    flags.iter().map(pair).collect()
}

fn words(command: &str) -> anyhow::Result<Vec<String>> {
    match shlex::split(command) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => bail!("the command is empty; give a program"),
        None => bail!("the command has an unfinished quotation"),
    }
}

fn commands(flags: &[String]) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let command = |flag: &String| {
        // A command may have an equals sign, too.
        let named = flag.split_once('=').filter(|(name, _)| *name == NATIVE || check_peer_name(name).is_ok());
        let (name, command) = named.unwrap_or((NATIVE, flag));
        anyhow::Ok((name.to_owned(), words(command)?))
    };
    flags.iter().map(command).collect()
}
