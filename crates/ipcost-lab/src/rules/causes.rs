//! What makes a cell cost what it costs.

use super::{Rule, RuleSource};

rules! {
    NAGLE = "nagle", "small segments that wait for an acknowledgement",
        "Nagle's algorithm holds them back while the other side delays its acknowledgement by 40 ms.",
        "10 % of the time, seen in the state of the connection", [Explain, Watch], "Planted in a test of `explain`; RFC 896, RFC 1122";
    SMALL_BUFFER = "small-buffer", "how often a side sleeps because a buffer is full",
        "Each time costs two switches.",
        "a sleep in 8 writes where the buffer was set to less than the default; a sleep in nearly every write where it is not, and holds 16 messages or less", [Explain], "Planted in a test of `explain`";
    SMALL_READS = "small-reads", "how much a receiver asks for at a time",
        "Every read costs a system call.",
        "a quarter of what is written", [Explain, Watch], "Planted in a test of `explain`";
    BACKLOG = "backlog", "retried connections and dropped SYNs",
        "A dropped SYN costs its client a second.",
        "one of them", [Explain, Watch], "Planted in a test of `explain`";
    PORTS = "ports", "local ports that run out",
        "The search gets longer, and at the end connections fail.",
        "one refusal, or as many connections from one address as there are ports in the time that each is kept", [Explain, Watch], "Planted in a test of `explain`";
    LEFT_IN_TIME_WAIT = "left-in-time-wait", "connections that a run leaves in TIME_WAIT",
        "They do no harm to it, and take ports from others for a minute.",
        "10 000 of them", [Explain], "https://man7.org/linux/man-pages/man7/tcp.7.html";
    NAME_RESOLUTION = "name-resolution", "files and resolvers that are asked for a name",
        "Each lookup opens files or asks a server.",
        "a lookup in 5 operations", [Explain, Watch], "Planted in a test of `explain`";
    RUNTIME = "runtime", "user time against the native peer in the same cell",
        "The program's own work is not the transport's.",
        "10 % of the time", [Explain], "Planted in a test of `explain`";
    ONE_CORE = "one-core", "whether two processes fill the one core they share",
        "They cannot work at once although a core is free.",
        "70 % of what others leave of the core", [Explain], "Planted in a test of `explain`";
    DESCRIPTOR_TABLE = "descriptor-table", "tables of descriptors that threads share",
        "The kernel counts references at every call on a descriptor of theirs.",
        "a difference that is known", [Explain], "Planted in a test of `explain`";
    HAND_OVER = "hand-over", "waiting in two cells that differ only in placement",
        "The other core has to be woken.",
        "10 % of the time", [Explain], "Planted as facts; [First run](../first-run.md)";
    IDLE_WAKEUPS = "idle-wakeups", "how long cores take to wake that rested as between operations",
        "Every answer then waits for a processor to wake up.",
        "a wake-up of 10 µs or more in 5 operations, and 10 % of the time", [Explain], "Measured in each run on two cores; https://docs.kernel.org/admin-guide/pm/cpuidle.html";
    SYNC_WRITES = "sync-writes", "calls that wait until data is on storage",
        "A sync takes as long as the storage, which is mostly longer than the exchange.",
        "one in 5 operations", [Explain], "Planted in a real run";
    SLEEP = "sleep", "calls that wait for a time to pass",
        "Nothing is done meanwhile, however early the answer is there.",
        "one in 5 operations", [Explain], "Planted in a real run";
    LOGGING = "logging", "writes to a file, a device or standard error",
        "Each is a system call, and waits where its reader is slow.",
        "one in 5 operations", [Explain], "Planted in a real run";
    THREAD_HAND_OVER = "thread-hand-over", "operations that pass between threads of one process",
        "Each hand-over wakes a thread, as a transport does.",
        "one in 5 operations", [Explain], "Planted in a real run";
    LOCK_CONTENTION = "lock-contention", "waits for a mutex or for a lock on a file",
        "Who waits for a lock sleeps until another lets go.",
        "one in 20 operations, or in 5 for files", [Explain], "Planted in a real run";
    PAGE_FAULTS = "page-faults", "pages touched that the process has to be given first",
        "Each is an entry to the kernel, and clears a page.",
        "one in 2 operations", [Explain], "Planted in a real run";
    ALLOCATION = "allocation", "calls that get memory from the kernel and give it back",
        "Memory given back has to be cleared and mapped again.",
        "one in 5 operations", [Explain], "Planted in a real run";
    HUGE_PAGES = "transparent-huge-pages", "huge pages that are cleared for an operation",
        "Clearing 2 MiB takes some hundred times as long as clearing a page.",
        "one in 20 operations", [Explain], "Planted in a real run; https://docs.kernel.org/admin-guide/mm/transhuge.html";
    DNS = "dns", "queries to a name server",
        "Each is an exchange of its own, often with another machine.",
        "one in 5 operations", [Explain], "Planted in a real run";
    TLS = "tls", "bytes that TLS adds to each record",
        "Encryption is user time on both sides.",
        "21 to 48 B a record, and reads of its header", [Explain, Watch], "Planted in a real run";
    EVENT_LOOP = "event-loop", "calls that ask which descriptor is ready",
        "A poll before each read is a system call more.",
        "one in 2 operations", [Explain], "Planted in a real run";
    CONNECT_POLL = "connect-poll", "polls without result while connecting",
        "Who polls for the wrong event waits until the time given is over.",
        "one in 5 connections", [Explain, Watch], "Planted in a real run";
    MORE_CALLS = "more-calls", "system calls that one cell makes more than another",
        "Whatever they are for, each enters the kernel.",
        "one in 5 operations", [Explain], "Planted in a real run";
    STORAGE = "storage", "bytes read from storage and written to it",
        "Storage is slower than any transport.",
        "512 B an operation", [Explain], "Planted in a real run";
    MIGRATIONS = "migrations", "moves of a thread to another core",
        "Its data stays behind in the other core's caches.",
        "one in 5 operations", [Explain], "Planted in a real run";
    FIREWALL = "firewall", "rules and tables that packets over loopback meet",
        "TCP pays for each packet, Unix sockets and pipes do not.",
        "one rule, or one tracked connection", [Explain], "Planted in a test of `explain`";
}
