//! What travels with a binary: manual, completions, licences.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::build::{Target, cargo_home};
use super::{Binary, text_of};
use crate::shell::{command, path_text};

/// A file of an archive.
pub struct ArchiveEntry {
    /// Its path, with slashes.
    pub path: String,
    pub bytes: Vec<u8>,
    /// Whether it is a program.
    pub executable: bool,
}

impl ArchiveEntry {
    /// A file that is no program.
    pub fn plain(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.to_owned(), bytes: bytes.into(), executable: false }
    }
}

/// Arguments with printed output, and the file for it.
const PRINTED: [(&[&str], &str); 6] = [
    (&["man"], "man/ipcost.1"),
    (&["completions", "bash"], "completions/ipcost.bash"),
    (&["completions", "zsh"], "completions/_ipcost"),
    (&["completions", "fish"], "completions/ipcost.fish"),
    (&["completions", "powershell"], "completions/_ipcost.ps1"),
    (&["completions", "elvish"], "completions/ipcost.elv"),
];

/// Texts of the repository, and their names in the archive.
const TEXTS: [(&str, &str); 6] = [
    ("README.md", "README.md"),
    ("CHANGELOG.md", "CHANGELOG.md"),
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
    // The typeface embedded in the binary, for pictures.
    ("crates/ipcost-report/fonts/NOTICE", "NOTICE-Inter"),
    ("crates/ipcost-report/fonts/OFL.txt", "LICENSE-Inter"),
];

/// The file with the licences of everything linked into the binary.
pub const THIRD_PARTY: &str = "LICENSES-THIRD-PARTY";
/// What a package with the binary must carry, in addition to its own licences.
pub const LINKED: [&str; 3] = [THIRD_PARTY, "NOTICE-Inter", "LICENSE-Inter"];

/// The content of an archive; `native` prints the manual and the completions.
pub fn of(binary: &Binary, native: &Binary) -> Result<Vec<ArchiveEntry>> {
    let name = binary.file.file_name().context("a program has a name")?.to_string_lossy().into_owned();
    let mut entries =
        vec![ArchiveEntry { path: name, bytes: std::fs::read(&binary.file)?, executable: true }];
    for (from, name) in TEXTS {
        entries.push(ArchiveEntry::plain(name, text_of(from)?));
    }
    entries.push(ArchiveEntry::plain(THIRD_PARTY, binary.licences.as_str()));
    for (words, name) in PRINTED {
        // The manual is a page of Unix.
        if binary.target.is_linux() || words[0] != "man" {
            entries.push(ArchiveEntry::plain(name, printed(native, words)?));
        }
    }
    // Where cargo-deb looks for them.
    let beside = binary.file.parent().context("a program lies in a directory")?.join("packaged");
    for entry in entries.iter().filter(|entry| !entry.executable) {
        write(&beside.join(&entry.path), &entry.bytes)?;
    }
    Ok(entries)
}

/// Writes a file, with the directories that it lies in.
pub fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let dir = file.parent().context("a file in a directory")?;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// What a built program prints.
fn printed(binary: &Binary, words: &[&str]) -> Result<Vec<u8>> {
    ensure!(binary.target.is_linux(), "the completions are printed by the one for Linux: build x86_64, too");
    let mut program = if binary.target.processor() == std::env::consts::ARCH {
        Command::new(&binary.file)
    } else {
        let mut emulator = Command::new(format!("qemu-{}", binary.target.processor()));
        emulator.arg(&binary.file);
        emulator
    };
    let output = program.args(words).output();
    let output = output.with_context(|| format!("{} does not run here", binary.file.display()))?;
    ensure!(output.status.success(), "failed: ipcost {}", words.join(" "));
    Ok(output.stdout)
}

/// The licences of all crates linked into the binary, equal texts once.
pub fn third_party(target: Target) -> Result<String> {
    let mut words = vec!["cargo", "tree", "--package", "ipcost", "--edges", "normal", "--prefix", "none"];
    words.extend(["--format", "{p}|{l}", "--target", target.triple, "--features", target.features]);
    let output = command(&words).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim());
    // By text: which crates have it.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let listed = String::from_utf8(output.stdout)?;
    let crates: std::collections::BTreeSet<&str> =
        listed.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    for line in crates.iter().filter(|line| !line.starts_with("ipcost")) {
        let (package, expression) = line.split_once('|').context("a crate and its licence")?;
        let (name, version) = package.split_once(" v").context("a crate and its version")?;
        let version = version.split(' ').next().unwrap_or(version);
        let of = format!("{name} {version} ({expression})");
        let files = licences(&format!("{name}-{version}"))?;
        if files.is_empty() {
            texts
                .entry(format!("(Its package has no text of the licence: {expression}.)\n"))
                .or_default()
                .push(of.clone());
        }
        for file in files {
            let text = std::fs::read_to_string(&file)
                .with_context(|| path_text(&file).unwrap_or_default().to_owned())?;
            texts.entry(text.trim().replace('\r', "") + "\n").or_default().push(of.clone());
        }
    }
    let mut page = String::from("Licences of what is linked into ipcost, in addition to its own.\n");
    for (text, crates) in &texts {
        page.push_str(&format!("\n{}\n{}\n\n{text}", "=".repeat(78), crates.join("\n")));
    }
    Ok(page)
}

/// The texts of licences in a crate that cargo has downloaded.
fn licences(package: &str) -> Result<Vec<PathBuf>> {
    let sources = cargo_home()?.join("registry/src");
    let registries =
        std::fs::read_dir(&sources).with_context(|| path_text(&sources).unwrap_or_default().to_owned())?;
    let found = registries.flatten().map(|registry| registry.path().join(package)).find(|dir| dir.is_dir());
    let dir = found.with_context(|| format!("cargo has not downloaded {package}"))?;
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
                .iter()
                .any(|begin| name.starts_with(begin))
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir)?.flatten().map(|entry| entry.path()).filter(is_licence).collect();
    files.sort();
    Ok(files)
}
