//! Other processes on the machine, as far as they are visible.

use std::collections::BTreeMap;
use std::fs;

use crate::system::kernel_files;

/// Processes by ID: the name, and the processor time used so far, in clock ticks.
pub type Processes = BTreeMap<u32, (String, u64)>;

/// A process that has been busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// Its process ID.
    pub id: u32,
    /// Its name.
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

/// The process that used the most processor time between two listings, apart from this one.
pub fn busiest(before: &Processes, after: &Processes) -> Option<Busy> {
    if before.is_empty() {
        // A failed reading: everything that processes ever did would look new.
        return None;
    }
    let own = std::process::id();
    after
        .iter()
        .filter(|(id, _)| **id != own)
        .map(|(id, (name, ticks))| {
            // Kernel threads change their names as they run; one with more ticks before was another process.
            let earlier = before.get(id).map(|(_, earlier)| *earlier).filter(|earlier| earlier <= ticks);
            let earlier = earlier.unwrap_or(0);
            Busy { id: *id, name: name.clone(), ticks: ticks.saturating_sub(earlier) }
        })
        .max_by_key(|busy| busy.ticks)
        .filter(|busy| busy.ticks > 0)
}

/// `/proc/[pid]/stat` (`proc_pid_stat(5)`): the name is in parentheses and may contain anything.
fn parse(stat: &str) -> Option<(String, u64)> {
    let (head, tail) = (stat.find('(')?, stat.rfind(')')?);
    let name = stat.get(head + 1..tail)?;
    let mut words = stat.get(tail + 1..)?.split_whitespace();
    // state is the third field; user and system time are the 14th and 15th.
    let user: u64 = words.nth(11)?.parse().ok()?;
    let system: u64 = words.next()?.parse().ok()?;
    Some((name.to_owned(), user.checked_add(system)?))
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
        assert_eq!(parse(stat), Some(("a) (b c".to_owned(), 154)));
        for rubbish in ["", "7", "7 (a", "7 (a) S 1", ")(", "7 (é) S 1 7 7 0 -1 4 1 0 0 0 x 34"] {
            assert_eq!(parse(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn the_busiest_is_the_one_that_worked_in_between() {
        let listing = |ticks: [u64; 2]| {
            Processes::from([
                (1_000_001, ("old".to_owned(), ticks[0])),
                (1_000_002, ("new".to_owned(), ticks[1])),
            ])
        };
        let busy = busiest(&listing([500, 3]), &listing([501, 9])).unwrap();
        assert_eq!((busy.name.as_str(), busy.ticks), ("new", 6));
        assert_eq!(busiest(&listing([5, 5]), &listing([5, 5])), None);
        let renamed = Processes::from([(1_000_001, ("kworker/0:1-events".to_owned(), 501))]);
        assert_eq!(busiest(&listing([500, 3]), &renamed).map(|busy| busy.ticks), Some(1));
        let reused = Processes::from([(1_000_001, ("other".to_owned(), 7))]);
        assert_eq!(busiest(&listing([500, 3]), &reused).map(|busy| busy.ticks), Some(7));
        assert_eq!(busiest(&Processes::new(), &reused), None, "nothing is known of before");
        assert!(processes().contains_key(&std::process::id()));
    }
}
