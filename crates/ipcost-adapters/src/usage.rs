//! A program's usage.

use ipcost_model::Usage;

/// Processor time by the program's own clock, split into user and system in the proportions of a coarser source.
pub fn scaled(usage: Usage, cpu_ns: u64) -> Usage {
    let sum_ns = usage.cpu_ns();
    let user_share = if sum_ns > 0 { usage.user_ns as f64 / sum_ns as f64 } else { 0.0 };
    let user_ns = (cpu_ns as f64 * user_share) as u64;
    Usage { user_ns, sys_ns: cpu_ns - user_ns, ..usage }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_tells_the_sum_and_the_rest_its_parts() {
        let usage = Usage { user_ns: 10, sys_ns: 30, voluntary_switches: 3, involuntary_switches: 1 };
        assert_eq!(scaled(usage, 100), Usage { user_ns: 25, sys_ns: 75, ..usage });
        assert_eq!(scaled(Usage::default(), 7), Usage { sys_ns: 7, ..Usage::default() });
    }
}
