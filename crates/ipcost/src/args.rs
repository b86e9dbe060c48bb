//! The command line as clap reads it; what it means is decided elsewhere.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use ipcost_model::units::{parse_duration, parse_proportion, parse_size};
use ipcost_model::{CATALOGUE, LatencyMode, NATIVE, Noise, OptionGroup, Pattern, Placement, SpeaksFirst};
use ipcost_sys::transport;

use crate::exit::{USAGE, complain};

/// Measures what local inter-process communication costs, how sure that is, and why.
///
/// Without a command it runs the default suite: a connection per request, small and large round trips, and
/// streams of small and large messages, over every usual local transport, in about half a minute.
#[derive(Debug, Parser)]
#[command(name = "ipcost", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure cells and compare them: the default suite, a matrix from flags, or a job file
    Run(Box<RunArgs>),
    /// Run published experiments again, with their kind of software, and decide their claims
    Replicate(ReplicateArgs),
    /// Test the tool on this machine: how often it is wrong, and how soon it is right
    Selftest(SelfTestArgs),
    /// Examine a peer: does it keep to the control protocol?
    Conformance(ConformanceArgs),
    /// Be the built-in peer: speak the control protocol on standard input and output
    Peer,
    /// Watch over a run and clean up should it be killed
    #[command(hide = true)]
    Guard,
    /// Take a processor in bursts
    #[command(hide = true)]
    Hog,
}

/// What `ipcost conformance` takes.
#[derive(Debug, Args)]
pub struct ConformanceArgs {
    /// A built-in peer, or one of your own by the command that starts it
    #[arg(value_name = "NAME[=COMMAND]")]
    pub peer: String,
    /// It carries messages of this size only [default: any]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "reply")]
    pub size: Option<u64>,
    /// It answers with messages of this size only [default: any]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "size")]
    pub reply: Option<u64>,
    /// Its two sides understand each other only, so it is examined with itself alone
    #[arg(long)]
    pub own_wire: bool,
    /// Make only the checks whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub only: String,
    /// Show only what fails
    #[arg(long, short)]
    pub quiet: bool,
}

impl Default for Command {
    fn default() -> Self {
        Self::Run(Box::default())
    }
}

const CELLS: &str = "Which cells (lists multiply into a matrix)";
const HOW: &str = "How to measure";
const OUTPUT: &str = "Output";

#[derive(Debug, Default, Args)]
#[command(after_long_help = after_help())]
pub struct RunArgs {
    /// A job file (TOML); without it and without flags for cells, the default suite runs
    #[arg(value_name = "JOB.toml", conflicts_with_all = CELL_FLAGS)]
    pub job: Option<PathBuf>,

    /// Transports to compare
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CELLS)]
    pub transports: Vec<String>,
    /// What is done over them: connect, rr, stream
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CELLS)]
    pub patterns: Vec<Pattern>,
    /// Bytes of a message from client to server, such as 64,16KiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_size, help_heading = CELLS)]
    pub sizes: Vec<u64>,
    /// Bytes of a message from server to client [default: as many as the size]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_size, help_heading = CELLS)]
    pub replies: Vec<u64>,
    /// Workers in the client
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CELLS)]
    pub concurrency: Vec<u32>,
    /// Where the two processes run: free, together, apart
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CELLS)]
    pub placement: Vec<Placement>,
    /// Who sends first in pattern connect: client, server
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CELLS)]
    pub speaks_first: Vec<SpeaksFirst>,
    /// Peers that play the client
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CELLS)]
    pub client: Vec<String>,
    /// Peers that play the server
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CELLS)]
    pub server: Vec<String>,
    /// Set an option of the cells, to one value or to several
    #[arg(long = "option", value_name = "KEY=LIST", help_heading = CELLS)]
    pub options: Vec<String>,

    /// A peer of your own, by the command that starts it; it goes before a built-in one of that name
    #[arg(long = "peer", value_name = "NAME=COMMAND", help_heading = HOW)]
    pub peers: Vec<String>,
    /// What the others are compared with: a transport, a peer, a label or a cell's id [default: tcp]
    #[arg(long, value_name = "NAME", help_heading = HOW)]
    pub baseline: Option<String>,
    /// How long the run may take; it ends earlier once every question is answered [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = HOW)]
    pub budget: Option<Duration>,
    /// The relative difference that matters [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_proportion, help_heading = HOW)]
    pub margin: Option<f64>,
    /// Run exactly so many epochs, whatever the budget
    #[arg(long, value_name = "N", help_heading = HOW)]
    pub epochs: Option<u32>,
    /// The seed of every random order [default: a fresh one, shown with the result]
    #[arg(long, value_name = "N", help_heading = HOW)]
    pub seed: Option<u64>,
    /// How latency is sampled: lead-in, inline, off [default: lead-in]
    #[arg(long, value_name = "HOW", help_heading = HOW)]
    pub latency: Option<LatencyMode>,
    /// Kill a peer that leaves a message unanswered for so long [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = HOW)]
    pub timeout: Option<Duration>,

    /// Write the document, with every sample, as JSON; - is standard output
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub json: Option<PathBuf>,
    /// Show what would run and measure nothing
    #[arg(long, help_heading = OUTPUT)]
    pub plan: bool,
    /// Show neither progress nor warnings
    #[arg(long, short, help_heading = OUTPUT)]
    pub quiet: bool,
}

