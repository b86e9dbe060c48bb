//! `ipcost doctor`: what this machine has, how it bends results, and the remedies.

use std::io::IsTerminal;
use std::process::ExitCode;

use ipcost_features::doctor::{examination, page};

use crate::args::{DoctorArgs, RecordFiles};
use crate::exit::Problem;
use crate::measuring::meet_others;
use crate::output::{print_error, room};
use crate::record_outputs;

/// Examines the machine and shows what is found.
pub fn run(args: &DoctorArgs) -> Result<ExitCode, Problem> {
    let files = RecordFiles::without_pictures(&args.files);
    record_outputs::check(&files).map_err(Problem::usage)?;
    if !args.look_only {
        // A signal ends it at once.
        meet_others(args.quiet, args.waiting, &|| false)?;
    }
    let told = |text: &str| print_error(&format!("{text}\n"));
    let quietly = |_: &str| ();
    let is_shown = !args.quiet && std::io::stderr().is_terminal();
    let measuring: &dyn Fn(&str) = if is_shown { &told } else { &quietly };
    let measuring = Some(measuring).filter(|_| !args.look_only);
    let examination = args.redacting.apply(examination(args.window, measuring))?;
    // Files may be shown to others, and the names of their processes are no business of theirs.
    let public = page(&examination.without_asides(), args.all);
    let terminal = || page(&examination, args.all).terminal(args.all, room());
    record_outputs::write_and_show(&examination, &files, &public, None, &terminal)?;
    Ok(ExitCode::SUCCESS)
}
