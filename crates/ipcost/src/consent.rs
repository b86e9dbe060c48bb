//! Commands that a file names, and whether they may be started: a file may be someone else's.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, bail};
use ipcost_model::{Job, escaped};
use ipcost_sys::private_dir::check_own;

/// Shows every command that a file would have started, and asks whether it may be; nothing has been started yet.
///
/// On a terminal the user is asked, unless `yes` says so already. Elsewhere no one can be: then the file and its directory must be
/// this user's or root's, and no one else may be able to write to them.
///
/// # Errors
/// That they may not be started, with what to do.
pub fn ask(path: &Path, file: &File, job: &Job, yes: bool) -> anyhow::Result<()> {
    let commands = job.commands();
    if commands.is_empty() {
        return Ok(());
    }
    let shown = escaped(&path.display().to_string());
    let mut text = format!("{shown} has these started as you, with your rights:\n");
    for (what, command) in &commands {
        text.push_str(&format!("  {}: {}\n", escaped(what), escaped(command)));
    }
    let _ = write!(anstream::stderr(), "{text}");
    if yes {
        return Ok(());
    }
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        let _ = write!(anstream::stderr(), "Start them? [y/N] ");
        let mut answer = String::new();
        io::stdin().read_line(&mut answer).context("cannot read the answer")?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(()),
            _ => bail!("{shown}: nothing was started; read it, and give --yes to start its commands unasked"),
        }
    }
    check_own(file, path).map_err(|error| {
        anyhow::anyhow!("{shown} names commands, and nobody can be asked whether to start them: {error}; read it, and give --yes")
    })
}
