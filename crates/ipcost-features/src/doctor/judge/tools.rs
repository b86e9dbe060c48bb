//! Transports, peers, programs.

use ipcost_lab::causes;
use ipcost_model::facts::{BuiltInPeer, Facts};
use ipcost_model::units::counted;

use super::{Answer, Check, check, known};

/// How a peer's reason is told from the way out that stands in it.
const WAY_OUT: &str = "; on Debian: ";

pub const CHECKS: &[Check] = &[
    check(
        "transports",
        "which transports can be used here",
        "Cells over the others are shown as unavailable.",
        transports,
    ),
    check(
        "peers",
        "which peers in other languages can be used here",
        "Cells with the others are shown as unavailable.",
        peers,
    ),
    check(
        "peer-cache",
        "whether this user has a place for peers that are built",
        "Without one no peer in another language can be used.",
        |facts| match (&facts.tools.peer_cache, facts.tools.peers.is_empty()) {
            (_, true) => Vec::new(),
            (None, false) => Answer::good("there is one").into(),
            (Some(reason), false) => Answer::missing(reason.clone()).into(),
        },
    ),
    check(
        "strace",
        "whether strace is installed",
        "Without it the system calls of two peers cannot be compared.",
        |facts| {
            known(facts.tools.strace, |installed| match installed {
                true => Answer::good("installed"),
                false => Answer::missing("strace is not installed").command("apt-get install strace"),
            })
        },
    ),
    check(
        "debug-build",
        "whether this program was built with optimisation",
        "The loops of the native peer then cost more than the system calls they make.",
        |facts| match facts.tools.debug_build {
            true => {
                let cause = causes::debug_build();
                Answer::bends(cause.found).advice(cause.advice).into()
            }
            false => Answer::good("optimised").into(),
        },
    ),
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
    let (reason, install) = match reason.split_once(WAY_OUT) {
        Some((reason, install)) => (reason, Some(install.to_owned())),
        // Without a package, the reason alone says what to do.
        None if peers[0].packages.is_empty() => (reason, None),
        None => (reason, Some(format!("apt-get install {}", peers[0].packages.join(" ")))),
    };
    let answer = Answer::missing(format!("{}: {reason}", names.join(", ")));
    match install {
        Some(install) => answer.command(install),
        None => answer,
    }
}
