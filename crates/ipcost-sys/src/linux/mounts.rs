//! Which mounts answer at once: a question to one of a network, or of a program, waits for its server, perhaps for good.

use std::collections::HashMap;

/// Where names and permissions are in memory or on this machine's disks. Any other may wait for a server, or for a program of some user.
const AT_ONCE: [&str; 18] = [
    "bcachefs", "btrfs", "devtmpfs", "erofs", "ext2", "ext3", "ext4", "f2fs", "hugetlbfs", "jfs", "mqueue",
    "overlay", "ramfs", "reiserfs", "squashfs", "tmpfs", "xfs", "zfs",
];

/// The mounts of processes, as far as they were asked for.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    /// By mount namespace, whether each of those answers at once that a process in it saw.
    known: HashMap<String, HashMap<u64, bool>>,
    /// The namespace of the process that was asked for last.
    last: Option<(u32, String)>,
}

impl Mounts {
    /// Whether the mount that a descriptor of a process is on answers at once. The file itself is asked nothing.
    pub fn answer(&mut self, process: u32, descriptor: i32) -> bool {
        let Some(mount) = mount_of(process, descriptor) else { return false };
        let space = match &self.last {
            Some((known, space)) if *known == process => space.clone(),
            _ => {
                let link = std::fs::read_link(format!("/proc/{process}/ns/mnt"));
                let space = link.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default();
                self.last = Some((process, space.clone()));
                space
            }
        };
        let known = self.known.entry(space).or_default();
        // Another process may see others of the same namespace.
        if !known.contains_key(&mount) {
            let text = std::fs::read(format!("/proc/{process}/mountinfo")).unwrap_or_default();
            known.extend(at_once(&String::from_utf8_lossy(&text)));
        }
        known.get(&mount).copied().unwrap_or(false)
    }
}

/// The number of the mount that a descriptor is on (`proc_pid_fdinfo(5)`).
fn mount_of(process: u32, descriptor: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// Whether each mount of a `/proc/PID/mountinfo` answers at once.
fn at_once(text: &str) -> HashMap<u64, bool> {
    let mount = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let kind = after.split(' ').next()?;
        let number = before.split(' ').next()?.parse().ok()?;
        Some((number, AT_ONCE.contains(&kind)))
    };
    text.lines().filter_map(mount).collect()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn only_what_is_known_to_answer_is_asked() {
        let text = "25 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
            31 25 0:40 / /mnt rw - fuse.sshfs me@there: rw\n\
            32 25 0:41 / /home rw shared:4 master:2 - nfs4 there:/home rw\n\
            33 25 0:42 / /run rw - tmpfs tmpfs rw\n\
            rubbish\n";
        assert_eq!(at_once(text), [(25, true), (31, false), (32, false), (33, true)].into());
    }

    #[test]
    fn a_file_here_is_on_a_mount_that_is_known() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let number = mount_of(std::process::id(), file.as_raw_fd()).unwrap();
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(text.lines().any(|line| line.starts_with(&format!("{number} "))), "{number}");
        assert!(!Mounts::default().answer(std::process::id(), 1 << 20));
    }
}