#[derive(Debug, Default, Args)]
#[command(
    after_long_help = "Exit status: 0 every rate is as promised, 1 a rate is worse than promised or something failed, 2 wrong usage, 3 too few campaigns to tell, 130 interrupted (what was measured is shown)."
)]
pub struct SelfTestArgs {
    /// How long it may take [default: 3min]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Disturb the machine meanwhile: cpu (other processes take the processors in bursts), quota (a CPU quota of half a processor), none [default: none]
    #[arg(long, value_name = "KIND")]
    pub noise: Option<Noise>,
    /// The seed of every random order [default: a fresh one, shown with the result]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the result as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Default, Args)]
pub struct ReplicateArgs {
    /// Experiments by name, or replication files (.toml)
    #[arg(value_name = "NAME", conflicts_with = "all")]
    pub names: Vec<String>,
    /// All that travel along
    #[arg(long)]
    pub all: bool,
    /// List them: what they ask, and how long they take
    #[arg(long)]
    pub list: bool,
    /// How long everything may take together [default: each experiment's own]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Do not decide claims but repeat the experiment with the article's own counts and repetitions, and print what it printed; that can take hours, and says so first
    #[arg(long)]
    pub as_published: bool,
    /// With --as-published: divide the counts by N, and repeat once
    #[arg(long, value_name = "N", requires = "as_published")]
    pub divide: Option<u64>,
    /// Use this redis-server over TCP in the place of a private one; only on loopback
    #[arg(long, value_name = "HOST:PORT", requires = "redis_unix")]
    pub redis_tcp: Option<String>,
    /// Use this redis-server over a Unix socket in the place of a private one
    #[arg(long, value_name = "PATH", requires = "redis_tcp")]
    pub redis_unix: Option<String>,
    /// The seed of every random order [default: a fresh one]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the ledgers as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

const CELL_FLAGS: [&str; 10] = [
    "transports",
    "patterns",
    "sizes",
    "replies",
    "concurrency",
    "placement",
    "speaks_first",
    "client",
    "server",
    "options",
];

/// The registry and the catalogue, so that help never lags behind them.
fn after_help() -> String {
    let mut text = String::from("Transports:\n");
    for state in transport::states() {
        let note = state.unavailable.map_or(String::new(), |reason| format!(" (unavailable here: {reason})"));
        text.push_str(&format!("  {:<15}{}{note}\n", state.capabilities.name, state.capabilities.summary));
    }
    text.push_str("\nPeers (--client NAME, --server NAME), and the Debian packages that they need:\n");
    text.push_str(&format!("  {NATIVE}\n      the built-in one, which every peer is measured against\n"));
    for peer in ipcost_peers::all() {
        let packages = peer.packages.join(", ");
        text.push_str(&format!("  {} ({packages})\n      {}\n", peer.name, peer.summary));
    }
    text.push_str("\nOptions of cells (--option KEY=VALUE):\n");
    for spec in CATALOGUE {
        let patterns: Vec<&str> = spec.patterns.iter().map(|pattern| pattern.name()).collect();
        let over = match spec.group {
            OptionGroup::Loop => String::new(),
            group => {
                let acts = transport::states().into_iter().map(|state| state.capabilities);
                let names: Vec<&str> = acts
                    .filter(|known| known.option_groups.contains(&group))
                    .map(|known| known.name)
                    .collect();
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

/// Reads the command line; help, versions and errors are dealt with here.
pub fn parse(args: impl Iterator<Item = OsString>) -> Result<Cli, ExitCode> {
    let args: Vec<OsString> = args.collect();
    let without_command = args.get(1).is_some_and(|first| first.to_string_lossy().starts_with('-'));
    Cli::try_parse_from(args).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Somebody who pages the help and leaves early is fine.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        kind => {
            let mut line = one_line(&error.render().to_string());
            if kind == ErrorKind::UnknownArgument && without_command {
                line.push_str("; flags belong to a command, mostly to run: ipcost run --help lists its own");
            }
            complain(&line);
            ExitCode::from(USAGE)
        }
    })
}

/// Clap's message without its usage lines: what is wrong, and the tip if there is one.
fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let telling =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let text = telling.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    text.strip_prefix("error: ").unwrap_or(&text).replace(":; ", ": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_of_flags_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_for_cells_and_a_job_file_exclude_each_other() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        for flag in run.get_arguments().filter(|arg| arg.get_help_heading() == Some(CELLS)) {
            assert!(CELL_FLAGS.contains(&flag.get_id().as_str()), "{}", flag.get_id());
        }
    }

    #[test]
    fn errors_are_one_line() {
        let error = Cli::try_parse_from(["ipcost", "run", "--transport", "unix"]).unwrap_err();
        let line = one_line(&error.render().to_string());
        assert!(line.contains("--transports") && !line.contains('\n'), "{line}");
    }
}
