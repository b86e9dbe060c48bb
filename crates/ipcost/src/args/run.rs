//! What `ipcost run` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ipcost_features::FeatureError;
use ipcost_features::history::check_run_name;
use ipcost_model::LatencyMode;
use ipcost_model::units::parse_duration;

use super::output::of_documents;
use super::{CellArgs, Common, MeasuringArgs};

const HOW: &str = "How to measure";
const OUTPUT: &str = "Output";

#[derive(Debug, Default, Args)]
#[command(
    mut_arg("wait", |arg| arg.help_heading(HOW)),
    mut_arg("budget", |arg| arg.help("How long the run may take; it ends earlier once every question is answered [default: 45s, 30s for a single placement, or what the first intervals take]")),
    after_help = "ipcost help transports, peers, options or formats lists what these flags take.\n\nExit status: 0 done, 1 failed, 2 wrong usage (nothing was measured), 130 interrupted (what was measured is shown)."
)]
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
    pub measuring: MeasuringArgs,
    /// How long a timed batch lasts, such as 20ms or 1s [default: 10 to 200 ms, by what narrows the intervals most]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = HOW)]
    pub batch: Option<Duration>,
    /// Also measure this machine's minimum for each part of a cell, and show costs as multiples of it
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

    /// Name the run, so that it is found again by NAME wherever a RUN is taken
    #[arg(long, value_name = "NAME", value_parser = parse_name, conflicts_with = "no_save", help_heading = OUTPUT)]
    pub name: Option<String>,
    /// Start the commands that a job file names without asking
    #[arg(long, short, help_heading = HOW)]
    pub yes: bool,
    /// Show what would run, with --json FILE as JSON, and measure nothing
    #[arg(long, conflicts_with_all = of_documents(), help_heading = OUTPUT)]
    pub plan: bool,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub common: Common,
}

pub(super) fn parse_name(name: &str) -> Result<String, FeatureError> {
    check_run_name(name).map(|()| name.to_owned())
}
