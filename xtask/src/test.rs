//! Everything that must hold before a change is good.

use std::time::Instant;

use anyhow::Result;

use crate::shell::{self, command, run_command};
use crate::tools::{
    CARGO_DENY, Package, ensure_packages, ensure_rust_components, ensure_rust_target, program,
};
use crate::{advisories, docs, miri};

/// What of the system tests run.
const PACKAGES: &[Package] = &[
    program("cc", &["gcc", "libc6-dev"], "linking, and the C peer"),
    program("ip", &["iproute2"], "tests in network namespaces"),
    program("unshare", &["util-linux"], "tests in network namespaces"),
    program("go", &["golang-go"], "the Go peer"),
    program("python3", &["python3"], "the Python peer"),
    program("ruby", &["ruby"], "the Ruby peers"),
    Package {
        what: "the gems celluloid-io and parallel",
        check: "ruby -e 'require \"celluloid/io\"; require \"parallel\"'",
        names: &["ruby-celluloid-io", "ruby-parallel"],
        needed_for: "the Celluloid peer",
    },
    program("redis-server", &["redis-server"], "the peer that drives it"),
    program("socat", &["socat"], "the peer that drives it"),
    program("chromium", &["chromium"], "the HTML report as a browser shows it"),
    Package {
        what: "Debian's Python with prometheus_client",
        check: "/usr/bin/python3 -c 'import prometheus_client.openmetrics.parser'",
        names: &["python3", "python3-prometheus-client"],
        needed_for: "checking metrics",
    },
    program("strace", &["strace"], "comparing system calls"),
    program("bash", &["bash"], "loading the completions"),
    program("groff", &["groff"], "formatting the manual"),
    program("prlimit", &["util-linux"], "taking descriptors away, mounts and users of tests' own"),
    program("nft", &["nftables"], "a firewall in a network namespace"),
    program("x86_64-w64-mingw32-gcc", &["gcc-mingw-w64-x86-64"], "building for Windows"),
    Package {
        what: "Wine",
        check: "test -x /usr/lib/wine/wine64 || command -v wine",
        names: &["wine64"],
        needed_for: "running what was built for Windows",
    },
];

/// Runs it all; stops at the first thing that does not hold.
///
/// # Errors
/// What does not hold, or what is missing.
pub fn run() -> Result<()> {
    let began = Instant::now();
    ensure_rust_components()?;
    ensure_rust_target("x86_64-pc-windows-gnu")?;
    ensure_packages(PACKAGES)?;
    run_all()?;
    eprintln!("xtask: all good after {} s", began.elapsed().as_secs());
    Ok(())
}

fn run_all() -> Result<()> {
    shell::run(&["cargo", "fmt", "--all", "--check"])?;
    shell::run(&["cargo", "clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"])?;
    // Whatever fails, the rest is worth knowing, too.
    shell::run(&["cargo", "test", "--workspace", "--quiet", "--no-fail-fast"])?;
    // Thousands of campaigns a machine: without optimisation there are fewer, and the bounds are wider.
    shell::run(&[
        "cargo",
        "test",
        "--release",
        "--package",
        "ipcost-stats",
        "--test",
        "simulation",
        "--quiet",
    ])?;
    let words = ["cargo", "doc", "--workspace", "--no-deps", "--quiet"];
    let mut documentation = command(&words);
    documentation.env("RUSTDOCFLAGS", "--deny warnings");
    run_command(documentation, &words)?;
    docs::check()?;
    crate::unused::check()?;
    CARGO_DENY.ensure()?;
    // What is in Cargo.lock can be told without a network; known vulnerabilities cannot.
    shell::run(&["cargo", "deny", "--log-level", "error", "check", "bans", "licenses", "sources"])?;
    advisories::check()?;
    miri::run_where_available()
}
