//! The outputs of a document, for every command that has one.

use std::path::{Path, PathBuf};

use clap::Args;
use ipcost_report::formats::FORMATS;
use ipcost_report::picture::{Background, Chart};

use super::FormatFiles;

#[derive(Debug, Clone, Default, Args)]
pub struct OutputArgs {
    /// Show everything on the terminal: rates, processor time and percentiles, and the details of an answer
    #[arg(long, visible_alias = "details")]
    pub wide: bool,
    /// Write the document, with every sample, as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a picture as SVG; - is standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a picture as PNG; - is standard output
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    /// What the picture shows: cost, size, forest, throughput, layout, cheapest, claims, saving; ipcost help formats says what they are
    /// [default: cost; of app saving]
    #[arg(long, value_name = "CHART")]
    pub chart: Option<Chart>,
    /// What lies behind the picture: white, transparent [default: white]
    #[arg(long, value_name = "KIND")]
    pub background: Option<Background>,
    #[command(flatten)]
    pub formats: FormatFiles<false>,
    /// With --csv: one row a sample, that is, a timed batch
    #[arg(long, requires = "csv", help_heading = TABLES)]
    pub samples: bool,
}

impl OutputArgs {
    /// The files that were asked for.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let files = [&self.json, &self.svg, &self.png].into_iter().flatten().map(PathBuf::as_path);
        files.chain(self.formats.each().map(|(_, path)| path))
    }
}

/// The outputs that only a document fills, by their flags.
pub fn of_documents() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.flag).chain(["svg", "png"])
}

/// The heading of tables in help.
pub const TABLES: &str = "Tables (- is standard output)";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use clap::{Command, FromArgMatches};

    #[test]
    fn every_output_is_among_the_files() {
        let command = OutputArgs::augment_args(Command::new("ipcost"));
        let of = |arg: &clap::Arg| arg.get_value_names().is_some_and(|names| names == ["FILE"]);
        let names: Vec<String> =
            command.get_arguments().filter(|arg| of(arg)).map(|arg| arg.get_id().to_string()).collect();
        for name in &names {
            let line = ["ipcost".to_owned(), format!("--{name}"), "file".to_owned()];
            let matches = command.clone().try_get_matches_from(line).unwrap();
            let args = OutputArgs::from_arg_matches(&matches).unwrap();
            assert!(args.files().eq([Path::new("file")]), "{name}");
        }
        let but_json: BTreeSet<&str> =
            names.iter().map(String::as_str).filter(|name| *name != "json").collect();
        assert_eq!(but_json, of_documents().collect());
    }
}
