//! What cells need from their peers, and whether a peer provides it.

use std::collections::BTreeSet;

use ipcost_model::protocol::{Hello, PROTOCOL, PeerRole};
use ipcost_model::{CATALOGUE, OptionGroup, Pattern};

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
pub(super) fn check_hello(hello: &Hello, needs: &BTreeSet<Need>) -> Result<(), String> {
    check_version(hello)?;
    for need in needs {
        if !hello.transports.contains(&need.transport) {
            return Err(format!(
                "lacks transport {}; it has {}",
                need.transport,
                hello.transports.join(", ")
            ));
        }
        if !hello.patterns.contains(&need.pattern) {
            return Err(format!("lacks pattern {}; it has {}", need.pattern, names(&hello.patterns)));
        }
        if !hello.roles.contains(&need.role) {
            return Err(format!("cannot be the {}; it can be {}", need.role, names(&hello.roles)));
        }
        if let Some(unknown) = need.options.iter().find(|name| !hello.knows(name)) {
            let what = done_by(unknown);
            return Err(format!(
                "does not {what}: its hello does not list the option {unknown}; leave {unknown} out, or use another peer"
            ));
        }
    }
    Ok(())
}

/// Whether it speaks this version of the protocol; otherwise the fix.
pub(super) fn check_version(hello: &Hello) -> Result<(), String> {
    if hello.protocol == PROTOCOL {
        return Ok(());
    }
    Err(format!(
        "speaks version {} of the control protocol, and this program speaks {PROTOCOL}; use a version of it that does",
        hello.protocol
    ))
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
        let check = |hello: &Hello, needs| check_hello(hello, &needs).unwrap_err();
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
            check_hello(&hello, &BTreeSet::from([need]))
        };
        assert!(placed(vec!["think"]).unwrap_err().starts_with("does not keep a pace"));
        assert_eq!(placed(vec!["send_offset"]), Ok(()));
        assert!(placed(vec!["send_offset", "recv_offset"]).unwrap_err().contains("leave recv_offset out"));
        hello.protocol = 2;
        assert!(check(&hello, BTreeSet::new()).contains("speaks version 2"));
    }
}
