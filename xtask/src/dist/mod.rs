//! Packages for every way in which people install such a tool: `cargo xtask dist`.
//!
//! Equal sources make equal files: nothing in them tells when, where or by whom they were built.

mod build;
mod contents;
mod pack;
mod publish;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use build::{AARCH64, Binary, Target, WINDOWS, X86_64};

use crate::shell::{command, path_text, root, target};

/// The version of all packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What to build, and where.
#[derive(Clone)]
pub struct DistOptions {
    /// A profile of cargo.
    pub profile: String,
    /// The directory for the packages; everything of an earlier build in it is deleted.
    pub out: PathBuf,
    /// The directory of cargo's builds, one below it for each system.
    pub builds: PathBuf,
    pub parts: Vec<String>,
    /// Whether to build everything a second time, elsewhere, and to compare.
    pub twice: bool,
}

impl DistOptions {
    /// All parts, as they are released.
    pub(crate) fn new() -> Self {
        Self {
            profile: "dist".to_owned(),
            out: target().join("packages"),
            builds: target().join("builds"),
            parts: Vec::new(),
            twice: false,
        }
    }

    /// Reads the words after `dist`.
    pub fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--profile" => {
                    options.profile = (*words.next().context("--profile takes a name")?).to_owned()
                }
                "--out" => {
                    options.out = std::path::absolute(words.next().context("--out takes a directory")?)?
                }
                "--twice" => options.twice = true,
                part if names().any(|known| known == part) => options.parts.push(part.to_owned()),
                other => {
                    bail!("no part is called {other}; there are {}", names().collect::<Vec<_>>().join(", "))
                }
            }
        }
        Ok(options)
    }

    fn has(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|wanted| wanted == part)
    }
}

/// The names of all parts.
fn names() -> impl Iterator<Item = &'static str> {
    BINARIES.iter().map(|(name, _)| *name).chain(PACKAGES.iter().map(|part| part.name))
}

/// What the parts have made so far.
#[derive(Default)]
struct MadePackages {
    binaries: Vec<Binary>,
    files: Vec<PathBuf>,
}

impl MadePackages {
    fn linux(&self) -> impl Iterator<Item = &Binary> {
        self.binaries.iter().filter(|binary| binary.target.is_linux())
    }

    fn binary(&self, target: Target) -> Result<&Binary> {
        let found = self.binaries.iter().find(|binary| binary.target == target);
        found.with_context(|| format!("there is no binary for {}", target.triple))
    }
}

/// What packs the binaries.
struct Packages {
    name: &'static str,
    make: fn(&DistOptions, &mut MadePackages) -> Result<()>,
}

/// The systems that binaries are built for.
const BINARIES: [(&str, Target); 3] = [("x86_64", X86_64), ("aarch64", AARCH64), ("windows", WINDOWS)];
const PACKAGES: [Packages; 4] = [
    Packages { name: "deb", make: publish::debs },
    Packages { name: "npm", make: publish::npm },
    Packages { name: "homebrew", make: publish::homebrew },
    Packages { name: "crates", make: publish::crates },
];
/// Binaries built at the same time: most of a build is optimising one program, which takes one processor.
const AT_ONCE: usize = 2;

/// Builds all parts, and says which could not be built and why.
pub fn run(options: &DistOptions) -> Result<()> {
    build_all(options)?;
    if options.twice {
        let elsewhere = target().join("builds-again");
        let _ = std::fs::remove_dir_all(&elsewhere);
        compare_with(options, &DistOptions { builds: elsewhere, ..options.clone() })?;
    }
    Ok(())
}

/// Builds all parts again, into a directory of their own, and compares.
pub fn compare_with(first: &DistOptions, second: &DistOptions) -> Result<()> {
    let again = DistOptions { out: target().join("packages-again"), ..second.clone() };
    build_all(&again)?;
    let sums = |options: &DistOptions| -> Result<BTreeSet<String>> {
        let text = std::fs::read_to_string(options.out.join(pack::SUMS))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    let (one, other) = (sums(first)?, sums(&again)?);
    let differ: Vec<&String> = one.symmetric_difference(&other).collect();
    ensure!(differ.is_empty(), "built twice, these differ:\n{differ:#?}");
    eprintln!("xtask: {} files, and each is the same when built again", one.len());
    Ok(())
}

/// Empties a directory of packages: one that holds the checksums of what is in it, and nothing else of anybody.
fn empty(dir: &Path) -> Result<()> {
    let mut entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| format!("cannot read {}", dir.display()))?,
    };
    if entries.next().is_some() && !dir.join(pack::SUMS).is_file() {
        bail!(
            "{} holds something else than packages (no {}); give --out an empty directory",
            dir.display(),
            pack::SUMS
        );
    }
    std::fs::remove_dir_all(dir).with_context(|| format!("cannot empty {}", dir.display()))
}

