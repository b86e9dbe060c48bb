//! Other processes on the machine, as far as they are visible.

use std::collections::BTreeMap;

use crate::process_stat::{self, ProcessStat};

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
    let of = |id: u32| {
        let ProcessStat { name, flags, ticks, .. } = ProcessStat::of(id)?;
        let is_kernel = flags & KERNEL_THREAD != 0;
        Some((id, OtherProcess { name, ticks: ticks.iter().sum(), is_kernel }))
    };
    process_stat::all().filter_map(of).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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
