//! What cells need from their peers, and whether a peer provides it.

use std::collections::BTreeSet;

use ipcost_model::protocol::{Hello, PROTOCOL, PeerRole};
use ipcost_model::{CATALOGUE, OptionGroup, Pattern};

use crate::error::PeerFault;

/// A cell's requirements of a peer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Need {
    pub(super) role: PeerRole,
    pub(super) transport: String,
    pub(super) pattern: Pattern,
    /// Options that a peer must list: where its buffers begin, if the cell fixes it, and the pace, if it has one.
    pub(super) options: Vec<&'static str>,
}

/// What a peer must do that lists an option.
fn done_by(option: &str) -> &'static str {
    let spec = CATALOGUE.iter().find(|spec| spec.name == option);
    match spec.map(|spec| spec.group) {
        Some(OptionGroup::Pace) => "keep a pace",
        _ => "place its buffers",
    }
}

/// Whether a peer meets all requirements; otherwise what it lacks and the fix.
pub(super) fn check_hello(hello: &Hello, needs: &BTreeSet<Need>) -> Result<(), PeerFault> {
    check_version(hello)?;
    for need in needs {
        if !hello.transports.contains(&need.transport) {
            let what = format!("transport {}", need.transport);
            return Err(PeerFault::Lacks { what, has: hello.transports.join(", ") });
        }
        if !hello.patterns.contains(&need.pattern) {
            let what = format!("pattern {}", need.pattern);
            return Err(PeerFault::Lacks { what, has: names(&hello.patterns) });
        }
        if !hello.roles.contains(&need.role) {
            return Err(PeerFault::Role { role: need.role, can: names(&hello.roles) });
        }
        if let Some(option) = need.options.iter().find(|name| !hello.knows(name)) {
            return Err(PeerFault::Option { what: done_by(option), option });
        }
    }
    Ok(())
}

/// Whether it speaks this version of the protocol; otherwise the fix.
pub(super) fn check_version(hello: &Hello) -> Result<(), PeerFault> {
    if hello.protocol == PROTOCOL {
        return Ok(());
    }
    Err(PeerFault::Version(hello.protocol))
}

fn names(list: &[impl ToString]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_lacks_something_is_told_apart_from_one_that_does_not() {
        let mut hello = Hello {
            protocol: 1,
            peer: "x".into(),
            version: "1".into(),
            runtime: String::new(),
            roles: vec![PeerRole::Server],
            transports: vec!["unix".into(), "tcp".into()],
            patterns: vec![Pattern::Rr],
            options: vec!["send_offset".into()],
            pushes: false,
        };
        let need = |role, transport: &str, pattern| {
            BTreeSet::from([Need { role, transport: transport.into(), pattern, options: Vec::new() }])
        };
        let check = |hello: &Hello, needs| check_hello(hello, &needs).unwrap_err().to_string();
        assert_eq!(check_hello(&hello, &need(PeerRole::Server, "tcp", Pattern::Rr)), Ok(()));
        let lacks = check(&hello, need(PeerRole::Server, "fifo", Pattern::Rr));
        assert_eq!(lacks, "lacks transport fifo; it has unix, tcp");
        assert!(
            check(&hello, need(PeerRole::Server, "tcp", Pattern::Stream)).contains("lacks pattern stream")
        );
        assert!(check(&hello, need(PeerRole::Client, "tcp", Pattern::Rr)).contains("cannot be the client"));
        let placed = |options| {
            let need =
                Need { role: PeerRole::Server, transport: "tcp".into(), pattern: Pattern::Rr, options };
            check_hello(&hello, &BTreeSet::from([need])).map_err(|fault| fault.to_string())
        };
        assert!(placed(vec!["think"]).unwrap_err().starts_with("does not keep a pace"));
        assert_eq!(placed(vec!["send_offset"]), Ok(()));
        assert!(placed(vec!["send_offset", "recv_offset"]).unwrap_err().contains("leave recv_offset out"));
        hello.protocol = 2;
        assert!(check(&hello, BTreeSet::new()).contains("speaks version 2"));
    }
}
