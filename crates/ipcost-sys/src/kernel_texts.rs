//! Every parser of text from the kernel and its tools, for tests and fuzzers: none fails on any input.

use crate::{control_group, counters, facts, firewall, idle, process_stat, quota, system, whereabouts};

/// Parses bytes as each kind of text in turn; drops the results.
pub fn read_as_each(bytes: &[u8]) {
    // Files that are not UTF-8 are not read at all; netlink's and nft's answers are bytes.
    system::kernel_texts::read_bytes(bytes);
    let text = String::from_utf8_lossy(bytes);
    counters::read_text(&text);
    facts::read_text(&text);
    firewall::read_text(&text);
    idle::read_text(&text);
    process_stat::read_text(&text);
    control_group::read_text(&text);
    quota::read_text(&text);
    whereabouts::read_text(&text);
    system::kernel_texts::read_text(&text);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    #[test]
    fn what_this_machine_writes_is_read() {
        for path in [
            "/proc/stat", "/proc/net/netstat", "/proc/net/snmp", "/proc/net/dev", "/proc/self/stat",
            "/proc/self/sched", "/proc/self/status", "/proc/self/io", "/proc/self/mountinfo",
            "/proc/meminfo", "/proc/cpuinfo",
        ] {
            super::read_as_each(&std::fs::read(path).unwrap_or_default());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            super::read_as_each(&bytes);
        }
    }
}
