//! What `ipcost run` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ipcost_features::history::check_run_name;
use ipcost_model::units::parse_duration;
use ipcost_model::{CATALOGUE, Capabilities, LatencyMode, NATIVE, OptionGroup, TransportState};
use ipcost_sys::OS;
use ipcost_sys::transport;

use super::output::OF_DOCUMENTS;
use super::{CellArgs, Measuring, OutputArgs, Waiting};
use crate::redact::Redacting;

const HOW: &str = "How to measure";
const OUTPUT: &str = "Output";

#[derive(Debug, Default, Args)]
#[command(mut_arg("budget", |arg| arg.help("How long the run may take; it ends earlier once every question is answered [default: 45s; 30s for a single placement]")))]
// Only where it is asked for: transports are probed for it, which every start of the program, and so of every peer, would pay.
#[command(defer(|command: clap::Command| command.after_long_help(after_help())))]
pub struct RunArgs {
    /// A job file (TOML); without it and without flags for cells, the default suite runs
    #[arg(value_name = "JOB.toml", conflicts_with = "CellArgs")]
    pub job: Option<PathBuf>,

    #[command(flatten)]
    pub cells: CellArgs,

    /// A peer of your own, by the command that starts it; it goes before a built-in one of that name
    #[arg(long = "peer", value_name = "NAME=COMMAND", help_heading = HOW)]
    pub peers: Vec<String>,
    /// What the others are compared with: a transport, a peer, a label or a cell's id [default: tcp]
    #[arg(long, value_name = "NAME", help_heading = HOW)]
    pub baseline: Option<String>,
    #[command(flatten, next_help_heading = HOW)]
    pub measuring: Measuring,
    /// How long a timed batch lasts, such as 20ms or 1s [default: 10 to 200 ms, by what narrows the intervals most]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = HOW)]
    pub batch: Option<Duration>,
    /// Measure the least that the parts of every cell cost here, in the same rounds, and show costs as multiples of it
    #[arg(long, help_heading = HOW)]
    pub floor: bool,
    /// Measure every cell to the end, also those whose questions are answered
    #[arg(long, help_heading = HOW)]
    pub keep_all: bool,
    /// How latency is sampled: tail, lead-in, inline, off [default: tail]
    #[arg(long, value_name = "HOW", help_heading = HOW)]
    pub latency: Option<LatencyMode>,
    /// Kill a peer that takes longer than this to answer [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = HOW)]
    pub timeout: Option<Duration>,

    #[command(flatten, next_help_heading = HOW)]
    pub waiting: Waiting,

    #[command(flatten, next_help_heading = OUTPUT)]
    pub outputs: OutputArgs,
    /// Name the run, so that it is found again by NAME wherever a RUN is taken
    #[arg(long, value_name = "NAME", value_parser = parse_name, conflicts_with = "no_save", help_heading = OUTPUT)]
    pub name: Option<String>,
    /// Save the run, so that list and show find it again; that is the default
    #[arg(long, overrides_with = "no_save", help_heading = OUTPUT)]
    pub save: bool,
    /// Do not save the run
    #[arg(long, help_heading = OUTPUT)]
    pub no_save: bool,
    /// Start the commands that a job file names without asking
    #[arg(long, short, help_heading = HOW)]
    pub yes: bool,
    /// Show what would run, with --json FILE as JSON, and measure nothing
    #[arg(long, conflicts_with_all = OF_DOCUMENTS, help_heading = OUTPUT)]
    pub plan: bool,
    /// Show neither progress nor warnings
    #[arg(long, short, help_heading = OUTPUT)]
    pub quiet: bool,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub redacting: Redacting,
}

pub(super) fn parse_name(name: &str) -> Result<String, String> {
    check_run_name(name).map(|()| name.to_owned())
}

/// The registry and the catalogue, so that help never lags behind them.
fn after_help() -> String {
    // Not those that exist on other systems alone.
    let here = |state: &TransportState| state.capabilities.exists_on(OS);
    let states: Vec<TransportState> = transport::states().into_iter().filter(here).collect();
    let known: Vec<&Capabilities> = states.iter().map(|state| state.capabilities).collect();
    let (floors, moving): (Vec<_>, Vec<_>) =
        states.into_iter().partition(|state| state.capabilities.floor.is_some());
    let mut text = format!(
        "Transports:\n{}\nFloors (--floor measures those it needs; alone: --patterns floor --transports NAME):\n{}",
        list(moving),
        list(floors)
    );
    text.push_str("\nPeers (--client NAME, --server NAME), and the Debian packages that they need:\n");
    text.push_str(&format!("  {NATIVE}\n      the built-in one, which every peer is measured against\n"));
    for peer in ipcost_foreign::all() {
        let packages = match peer.packages {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        text.push_str(&format!("  {}{packages}\n      {}\n", peer.name, peer.summary));
    }
    text.push_str("\nOptions of cells (--option KEY=VALUE):\n");
    for spec in CATALOGUE {
        let patterns: Vec<&str> = spec.patterns.iter().map(|pattern| pattern.name()).collect();
        let over = match spec.group {
            OptionGroup::Loop | OptionGroup::Place | OptionGroup::Buffers | OptionGroup::Memory => {
                String::new()
            }
            group => {
                let acts = known.iter().filter(|known| known.option_groups.contains(&group));
                let names: Vec<&str> = acts.map(|known| known.name).collect();
                format!(" over {}", names.join(", "))
            }
        };
        let acts_on = format!("{}{over}", patterns.join(", "));
        text.push_str(&format!(
            "  {} ({acts_on}; default: {})\n      {}\n",
            spec.name, spec.default, spec.summary
        ));
    }
    text.push_str(
        "\nExit status: 0 done, 1 failed, 2 wrong usage (nothing was measured), 130 interrupted (what was measured is shown).",
    );
    text
}

/// A line each.
fn list(states: Vec<TransportState>) -> String {
    let line = |state: TransportState| {
        let note = state.unavailable.map_or(String::new(), |reason| format!(" (unavailable here: {reason})"));
        format!("  {:<16}{}{note}\n", state.capabilities.name, state.capabilities.summary)
    };
    states.into_iter().map(line).collect()
}
