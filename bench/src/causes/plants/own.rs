//! What one side does by itself for every operation.

use super::needs::Need;
use super::{PLAIN, Plant, PlantMethod, READS, SWITCHES, WRITES};
use crate::causes::judge::{Blame, any, calls};

const MIGRATIONS: Blame = any("migrations");
const SLEEPS: Blame = calls(&["clock_nanosleep", "nanosleep", "poll", "ppoll", "select", "pselect6"]);
const MAPPING: Blame = calls(&["mmap", "munmap", "madvise", "brk"]);

const SYNC: &[Blame] = &[any("sync-writes")];
const SYNC_COMPANY: &[Blame] = &[any("storage"), SWITCHES, calls(&["fdatasync", "fsync", "pwrite64"])];
const SLEEP: &[Blame] = &[any("sleep")];
const SLEEP_COMPANY: &[Blame] = &[SWITCHES, SLEEPS];
const LOGGING: &[Blame] = &[any("logging")];
const SMALL_READS: &[Blame] = &[any("small-reads")];
const HAND_OVER: &[Blame] = &[any("thread-hand-over")];
const MEMORY: &[Blame] = &[any("page-faults"), any("allocation")];
const EVENTS: &[Blame] = &[any("event-loop")];
const WAITING_CALLS: Blame = calls(&["epoll_wait", "epoll_pwait", "epoll_ctl", "poll", "ppoll"]);
const STORAGE: &[Need] = &[Need::Storage];

