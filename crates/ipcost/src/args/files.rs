//! Where outputs go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use ipcost_report::formats::{FORMATS, Format};

use super::OutputArgs;

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
            if format.is_table && !OF_RECORD { arg.help_heading(super::output::TABLES) } else { arg }
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
