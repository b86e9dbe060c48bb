//! Starting other programs: pinned, on free ports, and ended with whatever started them.

use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// How long to wait for a program to start listening.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a client may take, seconds; it usually takes one.
const TIMEOUT_S: &str = "120";

/// A child that is killed, by its id, unless it has ended.
pub struct RunningChild(Child);

impl RunningChild {
    pub fn start(command: &mut Command) -> Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        Ok(Self(command.spawn().with_context(|| format!("cannot start {program}"))?))
    }

    /// The child, for its streams.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Waits until it ends by itself.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.0.wait()?)
    }
}

impl Drop for RunningChild {
    fn drop(&mut self) {
        // Does nothing to a child that has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command that runs on one processor, or wherever the scheduler puts it.
pub fn on_processor(cpu: Option<usize>, program: &str) -> Command {
    match cpu {
        None => Command::new(program),
        Some(cpu) => {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu.to_string(), program]);
            command
        }
    }
}

/// Runs a client on its processor to its end; the result is what it prints.
pub fn output_of(cpu: Option<usize>, words: &[&str]) -> Result<String> {
    let mut command = on_processor(cpu, "timeout");
    let output = command.args(["--foreground", TIMEOUT_S]).args(words).stdin(Stdio::null()).output()?;
    let [text, complaint] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if !output.status.success() {
        bail!("{}: {}: {}{}", words.join(" "), output.status, complaint.trim(), text.trim());
    }
    Ok(text)
}

/// A TCP port that nothing listens on.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Whether a program listens on a port, over TCP or UDP, without a connection attempt.
pub fn listens(port: u16) -> bool {
    ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
        std::fs::read_to_string(format!("/proc/net/{table}"))
            .is_ok_and(|text| text.lines().any(|line| is_listener(line, port)))
    })
}

/// Whether a line of `/proc/net/tcp` or `/proc/net/udp` is of a socket that waits on this port.
fn is_listener(line: &str, port: u16) -> bool {
    let mut words = line.split_whitespace().skip(1);
    let (Some(local), Some(remote), Some(state)) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    // TCP_LISTEN, and TCP_CLOSE, which is a datagram socket without a partner.
    local.ends_with(&format!(":{port:04X}")) && remote.ends_with(":0000") && ["0A", "07"].contains(&state)
}

/// Waits for something that a started program is about to do.
pub fn wait_for(mut is_so: impl FnMut() -> bool) -> Result<()> {
    let began = Instant::now();
    while !is_so() {
        ensure!(began.elapsed() < PATIENCE, "nothing listens after {} s", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_listener;

    #[test]
    fn listeners_are_told_from_connections() {
        let tcp =
            "   0: 0100007F:5AB1 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 81";
        let tcp6 =
            "   1: 00000000000000000000000000000000:5AB1 00000000000000000000000000000000:0000 0A 00000000:0";
        let udp = " 3811: 0100007F:5AB1 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 99 2";
        let connected =
            "   2: 0100007F:5AB1 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0";
        let other =
            "   0: 0100007F:5AB2 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 81";
        assert!([tcp, tcp6, udp].iter().all(|line| is_listener(line, 0x5ab1)));
        assert!(![connected, other].iter().any(|line| is_listener(line, 0x5ab1)));
    }
}
