//! What makes a cell cost what it costs.

use super::{Place, Rule};

rules! {
    NAGLE = "nagle", "small segments that wait for an acknowledgement",
        "Nagle's algorithm holds them back while the other side delays its acknowledgement by 40 ms.",
        "10 % of the time", [Explain], "Planted in a test of `explain`; RFC 896, RFC 1122";
    SMALL_BUFFER = "small-buffer", "how often a side sleeps because a buffer is full",
        "Each time costs two switches.",
        "a sleep in 8 writes, and a buffer of 16 messages or less", [Explain], "Planted in a test of `explain`";
    SMALL_READS = "small-reads", "how much a receiver asks for at a time",
        "Every read costs a system call.",
        "a quarter of what is written", [Explain], "Planted in a test of `explain`";
    BACKLOG = "backlog", "retried connections and dropped SYNs",
        "A dropped SYN costs its client a second.",
        "one of them", [Explain], "Planted in a test of `explain`";
    PORTS = "ports", "local ports that run out",
        "The search gets longer, and at the end connections fail.",
        "80 % of the range in TIME_WAIT, or one refusal", [Explain], "Planted in a test of `explain`";
    NAME_RESOLUTION = "name-resolution", "files and resolvers that are asked for a name",
        "Each lookup opens files or asks a server.",
        "a lookup in 5 operations", [Explain], "Planted in a test of `explain`";
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
        "10 % of the time", [Explain], "Planted as facts; [First run](first-run.md)";
    IDLE_WAKEUPS = "idle-wakeups", "entries of idle states that take long to leave",
        "Every answer then waits for a processor to wake up.",
        "a wake-up of 10 µs or more in 5 operations, and 10 % of the time", [Explain], "Planted as facts; https://docs.kernel.org/admin-guide/pm/cpuidle.html";
    FIREWALL = "firewall", "rules and tables that packets over loopback meet",
        "TCP pays for each packet, Unix sockets and pipes do not.",
        "one rule, or one tracked connection", [Explain], "Planted in a test of `explain`";
}
