//! Everything besides tests that a change must pass.

use std::cell::Cell;

use anyhow::{Result, ensure};

use crate::shell::{self, command, run_command};
use crate::steps::{self, TaskStep};
use crate::tools::{CARGO_DENY, ensure_rust_components, ensure_rust_target};
use crate::{advisories, architecture, docs, english, miri, pool, unused, workflows};

/// Runs all steps, quick ones that often fail first, and counts what could not be checked.
pub fn run() -> Result<()> {
    let skipped = Cell::new(None);
    let advisories = || {
        if !advisories::check()? {
            skipped.set(Some(
                "known vulnerabilities: their database does not answer, and there is no local copy",
            ));
        }
        Ok(())
    };
    let steps = [
        TaskStep { name: "install what is missing", run: &install },
        TaskStep { name: "formatting (cargo fmt)", run: &formatting },
        TaskStep { name: "links of README and docs/", run: &docs::check },
        TaskStep { name: "English of README, docs/ and comments", run: &english::check },
        TaskStep { name: "rules of docs/contributing/architecture.md", run: &architecture::check },
        TaskStep { name: "workflows: pinned, and nothing of others beside a token", run: &workflows::check },
        TaskStep { name: "unused dependencies", run: &unused::check },
        TaskStep { name: "licences and sources of dependencies (cargo deny)", run: &dependencies },
        TaskStep { name: "known vulnerabilities", run: &advisories },
        TaskStep { name: "lints (cargo clippy)", run: &lints },
        TaskStep { name: "documentation of the crates (cargo doc)", run: &documentation },
        TaskStep { name: "pure code, under Miri", run: &miri::run_where_available },
    ];
    steps::run(
        "lint: about ten minutes, in which all is built; the first time also two to build cargo-deny",
        &steps,
    )?;
    match skipped.get() {
        Some(why) => eprintln!("xtask: 1 check skipped: {why}"),
        None => eprintln!("xtask: no check skipped"),
    }
    Ok(())
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
    eprintln!("xtask: Clippy builds the workspace, as for the tests");
    let said = pool::said(&pool::build()?);
    ensure!(said.is_empty(), "{said}");
    Ok(())
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
        "cargo", "tree", "--locked", "--quiet", "--depth", "0", "--manifest-path", "fuzz/Cargo.toml",
    ])?;
    let check = ["--log-level", "error", "check", "bans", "licenses", "sources"];
    shell::run(&[&["cargo", "deny"], &check[..]].concat())
}
