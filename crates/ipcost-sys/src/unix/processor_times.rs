//! Processor times since the system started (`proc_stat(5)`).

use super::kernel_files;
use ipcost_model::ProcessorTimes;

/// Reads them; `None` if the system does not report them.
pub fn read() -> Option<ProcessorTimes> {
    parse(&kernel_files::read_to_string("/proc/stat").ok()?)
}

/// Reads the first line of `/proc/stat` (`proc_stat(5)`).
pub fn parse(text: &str) -> Option<ProcessorTimes> {
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
    let sum = |ticks: &[u64]| ticks.iter().try_fold(0_u64, |sum, more| sum.checked_add(*more));
    let busy = sum(&[user, nice, system, irq, softirq])?;
    Some(ProcessorTimes { busy, stolen: steal, total: sum(&[busy, idle, iowait, steal])? })
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

    #[test]
    fn times_that_no_machine_has_are_none() {
        let most = u64::MAX;
        assert_eq!(parse(&format!("cpu {most} 1 0 0 0 0 0 0")), None);
        assert_eq!(parse(&format!("cpu 1 0 0 {most} 0 0 0 0")), None);
    }
}
