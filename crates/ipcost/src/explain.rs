//! `ipcost explain`: where the time of cells goes, and what makes the difference between them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use ipcost_features::answer::answered;
use ipcost_features::explain::{Examined, ExplainRequest, PairSeen, examine, explain_pair, prepare};
use ipcost_features::watch::{CLOSELY, Party, WatchError, WhatIf, look_closely};
use ipcost_lab::Lab;
use ipcost_model::units::duration_text;
use ipcost_model::{Job, Matrix, parse_cell_id};
use ipcost_sys::OS;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::process::is_running;
use ipcost_sys::transport;

use crate::args::ExplainArgs;
use crate::exit::{Problem, note, step_printer};
use crate::finish::{Finished, OwnOutput, RunOutputs, finish};
use crate::job::{exact_job as job_of, place_as_usual};
use crate::measuring::begin_measuring;
use crate::output::{is_standard_output, write_text};
use crate::progress::ProgressLine;

/// Explains what the arguments ask about.
pub fn run(args: &ExplainArgs) -> Result<ExitCode, Problem> {
    let outputs = RunOutputs::of(&args.common);
    outputs.check(args.flame.as_deref()).map_err(Problem::usage)?;
    if !args.pid.is_empty() {
        return running(args, &outputs);
    }
    let asked = request(args).map_err(Problem::usage)?;
    let lab = Lab::open(&asked.job, &mut step_printer(args.common.quiet))?;
    explained(
        &asked,
        &lab,
        &begin_measuring(args.common.quiet, args.common.waiting)?,
        &outputs,
        args.flame.as_deref(),
    )
}

/// Explains what two programs that run call for a request, against native peers with the same sizes and pace.
fn running(args: &ExplainArgs, outputs: &RunOutputs<'_>) -> Result<ExitCode, Problem> {
    let (a, b) = match *args.pid.as_slice() {
        [a, b] if a != b => (a, b),
        _ => {
            return Err(Problem::usage(anyhow!(
                "--pid takes two processes, such as --pid 4711,4712; ipcost watch shows who talks to whom"
            )));
        }
    };
    // Elsewhere no process can be looked at, and the observer says so.
    if let Some(gone) = [a, b].into_iter().find(|pid| OS == "linux" && !is_running(*pid)) {
        return Err(Problem::usage(WatchError::NoProcess(gone).into()));
    }
    let flags = job_of(&args.as_run(None), &transport::states()).map_err(Problem::usage)?;
    let interrupt = begin_measuring(args.common.quiet, args.common.waiting)?;
    if !args.common.quiet {
        note(&format!("looking at both for {}", duration_text(CLOSELY)));
    }
    // Not even a quiet run makes a program slower in silence.
    let pair = look_closely((a, b), &interrupt, &mut |text| note(text));
    let pair = pair.map_err(|error| Problem::usage(error.into()))?;
    let what_if = WhatIf::of(&pair.figures, &[]).map_err(|error| Problem::usage(error.into()))?;
    what_if.notes.iter().filter(|_| !args.common.quiet).for_each(|text| note(text));
    // Only the way they talk now: a connection for each request, or one that is kept.
    let cells = what_if.job.cells.into_iter().take(1).collect();
    let asked = ExplainRequest {
        job: Job { cells, ..flags },
        by_id: false,
        floor: false,
        flame: false,
        trial: false,
        seed: args.measuring.seed,
    };
    let lab = Lab::open(&asked.job, &mut step_printer(args.common.quiet))?;
    let Examined { explanation, document, .. } = examined(&asked, &lab, &interrupt, args.common.quiet)?;
    let shown = |side: &Party| side.pid.filter(|_| !args.common.redacting.redact);
    let name =
        |side: &Party| shown(side).map_or_else(|| side.name.clone(), |pid| format!("{} {pid}", side.name));
    let seen = PairSeen {
        names: [name(&pair.figures.client), name(&pair.figures.server)],
        calls: pair.calls,
        requests: pair.requests,
        round_trip_ns: pair.figures.waits_ns(),
    };
    let explanation = explain_pair(&seen, explanation);
    let document = answered(document, &explanation);
    finish(outputs, Finished { document, failure: failure(explanation.failure), samples: None }, None)
}

