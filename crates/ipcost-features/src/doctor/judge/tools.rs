//! Transports, peers, programs.

use ipcost_lab::rules;
use ipcost_model::facts::{BuiltInPeer, Facts};
use ipcost_model::units::counted;

use super::{Answer, Check, check, known};

pub const CHECKS: &[Check] = &[
    check(&rules::TRANSPORTS, transports),
    check(&rules::PEERS, peers),
    check(&rules::PEER_CACHE, |facts| match (&facts.tools.peer_cache, facts.tools.peers.is_empty()) {
        (_, true) => Vec::new(),
        (None, false) => Answer::good("there is one").into(),
        (Some(reason), false) => Answer::missing(reason.clone()).into(),
    }),
    check(&rules::STRACE, |facts| {
        known(facts.tools.strace, |installed| match installed {
            true => Answer::good("installed"),
            false => Answer::missing("strace is not installed").command("apt-get install strace"),
        })
    }),
    check(&rules::DEBUG_BUILD, |facts| match facts.tools.debug_build {
        true => {
            let cause = rules::debug_build();
            Answer::bends(cause.found).advice(cause.remedy).into()
        }
        false => Answer::good("optimised").into(),
    }),
];

fn transports(facts: &Facts) -> Vec<Answer> {
    let count = facts.tools.transports;
    if count == 0 {
        return Vec::new();
    }
    let missing = &facts.tools.unavailable_transports;
    let mut answers: Vec<Answer> = missing
        .iter()
        .map(|transport| Answer::missing(format!("{}: {}", transport.name, transport.reason)))
        .collect();
    if answers.is_empty() {
        answers.push(Answer::good(format!("all {count}")));
    }
    answers
}

/// Those that lack the same are told together.
fn peers(facts: &Facts) -> Vec<Answer> {
    let all = &facts.tools.peers;
    let mut lacking: Vec<(&str, Vec<&BuiltInPeer>)> = Vec::new();
    for peer in all {
        let Some(reason) = peer.lacks.as_deref() else { continue };
        match lacking.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, peers)) => peers.push(peer),
            None => lacking.push((reason, vec![peer])),
        }
    }
    let mut answers: Vec<Answer> = lacking.iter().map(|(reason, peers)| lacks(reason, peers)).collect();
    let there: Vec<&str> =
        all.iter().filter(|peer| peer.lacks.is_none()).map(|peer| peer.name.as_str()).collect();
    if !there.is_empty() {
        let count = counted(there.len() as u64, "peer");
        answers.push(Answer::good(format!("{count}: {}", there.join(", "))));
    }
    answers
}

fn lacks(reason: &str, peers: &[&BuiltInPeer]) -> Answer {
    let names: Vec<&str> = peers.iter().map(|peer| peer.name.as_str()).collect();
    let answer = Answer::missing(format!("{}: {reason}", names.join(", ")));
    match peers[0].packages.as_str() {
        // The reason alone says what to do.
        "" => answer,
        packages => answer.command(format!("apt-get install {packages}")),
    }
}
