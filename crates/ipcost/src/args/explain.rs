//! What `ipcost explain` takes.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ipcost_model::units::{parse_duration, parse_size};
use ipcost_model::{Pattern, Placement, SpeaksFirst};

use super::RunArgs;
use crate::redact::Redacting;

const CELLS: &str =
    "A matrix in the place of cells: each is explained against the baseline (as in ipcost run)";

/// One cell by its id: where its time goes. Two: what makes the difference. A job file or flags for cells: each cell
/// against the baseline of its table.
#[derive(Debug, Default, Args)]
#[command(
    override_usage = "ipcost explain [OPTIONS] CELL [CELL]\n       ipcost explain [OPTIONS] JOB.toml\n       ipcost explain [OPTIONS] --transports LIST --patterns LIST --sizes LIST",
    after_long_help = "A cell's id is what ipcost run --json and its warnings name it by, such as rr/tcp/64/c1, stream/pipe/65536/c1/pipe_size=4096 or rr/unix/64/c1/go→native (-> will do).\n\nExit status: 0 done, 1 failed (what is known of the cause is shown), 2 wrong usage (nothing was measured), 130 interrupted (what was measured is shown)."
)]
pub struct ExplainArgs {
    /// One cell or two by id, or a job file (TOML)
    #[arg(value_name = "CELL", num_args = 0..=2, conflicts_with_all = CELL_FLAGS)]
    pub cells: Vec<String>,

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
    /// What the others are compared with: a transport, a peer, a label or a cell's id [default: tcp]
    #[arg(long, value_name = "NAME", help_heading = CELLS, conflicts_with = "cells")]
    pub baseline: Option<String>,

    /// A peer of your own, by the command that starts it; it goes before a built-in one of that name
    #[arg(long = "peer", value_name = "NAME=COMMAND")]
    pub peers: Vec<String>,
    /// How long the timed part may take; passes that are not timed come on top [default: 20s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Run exactly so many epochs, whatever the budget
    #[arg(long, value_name = "N")]
    pub epochs: Option<u32>,
    /// The seed of every random order [default: a fresh one, shown with the result]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Kill a peer that leaves a message unanswered for so long [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Write the explanation as JSON; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show neither progress nor warnings
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub redacting: Redacting,
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

impl ExplainArgs {
    /// Whether any flag says which cells.
    pub fn has_matrix(&self) -> bool {
        let lists = [self.transports.len(), self.patterns.len(), self.sizes.len(), self.replies.len()];
        let more =
            [self.concurrency.len(), self.placement.len(), self.speaks_first.len(), self.options.len()];
        lists.iter().chain(&more).any(|count| *count > 0)
            || !self.client.is_empty()
            || !self.server.is_empty()
    }

    /// The same settings as `ipcost run` takes them, with a job file where one is given.
    pub fn as_run(&self, job: Option<PathBuf>) -> RunArgs {
        RunArgs {
            job,
            transports: self.transports.clone(),
            patterns: self.patterns.clone(),
            sizes: self.sizes.clone(),
            replies: self.replies.clone(),
            concurrency: self.concurrency.clone(),
            placement: self.placement.clone(),
            speaks_first: self.speaks_first.clone(),
            client: self.client.clone(),
            server: self.server.clone(),
            options: self.options.clone(),
            peers: self.peers.clone(),
            baseline: self.baseline.clone(),
            budget: self.budget,
            epochs: self.epochs,
            seed: self.seed,
            timeout: self.timeout,
            quiet: self.quiet,
            ..RunArgs::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    /// Flags for cells mean the same for both commands.
    #[test]
    fn cells_are_told_as_to_run() {
        let command = Cli::command();
        let [run, explain] = ["run", "explain"].map(|name| command.find_subcommand(name).unwrap());
        for flag in CELL_FLAGS {
            let help = |of: &clap::Command| {
                of.get_arguments()
                    .find(|arg| arg.get_id() == flag)
                    .map(|arg| arg.get_help().unwrap().to_string())
            };
            assert_eq!(help(run), help(explain), "{flag}");
            assert!(help(run).is_some(), "{flag}");
        }
    }
}
