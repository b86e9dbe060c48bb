//! `udp6`: datagrams over IPv6's loopback.

use std::net::{IpAddr, Ipv6Addr};

use ipcost_model::{Capabilities, Delivery, OptionGroup};

use super::udp::{Datagrams, LOST};

pub const UDP6: Datagrams = Datagrams {
    capabilities: &Capabilities {
        name: "udp6",
        summary: "datagrams over ::1; pattern rr only, as they may be lost",
        delivery: Delivery::Message,
        no_stream: Some(LOST),
        sees_end: false,
        option_groups: &[OptionGroup::Socket, OptionGroup::Calling],
        trouble_counters: &["Udp6RcvbufErrors", "Udp6SndbufErrors", "Udp6MemErrors"],
        ..Capabilities::PLAIN
    },
    loopback: IpAddr::V6(Ipv6Addr::LOCALHOST),
    // 65 535 bytes without UDP's header; IPv6's length does not count its own.
    largest: 65_527,
};
