//! What the kernel shows of any process in one line: `/proc/[pid]/stat` (`proc_pid_stat(5)`).

use crate::system::kernel_files;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub name: String,
    /// `S` sleeps, `Z` and `X` have ended.
    pub state: char,
    pub parent: u32,
    pub group: u32,
    /// `PF_…` of the kernel.
    pub flags: u64,
    /// Clock ticks in user and in kernel mode.
    pub ticks: [u64; 2],
    /// The same of children that have ended and were waited for.
    pub ticks_of_children: [u64; 2],
    /// Clock ticks from boot to its start.
    pub started: u64,
    /// Threads of the kernel have no memory.
    pub has_memory: bool,
}

impl ProcessStat {
    /// `None` if there is no such process any more.
    pub(crate) fn of(process: u32) -> Option<Self> {
        let bytes = kernel_files::read(format!("/proc/{process}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    /// The name is in parentheses and may contain anything.
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let (head, tail) = (stat.find('(')?, stat.rfind(')')?);
        let name = stat.get(head + 1..tail)?.to_owned();
        let words: Vec<&str> = stat.get(tail + 1..)?.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let pair = |at: usize| Some([number(at)?, number(at + 1)?]);
        Some(Self {
            name,
            state: words.first()?.chars().next()?,
            parent: words.get(1)?.parse().ok()?,
            group: words.get(2)?.parse().ok()?,
            flags: number(6)?,
            ticks: pair(11)?,
            ticks_of_children: pair(13)?,
            started: number(19)?,
            has_memory: [20, 21].iter().any(|at| number(*at).is_some_and(|size| size > 0)),
        })
    }
}

/// The numbers of all processes; none if the system does not list them.
pub(crate) fn all() -> impl Iterator<Item = u32> {
    let entries = kernel_files::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Reads a text as such a file.
pub(crate) fn read_text(text: &str) {
    let _ = ProcessStat::parse(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let stat = "7 (a) (b c) S 1 34 7 0 -1 4194560 1 0 0 0 120 34 5 6 20 0 1 0 99 4096 1";
        let read = ProcessStat::parse(stat).unwrap();
        assert_eq!((read.name.as_str(), read.state, read.parent, read.group), ("a) (b c", 'S', 1, 34));
        assert_eq!((read.ticks, read.ticks_of_children, read.started), ([120, 34], [5, 6], 99));
        assert!(read.has_memory && read.flags == 4_194_560);
        let thread = "9 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 3 4 0 0 20 0 1 0 5 0 0";
        assert!(!ProcessStat::parse(thread).unwrap().has_memory);
        for rubbish in ["", "7", "7 (a", "7 (a) S 1", ")(", "7 (é) S 1 7 7 0 -1 4 1 0 0 0 x 34 0 0 0 0 0 0 5"]
        {
            assert_eq!(ProcessStat::parse(rubbish), None, "{rubbish}");
        }
    }
}
