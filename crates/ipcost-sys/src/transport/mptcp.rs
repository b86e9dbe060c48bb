//! `mptcp`: Multipath TCP over IPv4's loopback (`mptcp(7)`), with its single path.

use std::io;

use ipcost_model::Capabilities;

use super::tcp::{LoopbackStream, OPTION_GROUPS, TCP};
use crate::Context;
use crate::system::more_sockets::mptcp_socket;

pub const MPTCP: LoopbackStream = LoopbackStream {
    capabilities: &Capabilities {
        name: "mptcp",
        summary: "Multipath TCP over 127.0.0.1, with a single path",
        connects: true,
        os: &["linux"],
        option_groups: OPTION_GROUPS,
        trouble_counters: &["ListenOverflows", "ListenDrops", "TCPTimeouts"],
        ..Capabilities::PLAIN
    },
    make: mptcp_socket,
    probe: || {
        let socket = mptcp_socket();
        let remedy = match &socket {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => "",
            _ => "; it takes Linux 5.6 or later with sysctl -w net.mptcp.enabled=1",
        };
        socket.or_absent("there is no Multipath TCP here", remedy)
    },
    ..TCP
};
