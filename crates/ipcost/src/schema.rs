//! `ipcost schema`: what documents look like, for programs that read them.

use std::path::Path;
use std::process::ExitCode;

use ipcost_features::schema::schema;

use crate::args::SchemaArgs;
use crate::exit::Problem;
use crate::output::write_text;

/// Prints a JSON Schema.
pub fn run(args: &SchemaArgs) -> Result<ExitCode, Problem> {
    write_text(schema(args.of), Path::new("-")).map_err(Problem::failed)?;
    Ok(ExitCode::SUCCESS)
}
