//! Tools the tests need: installed where that may be done, named where it may not.

use anyhow::{Result, bail};

use crate::shell::{run, succeeds};

/// A program that cargo can install.
pub struct Tool {
    check: &'static [&'static str],
    package: &'static str,
}

/// Checks licences, sources and known vulnerabilities of dependencies.
pub const CARGO_DENY: Tool = Tool { check: &["cargo", "deny", "--version"], package: "cargo-deny" };

impl Tool {
    /// Makes sure that it is there.
    ///
    /// # Errors
    /// Where it cannot be installed.
    pub fn ensure(&self) -> Result<()> {
        if succeeds(self.check) {
            return Ok(());
        }
        run(&["cargo", "install", "--locked", self.package])
    }
}

/// Makes sure that rustfmt and clippy are there.
///
/// # Errors
/// Where one is missing and cannot be installed.
pub fn ensure_rust_components() -> Result<()> {
    for (check, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !succeeds(&["cargo", check, "--version"])
            && run(&["rustup", "component", "add", component]).is_err()
        {
            bail!("{component} is missing; install it with: rustup component add {component}");
        }
    }
    Ok(())
}

/// A program of the system that tests need, and Debian's package that has it.
pub struct Package {
    /// The program.
    pub program: &'static str,
    /// The package.
    pub name: &'static str,
    /// What cannot be done without it.
    pub needed_for: &'static str,
}

/// Makes sure that programs of the system are there: installs them with apt where this user may.
///
/// # Errors
/// What is missing, and how to install it.
pub fn ensure_packages(packages: &[Package]) -> Result<()> {
    let missing = || {
        packages.iter().filter(|package| !succeeds(&["sh", "-c", &format!("command -v {}", package.program)]))
    };
    if missing().next().is_none() {
        return Ok(());
    }
    let names: Vec<&str> = missing().map(|package| package.name).collect();
    let apt = succeeds(&["sh", "-c", "command -v apt-get && test \"$(id -u)\" = 0"]);
    if apt && run(&["apt-get", "update", "-qq"]).is_ok() {
        let install =
            [&["apt-get", "install", "-y", "-qq", "--no-install-recommends"], names.as_slice()].concat();
        let _ = run(&install);
    }
    let still: Vec<String> = missing()
        .map(|package| format!("{} (package {}), for {}", package.program, package.name, package.needed_for))
        .collect();
    if still.is_empty() {
        return Ok(());
    }
    bail!("missing: {}; install with: apt-get install {}", still.join("; "), names.join(" "))
}
