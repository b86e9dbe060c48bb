//! Control groups of this process (`cgroups(7)`).

use std::path::{Path, PathBuf};

use crate::system::kernel_files;

/// This process's place among a controller's groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    mount: PathBuf,
    group: String,
    /// Version 2, where all controllers share one tree.
    pub(crate) unified: bool,
}

impl Hierarchy {
    /// The groups of a controller such as `cpu` or `pids`; `None` if it has none.
    pub(crate) fn of_this_process(controller: &str) -> Option<Self> {
        Self::of("self", controller)
    }

    /// The same of a process by its number in text.
    pub(crate) fn of(process: &str, controller: &str) -> Option<Self> {
        let groups = kernel_files::read_to_string(format!("/proc/{process}/cgroup")).ok()?;
        let mounts = kernel_files::read_to_string("/proc/self/mountinfo").ok()?;
        Self::find(&groups, &mounts, controller)
    }

    /// From `/proc/self/cgroup` (`cgroups(7)`) and `/proc/self/mountinfo` (`proc_pid_mountinfo(5)`).
    fn find(groups: &str, mounts: &str, controller: &str) -> Option<Self> {
        // id:controllers:path; version 2 has no controllers.
        let lines: Vec<(&str, &str)> =
            groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).collect();
        let has_it = |list: &str| list.split(',').any(|word| word == controller);
        let first = lines.iter().find(|(controllers, _)| has_it(controllers));
        let (unified, group) = match first {
            Some((_, group)) => (false, group),
            None => (true, &lines.iter().find(|(controllers, _)| controllers.is_empty())?.1),
        };
        // … mount point is the fifth word; after " - ": type, source, options.
        let mount = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut after = after.split(' ');
            let (kind, options) = (after.next()?, after.nth(1).unwrap_or_default());
            let fits = if unified { kind == "cgroup2" } else { kind == "cgroup" && has_it(options) };
            fits.then(|| before.split(' ').nth(4))?
        })?;
        Some(Self { mount: PathBuf::from(mount), group: (*group).to_owned(), unified })
    }

    /// The directory of this process's group.
    pub(crate) fn own(&self) -> PathBuf {
        self.mount.join(self.group.trim_start_matches('/'))
    }

    /// The directories of this process's group and of its visible ancestors.
    pub(crate) fn levels(&self) -> Vec<PathBuf> {
        let own = self.own();
        own.ancestors().take_while(|group| group.starts_with(&self.mount)).map(Path::to_owned).collect()
    }
}

/// Reads a text as these files: the first half as groups, the second as mounts.
pub(crate) fn read_text(text: &str) {
    let (groups, mounts) = text.split_once("\n\n").unwrap_or((text, text));
    for controller in ["cpu", "pids"] {
        let _ = Hierarchy::find(groups, mounts, controller).map(|hierarchy| hierarchy.levels());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_found() {
        let mounts = "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                      25 24 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        let first = Hierarchy::find("4:memory:/a\n2:cpu,cpuacct:/slice/x\n0::/\n", mounts, "cpu").unwrap();
        assert_eq!(
            (first.own(), first.unified),
            (PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/slice/x"), false)
        );
        let second = Hierarchy::find("0::/user.slice/me\n", mounts, "cpu").unwrap();
        assert_eq!((second.own(), second.unified), (PathBuf::from("/sys/fs/cgroup/user.slice/me"), true));
        assert_eq!(Hierarchy::find("", mounts, "cpu"), None);
        assert_eq!(Hierarchy::find("0::/x\n", "rubbish\n", "cpu"), None);
    }
}
