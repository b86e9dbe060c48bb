//! `ipcost selftest`: how often the tool is wrong on this machine.

use std::process::ExitCode;
use std::time::Duration;

use indicatif::ProgressBar;
use ipcost_features::selftest::{Noise, Promise, SelfTestRequest, SelftestTally, page, run as measure};
use ipcost_model::units::duration_text;

use crate::args::{RecordFiles, SelfTestArgs};
use crate::exit::{FAILED, INTERRUPTED, Problem, UNDECIDED};
use crate::measuring::begin_measuring;
use crate::progress::bar;
use crate::record_outputs;

const STEPS: u64 = 1_000;
/// How long a self-test takes where the user does not say.
const DEFAULT_BUDGET: Duration = Duration::from_secs(180);

/// Tests the tool on this machine.
pub fn run(args: &SelfTestArgs) -> Result<ExitCode, Problem> {
    let files = RecordFiles::without_pictures(&args.files);
    record_outputs::check(&files).map_err(Problem::usage)?;
    let budget = args.budget.unwrap_or(DEFAULT_BUDGET);
    let request = SelfTestRequest { budget, noise: args.noise.unwrap_or(Noise::Quiet), seed: args.seed };
    let progress = bar(args.quiet, STEPS, "{msg}");
    let mut tell = |tally: &SelftestTally, elapsed| show_progress(&progress, tally, elapsed, budget);
    let interrupt = begin_measuring(args.quiet, args.waiting)?;
    let (test, interrupted) = measure(request, &interrupt, &mut tell)?;
    progress.finish_and_clear();
    let test = args.redacting.apply(test)?;
    record_outputs::write(&test, &files, &page(&test), None, false)?;
    Ok(match test.promise() {
        _ if interrupted => ExitCode::from(INTERRUPTED),
        Promise::Broken => ExitCode::from(FAILED),
        Promise::Undecided => ExitCode::from(UNDECIDED),
        Promise::Kept => ExitCode::SUCCESS,
    })
}

/// The early answer, drawn between campaigns only.
fn show_progress(bar: &ProgressBar, tally: &SelftestTally, elapsed: Duration, budget: Duration) {
    if bar.is_hidden() {
        return;
    }
    let (alarms, of) = tally.alarms();
    let found: Vec<String> = tally
        .detections()
        .iter()
        .map(|found| format!("{:.0} % {} of {}", found.slowdown * 100.0, found.found, found.of))
        .collect();
    let left = duration_text(budget.saturating_sub(elapsed));
    bar.set_position((elapsed.as_secs_f64() / budget.as_secs_f64() * STEPS as f64) as u64);
    bar.set_message(format!("false alarms {alarms} of {of}; found: {}; {left} left", found.join(", ")));
    bar.tick();
}
