//! How the tests of all crates are run.
//!
//! A test that needs what this machine lacks fails, unless that is allowed by name: `cargo xtask test --allow-missing NAME[,NAME...]`
//! counts the tests that were skipped and names what they lacked.
//!
//! `cargo xtask test` runs each test in a process of its own, many side by side. One with `#[ignore = "alone: …"]`
//! runs after them, by itself; one with `#[ignore = "nightly: …"]` in `cargo xtask test --nightly`.

use std::io::Write;

/// The variable with the names that are allowed to be missing, separated by commas; `all` stands for every name.
pub const ALLOWED: &str = "IPCOST_ALLOW_MISSING";
/// The variable with the file to which each skip adds a line: what is missing, the test and the reason, separated by tabs.
pub const SKIPS: &str = "IPCOST_SKIPS";

/// The variable that is set in `cargo xtask test --nightly`.
pub const NIGHTLY: &str = "IPCOST_NIGHTLY";

/// Whether these are the tests of every night, which may take many times as long as those of each change.
pub fn is_nightly() -> bool {
    std::env::var_os(NIGHTLY).is_some()
}

/// What tests need: its name and how to get it. A Debian package is named by the package and needs no words.
pub const NAMES: &[(&str, &str)] = &[
    // Rights and abilities of the machine.
    ("root", "run the tests as root"),
    ("network-namespaces", "run the tests as root, where `unshare --net true` works"),
    ("mount-namespaces", "run the tests as root, where `unshare --mount true` works"),
    ("fuse", "run the tests as root, where `/dev/fuse` may be mounted from"),
    ("network-queues", "use a kernel with pfifo queues (`tc qdisc add`)"),
    ("quotas", "run the tests as root, where control groups can be made"),
    ("tracing", "install strace, and permit ptrace"),
    ("bpf", "run the tests as root, on a kernel with eBPF and its types (CONFIG_DEBUG_INFO_BTF)"),
    ("tracepoints", "run the tests as root, where tracefs is mounted"),
    ("socket-diagnosis", "load the kernel's modules tcp_diag, udp_diag and unix_diag"),
    ("sampling", "set kernel.perf_event_paranoid to 2 or less"),
    ("containers", "use a machine on which `podman run` starts a container"),
    ("emulation", "use a kernel that lets a user namespace mount binfmt_misc"),
    ("scheduler-statistics", "use a kernel with CONFIG_SCHED_DEBUG"),
    ("thread-sanitizer", "use a kernel whose memory layout suits the thread sanitizer (vm.mmap_rnd_bits=28)"),
    ("bbr", "load the kernel's module tcp_bbr"),
    ("ipv6", "use a machine with the address ::1"),
    ("two-cores", "use a machine with two cores"),
    // What tests download.
    ("benchstat", "needs a network, from which go installs it"),
    ("apache-otava", DOWNLOADED_BY_PIP),
    ("duckdb", DOWNLOADED_BY_PIP),
    ("kubernetes-validate", DOWNLOADED_BY_PIP),
    ("reframe-hpc", DOWNLOADED_BY_PIP),
    // What is built.
    ("arm-packages", "run `cargo xtask dist aarch64`"),
    ("peer-c", "`ipcost doctor` says what building it takes"),
    ("peer-go", "`ipcost doctor` says what building it takes"),
    ("peer-hyper", "build it with `cargo build --workspace`, which takes its library"),
    ("peer-native", "build the program again"),
    ("peer-nng", "build it with `cargo build --workspace`, which takes its library"),
    ("peer-python", "`ipcost doctor` says what running it takes"),
    ("peer-redis", "`ipcost doctor` says what running it takes"),
    ("peer-redis-resolve", "`ipcost doctor` says what running it takes"),
    ("peer-ruby", "`ipcost doctor` says what running it takes"),
    ("peer-ruby-celluloid", "`ipcost doctor` says what running it takes"),
    ("peer-socat", "`ipcost doctor` says what running it takes"),
    ("peer-socat-started", "`ipcost doctor` says what running it takes"),
    ("peer-tonic", "build it with `cargo build --workspace`, which takes its library"),
    ("peer-zeromq", "build it with `cargo build --workspace`, which takes its library"),
    // Packages.
    ("ansible-core", ""),
    ("binutils", ""),
    ("fish", ""),
    ("git", ""),
    ("iproute2", ""),
    ("kubernetes-client", ""),
    ("linux-perf", ""),
    ("mariadb-client-core", ""),
    ("mariadb-server-core", ""),
    ("memcached", ""),
    ("munge", ""),
    ("nginx-light", ""),
    ("npm", ""),
    ("openssh-client", ""),
    ("openssh-server", ""),
    ("php-fpm", ""),
    ("podman", ""),
    ("postgresql", ""),
    ("procps", ""),
    ("python3", ""),
    ("redis-server", ""),
    ("redis-tools", ""),
    ("rt-tests", ""),
    ("slurm-wlm", ""),
    ("socat", ""),
    ("sockperf", ""),
    ("util-linux", ""),
    ("zsh", ""),
];

const DOWNLOADED_BY_PIP: &str = "needs a network, from which pip installs it";

/// Ends a test that lacks something: panics with what and how to get it. If that is allowed, records the skip and returns, so that
/// the caller can leave out what it cannot test.
///
/// # Panics
/// Unless [`ALLOWED`] names it; always if [`NAMES`] does not.
#[track_caller]
pub fn missing(what: &str, why: &str) {
    let known = NAMES.iter().find(|(name, _)| *name == what);
    let (_, remedy) = known.unwrap_or_else(|| panic!("{what} is not in the table of ipcost-testing"));
    let remedy = if remedy.is_empty() { format!("install the package {what}") } else { (*remedy).to_owned() };
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let allowed = std::env::var(ALLOWED).unwrap_or_default();
    assert!(
        is_allowed(what, &allowed),
        "missing: {what} ({why}); {remedy}. To skip what needs it: cargo xtask test --allow-missing {what}, or \
         {ALLOWED}={what} cargo test"
    );
    // To the real standard error: what a test prints is only seen if it fails.
    let _ = writeln!(std::io::stderr(), "skipped: {what}: {why}");
    if let Some(file) = std::env::var_os(SKIPS) {
        let thread = std::thread::current();
        let line = format!("{what}\t{}\t{why}\n", thread.name().unwrap_or("a test"));
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        // In one call, so that lines of tests that run side by side do not mix.
        file.write_all(line.as_bytes()).unwrap();
    }
}

/// What a test opened; `None`, where that is allowed, if this machine refuses it.
///
/// # Panics
/// As [`missing`].
#[track_caller]
pub fn opened<T>(what: &str, result: Result<T, impl std::fmt::Display>) -> Option<T> {
    result.map_err(|error| missing(what, &error.to_string())).ok()
}

/// Whether a list of names has this one.
pub fn is_allowed(what: &str, allowed: &str) -> bool {
    allowed.split(',').any(|name| name == what || name == "all")
}
