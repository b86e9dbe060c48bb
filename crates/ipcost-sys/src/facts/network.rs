//! Ports, TIME_WAIT, the loopback interface, and what stands between it and a socket.

use ipcost_model::facts::NetworkFacts;

use super::text::{line, number, numbers};
use crate::system::kernel_files;
use crate::system::loopback::loopback;

/// Facts of this program's network namespace.
pub fn network() -> NetworkFacts {
    let interface = loopback();
    NetworkFacts {
        ip_local_port_range: numbers("/proc/sys/net/ipv4/ip_local_port_range"),
        tcp_tw_reuse: number("/proc/sys/net/ipv4/tcp_tw_reuse"),
        tcp_congestion_control: line("/proc/sys/net/ipv4/tcp_congestion_control"),
        time_wait: kernel_files::read_to_string("/proc/net/sockstat").ok().as_deref().and_then(time_wait),
        loopback_up: interface.as_ref().map(|found| found.up),
        loopback_mtu: interface.as_ref().and_then(|found| found.mtu).map(u64::from),
        loopback_queue: interface.and_then(|found| found.queue),
        loopback_ipv6_disabled: number::<u8>("/proc/sys/net/ipv6/conf/lo/disable_ipv6").map(|off| off != 0),
        packet_tables: packet_tables(),
        tracked_connections: tracked_connections(),
    }
}

/// Connections tracked now; the file exists only if the kernel supports tracking.
pub fn tracked_connections() -> Option<u64> {
    number("/proc/sys/net/netfilter/nf_conntrack_count")
}

/// `TCP: inuse 1 orphan 0 tw 7 …` of `/proc/net/sockstat`.
fn time_wait(text: &str) -> Option<u64> {
    let mut words = text.lines().find_map(|line| line.strip_prefix("TCP:"))?.split_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

/// Reads a text as that file.
pub(crate) fn read_text(text: &str) {
    let _ = time_wait(text);
}

/// Names of tables, of either IP version; only root may read them, and the files exist only if there are tables.
fn packet_tables() -> Option<Vec<String>> {
    let of = |path: &str| match kernel_files::read_to_string(path) {
        Ok(text) => Some(text.lines().map(str::to_owned).collect::<Vec<_>>()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(Vec::new()),
        Err(_) => None,
    };
    let mut all = of("/proc/net/ip_tables_names")?;
    all.extend(of("/proc/net/ip6_tables_names")?.into_iter().map(|name| format!("{name} (IPv6)")));
    Some(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn time_wait_is_one_of_many_numbers() {
        let text = "sockets: used 20\nTCP: inuse 1 orphan 0 tw 71 alloc 1 mem 0\nUDP: inuse 0 mem 0\n";
        assert_eq!(time_wait(text), Some(71));
        for rubbish in ["", "TCP:", "TCP: tw", "TCP: tw x", "UDP: tw 3"] {
            assert_eq!(time_wait(rubbish), None, "{rubbish}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in any::<String>()) {
            let _ = time_wait(&text);
        }
    }
}
