//! Tools for the tests: installed if possible, otherwise named.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

use crate::shell::{path_text, root, run, succeeds, target};
use crate::tally::TestTally;

/// A program that cargo can install.
pub struct CargoTool {
    check: &'static [&'static str],
    package: &'static str,
}

/// Checks licences, sources and known vulnerabilities of dependencies.
pub const CARGO_DENY: CargoTool = CargoTool { check: &["cargo", "deny", "--version"], package: "cargo-deny" };

pub const CARGO_DEB: CargoTool = CargoTool { check: &["cargo", "deb", "--version"], package: "cargo-deb" };

impl CargoTool {
    /// Whether it is installed.
    pub fn is_installed(&self) -> bool {
        succeeds(self.check)
    }

    /// Makes sure that the tool is installed.
    pub fn ensure(&self) -> Result<()> {
        if self.is_installed() {
            return Ok(());
        }
        run(&["cargo", "install", "--locked", self.package])
    }
}

/// The maturin in the path, or the one that [`ensure_maturin`] installed; `None` if there is none.
pub fn maturin() -> Option<String> {
    let own = target().join("tools/maturin/bin/maturin");
    let own = own.to_str()?.to_owned();
    ["maturin".to_owned(), own].into_iter().find(|program| succeeds(&[program, "--version"]))
}

/// Makes sure that maturin, which makes wheels, is installed: in an environment of its own below `target`.
pub fn ensure_maturin() -> Result<()> {
    if maturin().is_some() {
        return Ok(());
    }
    let dir = target().join("tools/maturin");
    run(&["python3", "-m", "venv", path_text(&dir)?])?;
    let pinned = root().join("packaging/python/maturin.txt");
    let pip = dir.join("bin/pip");
    run(&[path_text(&pip)?, "install", "--quiet", "--require-hashes", "--requirement", path_text(&pinned)?])
}

/// Makes sure that rustfmt and clippy are installed.
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

/// Whether the shell finds a program.
pub fn has_program(name: &str) -> bool {
    succeeds(&["sh", "-c", &format!("command -v {name}")])
}

/// Whether the standard library for another target is installed.
pub fn has_rust_target(target: &str) -> bool {
    succeeds(&["sh", "-c", &format!("test -d \"$(rustc --print target-libdir --target {target})\"")])
}

/// Makes sure that the standard library for another target is installed.
pub fn ensure_rust_target(target: &str) -> Result<()> {
    if !has_rust_target(target) && run(&["rustup", "target", "add", target]).is_err() {
        bail!("the standard library for {target} is missing; install it with: rustup target add {target}");
    }
    Ok(())
}

/// A system tool that tests need, and its Debian packages.
pub struct Package {
    pub what: &'static str,
    /// A shell command that succeeds if it is installed; empty for a program, which only has to be in `PATH`.
    pub check: &'static str,
    pub names: &'static [&'static str],
    pub needed_for: &'static str,
}

/// A program, installed if the shell finds it.
pub const fn program(
    what: &'static str,
    names: &'static [&'static str],
    needed_for: &'static str,
) -> Package {
    Package { what, check: "", names, needed_for }
}

impl Package {
    fn is_missing(&self) -> bool {
        if self.check.is_empty() { !has_program(self.what) } else { !succeeds(&["sh", "-c", self.check]) }
    }
}

/// Lets packages be installed whose services must not start: tests start servers of their own, and a real sshd would listen on
/// every address of this machine. See `invoke-rc.d(8)`.
fn without_services(install: impl FnOnce()) {
    const POLICY: &str = "/usr/sbin/policy-rc.d";
    const FORBIDDEN: &str = "#!/bin/sh\nexit 101\n";
    let is_own = !Path::new(POLICY).exists() && fs::write(POLICY, FORBIDDEN).is_ok();
    if is_own {
        let _ = run(&["chmod", "755", POLICY]);
    }
    install();
    if is_own {
        let _ = fs::remove_file(POLICY);
    }
}

/// Makes sure that system programs are installed, with apt if this user may.
pub fn ensure_packages(packages: &[Package]) -> Result<()> {
    let (missing, names) = install_packages(packages);
    if missing.is_empty() {
        return Ok(());
    }
    bail!("{}; install with: apt-get install {}", described(&missing), names.join(" "))
}

/// Makes sure that system programs are installed whose lack would make tests fail or leave out what needs them.
pub fn ensure_packages_for_tests(packages: &[Package], tally: &TestTally) -> Result<()> {
    let (mut missing, _) = install_packages(packages);
    let is_allowed = |package: &&Package| package.names.iter().any(|name| tally.allows(name));
    let (allowed, rest): (Vec<&Package>, Vec<&Package>) = missing.drain(..).partition(is_allowed);
    if !allowed.is_empty() {
        eprintln!("xtask: {}", described(&allowed));
    }
    if rest.is_empty() {
        return Ok(());
    }
    let names = |with: &str| -> String {
        rest.iter().flat_map(|package| package.names).copied().collect::<Vec<_>>().join(with)
    };
    bail!(
        "{}; install with: apt-get install {}; or skip what needs them: --allow-missing {}",
        described(&rest),
        names(" "),
        names(",")
    )
}

fn described(packages: &[&Package]) -> String {
    let each: Vec<String> = packages
        .iter()
        .map(|package| {
            format!("{} (package {}), for {}", package.what, package.names.join(", "), package.needed_for)
        })
        .collect();
    format!("missing: {}", each.join("; "))
}

/// Installs what is missing, with apt if this user may; what is still missing then, and the names of all that was.
fn install_packages(packages: &[Package]) -> (Vec<&Package>, Vec<&'static str>) {
    let missing: Vec<&Package> = packages.iter().filter(|package| package.is_missing()).collect();
    if missing.is_empty() {
        return (missing, Vec::new());
    }
    let names: Vec<&str> = missing.iter().flat_map(|package| package.names).copied().collect();
    let apt = succeeds(&["sh", "-c", "command -v apt-get && test \"$(id -u)\" = 0"]);
    if apt && run(&["apt-get", "update", "-qq"]).is_ok() {
        let install = |names: &[&str]| {
            run(&[&["apt-get", "install", "-y", "-qq", "--no-install-recommends"], names].concat())
        };
        without_services(|| {
            // All at once; apt installs none of them if it does not know one.
            if install(&names).is_err() {
                for package in &missing {
                    let _ = install(package.names);
                }
            }
        });
    }
    (missing.into_iter().filter(|package| package.is_missing()).collect(), names)
}
