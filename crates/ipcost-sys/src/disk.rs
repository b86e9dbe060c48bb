//! Bytes that processes have read from storage and written to it (`proc_pid_io(5)`).

use std::fs;
use std::ops::Sub;

use crate::perf::processes;

/// Bytes that went to storage and came from it, without hits in the page cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskBytes {
    pub read: u64,
    /// Written to storage, or dirtied so that it will be.
    pub written: u64,
}

impl DiskBytes {
    /// The sum over a group's processes since they started; `None` if none of them may be read.
    pub fn of_group(group: u32) -> Option<Self> {
        let texts = processes(group).into_iter().map(|id| fs::read_to_string(format!("/proc/{id}/io")));
        let known: Vec<Self> = texts.filter_map(|text| parse(&text.ok()?)).collect();
        (!known.is_empty()).then(|| {
            known.iter().fold(Self::default(), |sum, one| Self {
                read: sum.read + one.read,
                written: sum.written + one.written,
            })
        })
    }
}

impl Sub for DiskBytes {
    type Output = Self;

    /// The difference; a process that has ended since takes its own bytes away.
    fn sub(self, before: Self) -> Self {
        Self {
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
        }
    }
}

fn parse(text: &str) -> Option<DiskBytes> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some(DiskBytes { read: field("read_bytes:")?, written: field("write_bytes:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_told_from_calls() {
        let text = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        assert_eq!(parse(text), Some(DiskBytes { read: 4_096, written: 8_192 }));
        assert_eq!(parse("rchar: 9\n"), None);
        let before = DiskBytes { read: 10, written: 1 };
        assert_eq!(DiskBytes { read: 4, written: 3 } - before, DiskBytes { read: 0, written: 2 });
    }
}
