//! What the processors have done since the system started (`proc_stat(5)`).

use super::kernel_files;
use crate::counters::ProcessorTimes;

/// Reads them; `None` where the system does not tell.
pub fn read() -> Option<ProcessorTimes> {
    parse(&kernel_files::read_to_string("/proc/stat").ok()?)
}

/// Reads the first line of `/proc/stat` (`proc_stat(5)`).
fn parse(text: &str) -> Option<ProcessorTimes> {
    let numbers: Vec<u64> = text
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; guest time is part of user and nice.
    let [user, nice, system, idle, iowait, irq, softirq, steal] =
        <[u64; 8]>::try_from(numbers.get(..8)?).ok()?;
    let busy = user + nice + system + irq + softirq;
    Some(ProcessorTimes { busy, stolen: steal, total: busy + idle + iowait + steal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_times() {
        let times = parse("cpu  10 1 5 100 2 3 4 20 0 0\ncpu0 1 1").unwrap();
        assert_eq!(times, ProcessorTimes { busy: 23, stolen: 20, total: 145 });
        assert_eq!(parse("cpu 1 2"), None);
        assert_eq!(parse(""), None);
    }
}