/// Plants in a side.
pub(super) const PLANTS: &[Plant] = &[
    Plant {
        name: "fdatasync",
        what: "a record is written and fdatasync waits for storage",
        accepts: SYNC,
        company: SYNC_COMPANY,
        needs: STORAGE,
        ..PLAIN
    },
    Plant {
        name: "fsync",
        what: "a record is written and fsync waits for storage",
        accepts: SYNC,
        company: SYNC_COMPANY,
        needs: STORAGE,
        ..PLAIN
    },
    Plant {
        name: "dsync",
        what: "a record is written to a file opened with O_DSYNC",
        accepts: SYNC,
        company: SYNC_COMPANY,
        needs: STORAGE,
        ..PLAIN
    },
    Plant {
        name: "server-fdatasync",
        what: "the server writes a record and fdatasync waits for storage",
        way: PlantMethod::Server,
        accepts: SYNC,
        company: SYNC_COMPANY,
        needs: STORAGE,
        ..PLAIN
    },
    Plant {
        name: "direct-read",
        what: "4 KiB are read from storage, past the cache",
        accepts: &[any("storage"), calls(&["pread64"])],
        company: &[SWITCHES],
        needs: STORAGE,
        ..PLAIN
    },
    Plant {
        name: "nanosleep",
        what: "nanosleep for 0.1 to 0.5 ms",
        accepts: SLEEP,
        company: SLEEP_COMPANY,
        ..PLAIN
    },
    Plant {
        name: "poll-sleep",
        what: "poll of nothing for 1 ms",
        accepts: SLEEP,
        company: SLEEP_COMPANY,
        ..PLAIN
    },
    Plant {
        name: "select-sleep",
        what: "select of nothing for 0.1 to 0.5 ms",
        accepts: SLEEP,
        company: SLEEP_COMPANY,
        ..PLAIN
    },
    Plant {
        name: "server-nanosleep",
        what: "the server sleeps for 0.1 to 0.5 ms",
        way: PlantMethod::Server,
        accepts: SLEEP,
        company: SLEEP_COMPANY,
        ..PLAIN
    },
    Plant {
        name: "log-file",
        what: "one to four lines are appended to a file",
        accepts: LOGGING,
        company: &[any("storage"), WRITES],
        needs: STORAGE,
        ..PLAIN
    },
    Plant {
        name: "log-pipe",
        what: "one to four lines are written to a pipe that a process reads",
        accepts: LOGGING,
        company: &[SWITCHES, MIGRATIONS, WRITES, READS],
        ..PLAIN
    },
    Plant {
        name: "log-null",
        what: "20 to 40 lines are written to /dev/null",
        accepts: LOGGING,
        company: &[WRITES],
        ..PLAIN
    },
    Plant {
        name: "reads-of-16",
        what: "4 KiB are read 16 B at a time",
        work: "rr/unix/4096/c1",
        accepts: SMALL_READS,
        company: &[READS, any("runtime")],
        ..PLAIN
    },
    Plant {
        name: "reads-of-1",
        what: "64 B are read one at a time",
        accepts: SMALL_READS,
        company: &[READS, any("runtime")],
        ..PLAIN
    },
    Plant {
        name: "writes-of-16",
        what: "4 KiB are written 16 B at a time",
        work: "rr/unix/4096/c1",
        accepts: &[WRITES],
        company: &[READS, SWITCHES, any("runtime")],
        ..PLAIN
    },
    Plant {
        name: "thread-condition",
        what: "a second thread sends each request; a condition variable wakes it",
        accepts: HAND_OVER,
        company: &[SWITCHES, MIGRATIONS, any("lock-contention"), calls(&["futex"])],
        ..PLAIN
    },
    Plant {
        name: "thread-eventfd",
        what: "a second thread sends each request; an eventfd wakes it",
        accepts: HAND_OVER,
        company: &[SWITCHES, MIGRATIONS, READS, WRITES],
        ..PLAIN
    },
    Plant {
        name: "thread-pipe",
        what: "a second thread sends each request; a pipe wakes it",
        accepts: HAND_OVER,
        company: &[SWITCHES, MIGRATIONS, READS, WRITES],
        ..PLAIN
    },
    Plant {
        name: "lock",
        what: "a mutex that a second thread holds for half of the time",
        accepts: &[any("lock-contention")],
        company: &[SWITCHES, MIGRATIONS, any("sleep"), SLEEPS, calls(&["futex"])],
        ..PLAIN
    },
    Plant {
        name: "flock",
        what: "a file's lock that another process holds for half of the time",
        accepts: &[any("lock-contention"), calls(&["flock"])],
        company: &[SWITCHES, MIGRATIONS, any("sleep"), SLEEPS, calls(&["getppid"])],
        needs: STORAGE,
        ..PLAIN
    },
    Plant {
        name: "mmap",
        what: "16 pages are mapped, touched and unmapped",
        accepts: MEMORY,
        company: &[MAPPING],
        ..PLAIN
    },
    Plant {
        name: "malloc",
        what: "1 MiB is allocated, touched and freed",
        accepts: MEMORY,
        company: &[MAPPING],
        ..PLAIN
    },
    Plant {
        name: "dontneed",
        what: "16 to 64 pages are given back with MADV_DONTNEED and touched again",
        accepts: &[any("page-faults")],
        company: &[any("allocation"), MAPPING],
        ..PLAIN
    },
    Plant {
        name: "huge-pages",
        what: "a fresh huge page is touched, which the kernel clears first",
        accepts: &[any("transparent-huge-pages")],
        company: &[any("page-faults"), any("allocation"), MAPPING],
        needs: &[Need::HugePages],
        ..PLAIN
    },
    Plant {
        name: "getaddrinfo",
        what: "localhost is looked up with getaddrinfo",
        accepts: &[any("name-resolution")],
        company: &[any("more-calls"), any("runtime")],
        ..PLAIN
    },
    Plant {
        name: "dns",
        what: "a name server answers after 0.2 ms",
        accepts: &[any("dns")],
        company: &[any("name-resolution"), any("more-calls"), SWITCHES, MIGRATIONS],
        needs: &[Need::NameServerPort],
        ..PLAIN
    },
    Plant {
        name: "epoll",
        what: "epoll_ctl and epoll_wait before each read",
        accepts: EVENTS,
        company: &[WAITING_CALLS],
        ..PLAIN
    },
    Plant {
        name: "poll",
        what: "poll of 50 to 100 descriptors before each read",
        accepts: EVENTS,
        company: &[WAITING_CALLS],
        ..PLAIN
    },
    Plant {
        name: "connect-poll",
        what: "a connected Unix socket is polled in vain for 5 ms",
        work: "connect/unix/64/c1",
        accepts: &[any("connect-poll")],
        company: &[SWITCHES, SLEEPS, any("sleep"), calls(&["fcntl"])],
        ..PLAIN
    },
    Plant {
        name: "connect-poll-tcp",
        what: "a connected TCP socket is polled in vain for 5 ms",
        work: "connect/tcp/64/c1",
        accepts: &[any("connect-poll")],
        company: &[SWITCHES, SLEEPS, any("sleep"), calls(&["fcntl"])],
        ..PLAIN
    },
    Plant {
        name: "migrations",
        what: "sched_setaffinity moves the client to another core",
        work: "rr/unix/64/c1/free",
        accepts: &[MIGRATIONS, calls(&["sched_setaffinity"])],
        company: &[SWITCHES, any("hand-over")],
        needs: &[Need::Cores],
        ..PLAIN
    },
    Plant { name: "getppid", what: "50 calls of getppid", accepts: &[calls(&["getppid"])], ..PLAIN },
    Plant {
        name: "open",
        what: "a file is looked at, opened and closed",
        accepts: &[calls(&["openat", "open", "newfstatat", "stat", "statx", "close"])],
        ..PLAIN
    },
    Plant {
        name: "spawn",
        what: "/bin/true is started and waited for",
        accepts: &[calls(&["wait4", "waitid", "vfork", "clone", "clone3", "execve", "rt_sigaction"])],
        company: &[
            any("more-calls"),
            any("page-faults"),
            any("allocation"),
            any("runtime"),
            SWITCHES,
            MIGRATIONS,
        ],
        ..PLAIN
    },
    Plant { name: "spin", what: "30 to 60 µs of computing", accepts: &[any("runtime")], ..PLAIN },
    Plant {
        name: "tls",
        what: "both sides encrypt 4 KiB with TLS",
        work: "rr/unix/4096/c1",
        way: PlantMethod::Tls,
        accepts: &[any("tls")],
        company: &[any("runtime"), READS, WRITES, SWITCHES],
        needs: &[Need::Python, Need::Certificate],
        ..PLAIN
    },
];
