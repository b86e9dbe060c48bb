//! The causes that are planted: where, what may be said of each, and what each needs.

mod needs;

use super::judge::{Blame, any, calls};
use needs::Need;

/// A cause, planted in a cell.
#[derive(Debug)]
pub struct Plant {
    /// Its name, which the library knows as well.
    pub name: &'static str,
    /// What happens, in words.
    pub what: &'static str,
    /// The work of the cell: its id up to the number of workers.
    pub work: &'static str,
    /// Where, and how.
    pub way: Way,
    /// What names it.
    pub accepts: &'static [Blame],
    /// What may be named as well, because it is true.
    pub company: &'static [Blame],
    /// What it needs of this machine.
    needs: &'static [Need],
}

/// How a cause gets into a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    /// Nothing is planted, but the library is there.
    Nothing,
    /// The client does it for every operation.
    Client,
    /// The server does.
    Server,
    /// The end of the cell's id, after its peers.
    Options(&'static str),
    /// The placement of the cell.
    Placement(&'static str),
    /// The placements of two cells that are compared.
    Placements(&'static str, &'static str),
    /// The end of the id of the first of two cells that are compared; the other has none.
    Against(&'static str),
    /// A script in a network namespace of its own, and the end of the id.
    Namespace(&'static str, &'static str),
    /// So many processors for all of it.
    Quota(f64),
    /// So many processes that take a core in bursts.
    Hogs(usize),
}

impl Plant {
    /// The side that does it, if it is one side's own doing.
    pub fn side(&self) -> Option<&'static str> {
        match self.way {
            Way::Client => Some("client"),
            Way::Server => Some("server"),
            _ => None,
        }
    }

    /// Whether something is planted at all.
    pub fn is_control(&self) -> bool {
        self.way == Way::Nothing
    }

    /// What this machine lacks for it, or this peer.
    pub fn lacks(&self, peer: &str) -> Option<String> {
        self.needs.iter().find_map(|need| need.lacks(peer))
    }
}

/// A plant in each request of a client, which waits for the answer.
const PLAIN: Plant = Plant {
    name: "",
    what: "",
    work: "rr/unix/64/c1",
    way: Way::Client,
    accepts: &[],
    company: &[],
    needs: &[],
};

const SWITCHES: Blame = any("thread-switches");
const MIGRATIONS: Blame = any("migrations");
const SLEEPS: Blame = calls(&["clock_nanosleep", "nanosleep", "poll", "ppoll", "select", "pselect6"]);
const READS: Blame = calls(&["read", "recv", "recvfrom"]);
const WRITES: Blame = calls(&["write", "send", "sendto"]);
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
const NAMESPACE: &[Need] = &[Need::Namespaces];

/// All of them, the control last.
pub const PLANTS: [Plant; 48] = [
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
        way: Way::Server,
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
        way: Way::Server,
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
        company: &[READS],
        ..PLAIN
    },
    Plant {
        name: "reads-of-1",
        what: "64 B are read one at a time",
        accepts: SMALL_READS,
        company: &[READS],
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
        what: "poll before each read",
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
        accepts: &[MIGRATIONS, calls(&["sched_setaffinity"])],
        company: &[SWITCHES, any("hand-over")],
        needs: &[Need::Cores],
        ..PLAIN
    },
    Plant { name: "getppid", what: "50 calls of getppid", accepts: &[calls(&["getppid"])], ..PLAIN },
    Plant {
        name: "open",
        what: "a file is looked at, opened and closed",
        accepts: &[calls(&["openat", "open"])],
        company: &[calls(&["newfstatat", "stat", "statx", "close"])],
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
        name: "nagle",
        what: "a stream over TCP without TCP_NODELAY",
        work: "stream/tcp/64/c1",
        way: Way::Options("/tcp_nodelay=false"),
        accepts: &[any("nagle")],
        company: &[SWITCHES],
        ..PLAIN
    },
    Plant {
        name: "small-buffer",
        what: "a pipe of 4 KiB under messages of 64 KiB",
        work: "stream/pipe/65536/c1",
        way: Way::Options("/pipe_size=4096"),
        accepts: &[any("small-buffer")],
        company: &[SWITCHES, WRITES, READS],
        ..PLAIN
    },
    Plant {
        name: "small-reads",
        what: "a stream is read 512 B at a time",
        work: "stream/unix/65536/c1",
        way: Way::Options("/recv_buffer=512"),
        accepts: SMALL_READS,
        company: &[READS],
        ..PLAIN
    },
    Plant {
        name: "descriptor-table",
        what: "threads share a table of descriptors",
        work: "rr/unix/64/c1/together",
        way: Way::Against("/descriptor_table=shared"),
        accepts: &[any("descriptor-table")],
        needs: &[Need::NotPython],
        ..PLAIN
    },
    Plant {
        name: "one-core",
        what: "both sides of a stream on one core",
        work: "stream/unix/4096/c1",
        way: Way::Placement("together"),
        accepts: &[any("one-core")],
        company: &[SWITCHES],
        needs: &[Need::Cores],
    },
    Plant {
        name: "hand-over",
        what: "a round trip across two cores, against one",
        way: Way::Placements("apart", "together"),
        accepts: &[any("hand-over")],
        needs: &[Need::Cores],
        ..PLAIN
    },
    Plant {
        name: "cpu-quota",
        what: "a quota of 0.2 processors",
        way: Way::Quota(0.2),
        accepts: &[any("cpu-quota")],
        needs: &[Need::Quotas],
        ..PLAIN
    },
    Plant {
        name: "busy-neighbour",
        what: "two processes that take the processors in bursts",
        way: Way::Hogs(2),
        accepts: &[any("busy-neighbour")],
        ..PLAIN
    },
    Plant {
        name: "firewall",
        what: "a rule that tracks connections of loopback",
        work: "rr/tcp/64/c1",
        way: Way::Namespace(
            "nft add table ip t; nft add chain ip t c '{ type filter hook input priority 0; }'; \
             nft add rule ip t c ct state established counter",
            "",
        ),
        accepts: &[any("firewall")],
        needs: &[Need::Namespaces, Need::Firewall],
        ..PLAIN
    },
    Plant {
        name: "backlog",
        what: "a listener's queue of one, and 24 clients",
        work: "connect/tcp/64/c24",
        way: Way::Namespace("echo 1 > /proc/sys/net/core/somaxconn", ""),
        accepts: &[any("backlog")],
        needs: NAMESPACE,
        ..PLAIN
    },
    Plant {
        name: "ports",
        what: "a hundred local ports",
        work: "connect/tcp/64/c1",
        way: Way::Namespace(
            "echo '50000 50100' > /proc/sys/net/ipv4/ip_local_port_range; \
             echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse",
            "/closes_first=client",
        ),
        accepts: &[any("ports")],
        needs: NAMESPACE,
        ..PLAIN
    },
    Plant { name: "none", what: "nothing, over a Unix socket", way: Way::Nothing, ..PLAIN },
    Plant { name: "none-tcp", what: "nothing, over TCP", work: "rr/tcp/64/c1", way: Way::Nothing, ..PLAIN },
];
