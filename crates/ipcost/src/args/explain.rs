//! What `ipcost explain` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ipcost_model::units::parse_duration;

use super::{CellArgs, Common, MeasuringArgs, RunArgs};

/// One cell by its id: where its time goes. Two: what makes the difference. A job file or flags for cells: each cell
/// against the baseline of its table.
#[derive(Debug, Default, Args)]
#[command(
    mut_arg("budget", |arg| arg.help("How long the timed part may take; passes that are not timed come on top [default: 20s]")),
    override_usage = "ipcost explain [OPTIONS] CELL [CELL]\n       ipcost explain [OPTIONS] JOB.toml\n       ipcost explain [OPTIONS] --transports LIST --patterns LIST --sizes LIST\n       ipcost explain [OPTIONS] --pid CLIENT,SERVER",
    after_long_help = "A cell's id is what ipcost run --json and its warnings name it by, such as rr/tcp/64/c1, stream/pipe/65536/c1/pipe_size=4096 or rr/unix/64/c1/go→native (-> will do).\n\nExit status: 0 done, 1 failed (what is known of the cause is shown), 2 wrong usage (nothing was measured), 130 interrupted (what was measured is shown)."
)]
pub struct ExplainArgs {
    /// One cell or two by id, or a job file (TOML)
    #[arg(value_name = "CELL", num_args = 0..=2, conflicts_with = "CellArgs")]
    pub cells: Vec<String>,

    /// Two programs that run: what each calls for a request, against native peers with the same sizes and pace. strace is
    /// attached to both for a second
    #[arg(long, value_name = "CLIENT,SERVER", value_delimiter = ',', conflicts_with_all = ["cells", "CellArgs", "baseline", "peers", "flame", "trial"])]
    pub pid: Vec<u32>,

    /// What the others are compared with: a transport, a peer, a label or a cell's id [default: tcp]
    #[arg(long, value_name = "NAME", conflicts_with = "cells")]
    pub baseline: Option<String>,

    /// A peer of your own, by the command that starts it; it goes before a built-in one of that name
    #[arg(long = "peer", value_name = "NAME=COMMAND")]
    pub peers: Vec<String>,
    #[command(flatten)]
    pub measuring: MeasuringArgs,
    /// Kill a peer that takes longer than this to answer [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Draw a flame graph of both sides as SVG, the difference coloured; - is standard output
    #[arg(long, value_name = "FILE")]
    pub flame: Option<PathBuf>,
    /// Try each remedy that is an option of this program, 5 s each, and say what it brings: the default, unless --epochs is given
    #[arg(long = "try", conflicts_with = "no_try")]
    pub trial: bool,
    /// Try no remedy
    #[arg(long)]
    pub no_try: bool,
    /// Skip the floors, which are measured before and after
    #[arg(long)]
    pub no_floor: bool,
    /// Start the commands that a job file names without asking
    #[arg(long, short)]
    pub yes: bool,
    // What comes after these would stand under their headings.
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub matrix: CellArgs,
}

impl ExplainArgs {
    /// The same settings as `ipcost run` takes them, with a job file where one is given.
    pub fn as_run(&self, job: Option<PathBuf>) -> RunArgs {
        RunArgs {
            job,
            cells: self.matrix.clone(),
            peers: self.peers.clone(),
            baseline: self.baseline.clone(),
            measuring: self.measuring.clone(),
            timeout: self.timeout,
            common: Common { quiet: self.common.quiet, ..Common::default() },
            yes: self.yes,
            ..RunArgs::default()
        }
    }
}
