//! Packages for every way in which people install such a tool: `cargo xtask dist`.
//!
//! Equal sources make equal files: nothing in them tells when, where or by whom they were built.

mod build;
mod contents;
mod pack;
mod publish;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

pub use build::{AARCH64, Binary, WINDOWS, X86_64};

use crate::shell::{command, path_text, root, target};

/// The version of all packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What to build, and where.
pub struct Options {
    /// A profile of cargo.
    pub profile: String,
    /// The directory for the packages; everything of an earlier build in it is deleted.
    pub out: PathBuf,
    /// The directory of cargo's build.
    pub target_dir: PathBuf,
    /// The parts, or all.
    pub parts: Vec<String>,
}

impl Options {
    /// All parts in one profile.
    pub fn new(profile: &str, out: &Path) -> Self {
        Self { profile: profile.to_owned(), out: out.to_owned(), target_dir: target(), parts: Vec::new() }
    }

    /// Reads the words after `dist`.
    ///
    /// # Errors
    /// A word that means nothing.
    pub fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::new("dist", &target().join("packages"));
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--profile" => {
                    options.profile = (*words.next().context("--profile takes a name")?).to_owned()
                }
                "--out" => options.out = words.next().context("--out takes a directory")?.into(),
                part if PARTS.iter().any(|known| known.name == part) => options.parts.push(part.to_owned()),
                other => {
                    let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
                    bail!("no part is called {other}; there are {}", names.join(", "));
                }
            }
        }
        Ok(options)
    }

    fn has(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|wanted| wanted == part)
    }
}

/// What the parts have made so far.
#[derive(Default)]
struct Made {
    binaries: Vec<Binary>,
    files: Vec<PathBuf>,
}

impl Made {
    /// The static binaries.
    fn linux(&self) -> impl Iterator<Item = &Binary> {
        self.binaries.iter().filter(|binary| binary.target.is_linux())
    }

    fn binary(&self, target: build::Target) -> Result<&Binary> {
        let found = self.binaries.iter().find(|binary| binary.target == target);
        found.with_context(|| format!("there is no binary for {}", target.triple))
    }
}

/// A part of the packages.
struct Part {
    name: &'static str,
    make: fn(&Options, &mut Made) -> Result<()>,
}

/// In order: what comes later packs what came before.
const PARTS: &[Part] = &[
    Part { name: "x86_64", make: |options, made| binary(options, made, X86_64) },
    Part { name: "aarch64", make: |options, made| binary(options, made, AARCH64) },
    Part { name: "windows", make: |options, made| binary(options, made, WINDOWS) },
    Part { name: "deb", make: publish::debs },
    Part { name: "npm", make: publish::npm },
    Part { name: "homebrew", make: publish::homebrew },
    Part { name: "crates", make: publish::crates },
];

/// Builds all parts, and says which could not be built and why.
///
/// # Errors
/// If a part could not be built; the others are there.
pub fn run(options: &Options) -> Result<()> {
    let began = Instant::now();
    let _ = std::fs::remove_dir_all(&options.out);
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot make {}", options.out.display()))?;
    // Whoever reads the clock reads the time of the commit.
    if std::env::var_os("SOURCE_DATE_EPOCH").is_none() {
        eprintln!("xtask: SOURCE_DATE_EPOCH={}, the time of the commit", source_date()?);
    }
    let mut made = Made::default();
    let mut failed = Vec::new();
    for part in PARTS.iter().filter(|part| options.has(part.name)) {
        eprintln!("xtask: {}", part.name);
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

fn binary(options: &Options, made: &mut Made, target: build::Target) -> Result<()> {
    let binary = build::build(options, target)?;
    let native = made.binaries.first().unwrap_or(&binary);
    let contents = contents::of(&binary, native, options)?;
    let folder = format!("ipcost-{VERSION}-{}", target.triple);
    let archive = if target.is_linux() {
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
///
/// # Errors
/// If it is neither set nor in a checkout.
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
