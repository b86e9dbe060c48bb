//! Shell commands: here they may leave processes of another session running.

use std::fs::File;
use std::io;
use std::process::{Command, Stdio};

use crate::shell::shell_command;
use crate::system::process::{GuardLine, PeerProcess, Spawn};

/// Starts such a command; `own` starts this program in that role.
pub fn start(
    own: &[String],
    line: &str,
    _lock: Option<&File>,
    guard: Option<GuardLine<'_>>,
) -> io::Result<PeerProcess> {
    let command = [own, &["--".to_owned(), line.to_owned()]].concat();
    PeerProcess::spawn(Spawn { command: &command, guard, ..Spawn::default() })
}

/// Runs a shell command and gives its exit status. Its job or process group is ended by the process that started this one.
pub fn run(line: &str, _lock: Option<i32>) -> io::Result<u8> {
    let words = shell_command(line);
    let status =
        Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
