//! What lies between loopback and a socket: packet filter rules and connection tracking.

use crate::system::kernel_files;

/// Facts about this program's network namespace that [`crate::facts`] lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Firewall {
    /// Rules of nftables, in chains that packets go through; `None` if they cannot be listed.
    pub rules: Option<u64>,
    /// Tracked connections between loopback addresses; `None` if unknown.
    pub tracked: Option<u64>,
}

/// Lists the rules and the tracked connections.
pub fn read() -> Firewall {
    let listed = crate::programs::output("nft", &["list", "ruleset"], &[], None).ok();
    let listed = listed.filter(|output| output.status.success());
    Firewall {
        rules: listed.map(|output| rules(&String::from_utf8_lossy(&output.stdout))),
        tracked: kernel_files::read_to_string("/proc/self/net/nf_conntrack")
            .ok()
            .map(|text| on_loopback(&text)),
    }
}

/// Rules in base chains: chains attached to a hook (`nft(8)`).
fn rules(ruleset: &str) -> u64 {
    let (mut hooked, mut in_chain, mut count) = (false, false, 0);
    for line in ruleset.lines().map(str::trim) {
        match line {
            _ if line.starts_with("chain ") => (in_chain, hooked) = (true, false),
            _ if in_chain && line.contains(" hook ") => hooked = true,
            "}" => in_chain = false,
            "" => {}
            _ if in_chain && hooked => count += 1,
            _ => {}
        }
    }
    count
}

/// Connections from a loopback address.
fn on_loopback(tracked: &str) -> u64 {
    tracked.lines().filter(|line| line.contains("src=127.")).count() as u64
}

/// Reads a text as either list.
pub(crate) fn read_text(text: &str) {
    let _ = (rules(text), on_loopback(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_packets_meet_are_counted() {
        let ruleset = "table ip t {\n\tchain in {\n\t\ttype filter hook input priority filter; policy accept;\n\t\tct state established counter packets 0 bytes 0\n\t\taccept\n\t}\n\n\tchain unused {\n\t\tdrop\n\t}\n}\n";
        assert_eq!(rules(ruleset), 2);
        assert_eq!((rules(""), rules("}\n}")), (0, 0));
    }

    #[test]
    fn connections_of_loopback_are_told_apart() {
        let text = "ipv4 2 tcp 6 431999 ESTABLISHED src=127.0.0.1 dst=127.0.0.1 sport=1 dport=2 src=127.0.0.1\nipv4 2 udp 17 src=10.0.0.2 dst=10.0.0.3\n";
        assert_eq!(on_loopback(text), 1);
    }
}
