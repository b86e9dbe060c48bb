//! `sctp`: reliable, ordered messages over IPv4's loopback (`sctp(7)`, one association per socket).

use ipcost_model::{Capabilities, Delivery, OptionGroup};

use super::tcp::{LoopbackStream, TCP};
use crate::Context;
use crate::system::more_sockets::sctp_socket;

pub const SCTP: LoopbackStream = LoopbackStream {
    capabilities: &Capabilities {
        name: "sctp",
        summary: "SCTP over 127.0.0.1, which keeps messages apart",
        connects: true,
        delivery: Delivery::Message,
        os: &["linux"],
        option_groups: &[OptionGroup::Socket, OptionGroup::Calling, OptionGroup::Listener],
        ..Capabilities::PLAIN
    },
    make: sctp_socket,
    probe: || sctp_socket().or_absent("there is no SCTP here", "; modprobe sctp"),
    ..TCP
};
