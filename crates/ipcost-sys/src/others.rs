//! Other processes on the machine, as far as they are visible.

use std::collections::BTreeMap;
use std::fs;

use crate::system::kernel_files;

pub type Processes = BTreeMap<u32, OtherProcess>;

/// A process at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherProcess {
    pub name: String,
    /// The processor time used so far, in clock ticks.
    pub ticks: u64,
    /// Whether it is a thread of the kernel: what it does, others have asked for.
    pub is_kernel: bool,
}

/// The flag of the kernel's threads (`PF_KTHREAD` of Linux).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process that has been busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    pub id: u32,
    pub name: String,
    /// Clock ticks of processor time.
    pub ticks: u64,
}

/// All current processes; empty if the system does not list them.
pub fn processes() -> Processes {
    let Ok(entries) = kernel_files::read_dir("/proc") else { return Processes::new() };
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let with_stat =
        |id: u32| Some((id, parse(&kernel_files::read_to_string(format!("/proc/{id}/stat")).ok()?)?));
    entries.flatten().filter_map(number).filter_map(with_stat).collect()
}

/// The process that used the most processor time between two listings, apart from this one and the kernel's threads.
pub fn busiest(before: &Processes, after: &Processes) -> Option<Busy> {
    let own = std::process::id();
    used(before, after)
        .filter(|(id, process, _)| *id != own && !process.is_kernel)
        .map(|(id, process, ticks)| Busy { id, name: process.name.clone(), ticks })
        .max_by_key(|busy| busy.ticks)
        .filter(|busy| busy.ticks > 0)
}

/// The processor time of the kernel's threads between two listings, in clock ticks.
pub fn of_the_kernel(before: &Processes, after: &Processes) -> u64 {
    used(before, after).filter(|(_, process, _)| process.is_kernel).map(|(_, _, ticks)| ticks).sum()
}

/// What each process used between two listings; nothing where the first failed: everything ever done would look new.
fn used<'a>(
    before: &'a Processes,
    after: &'a Processes,
) -> impl Iterator<Item = (u32, &'a OtherProcess, u64)> {
    let after = after.iter().filter(|_| !before.is_empty());
    after.map(|(id, process)| {
        // Kernel threads change their names as they run; one with more ticks before was another process.
        let earlier = before.get(id).map(|process| process.ticks).filter(|earlier| *earlier <= process.ticks);
        (*id, process, process.ticks.saturating_sub(earlier.unwrap_or(0)))
    })
}

/// `/proc/[pid]/stat` (`proc_pid_stat(5)`): the name is in parentheses and may contain anything.
fn parse(stat: &str) -> Option<OtherProcess> {
    let (head, tail) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(head + 1..tail)?;
    let mut words = stat.get(tail + 1..)?.split_whitespace();
    // state is the third field; flags are the 9th, user and system time the 14th and 15th.
    let flags: u64 = words.nth(6)?.parse().ok()?;
    let user: u64 = words.nth(4)?.parse().ok()?;
    let system: u64 = words.next()?.parse().ok()?;
    let is_kernel = flags & KERNEL_THREAD != 0;
    Some(OtherProcess { name: name.to_owned(), ticks: user.checked_add(system)?, is_kernel })
}

/// Reads a text as such a file.
pub(crate) fn read_text(text: &str) {
    let _ = parse(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let stat = "7 (a) (b c) S 1 7 7 0 -1 4194560 1 0 0 0 120 34 0 0 20 0 1 0 5";
        let user = OtherProcess { name: "a) (b c".to_owned(), ticks: 154, is_kernel: false };
        assert_eq!(parse(stat), Some(user));
        let kernel = "9 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 3 4 0 0 20 0 1 0 5";
        assert!(parse(kernel).unwrap().is_kernel);
        for rubbish in ["", "7", "7 (a", "7 (a) S 1", ")(", "7 (é) S 1 7 7 0 -1 4 1 0 0 0 x 34"] {
            assert_eq!(parse(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn the_busiest_is_the_one_that_worked_in_between() {
        let process = |name: &str, ticks| OtherProcess {
            name: name.to_owned(),
            ticks,
            is_kernel: name.starts_with('k'),
        };
        let listing = |ticks: [u64; 3]| {
            Processes::from([
                (1_000_001, process("old", ticks[0])),
                (1_000_002, process("new", ticks[1])),
                (1_000_003, process("kworker/0:1-kblockd", ticks[2])),
            ])
        };
        let (before, after) = (listing([500, 3, 10]), listing([501, 9, 90]));
        let busy = busiest(&before, &after).unwrap();
        assert_eq!((busy.name.as_str(), busy.ticks), ("new", 6));
        assert_eq!(of_the_kernel(&before, &after), 80);
        assert_eq!(busiest(&listing([5, 5, 5]), &listing([5, 5, 7])), None);
        let reused = Processes::from([(1_000_001, process("other", 7))]);
        assert_eq!(busiest(&before, &reused).map(|busy| busy.ticks), Some(7));
        assert_eq!(busiest(&Processes::new(), &reused), None, "nothing is known of before");
        assert!(processes().contains_key(&std::process::id()));
    }
}
