//! Kernel counters that show what else happened while a cell was measured.

use std::collections::{BTreeMap, BTreeSet};

use ipcost_model::ProcessorTimes;

use crate::system::{kernel_files, processor_times};

/// The processors' time since boot, summed over all processors; `None` if the system does not report it.
pub fn of_processors() -> Option<ProcessorTimes> {
    processor_times::read()
}

/// Nanoseconds in a clock tick of the kernel's counters (`sysconf(_SC_CLK_TCK)`, 100 a second on Linux).
pub(crate) const NS_PER_TICK: u64 = 10_000_000;

/// Time in softirqs of these processors since boot, summed, nanoseconds in steps of a tick of 10 ms; `None` if the system does not report
/// it for each of them.
pub fn softirq_ns(processors: &BTreeSet<usize>) -> Option<u64> {
    softirq_ticks(&kernel_files::read_to_string("/proc/stat").ok()?, processors)?.checked_mul(NS_PER_TICK)
}

/// The 7th number of the lines `cpu0`, `cpu1`, … of `/proc/stat` (`proc_stat(5)`). A processor that never did anything is one of which
/// the kernel counts nothing.
fn softirq_ticks(text: &str, processors: &BTreeSet<usize>) -> Option<u64> {
    const SOFTIRQ: usize = 6;
    let of = |processor: &usize| {
        let name = format!("cpu{processor}");
        let mut lines = text.lines().map(str::split_whitespace);
        let numbers = lines.find_map(|mut words| (words.next()? == name).then_some(words))?;
        let ticks: Vec<u64> = numbers.map_while(|word| word.parse().ok()).collect();
        ticks.iter().any(|ticks| *ticks > 0).then_some(())?;
        ticks.get(SOFTIRQ).copied()
    };
    if processors.is_empty() {
        return None;
    }
    processors.iter().try_fold(0_u64, |sum, processor| sum.checked_add(of(processor)?))
}

/// Counters of the group `TcpExt` in `/proc/net/netstat`, by name, and those of `Udp` in `/proc/net/snmp` and of
/// `/proc/net/snmp6`, prefixed with that word; empty if the system has none.
pub fn of_connections() -> BTreeMap<String, u64> {
    let text = |file: &str| kernel_files::read_to_string(format!("/proc/net/{file}")).unwrap_or_default();
    let mut all = parse_group(&text("netstat"), "TcpExt:");
    all.extend(
        parse_group(&text("snmp"), "Udp:").into_iter().map(|(name, count)| (format!("Udp{name}"), count)),
    );
    let lines = text("snmp6");
    let counts = lines.lines().filter_map(|line| line.strip_prefix("Udp6")?.split_once(char::is_whitespace));
    all.extend(counts.filter_map(|(name, count)| Some((format!("Udp6{name}"), count.trim().parse().ok()?))));
    all
}

/// Huge pages that were given to processes when they touched them, on the whole machine since it started; `None` if the
/// kernel does not count them (`Documentation/admin-guide/mm/transhuge.rst` of Linux).
pub fn huge_page_faults() -> Option<u64> {
    let text = kernel_files::read_to_string("/proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("thp_fault_alloc ")?.trim().parse().ok())
}

/// Counters of the network that `process` sees, by their names in explanations; only those that the system has.
///
/// Segments and acknowledgements cover both ends, since both are on this machine.
pub fn network(process: u32) -> BTreeMap<String, u64> {
    let text =
        |file: &str| kernel_files::read_to_string(format!("/proc/{process}/net/{file}")).unwrap_or_default();
    let (snmp, netstat) = (parse_group(&text("snmp"), "Tcp:"), parse_group(&text("netstat"), "TcpExt:"));
    let mut named: BTreeMap<String, u64> = NETWORK
        .iter()
        .filter_map(|(name, counter)| {
            Some(((*name).to_owned(), *snmp.get(*counter).or_else(|| netstat.get(*counter))?))
        })
        .collect();
    if let Some((bytes, packets)) = parse_loopback(&text("dev")) {
        named.insert("loopback_bytes".to_owned(), bytes);
        named.insert("loopback_packets".to_owned(), packets);
    }
    named
}

/// Names in explanations, and the kernel's (`Documentation/networking/snmp_counter.rst` of Linux).
const NETWORK: [(&str, &str); 9] = [
    ("segments", "OutSegs"),
    ("retransmissions", "RetransSegs"),
    ("acknowledgements", "TCPPureAcks"),
    ("delayed_acknowledgements", "DelayedACKs"),
    ("listen_overflows", "ListenOverflows"),
    ("listen_drops", "ListenDrops"),
    ("timeouts", "TCPTimeouts"),
    ("opened", "ActiveOpens"),
    ("time_wait", "TW"),
];

/// Bytes and packets sent over loopback: the 9th and 10th number of its line in `/proc/net/dev`.
fn parse_loopback(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:"))?;
    let mut sent = line.split_whitespace().skip(8).map_while(|number| number.parse().ok());
    Some((sent.next()?, sent.next()?))
}

/// Activity of the machine and some processes that their own usage does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ActivityCounts {
    /// TCP segments sent on the whole machine, acknowledgements among them.
    tcp_segments: Option<u64>,
    /// Bytes that the processes and their ended children caused to be written to storage.
    disk_bytes_written: Option<u64>,
}

