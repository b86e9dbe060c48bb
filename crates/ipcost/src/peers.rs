//! The peers that a job names: the user's own, and those that travel along, made ready where they are used.

use anyhow::Context;
use ipcost_engine::PeerProgram;
use ipcost_model::{Job, NATIVE, PeerState};
use ipcost_peers::{BuiltIn, Cache, Unavailable};

use crate::exit::note;

/// The peers beside the native one.
pub struct Peers {
    /// Those that travel along, and why those that are used here cannot be.
    pub states: Vec<PeerState>,
    /// How to start every peer that can be.
    pub programs: Vec<PeerProgram>,
}

/// Makes ready the built-in peers that the job's cells name; the user's own go before those of the same name.
pub fn prepare(job: &Job, quiet: bool) -> Peers {
    let own = |(name, peer): (&String, &ipcost_model::PeerCommand)| PeerProgram {
        name: name.clone(),
        command: peer.command.clone(),
    };
    let mut peers = Peers { states: Vec::new(), programs: job.peers.iter().map(own).collect() };
    let named = job.peers_in_cells();
    for built_in in ipcost_peers::all() {
        let name = built_in.name.to_owned();
        let used = named.contains(built_in.name) && !job.peers.contains_key(built_in.name);
        let command = if used { command(built_in, quiet).map(Some) } else { Ok(None) };
        let unavailable = command.as_ref().err().map(ToString::to_string);
        if let Ok(Some(command)) = command {
            peers.programs.push(PeerProgram { name: name.clone(), command });
        }
        peers.states.push(PeerState { name, unavailable });
    }
    peers
}

/// The command that starts a built-in peer.
///
/// # Errors
/// Why it cannot be used here.
pub fn command(built_in: &BuiltIn, quiet: bool) -> Result<Vec<String>, Unavailable> {
    let mut tell = |what: &str| {
        if !quiet {
            note(what);
        }
    };
    Cache::of_user().and_then(|cache| built_in.prepare(&cache, &mut tell))
}

/// The same programs and the native peer.
///
/// # Errors
/// Where this program cannot tell where it is.
pub fn with_native(mut programs: Vec<PeerProgram>) -> anyhow::Result<Vec<PeerProgram>> {
    programs.push(PeerProgram { name: NATIVE.to_owned(), command: own_command("peer")? });
    Ok(programs)
}

/// The command that starts this program in another role.
///
/// # Errors
/// Where it cannot tell where it is.
pub fn own_command(role: &str) -> anyhow::Result<Vec<String>> {
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    Ok(vec![own.to_string_lossy().into_owned(), role.to_owned()])
}
