//! Where the scheduler ran the processes of a batch, seen from outside.

use std::collections::BTreeSet;

use ipcost_model::{Ran, Whereabouts};
use ipcost_sys::placement::Topology;
use ipcost_sys::whereabouts::{Thread, threads};

use super::pair::SERVER;

/// A thread with a smaller share of its process's time is ignored.
const BUSY: f64 = 0.1;
/// After more migrations of a busy thread than this, its place at the end says little about the batch: one may come
/// from waking up, one from balancing.
const SETTLED: u64 = 2;

/// More threads of a side than this are not looked at: reading them would take longer than a batch.
const MOST_THREADS: usize = 256;

/// The threads of both sides of a cell.
pub(super) type ThreadsOfSides = [Vec<Thread>; 2];

/// The threads of both sides and their processors; `None` if the system does not tell, or there are too many.
pub(super) fn seen(sides: &[Vec<u32>; 2]) -> Option<ThreadsOfSides> {
    let [server, client] = sides;
    Some([threads_of(server)?, threads_of(client)?])
}

/// The threads of processes, of which some may have ended meanwhile.
fn threads_of(processes: &[u32]) -> Option<Vec<Thread>> {
    if processes.len() > MOST_THREADS {
        return None;
    }
    let all: Vec<Thread> = processes.iter().filter_map(|process| threads(*process)).flatten().collect();
    (!all.is_empty() && all.len() <= MOST_THREADS).then_some(all)
}

/// The server's thread that worked most in between: the one that answers.
pub(super) fn answering(before: &ThreadsOfSides, after: &ThreadsOfSides) -> Option<u32> {
    let worked = after[SERVER].iter().map(|thread| since(thread, &before[SERVER]));
    worked.filter(|thread| thread.ran_ns > 0).max_by_key(|thread| thread.ran_ns).map(|thread| thread.id)
}

/// The processor on which a thread of the server ran last; `None` if it has ended.
pub(super) fn processor_of(thread: u32, seen: &ThreadsOfSides) -> Option<usize> {
    seen[SERVER].iter().find(|known| known.id == thread).map(|known| known.processor)
}

/// Where they ran in between, by the threads that did the work; `None` if others did it, such as children.
pub(super) fn ran(
    topology: &Topology,
    before: &ThreadsOfSides,
    after: &ThreadsOfSides,
    cpu_ns: [u64; 2],
) -> Option<Whereabouts> {
    let mut migrations = 0;
    let mut busy = 0;
    let mut sides = [BTreeSet::new(), BTreeSet::new()];
    for (side, processors) in sides.iter_mut().enumerate() {
        let since: Vec<Thread> = after[side].iter().map(|thread| since(thread, &before[side])).collect();
        let ran_ns: u64 = since.iter().map(|thread| thread.ran_ns).sum();
        if ran_ns < cpu_ns[side] / 2 {
            return None;
        }
        for thread in since.iter().filter(|thread| thread.ran_ns as f64 >= BUSY * ran_ns as f64) {
            processors.insert(thread.processor);
            migrations += thread.migrations;
            busy += 1;
        }
    }
    let cores = |processors: &BTreeSet<usize>| -> BTreeSet<usize> {
        let core = |processor: &usize| topology.cores.iter().position(|core| core.contains(processor));
        processors.iter().map(|processor| core(processor).unwrap_or(usize::MAX)).collect()
    };
    let [one, other] = &sides;
    let ran = if migrations > SETTLED * busy {
        Ran::Mixed
    } else if one.len() == 1 && one == other {
        Ran::Together
    } else if cores(one).is_disjoint(&cores(other)) {
        Ran::Apart
    } else {
        Ran::Mixed
    };
    Some(Whereabouts { ran, migrations })
}

/// A thread's activity since the last look.
fn since(thread: &Thread, before: &[Thread]) -> Thread {
    let known = before.iter().find(|known| known.id == thread.id);
    let (ran_ns, migrations) = known.map_or((0, 0), |known| (known.ran_ns, known.migrations));
    Thread {
        ran_ns: thread.ran_ns.saturating_sub(ran_ns),
        migrations: thread.migrations.saturating_sub(migrations),
        ..*thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(processor: usize, ran_ns: u64, migrations: u64) -> Vec<Thread> {
        vec![Thread { id: 1, processor, ran_ns, migrations }]
    }

    fn found(server: Vec<Thread>, client: Vec<Thread>) -> Option<Ran> {
        let topology = Topology { cores: vec![vec![0, 2], vec![1, 3]] };
        let before = [at(0, 1_000, 5), at(0, 1_000, 5)];
        ran(&topology, &before, &[server, client], [100, 100]).map(|found| found.ran)
    }

    #[test]
    fn the_threads_that_worked_tell_where_a_batch_ran() {
        assert_eq!(found(at(1, 1_200, 6), at(1, 1_200, 5)), Some(Ran::Together));
        assert_eq!(found(at(1, 1_200, 6), at(0, 1_200, 5)), Some(Ran::Apart));
        // Two processors of one core count as neither.
        assert_eq!(found(at(0, 1_200, 6), at(2, 1_200, 5)), Some(Ran::Mixed));
        assert_eq!(found(at(1, 1_200, 30), at(1, 1_200, 5)), Some(Ran::Mixed), "it did not stay");
        let idle = Thread { id: 2, processor: 1, ran_ns: 10, migrations: 9 };
        assert_eq!(found([at(0, 1_200, 5), vec![idle]].concat(), at(0, 1_200, 5)), Some(Ran::Together));
    }

    #[test]
    fn the_thread_that_worked_most_answers() {
        let threads = |first, second| {
            let other = Thread { id: 2, processor: 3, ran_ns: second, migrations: 0 };
            [[at(0, first, 0), vec![other]].concat(), at(1, 0, 0)]
        };
        let (before, after) = (threads(9_000, 100), threads(9_010, 700));
        assert_eq!(answering(&before, &after), Some(2));
        assert_eq!((processor_of(2, &after), processor_of(7, &after)), (Some(3), None));
        assert_eq!(answering(&after, &after), None, "none worked");
    }

    #[test]
    fn work_that_others_did_tells_nothing() {
        assert_eq!(found(at(1, 1_010, 5), at(1, 1_200, 5)), None);
    }
}
