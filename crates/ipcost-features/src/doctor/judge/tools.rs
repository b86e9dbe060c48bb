//! Transports, peers, programs.

use ipcost_lab::rules;
use ipcost_model::facts::{BuiltInPeer, MachineFacts};
use ipcost_model::units::counted;

use super::{CheckResult, DoctorCheck, check, known};

pub const CHECKS: &[DoctorCheck] = &[
    check(&rules::TRANSPORTS, transports),
    check(&rules::PEERS, peers),
    check(&rules::PEER_CACHE, |facts| match (&facts.tools.peer_cache, facts.tools.peers.is_empty()) {
        (_, true) => Vec::new(),
        (None, false) => CheckResult::good("there is one").into(),
        (Some(reason), false) => CheckResult::missing(reason.clone()).into(),
    }),
    check(&rules::STRACE, |facts| {
        known(facts.tools.strace, |installed| match installed {
            true => CheckResult::good("installed"),
            false => CheckResult::missing("strace is not installed").command("apt-get install strace"),
        })
    }),
    check(&rules::DEBUG_BUILD, |facts| match facts.tools.debug_build {
        true => {
            let cause = rules::debug_build();
            CheckResult::bends(cause.found).advice(cause.remedy).into()
        }
        false => CheckResult::good("optimised").into(),
    }),
];

fn transports(facts: &MachineFacts) -> Vec<CheckResult> {
    let count = facts.tools.transports;
    if count == 0 {
        return Vec::new();
    }
    let missing = &facts.tools.unavailable_transports;
    let mut answers: Vec<CheckResult> = missing
        .iter()
        .map(|transport| CheckResult::missing(format!("{}: {}", transport.name, transport.reason)))
        .collect();
    if answers.is_empty() {
        answers.push(CheckResult::good(format!("all {count}")));
    }
    answers
}

/// Those that lack the same are told together.
fn peers(facts: &MachineFacts) -> Vec<CheckResult> {
    let all = &facts.tools.peers;
    let mut lacking: Vec<(&str, Vec<&BuiltInPeer>)> = Vec::new();
    for peer in all {
        let Some(reason) = peer.lacks.as_deref() else { continue };
        match lacking.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, peers)) => peers.push(peer),
            None => lacking.push((reason, vec![peer])),
        }
    }
    let mut answers: Vec<CheckResult> = lacking.iter().map(|(reason, peers)| lacks(reason, peers)).collect();
    let there: Vec<&str> =
        all.iter().filter(|peer| peer.lacks.is_none()).map(|peer| peer.name.as_str()).collect();
    if !there.is_empty() {
        let all = counted(all.len() as u64, "peer");
        let work = if there.len() == 1 { "works" } else { "work" };
        let found = match lacking.is_empty() {
            true => format!("all {all}: {}", there.join(", ")),
            false => format!("{} of {all} {work}: {}", there.len(), there.join(", ")),
        };
        answers.push(CheckResult::good(found));
    }
    answers
}

fn lacks(reason: &str, peers: &[&BuiltInPeer]) -> CheckResult {
    let names: Vec<&str> = peers.iter().map(|peer| peer.name.as_str()).collect();
    let answer = CheckResult::missing(format!("{}: {reason}", names.join(", ")));
    match peers[0].packages.as_str() {
        // The reason alone says what to do.
        "" => answer,
        packages => answer.command(format!("apt-get install {packages}")),
    }
}
