//! Which cells: what every command takes that measures a matrix.

use clap::Args;
use ipcost_model::units::parse_size;
use ipcost_model::{Pattern, Placement, SpeaksFirst};

const HEADING: &str = "Which cells (lists multiply into a matrix)";

#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = HEADING)]
pub struct CellArgs {
    /// Transports to compare
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub transports: Vec<String>,
    /// What is done over them: connect, rr, stream
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub patterns: Vec<Pattern>,
    /// Bytes of a message from client to server, such as 64,16KiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_size)]
    pub sizes: Vec<u64>,
    /// Bytes of a message from server to client [default: as many as the size]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_size)]
    pub replies: Vec<u64>,
    /// Workers in the client
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub concurrency: Vec<u32>,
    /// Where the two processes run: free, together, apart [default: together,apart; free on one core]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub placement: Vec<Placement>,
    /// Who sends first in pattern connect: client, server
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub speaks_first: Vec<SpeaksFirst>,
    /// Peers that play the client
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub client: Vec<String>,
    /// Peers that play the server
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub server: Vec<String>,
    /// Set an option of the cells, to one value or to several
    #[arg(long = "option", value_name = "KEY=LIST")]
    pub options: Vec<String>,
}

impl CellArgs {
    /// Whether any flag says which cells.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The flags that a job file, or cells by id, replace.
pub const CELL_FLAGS: [&str; 10] = [
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn flags_for_cells_and_what_stands_in_their_place_exclude_each_other() {
        let command = Cli::command();
        for name in ["run", "explain"] {
            let command = command.find_subcommand(name).unwrap();
            let flags: Vec<&str> = command
                .get_arguments()
                .filter(|arg| arg.get_help_heading() == Some(HEADING))
                .map(|arg| arg.get_id().as_str())
                .collect();
            assert_eq!(flags, CELL_FLAGS, "{name}");
        }
    }
}
