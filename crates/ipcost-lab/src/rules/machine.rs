//! What a machine does to every cell, and what it lets this program see.

use super::{Rule, RuleSource};

rules! {
    VIRTUAL_MACHINE = "virtual-machine", "whether this is a virtual machine",
        "Wake-ups between processors pass through the hypervisor, and the host controls frequencies and idle states.",
        "a hypervisor", [Doctor], "https://docs.kernel.org/virt/guest-halt-polling.html";
    PHYSICAL_CORES = "physical-cores", "how many cores this program may use",
        "On a single core client and server take turns: a message then costs a context switch, and no wake-up of another core.",
        "a single core", [Doctor], "Measured in every default run: together against apart ([First run](../first-run.md))";
    UNLIKE_CORES = "unlike-cores", "whether cores differ in kind",
        "The scheduler puts a pair now on fast cores, now on slow ones, and costs fall into several modes.",
        "two kinds of cores", [Doctor], "https://docs.kernel.org/scheduler/sched-capacity.html";
    SMT = "smt", "whether cores run two threads at once",
        "A pair on two threads of one core shares its caches and its execution units; on two cores it does not.",
        "on", [Doctor], "https://docs.kernel.org/admin-guide/hw-vuln/core-scheduling.html";
    FREQUENCY_GOVERNOR = "frequency-governor", "who decides on the clock frequency",
        "Two processes that wait for each other look idle and get a low frequency; a busy loop next to them gets a high one.",
        "other than performance or userspace", [Doctor], "https://docs.kernel.org/admin-guide/pm/cpufreq.html";
    BOOST = "boost", "whether the processor may exceed its nominal frequency",
        "The frequency then depends on temperature and on what other cores do, so that costs drift.",
        "on", [Doctor], "https://docs.kernel.org/admin-guide/pm/cpufreq.html";
    IDLE_STATES = "idle-states", "how long a waiting processor takes to wake up",
        "A process that waits for an answer from another core lets its own core go idle, and every round trip pays for waking it up.",
        "10 µs to leave a state", [Doctor], "https://docs.kernel.org/admin-guide/pm/cpuidle.html";
    MITIGATIONS = "mitigations", "mitigations that make system calls or switches cost more",
        "Mitigations slow system calls and context switches, and every message needs them.",
        "a mitigation that acts at system calls or switches", [Doctor], "https://docs.kernel.org/admin-guide/hw-vuln/";
    SLOW_CLOCK = "slow-clock", "the clock source, and what reading the clock costs",
        "Latencies of single operations are no finer than the clock; costs are not affected, because it is read only twice a batch.",
        "a reading of 200 ns, or a step of 1 µs", [Doctor, Warning], "Measured: its own readings, before every run";
    MEMORY_NODES = "memory-nodes", "how many memory nodes there are",
        "A pair on two nodes sends its bytes from one socket's memory to the other's.",
        "two nodes", [Doctor], "https://docs.kernel.org/mm/numa.html";
    STEAL = "steal", "what the hypervisor takes from busy processors",
        "If the hypervisor takes a processor away in the middle of an operation, that operation takes milliseconds.",
        "1 % of the time", [Doctor, Warning, Explain], "Measured: the kernel's count, over the same time";
    BUSY_NEIGHBOUR = "busy-neighbour", "other processes that take processor time",
        "Other work takes cores and caches away from the measurement, more from one cell than from another.",
        "5 % of the processors' time", [Doctor, Warning, Explain], "Planted in a test of `explain`; `ipcost selftest --noise cpu` measures its effect";
    ANOTHER_IPCOST = "another-ipcost", "other runs of ipcost at the same time",
        "Each takes processors and caches from the other.",
        "one run", [Warning], "By construction";
    CPU_QUOTA = "cpu-quota", "CPU quotas of this program's control groups",
        "Once the quota of a period is used up, everything waits for the next one, in the middle of a batch.",
        "one throttled period", [Doctor, Warning, Explain], "Planted in a test of `explain`; https://docs.kernel.org/scheduler/sched-bwc.html";
    PROCESSORS_ALLOWED = "processors-allowed", "whether this program may use every processor",
        "What runs on the other processors is not seen here, but shares caches and frequencies.",
        "one processor less", [Doctor], "https://man7.org/linux/man-pages/man7/cpuset.7.html";
    PREEMPTION = "preemption", "the kernel's preemption model",
        "A real-time kernel handles interrupts in threads, so that TCP over loopback wakes one task more.",
        "a real-time kernel", [Doctor], "https://docs.kernel.org/core-api/real-time/theory.html";
    IRQ_TIME_ACCOUNTING = "irq-time-accounting", "whether time in softirqs is in no process's account",
        "TCP over loopback receives in softirqs, so its processor time is too low, while that of pipes and Unix sockets is whole.",
        "CONFIG_IRQ_TIME_ACCOUNTING", [Doctor, Warning], "Planted in a test; https://docs.kernel.org/admin-guide/kernel-parameters.html";
    CONTAINER = "container", "whether this runs in a container",
        "Limits, the network and sometimes the processors are the container's and not the machine's.",
        "a container", [Doctor], "https://man7.org/linux/man-pages/man7/namespaces.7.html";
    SECCOMP = "seccomp", "seccomp filters that look at every system call",
        "Filters run at every system call, over pipes and sockets alike, and add to its cost.",
        "one filter", [Doctor], "https://docs.kernel.org/userspace-api/seccomp_filter.html";
    MEMORY_PRESSURE = "memory-pressure", "whether tasks wait for memory",
        "Finding a free page, or fetching one back, costs more than thousands of messages.",
        "1 % of the last ten seconds", [Doctor], "https://docs.kernel.org/accounting/psi.html";
    SWAP = "swap", "whether swap is in use",
        "Swapped-out pages may come back during a measurement.",
        "a page in use", [Doctor], "https://docs.kernel.org/admin-guide/sysctl/vm.html";
    OPEN_FILES = "open-files", "how many descriptors a process may open",
        "Every cell keeps two processes and their pipes open; a run that needs more descriptors is refused.",
        "less than 8 192; a run needs about 300", [Doctor], "https://man7.org/linux/man-pages/man2/getrlimit.2.html";
    PIPE_SIZE = "pipe-size", "the largest buffer of a pipe",
        "The option pipe_size is clamped to it for ordinary users, and a small buffer makes streams wait.",
        "less than 1 MiB, the kernel's default", [Doctor], "https://man7.org/linux/man-pages/man7/pipe.7.html";
    PIPE_PAGES = "pipe-pages", "how much an ordinary user may hold in pipes",
        "Beyond it the kernel silently gives new pipes the smallest buffer, and streams over them cost several times as much.",
        "less than 16 384 pages, the kernel's default; a pipe of less than 64 KiB distorts", [Doctor, Warning, Watch], "https://man7.org/linux/man-pages/man7/pipe.7.html";
    SOCKET_BUFFERS = "socket-buffers", "the largest buffers that sockets may be given",
        "The options so_sndbuf and so_rcvbuf are clamped to them.",
        "less than 208 KiB, the kernel's default", [Doctor], "https://man7.org/linux/man-pages/man7/socket.7.html";
    TCP_BUFFERS = "tcp-buffers", "how far TCP's buffers may grow",
        "Where they may not, a stream over TCP waits for the reader more often than one over a Unix socket does.",
        "less than 4 MiB", [Doctor], "https://man7.org/linux/man-pages/man7/tcp.7.html";
    LEFT_CHANGED = "left-changed", "whether a run that was killed has left the machine changed",
        "Until that is undone, every run has the settings of that run's last arm.",
        "a journal that is not empty", [Doctor], "the planted changes of `faults_changed.rs` in crates/ipcost/tests/it";
    LISTEN_QUEUE = "listen-queue", "the longest queue of connections that wait to be accepted",
        "Where it is full the kernel drops a SYN, and the client waits a second before it tries again.",
        "less than 4 096; below 128 it distorts", [Doctor], "https://man7.org/linux/man-pages/man2/listen.2.html";
    SYN_QUEUE = "syn-queue", "the longest queue of connections that are half open",
        "Over loopback a connection is half open only for a moment; a very short queue still drops SYNs.",
        "less than 128", [Doctor], "https://man7.org/linux/man-pages/man7/tcp.7.html";
    LOOPBACK = "loopback", "whether the loopback interface is up",
        "Without it nothing travels over TCP.",
        "down", [Doctor], "By construction: TCP needs it";
    LOOPBACK_MTU = "loopback-mtu", "the largest packet over loopback",
        "Smaller packets mean more of them for the same bytes, so TCP costs more than elsewhere.",
        "other than 65 536", [Doctor], "https://man7.org/linux/man-pages/man8/ip-link.8.html";
    LOOPBACK_QUEUE = "loopback-queue", "what queues packets on the loopback interface",
        "Loopback usually has no queue; one that has been put there delays or drops packets of TCP, and of nothing else.",
        "any queue", [Doctor], "https://man7.org/linux/man-pages/man8/tc.8.html";
    LOOPBACK_IPV6 = "loopback-ipv6", "whether IPv6 is on over loopback",
        "Without it tcp6 is unavailable.",
        "off", [Doctor], "By construction: `tcp6` needs it";
    PACKET_RULES = "packet-rules", "rules of the packet filter",
        "Every packet over loopback passes them, once on its way out and once on its way in: TCP pays, Unix sockets and pipes do not.",
        "one rule", [Doctor], "Planted in a test of `explain` (`firewall`)";
    CONNECTION_TRACKING = "connection-tracking", "whether connections over loopback are tracked",
        "The kernel then looks up every packet in a table, and adds and removes an entry for every connection: TCP pays, Unix sockets and pipes do not.",
        "one tracked connection", [Doctor], "https://docs.kernel.org/networking/nf_conntrack-sysctl.html";
    CONGESTION_CONTROL = "congestion-control", "which congestion control TCP uses",
        "Algorithms send streams differently, over loopback as well: bbr paces them; cubic, the default, does not.",
        "other than cubic", [Doctor, Watch], "https://docs.kernel.org/networking/ip-sysctl.html";
    LOCAL_PORTS = "local-ports", "the local ports that a client may be given",
        "Pattern connect uses one up for each connection until TIME_WAIT is over; the search for a free one gets longer and longer.",
        "less than 10 000; below 1 000 it distorts", [Doctor], "Planted in a test of `explain` (`ports`); https://man7.org/linux/man-pages/man7/ip.7.html";
    TIME_WAIT = "time-wait", "connections in TIME_WAIT",
        "Each holds a local port for a minute, and makes the search for a free one longer.",
        "a tenth of the ports; half distorts", [Doctor, Watch], "Planted in a test of `explain` (`ports`); https://man7.org/linux/man-pages/man7/tcp.7.html";
    PORT_REUSE = "port-reuse", "whether a port in TIME_WAIT may be used again",
        "Where it may not, pattern connect with closes_first=client runs out of ports.",
        "off", [Doctor], "https://docs.kernel.org/networking/ip-sysctl.html";
    PERFORMANCE_COUNTERS = "performance-counters", "whether instructions and cycles can be counted",
        "Without them, explain cannot say whether an operation executes more instructions or waits longer for the same ones.",
        "not readable", [Doctor], "https://man7.org/linux/man-pages/man2/perf_event_open.2.html";
    SYSTEM_CALL_TRACING = "system-call-tracing", "whether strace can follow a program",
        "Without it the system calls of two peers cannot be compared.",
        "refused", [Doctor], "https://man7.org/linux/man-pages/man2/ptrace.2.html";
    NETWORK_NAMESPACE = "network-namespace", "whether a run can have a network namespace of its own",
        "In one of its own a run meets no rules, no connection tracking and no queue on loopback.",
        "refused", [Doctor], "https://man7.org/linux/man-pages/man7/user_namespaces.7.html";
    IO_URING = "io-uring", "whether io_uring is permitted",
        "A peer that uses it does not start, or falls back on other system calls.",
        "not permitted", [Doctor], "https://docs.kernel.org/admin-guide/sysctl/kernel.html";
    TRANSPORTS = "transports", "which transports can be used here",
        "Cells over a transport that is unavailable are listed without figures.",
        "one that is unavailable", [Doctor], "By construction: their cells are left out";
    PEERS = "peers", "which peers in other languages can be used here",
        "Cells with a peer that is unavailable are listed without figures.",
        "one that is unavailable", [Doctor], "By construction: their cells are left out";
    PEER_CACHE = "peer-cache", "whether this user has a place for peers that are built",
        "Without one no peer in another language can be used.",
        "none", [Doctor], "By construction: peers are built there";
    STRACE = "strace", "whether strace is installed",
        "Without it the system calls of two peers cannot be compared.",
        "not installed", [Doctor], "By construction: `explain` reads its output";
    DEBUG_BUILD = "debug-build", "whether this program was built with optimisation",
        "The loops of the native peer then cost more than the system calls they make.",
        "a debug build", [Doctor, Warning], "By construction: the loops of the native peer are not optimised";
}