fn build_all(options: &DistOptions) -> Result<()> {
    let began = Instant::now();
    empty(&options.out)?;
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot make {}", options.out.display()))?;
    eprintln!("xtask: SOURCE_DATE_EPOCH={}", source_date()?);
    let wanted: Vec<&(&str, Target)> = BINARIES.iter().filter(|(name, _)| options.has(name)).collect();
    let (mut made, mut failed) = (MadePackages::default(), Vec::new());
    for together in wanted.chunks(AT_ONCE) {
        let build = |target: Target| move || build::build(options, target);
        let built: Vec<Result<Binary>> = std::thread::scope(|scope| {
            let running: Vec<_> = together.iter().map(|(_, target)| scope.spawn(build(*target))).collect();
            running.into_iter().map(|thread| thread.join().expect("a build that does not panic")).collect()
        });
        for ((name, _), built) in together.iter().zip(built) {
            if let Err(error) = built.and_then(|binary| archive(options, &mut made, binary)) {
                failed.push(format!("{name}: {error:#}"));
            }
        }
    }
    for part in PACKAGES.iter().filter(|part| options.has(part.name)) {
        if let Err(error) = (part.make)(options, &mut made) {
            failed.push(format!("{}: {error:#}", part.name));
        }
    }
    made.files.sort();
    let sums = pack::checksums(&made.files, &options.out)?;
    for file in made.files.iter().chain([&sums]) {
        let size = std::fs::metadata(file)?.len();
        println!("{:>9.2} MB  {}", size as f64 / 1e6, path_text(file)?);
    }
    eprintln!("xtask: dist took {} s", began.elapsed().as_secs());
    ensure!(failed.is_empty(), "not built:\n  {}", failed.join("\n  "));
    Ok(())
}

/// The program for Linux on x86-64 as it is packaged.
pub fn static_binary() -> Result<PathBuf> {
    let options = DistOptions { out: target().join("packages-of-benches"), ..DistOptions::new() };
    std::fs::create_dir_all(&options.out)?;
    Ok(build::build(&options, X86_64)?.file)
}

/// Packs a binary with what travels with it.
fn archive(options: &DistOptions, made: &mut MadePackages, binary: Binary) -> Result<()> {
    let native = made.binaries.first().unwrap_or(&binary);
    let contents = contents::of(&binary, native)?;
    let folder = format!("ipcost-{VERSION}-{}", binary.target.triple);
    let archive = if binary.target.is_linux() {
        pack::tar_gz(&options.out.join(format!("{folder}.tar.gz")), &folder, &contents)?
    } else {
        pack::zip(&options.out.join(format!("{folder}.zip")), &folder, &contents)?
    };
    made.files.push(archive);
    made.files.extend(binary.wheel.clone());
    made.files.extend(binary.sbom.clone());
    made.binaries.push(binary);
    Ok(())
}

/// The time of the sources in seconds since 1970: `SOURCE_DATE_EPOCH`, or that of the commit.
pub fn source_date() -> Result<u64> {
    if let Ok(set) = std::env::var("SOURCE_DATE_EPOCH") {
        return set.parse().with_context(|| format!("SOURCE_DATE_EPOCH is no number: {set}"));
    }
    let output = command(&["git", "log", "-1", "--format=%ct"]).output().context("cannot start git")?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().context("outside a checkout, set SOURCE_DATE_EPOCH to the seconds since 1970")
}

/// A text of the repository.
fn text_of(path: &str) -> Result<String> {
    std::fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packages_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        empty(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        empty(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("thesis.tex"), "").unwrap();
        assert!(empty(&path).unwrap_err().to_string().contains("something else"));
        assert!(path.join("thesis.tex").exists());
        std::fs::write(path.join(pack::SUMS), "").unwrap();
        empty(&path).unwrap();
        assert!(!path.exists());
    }
}
