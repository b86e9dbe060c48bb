//! The files that results are written to: those of a document, and those of a record that is none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use ipcost_report::formats::{FORMATS, Format};
use ipcost_report::picture::{Background, Chart};

fn charts() -> String {
    let names: Vec<&str> = Chart::ALL.iter().map(|chart| chart.name()).collect();
    format!(
        "What the picture shows: {}; ipcost help formats says what they are [default: cost; of app saving]",
        names.join(", ")
    )
}

/// Where a document goes.
#[derive(Debug, Clone, Default, Args)]
#[command(mut_arg("chart", |arg| arg.help(charts())))]
pub struct OutputArgs {
    /// Show everything on the terminal: rates, processor time and percentiles, and the details of an answer
    #[arg(long, alias = "wide")]
    pub details: bool,
    /// Write the document, with every sample, as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a picture as SVG; - is standard output
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a picture as PNG; - is standard output
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
    // Its help lists every chart.
    #[arg(long, value_name = "CHART")]
    pub chart: Option<Chart>,
    /// Background of the picture: white, transparent [default: white]
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

/// The files of the formats that are text, by flag: those of documents, or of records that are none.
#[derive(Debug, Clone, Default)]
pub struct FormatFiles<const OF_RECORD: bool = true>(BTreeMap<&'static str, PathBuf>);

impl<const OF_RECORD: bool> FormatFiles<OF_RECORD> {
    fn formats() -> impl Iterator<Item = &'static Format> {
        FORMATS.iter().filter(|format| !OF_RECORD || format.of_record.is_some())
    }

    /// The file that was asked for in a format.
    pub fn get(&self, flag: &str) -> Option<&Path> {
        self.0.get(flag).map(PathBuf::as_path)
    }

    /// All that were asked for, in the order of the formats.
    pub fn each(&self) -> impl Iterator<Item = (&'static Format, &Path)> {
        Self::formats().filter_map(|format| Some((format, self.get(format.flag)?)))
    }
}

impl<const OF_RECORD: bool> FromArgMatches for FormatFiles<OF_RECORD> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let file = |format: &Format| matches.get_one::<PathBuf>(format.flag).cloned();
        Ok(Self(Self::formats().filter_map(|format| Some((format.flag, file(format)?))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<const OF_RECORD: bool> Args for FormatFiles<OF_RECORD> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::formats().map(|format| {
            let help = format.of_record.filter(|_| OF_RECORD).unwrap_or(format.help);
            let arg = Arg::new(format.flag).long(format.flag).value_name("FILE").help(help);
            let arg = arg.value_parser(value_parser!(PathBuf));
            if format.is_table && !OF_RECORD { arg.help_heading(TABLES) } else { arg }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Where a record goes that is no document and has no picture.
#[derive(Debug, Clone, Default, Args)]
pub struct TextFiles {
    /// Write the result as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub formats: FormatFiles,
}

/// Where a record goes that is no document.
#[derive(Debug, Clone, Default, Args)]
pub struct RecordFiles {
    #[command(flatten)]
    pub texts: TextFiles,
    /// Draw the result as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// The same as PNG
    #[arg(long, value_name = "FILE")]
    pub png: Option<PathBuf>,
}

impl RecordFiles {
    /// Texts alone.
    pub fn without_pictures(texts: &TextFiles) -> Self {
        Self { texts: texts.clone(), ..Self::default() }
    }

    /// Those of a document that a record has, too.
    pub fn of(outputs: &OutputArgs) -> anyhow::Result<Self> {
        let OutputArgs { json, formats, svg, png, .. } = outputs.clone();
        if let Some((format, _)) = formats.each().find(|(format, _)| format.of_record.is_none()) {
            bail!(
                "nothing was measured by this command, and --{} is about cells that were; leave it out",
                format.flag
            );
        }
        Ok(Self { texts: TextFiles { json, formats: FormatFiles(formats.0) }, svg, png })
    }

    /// The files that were asked for.
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        let files = [&self.texts.json, &self.svg, &self.png].into_iter().flatten().map(PathBuf::as_path);
        files.chain(self.texts.formats.each().map(|(_, path)| path))
    }

    /// Whether a picture is among them.
    pub fn draws(&self) -> bool {
        self.svg.is_some() || self.png.is_some()
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
