//! A peer's process that plays a part.

use std::io;
use std::iter;
use std::time::{Duration, Instant, SystemTime};

use ipcost_model::protocol::{FromPeer, Hello};
use ipcost_model::read_message;
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::process::{Heard, PeerProcess, Spawn, Wake, wait_any};
use ipcost_sys::{Context, Descriptor};
use serde_json::Value;

use super::CheckError;
use super::transcript::Leaving;

/// How long a peer may take to answer: long enough for the slowest start on a busy machine.
pub const ANSWER: Duration = Duration::from_secs(20);
/// How long it may take to exit: the second that the protocol allows, and more for a busy machine. A peer that misses
/// its cue stays much longer.
pub const LEAVE: Duration = Duration::from_secs(4);
/// How often to check whether it has exited.
const LOOK: Duration = Duration::from_millis(2);
/// This many unsolicited lines are enough for an error.
const MOST_UNASKED: usize = 8;
/// How much of an unexpected line is shown.
const SHOWN: usize = 300;

pub struct ExaminedProcess {
    process: PeerProcess,
    interrupt: Interrupt,
    /// Whether it was waited for, so that its ID may already be reused.
    finished: bool,
}

impl ExaminedProcess {
    /// Starts a peer; a mark identifies its descendants, so `number` must be unique.
    pub fn start(
        command: &[String],
        number: u32,
        inherit: Vec<Descriptor>,
        interrupt: &Interrupt,
    ) -> Result<Self, CheckError> {
        let began = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mark = format!("{}-{number}-{}", std::process::id(), began.as_nanos());
        let process = PeerProcess::spawn(Spawn { command, inherit, mark: Some(&mark), ..Spawn::default() })
            .context(|| format!("cannot be started: {}", command.join(" ")))?;
        Ok(Self { process, interrupt: interrupt.clone(), finished: false })
    }

    pub fn hello(&mut self) -> Result<Hello, CheckError> {
        let line = self.hear()?;
        match serde_json::from_value(line.clone()) {
            Ok(FromPeer::Hello(hello)) => Ok(hello),
            _ => Err(CheckError::NotHello(line)),
        }
    }

    /// Writes a message and its newline.
    pub fn say(&mut self, message: &Value) -> Result<(), CheckError> {
        self.write(format!("{message}\n").as_bytes())
    }

    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), CheckError> {
        match self.process.send(bytes, Instant::now() + ANSWER) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            sent => Ok(sent.context(|| "does not read its standard input".to_owned())?),
        }
    }

    /// Receives its next message.
    pub fn hear(&mut self) -> Result<Value, CheckError> {
        let deadline = Instant::now() + ANSWER;
        loop {
            match self.process.hear().context(|| "cannot be heard".to_owned())? {
                Heard::Line(line) => return message(&line),
                Heard::End => return Err(self.left()),
                Heard::TooLong => return Err("prints a line without end".into()),
                Heard::TooMuchComplaint => return Err("floods its standard error".into()),
                Heard::Nothing => {}
            }
            let woken = wait_any(iter::once(&self.process), &self.interrupt, deadline);
            match woken.context(|| "cannot be waited for".to_owned())? {
                Wake::Heard => {}
                Wake::Deadline => return Err(CheckError::Silent),
                Wake::Interrupted => return Err("interrupted".into()),
            }
        }
    }

    /// What is known of a process whose standard output has ended too early.
    fn left(&mut self) -> CheckError {
        let deadline = Instant::now() + LEAVE;
        while self.process.runs() {
            if Instant::now() >= deadline {
                return "has closed its standard output".into();
            }
            std::thread::sleep(LOOK);
        }
        self.finished = true;
        let complaint = self.complaint();
        let status = self.process.finish(Instant::now() + LEAVE);
        let status = status.map_or_else(|| "an unknown status".to_owned(), |status| status.to_string());
        let complaint = if complaint.is_empty() { complaint } else { format!(": {complaint}") };
        CheckError::Left { status, complaint }
    }

    /// Closes its standard input.
    pub fn end(&mut self) {
        self.process.close_input();
    }

    /// Kills its process, but not its children.
    pub fn kill(&mut self) {
        // It may have exited already.
        let _ = self.process.kill();
    }

    /// Waits until it and everything it started have exited.
    pub fn gone(&mut self, with: Leaving) -> Result<(), CheckError> {
        let deadline = Instant::now() + LEAVE;
        let mut said = Vec::new();
        while self.process.runs() {
            self.collect(&mut said);
            if Instant::now() >= deadline {
                return Err(CheckError::Stays);
            }
            std::thread::sleep(LOOK);
        }
        self.collect(&mut said);
        loop {
            let left = self.process.leftovers();
            if left.is_empty() {
                break;
            }
            if Instant::now() >= deadline {
                return Err(CheckError::Leftovers(left.join(", ")));
            }
            std::thread::sleep(LOOK);
        }
        self.finished = true;
        let status = self.process.finish(Instant::now() + LEAVE).ok_or("cannot be waited for")?;
        match with {
            Leaving::Any => Ok(()),
            _ if !said.is_empty() => Err(CheckError::Unasked(said.join(" "))),
            Leaving::Success if !status.success() => Err(CheckError::Status(status)),
            Leaving::Failure if status.success() => {
                Err("left with status 0, as if nothing had failed".into())
            }
            _ => Ok(()),
        }
    }

    fn collect(&mut self, said: &mut Vec<String>) {
        while said.len() < MOST_UNASKED {
            let Ok(Heard::Line(line)) = self.process.hear() else { return };
            said.push(shown(&line));
        }
    }

    /// The last line of its standard error.
    pub fn complaint(&mut self) -> String {
        let complaint = self.process.complaint();
        complaint.lines().last().unwrap_or_default().to_owned()
    }
}

impl Drop for ExaminedProcess {
    /// Even if it has exited by itself: this kills what it left behind.
    fn drop(&mut self) {
        if !self.finished {
            let _ = self.process.finish(Instant::now());
        }
    }
}

/// Parses a line as a protocol message.
fn message(line: &[u8]) -> Result<Value, CheckError> {
    read_message(line).map_err(|error| CheckError::Message { error, line: shown(line) })?;
    Ok(serde_json::from_slice(line)?)
}

fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(SHOWN).collect()
}
