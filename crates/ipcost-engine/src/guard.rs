//! The guard: a small process that cleans up should the engine be killed so that it cannot.
//!
//! The engine tells it, through the guard's standard input, which directory is to go and which process
//! groups are running. When that input ends, whatever is still named is killed and removed. After a run that
//! ended in good order nothing is.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Child;

use ipcost_sys::process::{ChildStdin, kill_group, read_stdin, spawn_guard};

/// The engine's side.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    input: Option<ChildStdin>,
}

impl Guard {
    /// Starts one that watches over a directory.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(command: &[String], dir: &Path) -> io::Result<Self> {
        let mut child = spawn_guard(command)?;
        let input = child.stdin.take();
        let mut guard = Self { child, input };
        guard.tell(&format!("dir {}", dir.display()));
        Ok(guard)
    }

    /// These process groups are running.
    pub fn watch(&mut self, groups: &[u32]) {
        self.tell(&format!("watch {}", list(groups)));
    }

    /// These have ended.
    pub fn forget(&mut self, groups: &[u32]) {
        self.tell(&format!("forget {}", list(groups)));
    }

    fn tell(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            // Without a guard the run goes on; it is needed only if the engine is killed.
            let _ = writeln!(input, "{line}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

fn list(groups: &[u32]) -> String {
    groups.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// What the guard has been told.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ward {
    dir: Option<PathBuf>,
    groups: BTreeSet<u32>,
}

impl Ward {
    fn heed(&mut self, line: &str) {
        let Some((word, rest)) = line.split_once(' ') else { return };
        let groups = rest.split(' ').filter_map(|number| number.parse().ok());
        match word {
            "dir" => self.dir = Some(PathBuf::from(rest)),
            "watch" => self.groups.extend(groups),
            "forget" => groups.for_each(|group: u32| {
                self.groups.remove(&group);
            }),
            _ => {}
        }
    }
}

/// The guard's whole life: listens until the engine is gone, then cleans up.
///
/// # Errors
/// Where standard input cannot be read.
pub fn stand() -> io::Result<()> {
    let mut ward = Ward::default();
    let mut unread = Vec::new();
    read_stdin(&mut |bytes| {
        unread.extend_from_slice(bytes);
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            ward.heed(&String::from_utf8_lossy(&unread[..end]));
            unread.drain(..=end);
        }
    })?;
    for group in &ward.groups {
        kill_group(*group);
    }
    // Only a directory of ours, by its name: a line on our input must never remove anything else.
    let ours =
        |dir: &&PathBuf| dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ipcost-"));
    if let Some(dir) = ward.dir.as_ref().filter(ours)
        && dir.exists()
    {
        std::fs::remove_dir_all(dir)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heeds_what_it_is_told_and_nothing_else() {
        let mut ward = Ward::default();
        for line in ["dir /tmp/ipcost-a b", "watch 5 6 7", "forget 6", "remove /", "watch x", ""] {
            ward.heed(line);
        }
        assert_eq!(ward, Ward { dir: Some("/tmp/ipcost-a b".into()), groups: [5, 7].into() });
    }
}
