//! Two real socats: one sends zeros, one receives them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::processes::{RunningChild, free_port, listens, on_processor, wait_for};
use xtask::shell::path_text;

/// How bytes are moved.
pub struct Transfer<'a> {
    /// An empty directory, for sockets and FIFOs.
    pub dir: &'a Path,
    /// The processors of sender and receiver; the scheduler's choice if `None`.
    pub processors: Option<(usize, usize)>,
    pub transport: &'a str,
    /// Bytes of a block, on both sides.
    pub block: u64,
    pub nodelay: bool,
}

impl Transfer<'_> {
    /// Moves that many bytes; the time is the sender's and then the receiver's.
    pub fn run(&self, bytes: u64) -> Result<Duration> {
        let place = self.dir.join("socat");
        let place = path_text(&place)?;
        let _ = std::fs::remove_file(place);
        let port = free_port()?;
        let (from, to) = match self.transport {
            "pipe" => ("STDIN".to_owned(), "STDOUT".to_owned()),
            "fifo" => (format!("OPEN:{place},rdonly"), format!("OPEN:{place},wronly")),
            "unix" => (format!("UNIX-LISTEN:{place}"), format!("UNIX:{place}")),
            "tcp" => (format!("TCP-LISTEN:{port},reuseaddr,bind=127.0.0.1"), format!("TCP:127.0.0.1:{port}")),
            other => bail!("socat knows no {other}"),
        };
        let nodelay = if self.nodelay { ",nodelay" } else { "" };
        let block = self.block.to_string();
        let (client, server) = self.processors.unzip();
        let socat = |cpu: Option<usize>, from: &str, to: &str| {
            let mut command = on_processor(cpu, "socat");
            command.args(["-u", "-b", &block, from, to]).stdin(Stdio::null());
            command
        };
        let source = format!("OPEN:/dev/zero,readbytes={bytes}");
        let mut sender = socat(client, &source, &format!("{to}{nodelay}"));
        let receiver = || socat(server, &from, "OPEN:/dev/null,wronly");
        let (began, mut sender, mut receiver) = if self.transport == "pipe" {
            let began = Instant::now();
            let mut sender = RunningChild::start(sender.stdout(Stdio::piped()))?;
            let pipe = sender.child().stdout.take().context("no pipe")?;
            // The command goes at once, and with it this process's end: only the receiver has the pipe.
            let receiver = RunningChild::start(receiver().stdin(pipe))?;
            (began, sender, receiver)
        } else {
            if self.transport == "fifo" {
                run_quietly(Command::new("mkfifo").arg(place))?;
            }
            let receiver = RunningChild::start(&mut receiver())?;
            match self.transport {
                "unix" => wait_for(|| Path::new(place).exists())?,
                "tcp" => wait_for(|| listens(port))?,
                _ => {}
            }
            let began = Instant::now();
            (began, RunningChild::start(&mut sender)?, receiver)
        };
        let ended = [sender.wait()?, receiver.wait()?];
        let took = began.elapsed();
        ensure!(ended.iter().all(|status| status.success()), "socat failed over {}", self.transport);
        Ok(took)
    }
}

fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
