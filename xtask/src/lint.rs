//! Everything besides tests that a change must pass.

use anyhow::Result;

use crate::shell::{self, command, run_command};
use crate::steps::{self, Step};
use crate::tools::{CARGO_DENY, ensure_rust_components, ensure_rust_target};
use crate::{advisories, architecture, docs, english, miri, unused, workflows};

/// The steps, in order: quick ones that often fail come first.
const STEPS: &[Step<'static>] = &[
    Step { name: "install what is missing", run: &install },
    Step { name: "formatting (cargo fmt)", run: &formatting },
    Step { name: "links of README and docs/", run: &docs::check },
    Step { name: "English of README, docs/ and comments", run: &english::check },
    Step { name: "rules of docs/architecture.md", run: &architecture::check },
    Step { name: "workflows: pinned, and nothing of others beside a token", run: &workflows::check },
    Step { name: "lints (cargo clippy)", run: &lints },
    Step { name: "documentation of the crates (cargo doc)", run: &documentation },
    Step { name: "unused dependencies", run: &unused::check },
    Step { name: "licences and sources of dependencies (cargo deny)", run: &dependencies },
    Step { name: "known vulnerabilities", run: &advisories::check },
    Step { name: "pure code, under Miri", run: &miri::run_where_available },
];

/// Runs all of them.
///
/// # Errors
/// The first failure.
pub fn run() -> Result<()> {
    steps::run("lint: about five minutes; the first time also two to build cargo-deny", STEPS)
}

fn install() -> Result<()> {
    ensure_rust_components()?;
    ensure_rust_target("x86_64-pc-windows-gnu")?;
    CARGO_DENY.ensure()
}

fn formatting() -> Result<()> {
    shell::run(&["cargo", "fmt", "--all", "--check"])
}

fn lints() -> Result<()> {
    let lint = ["cargo", "clippy", "--all-targets", "--quiet"];
    let deny = ["--", "--deny", "warnings"];
    shell::run(&[&lint[..], &["--workspace"], &deny].concat())?;
    shell::run(&[&lint[..], &["-p", "ipcost-sys", "--features", "tls"], &deny].concat())
}

fn documentation() -> Result<()> {
    let words = ["cargo", "doc", "--workspace", "--no-deps", "--quiet"];
    let mut documentation = command(&words);
    documentation.env("RUSTDOCFLAGS", "--deny warnings");
    run_command(documentation, &words)
}

/// Checking Cargo.lock needs no network; known vulnerabilities do.
fn dependencies() -> Result<()> {
    // Fuzzers build from their own list of versions.
    shell::run(&[
        "cargo",
        "tree",
        "--locked",
        "--quiet",
        "--depth",
        "0",
        "--manifest-path",
        "fuzz/Cargo.toml",
    ])?;
    let check = ["--log-level", "error", "check", "bans", "licenses", "sources"];
    shell::run(&[&["cargo", "deny"], &check[..]].concat())
}
