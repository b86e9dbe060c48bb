//! Running programs from the workspace's root.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The directory that builds go to.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A path as a word of a command.
pub fn path_text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is no text")
}

/// A command, to be run from the workspace's root.
pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(root());
    command
}

/// Prints a command and runs it.
pub fn run(words: &[&str]) -> Result<()> {
    run_command(command(words), words)
}

/// Prints a prepared command and runs it.
pub fn run_command(mut command: Command, words: &[&str]) -> Result<()> {
    let line = words.join(" ");
    eprintln!("xtask: {line}");
    let status = command.status().with_context(|| format!("cannot start {line}"))?;
    ensure!(status.success(), "failed: {line}");
    Ok(())
}

/// Whether a command can be started and succeeds, without showing its output.
pub fn succeeds(words: &[&str]) -> bool {
    command(words).output().is_ok_and(|output| output.status.success())
}
