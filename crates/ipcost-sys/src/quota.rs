//! CPU quotas of control groups: whether one throttles this process, and imposing one for a test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::control_group::Hierarchy;
use crate::file_writer::write_kernel_file;
use crate::system::kernel_files;
use ipcost_model::Throttling;

use crate::{Context, SysError};

/// The controller of quotas.
const CONTROLLER: &str = "cpu";
/// Prefix of the groups that hold this process to a quota; its process ID follows.
const GROUP: &str = "ipcost-";

/// Throttling of this process's group and its visible ancestors since they were created; `None` if no group has a quota.
pub fn throttling() -> Option<Throttling> {
    throttling_of("self")
}

/// How often a process's group or a visible ancestor was throttled since they were created; `None` if no group has a quota.
pub fn throttled(process: u32) -> Option<u64> {
    throttling_of(&process.to_string()).map(|throttling| throttling.times)
}

fn throttling_of(process: &str) -> Option<Throttling> {
    let hierarchy = Hierarchy::of(process, CONTROLLER)?;
    let mut sum = Throttling::default();
    for group in hierarchy.levels() {
        let Some(cores) = quota(hierarchy.unified, &group) else { continue };
        sum.cores = Some(sum.cores.map_or(cores, |tightest: f64| tightest.min(cores)));
        let stat = kernel_files::read_to_string(group.join("cpu.stat")).unwrap_or_default();
        let (times, time) = parse_stat(&stat);
        sum.times = sum.times.max(times);
        sum.time_ns = sum.time_ns.max(time.as_nanos() as u64);
    }
    sum.cores.is_some().then_some(sum)
}

/// A group created to hold this process to a quota; dropping it moves the process out and removes the group.
#[derive(Debug)]
pub struct Quota {
    home: PathBuf,
    group: PathBuf,
}

impl Quota {
    /// Puts this process, and those it starts from now on, under a quota of `cores` processors.
    ///
    /// # Errors
    /// If this user may not, or the system has no such control.
    pub fn impose(cores: f64) -> Result<Self, SysError> {
        const PERIOD_US: u64 = 100_000;
        let none = || io::Error::new(io::ErrorKind::NotFound, "there is no CPU control group here");
        let hierarchy =
            Hierarchy::of_this_process(CONTROLLER).ok_or_else(none).context(|| "CPU quota".to_owned())?;
        let home = hierarchy.own();
        let group = home.join(format!("{GROUP}{}", std::process::id()));
        fs::create_dir(&group).context(|| format!("making the control group {}", group.display()))?;
        let quota = Self { home, group };
        let quota_us = (cores * PERIOD_US as f64) as u64;
        let settings = if hierarchy.unified {
            // Without the controller in the parent group, the file does not exist, and writing it fails with that.
            let _ = write_kernel_file(&quota.home.join("cgroup.subtree_control"), "+cpu");
            vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))]
        } else {
            vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota_us.to_string())]
        };
        for (file, value) in settings {
            set(&quota.group.join(file), &value)?;
        }
        set(&quota.group.join("cgroup.procs"), &std::process::id().to_string())?;
        Ok(quota)
    }
}

/// Removes control groups that killed programs left in this process's; the kernel keeps those in use.
pub fn sweep() {
    let Some(hierarchy) = Hierarchy::of_this_process(CONTROLLER) else { return };
    for entry in fs::read_dir(hierarchy.own()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(GROUP)?.parse::<u32>().ok());
        let gone = process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists());
        if gone {
            // A group with a process is busy and stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = set(&self.home.join("cgroup.procs"), &std::process::id().to_string());
        let _ = fs::remove_dir(&self.group);
    }
}

fn set(path: &Path, value: &str) -> Result<(), SysError> {
    write_kernel_file(path, value).context(|| format!("writing {}", path.display()))
}

/// A group's quota in processors; `None` if it has none.
fn quota(unified: bool, group: &Path) -> Option<f64> {
    let number = |file: &str| kernel_files::read_to_string(group.join(file)).ok()?.trim().parse::<f64>().ok();
    if unified {
        return parse_max(&kernel_files::read_to_string(group.join("cpu.max")).ok()?);
    }
    let (quota, period) = (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?);
    cores(quota, period)
}

/// A quota in processors; finite, as documents require.
fn cores(quota_us: f64, period_us: f64) -> Option<f64> {
    let cores = quota_us / period_us;
    (cores.is_finite() && cores > 0.0).then_some(cores)
}

/// `cpu.max`: quota and period, or `max`.
fn parse_max(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    cores(quota, period)
}

/// `cpu.stat` of either version: how often and how long it was throttled.
fn parse_stat(text: &str) -> (u64, Duration) {
    let value = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    let time = match (value("throttled_usec"), value("throttled_time")) {
        (Some(microseconds), _) => Duration::from_micros(microseconds),
        (None, nanoseconds) => Duration::from_nanos(nanoseconds.unwrap_or(0)),
    };
    (value("nr_throttled").unwrap_or(0), time)
}

/// Reads a text as each of the files above.
pub(crate) fn read_text(text: &str) {
    let _ = (parse_max(text), parse_stat(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_and_counters_are_read() {
        assert_eq!(parse_max("60000 100000\n"), Some(0.6));
        assert_eq!((parse_max("max 100000\n"), parse_max("")), (None, None));
        assert_eq!(
            (parse_max("inf 1"), parse_max("NaN 1"), parse_max("-5 1"), parse_max("1 0")),
            (None, None, None, None)
        );
        let v2 = parse_stat("usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 1500\n");
        assert_eq!(v2, (3, Duration::from_micros(1500)));
        let v1 = parse_stat("nr_periods 9\nnr_throttled 3\nthrottled_time 1500\n");
        assert_eq!(v1, (3, Duration::from_nanos(1500)));
        assert_eq!(parse_stat("rubbish"), (0, Duration::ZERO));
    }
}
