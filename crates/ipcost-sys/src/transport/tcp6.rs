//! `tcp6`: TCP over IPv6's loopback.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use ipcost_model::{Capabilities, OptionGroup};

use super::tcp::LoopbackStream;
use crate::Context;
use crate::system::socket::{AddressFamily, bind, stream_socket};

const LOOPBACK: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

pub const TCP6: LoopbackStream = LoopbackStream {
    capabilities: &Capabilities {
        name: "tcp6",
        summary: "TCP over ::1",
        connects: true,
        option_groups: &[
            OptionGroup::Socket,
            OptionGroup::Calling,
            OptionGroup::Writing,
            OptionGroup::Listener,
            OptionGroup::Tcp,
            OptionGroup::Lasting,
        ],
        trouble_counters: &["ListenOverflows", "ListenDrops", "TCPTimeouts"],
        ..Capabilities::PLAIN
    },
    loopback: LOOPBACK,
    make: || stream_socket(AddressFamily::INET6),
    probe: || {
        stream_socket(AddressFamily::INET6)
            .and_then(|socket| bind(&socket, &SocketAddr::new(LOOPBACK, 0)))
            .context(|| "IPv6 loopback cannot be used".to_owned())
    },
};
