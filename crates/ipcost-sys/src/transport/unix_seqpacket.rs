//! `unix-seqpacket`: a connection-oriented socket that preserves message boundaries, bound to a path (`unix(7)`).

use ipcost_model::{Capabilities, Delivery, OptionGroup};

use super::unix::SocketAtPath;
use crate::Context;
use crate::system::socket::packet_socket;

pub const UNIX_SEQPACKET: SocketAtPath = SocketAtPath {
    capabilities: &Capabilities {
        name: "unix-seqpacket",
        summary: "a Unix socket bound to a path that keeps messages apart",
        connects: true,
        delivery: Delivery::Message,
        os: &["linux"],
        option_groups: &[OptionGroup::Socket, OptionGroup::Calling, OptionGroup::Listener],
        ..Capabilities::PLAIN
    },
    make: packet_socket,
    probe: || packet_socket().or_absent("this system has no Unix sockets that keep messages apart", ""),
};
