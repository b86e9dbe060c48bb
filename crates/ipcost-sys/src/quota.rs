//! CPU quotas of control groups: whether one throttles this process, and imposing one for a test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::system::kernel_files;
use crate::{Context, SysError};

/// How names of groups begin that hold this process to a quota; its number follows.
const GROUP: &str = "ipcost-";

/// What quotas have done to this process's groups since they were made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Throttling {
    /// How often a group had to wait for its next period.
    pub times: u64,
    /// For how long, all processors together.
    pub time: Duration,
    /// The tightest quota, in processors.
    pub cores: Option<f64>,
}

impl Throttling {
    /// Reads it for this process's group and all above it that can be seen; `None` where no group has a quota.
    pub fn read() -> Option<Self> {
        let groups = Hierarchy::of_this_process()?;
        let mut sum = Self::default();
        for group in groups.own().ancestors().take_while(|group| group.starts_with(&groups.mount)) {
            let Some(cores) = groups.quota(group) else { continue };
            sum.cores = Some(sum.cores.map_or(cores, |tightest: f64| tightest.min(cores)));
            let stat = kernel_files::read_to_string(group.join("cpu.stat")).unwrap_or_default();
            let (times, time) = parse_stat(&stat);
            sum.times = sum.times.max(times);
            sum.time = sum.time.max(time);
        }
        sum.cores.is_some().then_some(sum)
    }

    /// What has passed since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            times: self.times.saturating_sub(earlier.times),
            time: self.time.saturating_sub(earlier.time),
            cores: self.cores,
        }
    }
}

/// A group that was made to hold this process to a quota; the process leaves it, and it goes, when dropped.
#[derive(Debug)]
pub struct Quota {
    home: PathBuf,
    group: PathBuf,
}

impl Quota {
    /// Puts this process, and those it starts from now on, under a quota of `cores` processors.
    ///
    /// # Errors
    /// Where this user may not, or the system has no such control.
    pub fn impose(cores: f64) -> Result<Self, SysError> {
        const PERIOD_US: u64 = 100_000;
        let none = || io::Error::new(io::ErrorKind::NotFound, "there is no CPU control group here");
        let hierarchy = Hierarchy::of_this_process().ok_or_else(none).context(|| "CPU quota".to_owned())?;
        let home = hierarchy.own();
        let group = home.join(format!("{GROUP}{}", std::process::id()));
        fs::create_dir(&group).context(|| format!("making the control group {}", group.display()))?;
        let quota = Self { home, group };
        let quota_us = (cores * PERIOD_US as f64) as u64;
        let settings = if hierarchy.unified {
            // Without the controller in the group above, the file does not exist, and writing it says so.
            let _ = fs::write(quota.home.join("cgroup.subtree_control"), "+cpu");
            vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))]
        } else {
            vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota_us.to_string())]
        };
        for (file, value) in settings {
            // Opening for writing alone: a file that is not there must not be made.
            set(&quota.group.join(file), &value)?;
        }
        set(&quota.group.join("cgroup.procs"), &std::process::id().to_string())?;
        Ok(quota)
    }
}

/// Removes control groups that killed programs have left behind in this process's; the kernel keeps those in use.
pub fn sweep() {
    let Some(hierarchy) = Hierarchy::of_this_process() else { return };
    for entry in fs::read_dir(hierarchy.own()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(GROUP)?.parse::<u32>().ok());
        let gone = process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists());
        if gone {
            // A group that holds a process is busy and stays.
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
    use std::io::Write;
    let mut file =
        fs::OpenOptions::new().write(true).open(path).context(|| format!("opening {}", path.display()))?;
    file.write_all(value.as_bytes()).context(|| format!("writing {}", path.display()))
}

/// Where this process stands in the groups that have CPU quotas.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    mount: PathBuf,
    group: String,
    /// Version 2, where all controllers share one tree.
    unified: bool,
}

impl Hierarchy {
    fn of_this_process() -> Option<Self> {
        let groups = kernel_files::read_to_string("/proc/self/cgroup").ok()?;
        let mounts = kernel_files::read_to_string("/proc/self/mountinfo").ok()?;
        Self::find(&groups, &mounts)
    }

    /// From `/proc/self/cgroup` (`cgroups(7)`) and `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
    fn find(groups: &str, mounts: &str) -> Option<Self> {
        // id:controllers:path; version 2 has no controllers.
        let lines: Vec<(&str, &str)> =
            groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).collect();
        let has_cpu = |list: &str| list.split(',').any(|word| word == "cpu");
        let first = lines.iter().find(|(controllers, _)| has_cpu(controllers));
        let (unified, group) = match first {
            Some((_, group)) => (false, group),
            None => (true, &lines.iter().find(|(controllers, _)| controllers.is_empty())?.1),
        };
        // … mount point is the fifth word; after " - ": type, source, options.
        let mount = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut after = after.split(' ');
            let (kind, options) = (after.next()?, after.nth(1).unwrap_or_default());
            let fits = if unified { kind == "cgroup2" } else { kind == "cgroup" && has_cpu(options) };
            fits.then(|| before.split(' ').nth(4))?
        })?;
        Some(Self { mount: PathBuf::from(mount), group: (*group).to_owned(), unified })
    }

    /// The directory of this process's group.
    fn own(&self) -> PathBuf {
        self.mount.join(self.group.trim_start_matches('/'))
    }

    /// A group's quota in processors; `None` where it has none.
    fn quota(&self, group: &Path) -> Option<f64> {
        let number =
            |file: &str| kernel_files::read_to_string(group.join(file)).ok()?.trim().parse::<f64>().ok();
        if self.unified {
            return parse_max(&kernel_files::read_to_string(group.join("cpu.max")).ok()?);
        }
        let (quota, period) = (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?);
        cores(quota, period)
    }
}

/// A quota in processors; it stands in documents, which hold finite numbers only.
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

/// Reads a text as each of the files above; the first half as groups, the second as mounts.
pub(crate) fn read_text(text: &str) {
    let _ = (parse_max(text), parse_stat(text));
    let (groups, mounts) = text.split_once("\n\n").unwrap_or((text, text));
    let _ = Hierarchy::find(groups, mounts).map(|hierarchy| hierarchy.own());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_found() {
        let mounts = "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      25 24 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        let first = Hierarchy::find("4:memory:/a\n2:cpu,cpuacct:/slice/x\n0::/\n", mounts).unwrap();
        assert_eq!(
            (first.own(), first.unified),
            (PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/slice/x"), false)
        );
        let second = Hierarchy::find("0::/user.slice/me\n", mounts).unwrap();
        assert_eq!((second.own(), second.unified), (PathBuf::from("/sys/fs/cgroup/user.slice/me"), true));
        assert_eq!(Hierarchy::find("", mounts), None);
        assert_eq!(Hierarchy::find("0::/x\n", "rubbish\n"), None);
    }

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
