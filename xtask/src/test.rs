//! All checks that a change must pass.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::shell::{self, command, run_command};
use crate::tools::{
    CARGO_DENY, Package, ensure_packages, ensure_rust_components, ensure_rust_target, program,
};
use crate::{advisories, docs, miri, unused};

/// System programs that tests run.
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
    program("pkg-config", &["pkg-config"], "finding libraries"),
    Package {
        what: "libzmq and libnng",
        check: "pkg-config --exists libzmq && test -e /usr/include/nng/nng.h",
        names: &["libzmq3-dev", "libnng-dev"],
        needed_for: "the peers that talk through them",
    },
    program("strace", &["strace"], "comparing system calls"),
    program("bash", &["bash"], "loading the completions"),
    program("groff", &["groff"], "formatting the manual"),
    program("prlimit", &["util-linux"], "limiting descriptors, private mounts and users"),
    program("nft", &["nftables"], "a firewall in a network namespace"),
    program("x86_64-w64-mingw32-gcc", &["gcc-mingw-w64-x86-64"], "building for Windows"),
    Package {
        what: "Wine",
        check: "test -x /usr/lib/wine/wine64 || command -v wine",
        names: &["wine64"],
        needed_for: "running what was built for Windows",
    },
];

/// The steps, in order: quick ones that often fail come first.
const STEPS: &[Step] = &[
    Step { name: "install what is missing", run: install },
    Step { name: "formatting (cargo fmt)", run: formatting },
    Step { name: "lints (cargo clippy)", run: lints },
    Step { name: "tests, thousands of simulated campaigns among them (cargo test)", run: tests },
    Step { name: "documentation of the crates (cargo doc)", run: documentation },
    Step { name: "links of README and docs/", run: docs::check },
    Step { name: "unused dependencies", run: unused::check },
    Step { name: "licences and sources of dependencies (cargo deny)", run: dependencies },
    Step { name: "known vulnerabilities", run: advisories::check },
    Step { name: "pure code, under Miri", run: miri::run_where_available },
];

struct Step {
    name: &'static str,
    run: fn() -> Result<()>,
}

/// Runs all steps and reports their times; stops at the first failure.
///
/// # Errors
/// The failure, or what is missing.
pub fn run() -> Result<()> {
    eprintln!("xtask: {} steps", STEPS.len());
    for (number, step) in (1..).zip(STEPS) {
        eprintln!("{number:>4}. {}", step.name);
    }
    let mut took = Vec::new();
    let mut result = Ok(());
    for (number, step) in (1..).zip(STEPS) {
        eprintln!("\nxtask: {number}. {}", step.name);
        let began = Instant::now();
        result = (step.run)();
        took.push(began.elapsed());
        if result.is_err() {
            break;
        }
    }
    eprintln!("\nxtask:");
    for (step, took) in STEPS.iter().zip(&took) {
        eprintln!("{:>6} s  {}", took.as_secs(), step.name);
    }
    let outcome = match &result {
        Ok(()) => "all good".to_owned(),
        Err(_) => format!("failed in step {} of {}", took.len(), STEPS.len()),
    };
    eprintln!("{:>6} s  {outcome}", took.iter().sum::<Duration>().as_secs());
    result
}

fn install() -> Result<()> {
    ensure_rust_components()?;
    ensure_rust_target("x86_64-pc-windows-gnu")?;
    ensure_packages(PACKAGES)?;
    CARGO_DENY.ensure()
}

fn formatting() -> Result<()> {
    shell::run(&["cargo", "fmt", "--all", "--check"])?;
    shell::run(&["cargo", "fmt", "--all", "--check", "--manifest-path", EXTRA])
}

fn lints() -> Result<()> {
    let lint = ["cargo", "clippy", "--all-targets", "--quiet"];
    let deny = ["--", "--deny", "warnings"];
    shell::run(&[&lint[..], &["--workspace"], &deny].concat())?;
    shell::run(&[&lint[..], &["-p", "ipcost-sys", "--features", "tls"], &deny].concat())?;
    shell::run(
        &[&lint[..], &["--workspace", "--manifest-path", EXTRA, "--target-dir", "target"], &deny].concat(),
    )
}

fn tests() -> Result<()> {
    // If one fails, the others are still worth knowing.
    let words = ["cargo", "test", "--workspace", "--quiet", "--no-fail-fast"];
    build_extra()?;
    let mut tests = command(&words);
    tests.env("RUST_TEST_THREADS", threads());
    run_command(tests, &words)?;
    shell::run(&["cargo", "test", "-p", "ipcost-sys", "--features", "tls", "--quiet", "--lib", "transport"])
}

/// Builds the peers that need libraries, next to the program that the tests run.
///
/// # Errors
/// If they cannot be built.
pub fn build_extra() -> Result<()> {
    shell::run(&["cargo", "build", "--quiet", "--manifest-path", EXTRA, "--target-dir", "target"])
}

/// The workspace of the peers that need libraries.
const EXTRA: &str = "extra/Cargo.toml";

/// The number of parallel tests: three a core, since most wait most of the time.
pub fn threads() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (3 * cores).to_string()
}

fn documentation() -> Result<()> {
    let words = ["cargo", "doc", "--workspace", "--no-deps", "--quiet"];
    let mut documentation = command(&words);
    documentation.env("RUSTDOCFLAGS", "--deny warnings");
    run_command(documentation, &words)
}

/// Checking Cargo.lock needs no network; known vulnerabilities do.
fn dependencies() -> Result<()> {
    let check = ["--log-level", "error", "check", "bans", "licenses", "sources"];
    shell::run(&[&["cargo", "deny"], &check[..]].concat())?;
    shell::run(&[&["cargo", "deny", "--manifest-path", EXTRA, "--config", "deny.toml"], &check[..]].concat())
}
