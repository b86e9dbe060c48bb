//! Which cells: what every command takes that measures a matrix.

use anyhow::{anyhow, bail};
use clap::Args;
use ipcost_model::units::parse_size;
use ipcost_model::{Matrix, OptionKind, OptionLists, OptionName, Pattern, Placement, Size, SpeaksFirst};

use super::as_typed::transport;

const HEADING: &str = "Which cells (lists multiply into a matrix)";

#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = HEADING)]
pub struct CellArgs {
    /// Transports to compare
    #[arg(long, alias = "transport", value_name = "LIST", value_delimiter = ',', value_parser = transport)]
    pub transports: Vec<String>,
    /// What is done over them: connect, rr, stream
    #[arg(long, alias = "pattern", value_name = "LIST", value_delimiter = ',')]
    pub patterns: Vec<Pattern>,
    /// Bytes of a message from client to server, such as 64,16KiB
    #[arg(long, alias = "size", value_name = "LIST", value_delimiter = ',', value_parser = parse_size)]
    pub sizes: Vec<u64>,
    /// Bytes of a message from server to client [default: as many as the size]
    #[arg(long, alias = "reply", value_name = "LIST", value_delimiter = ',', value_parser = parse_size)]
    pub replies: Vec<u64>,
    /// Workers in the client
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub concurrency: Vec<u32>,
    /// Where the two processes run: free, one-core, two-cores [default: one-core,two-cores; free where there is one core only]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub placement: Vec<Placement>,
    /// Who sends first in pattern connect: client, server
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub speaks_first: Vec<SpeaksFirst>,
    /// What the client asks of a real server, such as 'SELECT 1'; for a peer that drives one (see ipcost app)
    #[arg(long, value_name = "TEXT")]
    pub request: Vec<String>,
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

    /// The matrix of its lists.
    ///
    /// # Errors
    /// What is wrong with an option.
    pub fn matrix(&self) -> anyhow::Result<Matrix> {
        let sizes = |bytes: &[u64]| bytes.iter().copied().map(Size).collect::<Vec<_>>().into();
        Ok(Matrix {
            transport: self.transports.clone().into(),
            pattern: self.patterns.clone().into(),
            size: sizes(&self.sizes),
            reply: sizes(&self.replies),
            concurrency: self.concurrency.clone().into(),
            placement: self.placement.clone().into(),
            client: self.client.clone().into(),
            server: self.server.clone().into(),
            speaks_first: self.speaks_first.clone().into(),
            request: self.request.clone().into(),
            lead_in: None,
            batch: None,
            options: options(&self.options)?,
            label: None,
        })
    }
}

pub fn options(flags: &[String]) -> anyhow::Result<OptionLists> {
    let mut lists = OptionLists::default();
    for flag in flags {
        let Some((name, values)) = flag.split_once('=') else {
            bail!("--option {flag}: write it as KEY=VALUE");
        };
        let name = OptionName::find(name).map_err(|error| anyhow!("--option {flag}: {error}"))?;
        for value in values.split(',').map(str::trim) {
            let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
            if is_number && matches!(name.spec().kind, OptionKind::Time(_)) && value != "0" {
                bail!("--option {flag}: {value} lacks a unit; write {value}us, {value}ms or {value}s");
            }
            let value = name.spec().parse(value).map_err(|error| anyhow!("--option {flag}: {error}"))?;
            lists.0.entry(name).or_default().push(value);
        }
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_list_of_a_matrix_has_its_flag() {
        let command = Cli::command();
        for name in ["run", "explain"] {
            let command = command.find_subcommand(name).unwrap();
            let mut flags: Vec<String> = command
                .get_arguments()
                .filter(|arg| arg.get_help_heading() == Some(HEADING))
                .map(|arg| format!("--{}", arg.get_long().unwrap()))
                .collect();
            flags.sort();
            let mut lists: Vec<&str> =
                Matrix::FLAGS.iter().map(|(_, flag)| *flag).chain(["--option"]).collect();
            lists.sort();
            assert_eq!(flags, lists, "{name}");
        }
    }
}
