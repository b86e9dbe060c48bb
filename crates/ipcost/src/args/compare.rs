//! What `ipcost compare` takes.

use clap::Args;
use ipcost_model::Metric;
use ipcost_model::units::parse_proportion;

use super::RecordFiles;
use crate::redact::Redacting;

#[derive(Debug, Args)]
#[command(
    override_usage = "ipcost compare [OPTIONS] A B\n       ipcost compare [OPTIONS] A1 A2 A3 -- B1 B2 B3",
    after_long_help = "Three runs or more a side show how much runs of one build differ; alternate A and B.\n\nExit status: 0 done, 1 --fail-on holds or something failed, 2 wrong usage."
)]
pub struct CompareArgs {
    /// Documents of side A, what is compared with; and, if it is only one, that of side B
    #[arg(value_name = "RUN")]
    pub a: Vec<String>,
    /// Documents of side B, what is compared
    #[arg(value_name = "RUN", last = true)]
    pub b: Vec<String>,
    /// What is compared: wall, cpu
    #[arg(long, value_name = "METRIC", default_value = "wall")]
    pub metric: Metric,
    /// The relative change that matters
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion, default_value = "5%")]
    pub margin: f64,
    /// How much runs of one build differ here (standard deviation), where fewer than three runs a side tell it; without this,
    /// from saved runs of the same job on this host, or 5%
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion)]
    pub run_to_run: Option<f64>,
    /// Show every group and every cell, also those that are open
    #[arg(long)]
    pub details: bool,
    /// Exit with status 1 if a cell, a group of cells or everything is known to cost more on side B by more than this
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion)]
    pub fail_on: Option<f64>,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub files: RecordFiles,
    #[command(flatten)]
    pub redacting: Redacting,
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::super::help::whole_table;

    /// Every command below this one, with its words.
    fn all(command: &Command, words: &str) -> Vec<(String, Command)> {
        let below =
            command.get_subcommands().flat_map(|below| all(below, &format!("{words} {}", below.get_name())));
        [(words.to_owned(), command.clone())].into_iter().chain(below).collect()
    }

    #[test]
    fn quiet_means_the_same_in_every_command() {
        let mut quiet = Vec::new();
        for (words, command) in all(&whole_table(), "ipcost") {
            let Some(arg) = command.get_arguments().find(|arg| arg.get_id() == "quiet") else { continue };
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Show neither progress nor warnings"), "{words}: {help}");
            assert_eq!(arg.get_short(), Some('q'), "{words}");
            quiet.push(words);
        }
        for name in ["run", "app", "compare", "doctor", "explain", "fleet", "selftest", "show"] {
            assert!(quiet.contains(&format!("ipcost {name}")), "{name}: {quiet:?}");
        }
    }
}