impl ActivityCounts {
    pub fn read(processes: &[u32]) -> Self {
        let snmp = kernel_files::read_to_string("/proc/net/snmp").ok();
        let segments = snmp.and_then(|text| parse_group(&text, "Tcp:").get("OutSegs").copied());
        let written = |id: &u32| parse_io(&kernel_files::read_to_string(format!("/proc/{id}/io")).ok()?);
        Self {
            tcp_segments: segments,
            disk_bytes_written: processes
                .iter()
                .map(written)
                .try_fold(0_u64, |sum, more| sum.checked_add(more?)),
        }
    }

    /// Counts since `earlier`, by name; unreadable ones are absent.
    pub fn since(&self, earlier: &Self) -> BTreeMap<String, f64> {
        let risen = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?) as f64);
        let named = [
            ("tcp_segments", risen(self.tcp_segments, earlier.tcp_segments)),
            ("disk_bytes_written", risen(self.disk_bytes_written, earlier.disk_bytes_written)),
        ];
        named.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?))).collect()
    }
}

/// `/proc/[pid]/io` (`proc_pid_io(5)`): bytes sent to the storage layer.
fn parse_io(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("write_bytes:")?.trim().parse().ok())
}

/// Reads a text as each of the files above.
pub(crate) fn read_text(text: &str) {
    let _ = (parse_loopback(text), parse_io(text), softirq_ticks(text, &BTreeSet::from([0, 1])));
    let _ = (parse_group(text, "TcpExt:"), parse_group(text, "Tcp:"));
}

/// A group takes two lines with the same prefix: names, then values.
fn parse_group(text: &str, group: &str) -> BTreeMap<String, u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return BTreeMap::new() };
    names
        .split_whitespace()
        .zip(values.split_whitespace())
        .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_processes() {
        assert_eq!(parse_io("rchar: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n"), Some(4096));
        assert_eq!(parse_io("rubbish"), None);
        let counts = ActivityCounts { tcp_segments: Some(7), disk_bytes_written: None };
        assert_eq!(counts.since(&ActivityCounts::default()), BTreeMap::new());
        let risen = counts.since(&ActivityCounts { tcp_segments: Some(3), disk_bytes_written: Some(1) });
        assert_eq!(risen, BTreeMap::from([("tcp_segments".to_owned(), 4.0)]));
    }

    #[test]
    fn the_network_is_read_by_name() {
        let dev = "Inter-|   Receive\n face |bytes\n    lo: 11 1 0 0 0 0 0 0 22 2 0 0 0 0 0 0\n  eth0: 1\n";
        assert_eq!(parse_loopback(dev), Some((22, 2)));
        assert_eq!((parse_loopback("lo: 1 2"), parse_loopback("")), (None, None));
        let seen = network(std::process::id());
        assert!(seen.is_empty() || seen.contains_key("segments"), "{seen:?}");
    }

    #[test]
    fn softirq_time_is_that_of_the_processors() {
        let text = "cpu  742089 0 50821 54614 343 0 2242 578 0 0\n\
            cpu0 374271 0 22151 28057 159 0 318 289 0 0\n\
            cpu1 367817 0 28670 26557 183 0 1924 289 0 0\n\
            cpu10 1 0 2 3 4 5 60\ncpu11 0 0 0 0 0 0 0 0 0 0\ncpu12 1 2 3 4 5 6\nintr 5 5 5 5 5 5 5 5\n";
        let ticks = |processors: &[usize]| softirq_ticks(text, &processors.iter().copied().collect());
        assert_eq!((ticks(&[0]), ticks(&[1, 1]), ticks(&[0, 1])), (Some(318), Some(1_924), Some(2_242)));
        assert_eq!((ticks(&[1, 10]), ticks(&[10])), (Some(1_984), Some(60)));
        assert_eq!(
            (ticks(&[]), ticks(&[2]), ticks(&[0, 2])),
            (None, None, None),
            "none, or one that is absent"
        );
        assert_eq!((ticks(&[11]), ticks(&[12])), (None, None), "nothing counted, or no such column");
        let most = format!("cpu0 1 0 0 0 0 0 {0}\ncpu1 1 0 0 0 0 0 {0}\n", u64::MAX);
        assert_eq!(softirq_ticks(&most, &BTreeSet::from([0, 1])), None);
    }

    #[test]
    fn netstat_groups() {
        let text = "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 1 22\nIpExt: InNoRoutes\nIpExt: 3\n";
        let counters = parse_group(text, "TcpExt:");
        assert_eq!(counters["ListenOverflows"], 22);
        assert!(parse_group("TcpExt: a", "TcpExt:").is_empty());
    }
}
