//! Pure code under Miri, which finds undefined behaviour on every path that a test takes.

use anyhow::{Result, bail};

use crate::shell::{command, run_command, succeeds};

/// Packages with unsafe code, and their unit tests to run: those without system calls unknown to Miri. The other
/// packages deny unsafe code.
const TESTS: [(&str, &[&str]); 1] = [(
    "ipcost-sys",
    &[
        "lines::",
        "counters::tests::netstat",
        "counters::tests::processor",
        "others::tests::names",
        "facts::text::",
        "system::loopback::tests::an_answer",
        "quota::tests",
        "control_group::tests",
        "firewall::tests",
        "idle::tests::processors",
        // Megabytes, byte by byte, would take many minutes.
        "--skip=lines::tests::a_line_is_as_long",
        "--skip=lines::tests::what_was_taken",
        "--skip=lines::tests::room_for",
    ],
)];
const TOOLCHAIN: &str = "+nightly";

pub fn run() -> Result<()> {
    if !is_there() {
        bail!("Miri is missing; install it with: rustup toolchain install nightly --component miri,rust-src");
    }
    for (package, filters) in TESTS {
        let start = ["cargo", TOOLCHAIN, "miri", "test", "--quiet", "--package", package, "--lib", "--"];
        let words = [&start[..], filters].concat();
        let mut miri = command(&words);
        // A few cases of each property: Miri takes a hundred times as long. Proptest keeps failures in files, hence
        // no isolation.
        miri.env("PROPTEST_CASES", "2").env("MIRIFLAGS", "-Zmiri-disable-isolation");
        run_command(miri, &words)?;
    }
    Ok(())
}

/// The same if Miri is installed; otherwise reports that it is not.
pub fn run_where_available() -> Result<()> {
    if is_there() {
        return run();
    }
    eprintln!("xtask: SKIPPED: Miri is not installed; cargo xtask miri says how");
    Ok(())
}

fn is_there() -> bool {
    succeeds(&["cargo", TOOLCHAIN, "miri", "--version"])
}
