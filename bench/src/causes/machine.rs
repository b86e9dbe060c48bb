//! Whether other work took the processors during a run, told without the tool that is tested.

use std::time::Instant;

/// Others that take more than this share of the processors' time make a machine busy.
const BUSY: f64 = 0.03;
/// Ticks in a second, as Linux shows them to programs.
const TICKS: f64 = 100.0;

/// Watches the machine from one moment to another.
pub struct Watch {
    began: Instant,
    before: Option<(f64, f64)>,
}

impl Watch {
    pub fn start() -> Self {
        Self { began: Instant::now(), before: ticks() }
    }

    /// The share of the processors' time that others have taken; `None` if it is unknown.
    pub fn others(&self) -> Option<f64> {
        let ((all_before, own_before), (all, own)) = (self.before?, ticks()?);
        let had = self.began.elapsed().as_secs_f64() * TICKS * processors();
        Some(((all - all_before - (own - own_before)) / had).max(0.0))
    }
}

/// Whether others have taken so much that the machine may be blamed for it.
pub fn is_busy(others: Option<f64>) -> bool {
    others.is_none_or(|share| share > BUSY)
}

fn processors() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64)
}

/// Ticks of all processes, with those that the hypervisor took, and of this process and children that it has waited for.
fn ticks() -> Option<(f64, f64)> {
    let all = of_all(&std::fs::read_to_string("/proc/stat").ok()?)?;
    let own = of_own(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
    Some((all, own))
}

/// User, nice, system and stolen time of the first line of `/proc/stat`; interrupts have no process.
fn of_all(text: &str) -> Option<f64> {
    let fields: Vec<f64> =
        text.lines().next()?.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    Some(fields.get(..3)?.iter().sum::<f64>() + fields.get(7).copied().unwrap_or(0.0))
}

/// User and system time of a process and of its children, from `/proc/PID/stat`, whose second field may hold spaces.
fn of_own(text: &str) -> Option<f64> {
    let (_, after_name) = text.rsplit_once(')')?;
    let fields: Vec<f64> =
        after_name.split_whitespace().skip(11).take(4).filter_map(|word| word.parse().ok()).collect();
    (fields.len() == 4).then(|| fields.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::{of_all, of_own};

    #[test]
    fn ticks_are_read() {
        assert_eq!(of_all("cpu  10 1 20 900 5 3 4 7 0 0\ncpu0 1 1 1"), Some(38.0));
        let own = "42 (a b) c) S 1 42 42 0 -1 4194304 100 0 0 0 3 4 5 6 20 0 1 0 77";
        assert_eq!(of_own(own), Some(18.0));
        assert_eq!((of_all(""), of_own("42")), (None, None));
    }
}
