//! `ipcost doctor`: what this machine has, how it bends results, and the remedies.

use std::io::IsTerminal;
use std::process::ExitCode;

use ipcost_features::doctor::examination;
use ipcost_features::doctor::words::render;

use crate::args::DoctorArgs;
use crate::exit::Problem;
use crate::output::{is_standard_output, print, room, tell, write_pretty};
use crate::run::meet_others;

/// Examines the machine and shows what is found.
///
/// # Errors
/// What cannot be written; what cannot be looked at is no error.
pub fn run(args: &DoctorArgs) -> Result<ExitCode, Problem> {
    if !args.look_only {
        // A signal ends it at once.
        meet_others(false, args.waiting, &|| false)?;
    }
    let told = |text: &str| tell(&format!("{text}\n"));
    let quietly = |_: &str| ();
    let measuring: &dyn Fn(&str) = if std::io::stderr().is_terminal() { &told } else { &quietly };
    let measuring = Some(measuring).filter(|_| !args.look_only);
    let examination = args.redacting.apply(examination(args.window, measuring))?;
    if let Some(path) = &args.json {
        write_pretty(&examination, path).map_err(Problem::failed)?;
    }
    if !args.json.as_deref().is_some_and(is_standard_output) {
        print(&render(&examination, args.all, room())).map_err(Problem::failed)?;
    }
    Ok(ExitCode::SUCCESS)
}
