//! The peers of a replication that are no built-in ones: real servers, and the load tools that ask them.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_foreign::Unavailable;
use ipcost_lab::LabError;
use ipcost_model::{Lasts, Matrix, PeerCommand, ServiceCommand};
use ipcost_peer::adapters::app::{LoadTool, ServerKind, find_any};
use ipcost_sys::OS;
use serde::Deserialize;

use crate::app::peer_of;

/// The peers of a run, by the names that cells call them.
pub type Peers = BTreeMap<String, RunPeer>;

/// A real server, or what asks one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPeer {
    /// The kind of server, as `ipcost app` calls it.
    pub app: String,
    /// The server's load tool that asks it; this program's own client where it is not said.
    #[serde(default)]
    pub tool: Option<String>,
    /// How long a private server of it runs; none is started for what only asks.
    #[serde(default)]
    pub lasts: Option<Lasts>,
    /// How many connections may wait to be accepted by a private server.
    #[serde(default)]
    pub backlog: Option<u32>,
    /// Whether a private server offers TLS, which what asks it then takes over TCP.
    #[serde(default)]
    pub tls: bool,
    /// Rows of the table that sysbench asks.
    #[serde(default)]
    pub rows: Option<u32>,
}

impl RunPeer {
    fn kind(&self) -> Result<&'static ServerKind, LabError> {
        find_any(&self.app).map_err(|error| LabError::Refused(error.to_string()))
    }

    fn tool(&self) -> Result<Option<&'static LoadTool>, LabError> {
        let find = |name: &String| {
            LoadTool::find(name, &self.app).map_err(|error| LabError::Refused(error.to_string()))
        };
        self.tool.as_ref().map(find).transpose()
    }

    /// What is missing for it on this machine; `None` if nothing.
    pub fn unavailable(&self) -> Option<Unavailable> {
        if OS != "linux" {
            let reason = format!("{} is started and measured on Linux only", self.app);
            return Some(Unavailable { reason, package: None });
        }
        let missing = |(program, package): (&str, &str)| Unavailable {
            reason: format!("{program} is not installed"),
            package: Some(package.to_owned()),
        };
        let of_server = self.lasts.and_then(|_| self.kind().ok()?.missing());
        let of_tool = || self.tool().ok()??.missing();
        of_server.or_else(of_tool).map(missing)
    }

    fn command(&self) -> Result<PeerCommand, LabError> {
        let mut command = peer_of(self.kind()?)?;
        // From values alone: a file that someone sent has no say in whom a peer talks to, and as whom.
        let numbers = [("--backlog", self.backlog), ("--rows", self.rows)];
        let numbers =
            numbers.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?.to_string()]));
        command.extend(numbers.flatten());
        command.extend(self.tls.then(|| "--tls".to_owned()));
        let service = self.lasts.map(|lasts| {
            let command = command.iter().cloned().chain(["--service".to_owned()]).collect();
            ServiceCommand { command, lasts }
        });
        command.extend(self.tool()?.into_iter().flat_map(|tool| ["--tool".to_owned(), tool.name.to_owned()]));
        Ok(PeerCommand { command, service })
    }
}

/// The commands of the peers of a run.
pub(super) fn commands(peers: &Peers) -> Result<BTreeMap<String, PeerCommand>, LabError> {
    peers.iter().map(|(name, peer)| Ok((name.clone(), peer.command()?))).collect()
}

/// Why other users of this machine would reach one of the private servers; `None` if all keep them out.
pub(super) fn open_to_all(peers: &Peers) -> Option<&'static str> {
    peers.values().find_map(|peer| peer.kind().ok()?.is_open_to_all(peer.tool().ok()?))
}

/// What is missing for them on this machine, each once.
pub(super) fn missing(peers: &Peers) -> BTreeSet<String> {
    peers.values().filter_map(|peer| Some(peer.unavailable()?.reason)).collect()
}

/// The cells whose peers can be used on this machine.
pub(super) fn usable(cells: &[Matrix], peers: &Peers) -> Result<Vec<Matrix>, LabError> {
    let lacking: BTreeSet<&String> =
        peers.iter().filter(|(_, peer)| peer.unavailable().is_some()).map(|(name, _)| name).collect();
    let lacks =
        |matrix: &&Matrix| matrix.client.0.iter().chain(&matrix.server.0).any(|name| lacking.contains(name));
    let left: Vec<Matrix> = cells.iter().filter(|matrix| !lacks(matrix)).cloned().collect();
    match left.is_empty() {
        true => Err(LabError::Refused(missing(peers).into_iter().collect::<Vec<_>>().join("; "))),
        false => Ok(left),
    }
}
