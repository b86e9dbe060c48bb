//! What is asked before it is done: starting commands that a file names, which may be someone else's; loading a server of the user's own.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use ipcost_model::{Job, escaped};
use ipcost_sys::private_dir::check_own;

/// Of a terminal that does not tell.
const USUAL_SIZE: (usize, usize) = (80, 24);
/// Lines of the screen that are left to the command, the question and the answer.
const OTHER_LINES: usize = 3;

/// Whether a text is all in sight above a question.
fn fits_on_screen(text: &str) -> bool {
    let size = terminal_size::terminal_size_of(io::stderr());
    let (columns, lines) = size.map_or(USUAL_SIZE, |(width, height)| (width.0.into(), height.0.into()));
    let taken: usize = text.lines().map(|line| line.chars().count().div_ceil(columns.max(1)).max(1)).sum();
    taken + OTHER_LINES <= lines
}

/// Shows every command that a file would have started, and asks whether it may be; nothing has been started yet.
///
/// On a terminal the user is asked, unless `yes` says so already, and unless there is more than can be read at once: what matters could
/// be out of sight. Elsewhere no one can be asked: then the file and its directory must be this user's or root's, and no one else may be
/// able to write to them.
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
    let is_long = !fits_on_screen(&text);
    if !is_long || yes || !is_terminal() {
        let _ = write!(anstream::stderr(), "{text}");
    }
    if yes {
        return Ok(());
    }
    if is_terminal() {
        if is_long {
            bail!(
                "{shown} names {} commands, more than can be read at once; read the file, and give --yes to start them unasked",
                commands.len()
            );
        }
        return match is_agreed("Start them?")? {
            true => Ok(()),
            false => {
                bail!("{shown}: nothing was started; read it, and give --yes to start its commands unasked")
            }
        };
    }
    check_own(file, path).map_err(|error| {
        anyhow::anyhow!("{shown} names commands, and there is no terminal to ask whether to start them: {error}; read it, and give --yes")
    })
}

/// Says what a server of the user's own is about to get, and asks whether it may be; nothing has been sent yet.
pub fn ask_to_load(what: &str, yes: bool) -> anyhow::Result<()> {
    let what = escaped(what);
    if yes {
        return Ok(());
    }
    ensure!(is_terminal(), "{what}; there is no terminal to ask on: give --yes");
    let _ = writeln!(anstream::stderr(), "{what}.");
    ensure!(is_agreed("Go on?")?, "nothing was sent; give --yes to go on unasked");
    Ok(())
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn is_agreed(question: &str) -> anyhow::Result<bool> {
    let _ = write!(anstream::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}
