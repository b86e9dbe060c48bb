//! An optimised binary, ready to copy.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::shell::{self, command, path_text, root, target};

/// Arguments with printed output, and the file for it.
const PRINTED: [(&[&str], &str); 6] = [
    (&["man"], "man/ipcost.1"),
    (&["completions", "bash"], "completions/ipcost.bash"),
    (&["completions", "zsh"], "completions/_ipcost"),
    (&["completions", "fish"], "completions/ipcost.fish"),
    (&["completions", "powershell"], "completions/_ipcost.ps1"),
    (&["completions", "elvish"], "completions/ipcost.elv"),
];

/// Builds it and puts it, with its licences, its manual page and its completions, into `target/ipcost`.
///
/// # Errors
/// If it cannot be built or copied.
pub fn run() -> Result<()> {
    shell::run(&["cargo", "build", "--profile", "dist", "--package", "ipcost"])?;
    let dist = target().join("ipcost");
    std::fs::create_dir_all(&dist).context("cannot make target/ipcost")?;
    for (from, name) in [
        (target().join("dist/ipcost"), "ipcost"),
        (root().join("LICENSE-MIT"), "LICENSE-MIT"),
        (root().join("LICENSE-APACHE"), "LICENSE-APACHE"),
        // The typeface embedded in the binary, for pictures.
        (root().join("crates/ipcost-report/fonts/NOTICE"), "NOTICE-Inter"),
        (root().join("crates/ipcost-report/fonts/OFL.txt"), "LICENSE-Inter"),
        (root().join("README.md"), "README.md"),
    ] {
        std::fs::copy(&from, dist.join(name)).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    for (words, name) in PRINTED {
        print_to(&dist.join("ipcost"), words, &dist.join(name))?;
    }
    println!("{}", dist.display());
    Ok(())
}

/// Writes the binary's output to a file.
fn print_to(binary: &Path, words: &[&str], file: &Path) -> Result<()> {
    let words = [&[path_text(binary)?], words].concat();
    let output = command(&words).output().with_context(|| format!("cannot start {}", words.join(" ")))?;
    ensure!(output.status.success(), "failed: {}", words.join(" "));
    let dir = file.parent().context("a file in a directory")?;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    std::fs::write(file, output.stdout).with_context(|| format!("cannot write {}", file.display()))
}
