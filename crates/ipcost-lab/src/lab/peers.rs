//! The peers that a job names: the user's own, and the bundled ones, prepared if used.

use ipcost_model::{ArmName, Arms, Job, PeerCommand, PeerState};

use super::command_of;
use crate::peer_control::PeerProgram;

/// The state of the bundled peers, and the commands of all usable peers.
pub(super) fn prepare(job: &Job, tell: &mut dyn FnMut(&str)) -> (Vec<PeerState>, Vec<PeerProgram>) {
    let own = |(name, peer): (&String, &PeerCommand)| PeerProgram::new(name, peer.command.clone());
    let mut states = Vec::new();
    let mut programs: Vec<PeerProgram> = job.peers.iter().map(own).collect();
    let named = job.peers_in_cells();
    for built_in in ipcost_foreign::all() {
        let name = built_in.name.to_owned();
        let used = named.contains(built_in.name) && !job.peers.contains_key(built_in.name);
        let command = if used { command_of(built_in, tell).map(Some) } else { Ok(None) };
        let unavailable = command.as_ref().err().map(ToString::to_string);
        if let Ok(Some(command)) = command {
            programs.push(PeerProgram::new(&name, command));
        }
        states.push(built_in.state(unavailable));
    }
    (states, programs)
}

/// Each peer as both arms start it.
pub(super) fn in_both_arms(programs: &[PeerProgram], arms: &Arms) -> Vec<PeerProgram> {
    let in_arm = |program: &PeerProgram, name: ArmName| {
        let arm = arms.arm(name);
        let command = arm.peers.get(&program.name).unwrap_or(&program.command);
        let env = arm.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        PeerProgram {
            command: arm.exec.iter().chain(command).cloned().collect(),
            arm: Some(name),
            env: env.collect(),
            ..program.clone()
        }
    };
    ArmName::ALL.iter().flat_map(|arm| programs.iter().map(move |program| in_arm(program, *arm))).collect()
}