/// Measures, looks at what the cells do, and tells.
pub fn explained(
    asked: &ExplainRequest,
    lab: &Lab,
    interrupt: &Interrupt,
    outputs: &RunOutputs<'_>,
    flame: Option<&Path>,
) -> Result<ExitCode, Problem> {
    let quiet = outputs.quiet;
    let Examined { explanation, document, flames } = examined(asked, lab, interrupt, quiet)?;
    let own = flame.map(|path| OwnOutput {
        path: Some(path),
        write: Box::new(move |_| {
            write_flames(path, &outputs.redacting.apply(flames.clone())?, quiet).map_err(Problem::failed)
        }),
    });
    finish(outputs, Finished { document, failure: failure(explanation.failure), samples: None }, own)
}

/// Measures and looks at what the cells do.
fn examined(
    asked: &ExplainRequest,
    lab: &Lab,
    interrupt: &Interrupt,
    quiet: bool,
) -> Result<Examined, Problem> {
    let (job, plan, question) = prepare(asked, lab)?;
    if !quiet {
        plan.notes.iter().for_each(|text| note(text));
    }
    Ok(examine(asked, (&job, plan, &question), lab, interrupt, &mut ProgressLine::new(quiet))?)
}

fn failure(text: Option<String>) -> Option<Problem> {
    text.map(|text| Problem::failed(anyhow!("{text}")))
}

/// The first picture gets the name given, and the others that with a number.
fn write_flames(path: &Path, flames: &[(String, String)], quiet: bool) -> anyhow::Result<()> {
    for (index, (cells, picture)) in flames.iter().enumerate() {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let ending =
            path.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
        let place = match index {
            0 => path.to_owned(),
            index => path.with_file_name(format!("{stem}-{}{ending}", index + 1)),
        };
        let place = place.as_path();
        write_text(picture, place)?;
        if !quiet && !is_standard_output(place) {
            note(&format!("{} is the flame graph of {cells}", place.display()));
        }
    }
    Ok(())
}

fn request(args: &ExplainArgs) -> anyhow::Result<ExplainRequest> {
    let transports = transport::states();
    let request = |job: Job, by_id| ExplainRequest {
        job,
        by_id,
        floor: !args.no_floor,
        flame: args.flame.is_some(),
        trial: args.trial || !args.no_try && args.measuring.epochs.is_none(),
        seed: args.measuring.seed,
    };
    let is_file = |name: &str| name.ends_with(".toml");
    match args.cells.as_slice() {
        [] if !args.matrix.is_empty() => Ok(request(job_of(&args.as_run(None), &transports)?, false)),
        [] => bail!(
            "explain takes one cell or two, such as ipcost explain rr/tcp/64/c1 rr/unix/64/c1; or a job file, or flags for cells as ipcost run does"
        ),
        [file] if is_file(file) => {
            Ok(request(job_of(&args.as_run(Some(PathBuf::from(file))), &transports)?, false))
        }
        ids => {
            if let Some(file) = ids.iter().find(|id| is_file(id)) {
                bail!("{file} is a job file, and a job stands alone: give either one job file or two cells");
            }
            let mut cells = ids.iter().map(|id| parse_cell_id(id)).collect::<Result<Vec<_>, _>>()?;
            let patterns: Vec<_> = cells.iter().flat_map(|cell| cell.pattern.0.iter()).collect();
            if let Some((one, other)) =
                patterns.first().zip(patterns.iter().find(|other| **other != patterns[0]))
            {
                bail!(
                    "{one} and {other} count different operations, which cannot be compared; give two cells of one pattern"
                );
            }
            place_alike(&mut cells);
            // Flags that are not for cells hold here, too; without flags for cells, those would be the default suite.
            let flags = job_of(&args.as_run(None), &transports)?;
            Ok(request(Job { cells, ..flags }, true))
        }
    }
}

/// Where one cell says where it runs, the other runs there, too; where neither does, both run on one core and on two.
fn place_alike(cells: &mut [Matrix]) {
    let said = cells.iter().map(|cell| cell.placement.clone()).find(|placement| !placement.is_empty());
    if let Some(placement) = said {
        for cell in cells.iter_mut().filter(|cell| cell.placement.is_empty()) {
            cell.placement = placement.clone();
        }
    }
    place_as_usual(cells);
}
