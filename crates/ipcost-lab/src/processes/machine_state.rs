//! The state of the machine in an arm: commands that set it, the check that they did, and putting it back.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use ipcost_model::{ArmName, ArmSetting, Arms, KeptFile, PlannedArms};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::process::{GuardLine, Heard, PeerProcess};
use ipcost_sys::whole_command;
use serde::{Deserialize, Serialize};

use super::arm_command::understand;
use super::setting_files::{by_hand, holds, put_back, read, setting};
use crate::error::EngineError;
use crate::guard::Guard;
use crate::journal::{Journal, JournalEntry};
use crate::lab::LabError;
use crate::lab::own_command;

/// What an arm has set, as read back.
type ArmState = Vec<Option<String>>;

/// Puts the machine into the state of an arm, and back at the end.
pub(super) struct MachineState {
    arms: Arms,
    before: Vec<KeptFile>,
    journal: Journal,
    /// What is on the disk, while the machine may be changed.
    entry: Option<JournalEntry>,
    /// What the kept files hold after the commands of A and of B.
    seen: [Option<ArmState>; 2],
}

/// How to put the machine back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Restoration {
    pub command: Option<String>,
    pub files: Vec<KeptFile>,
    pub timeout: Duration,
}

impl MachineState {
    /// Of the arms of a plan; `None` if they have no commands. No other run can change the machine from now on.
    pub fn new(planned: Option<&PlannedArms>) -> Result<Option<Self>, EngineError> {
        let Some(planned) = planned.filter(|planned| planned.arms.change_the_machine()) else {
            return Ok(None);
        };
        let PlannedArms { arms, before } = planned.clone();
        let journal = Journal::take()?;
        Ok(Some(Self { arms, before, journal, entry: None, seen: [None, None] }))
    }

    /// The lock that lasts until the machine is as it was.
    pub fn lock(&self) -> &File {
        self.journal.lock()
    }

    /// Puts the machine into the state of an arm.
    pub fn enter(
        &mut self,
        name: ArmName,
        guard: &mut Guard,
        interrupt: &Interrupt,
    ) -> Result<(), EngineError> {
        if self.entry.is_none() {
            self.begin(name, guard)?;
        }
        let Some(command) = self.arms.arm(name).command.clone() else {
            // An arm without a command is the machine as it was.
            self.restoration().carry_out()?;
            self.seen[name as usize] = Some(self.read_back());
            return self.wait(interrupt);
        };
        self.note(|entry| entry.entering = true)?;
        let failed = |(reason, complaint): (String, String)| EngineError::Arm {
            arm: name.title(),
            command: command.clone(),
            reason,
            complaint,
        };
        let lock = self.journal.lock();
        let started = guard.watch_command(|guard| start(&command, Some(lock), guard));
        let ended = started.map_err(|error| (format!("cannot be started: {error}"), String::new()));
        let ended = ended.and_then(|process| {
            let id = process.id();
            let ended = finish(process, self.timeout());
            guard.forget(&[id]);
            ended
        });
        ended.map_err(failed)?;
        let now = self.read_back();
        self.note(|entry| entry.set_by_arm(&now))?;
        match self.mistake(name, now) {
            Some(mistake) => Err(failed((mistake, String::new()))),
            None => self.wait(interrupt),
        }
    }

    /// Writes down how the machine is, before anything is changed.
    fn begin(&mut self, name: ArmName, guard: &mut Guard) -> Result<(), EngineError> {
        let before = self.before.iter().map(|file| Some(file.text.clone()));
        let now = self.read_back();
        if let Some(index) = before.zip(&now).position(|(before, now)| before != *now) {
            let path = &self.before[index].path;
            return Err(EngineError::Arm {
                arm: name.title(),
                command: self.arms.arm(name).command.clone().unwrap_or_default(),
                reason: format!(
                    "{path} was {} when the run was planned, and is {} now; set it back, or start a new run",
                    setting(path, &self.before[index].text),
                    setting(path, now[index].as_deref().unwrap_or_default())
                ),
                complaint: String::new(),
            });
        }
        let restoration = self.restoration();
        let entry = JournalEntry::new(restoration);
        self.journal.write(&entry)?;
        guard.restores(&entry.restoration, self.journal.path());
        self.entry = Some(entry);
        Ok(())
    }

    /// Changes what is on the disk.
    fn note(&mut self, change: impl FnOnce(&mut JournalEntry)) -> Result<(), EngineError> {
        let Some(entry) = &mut self.entry else { return Ok(()) };
        change(entry);
        self.journal.write(entry)
    }

    /// Waits for the machine to settle.
    fn wait(&self, interrupt: &Interrupt) -> Result<(), EngineError> {
        let until = Instant::now() + self.arms.settle.unwrap_or_default();
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if interrupt.asked() {
                return Err(EngineError::Interrupted);
            }
            std::thread::sleep(left.min(SLICE));
        }
        Ok(())
    }

    fn read_back(&self) -> ArmState {
        self.before.iter().map(|file| read(&file.path)).collect()
    }

    /// What is wrong with what the command of an arm has set.
    fn mistake(&mut self, name: ArmName, now: ArmState) -> Option<String> {
        let command = self.arms.arm(name).command.as_deref().unwrap_or_default();
        for (path, wanted) in understand(command).settings {
            let Some(found) = read(&path) else { return Some(format!("{path} cannot be read back")) };
            if wanted.is_some_and(|wanted| !holds(&path, &wanted, &found)) {
                return Some(format!("it succeeded, and {path} is still {}", setting(&path, &found)));
            }
        }
        let other = if name == ArmName::A { ArmName::B } else { ArmName::A };
        let same = !now.is_empty() && self.seen[other as usize].as_ref() == Some(&now);
        self.seen[name as usize] = Some(now);
        // One command for both arms may be wanted where something else distinguishes them.
        if same && self.arms.a.command != self.arms.b.command {
            let files: Vec<String> = self
                .before
                .iter()
                .map(|file| format!("{} is {}", file.path, read(&file.path).unwrap_or_default().trim()))
                .collect();
            return Some(format!("both arms leave the machine in one state: {}", files.join(", ")));
        }
        None
    }

    /// Puts the machine back as it was.
    pub fn restore(&mut self, guard: &mut Guard) -> Result<(), EngineError> {
        let Some(entry) = self.entry.take() else { return Ok(()) };
        let restored = entry.restoration.carry_out();
        // If it failed, the guard would fail again; the next run that measures tries once more.
        guard.restored();
        restored?;
        self.journal.clear()
    }

    /// What the kept files hold in arms A and B, as far as seen.
    pub fn seen(&self) -> Vec<ArmSetting> {
        let of = |seen: &Option<ArmState>, index: usize| -> Option<String> {
            Some(setting(&self.before[index].path, seen.as_ref()?[index].as_deref()?))
        };
        let setting = |(index, file): (usize, &KeptFile)| ArmSetting {
            path: file.path.clone(),
            before: setting(&file.path, &file.text),
            a: of(&self.seen[0], index),
            b: of(&self.seen[1], index),
        };
        self.before.iter().enumerate().map(setting).collect()
    }

    fn restoration(&self) -> Restoration {
        Restoration {
            command: self.arms.restore.clone(),
            files: self.before.clone(),
            timeout: self.timeout(),
        }
    }

    fn timeout(&self) -> Duration {
        self.arms.command_timeout.unwrap_or(Arms::COMMAND_TIMEOUT)
    }
}

/// The longest wait without a look at whether to stop.
const SLICE: Duration = Duration::from_millis(100);
/// How often to look whether a command has ended.
const LOOK: Duration = Duration::from_millis(1);
/// How long a command that was given up may take to end what it has started.
const FAREWELL: Duration = Duration::from_secs(10);

impl Restoration {
    /// Runs the command, and writes the files back: all of them, whatever fails.
    pub fn carry_out(&self) -> Result<(), EngineError> {
        let (mut reasons, mut remedies) = (Vec::new(), Vec::new());
        if let Some(command) = &self.command {
            let started = start(command, None, None);
            let ended = started.map_err(|error| (format!("cannot be started: {error}"), String::new()));
            if let Err((reason, complaint)) = ended.and_then(|process| finish(process, self.timeout)) {
                reasons.push(format!("{command}: {reason}: {}", complaint.trim().replace('\n', " ")));
                remedies.push(command.clone());
            }
        }
        for file in &self.files {
            if let Err(error) = put_back(file) {
                reasons.push(format!("{}: {error}", file.path));
                remedies.push(by_hand(file));
            }
        }
        if reasons.is_empty() {
            return Ok(());
        }
        Err(EngineError::NotRestored { reason: reasons.join("; "), remedy: remedies.join("; ") })
    }

    /// The commands that do it by hand.
    pub fn by_hand(&self) -> String {
        self.command.iter().cloned().chain(self.files.iter().map(by_hand)).collect::<Vec<_>>().join("; ")
    }
}

/// Starts a command line with the system's shell; it will end with everything that it has started.
fn start(line: &str, lock: Option<&File>, guard: Option<GuardLine<'_>>) -> io::Result<PeerProcess> {
    let own = own_command("shell").map_err(io::Error::other)?;
    whole_command::start(&own, line, lock, guard)
}

/// Waits for a command to end.
fn finish(mut process: PeerProcess, timeout: Duration) -> Result<(), (String, String)> {
    let deadline = Instant::now() + timeout;
    while process.runs() && Instant::now() < deadline {
        // Its standard error is read meanwhile: a full pipe would hold it up.
        if !matches!(process.hear(), Ok(Heard::Nothing | Heard::Line(_) | Heard::End)) {
            break;
        }
        std::thread::sleep(LOOK);
    }
    let in_time = !process.runs();
    match process.finish(Instant::now() + FAREWELL) {
        Some(status) if in_time && status.success() => Ok(()),
        Some(status) if in_time => Err((format!("it failed ({status})"), process.complaint())),
        _ => Err((
            format!("it did not end within {timeout:?}; give it more time (--command-timeout)"),
            process.complaint(),
        )),
    }
}

/// What the commands of two arms are seen to set, and what is asked to be kept, as it is now.
pub(crate) fn before(arms: &Arms) -> Result<Vec<KeptFile>, LabError> {
    let commands = [&arms.a.command, &arms.b.command];
    if commands.iter().all(|command| command.is_none()) {
        return match (&arms.restore, arms.keep.first()) {
            (None, None) => Ok(Vec::new()),
            _ => Err(LabError::Arms(
                "no command changes the machine, so there is nothing to put back; leave restore and keep out",
            )),
        };
    }
    if let Some(restore) = &arms.restore {
        if restore.trim().is_empty() {
            return Err(LabError::Arms(
                "the command that puts the machine back is empty; give true if there is nothing to put back",
            ));
        }
        return kept(arms.keep.iter().cloned());
    }
    let mut paths = arms.keep.clone();
    for command in commands.into_iter().flatten() {
        let understood = understand(command);
        // With --keep the user names the files that hold all that the command changes.
        if let Some(rest) = understood.rest.filter(|_| arms.keep.is_empty()) {
            let of = if rest == *command { String::new() } else { format!(" of \"{command}\"") };
            return Err(LabError::NoUndo { rest, of });
        }
        paths.extend(understood.settings.into_iter().map(|(path, _)| path));
    }
    if paths.is_empty() {
        return Err(LabError::Arms(
            "the commands of both arms change nothing that ipcost can see; give the command that undoes them (--restore), or --restore true if there is nothing to undo",
        ));
    }
    paths.sort();
    paths.dedup();
    kept(paths.into_iter())
}

fn kept(paths: impl Iterator<Item = String>) -> Result<Vec<KeptFile>, LabError> {
    let one = |path: String| {
        let Some(text) = read(&path) else { return Err(LabError::NotText(path)) };
        match super::setting_files::open(&path) {
            Ok(_) => Ok(KeptFile { path, text }),
            Err(error) => Err(LabError::ReadOnly { path, error }),
        }
    };
    paths.map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_put_back_is_not_changed() {
        let arms = |command: &str, restore: Option<&str>| {
            let arm =
                |command: &str| ipcost_model::Arm { command: Some(command.to_owned()), ..Default::default() };
            Arms {
                a: arm(command),
                b: arm("true"),
                restore: restore.map(str::to_owned),
                ..Default::default()
            }
        };
        let error = before(&arms("modprobe x", None)).unwrap_err().to_string();
        assert!(error.contains("--restore") && error.contains("modprobe x"), "{error}");
        assert_eq!(before(&arms("modprobe x", Some("rmmod x"))).unwrap(), []);
        assert!(before(&arms("true", Some(" "))).is_err());
        assert_eq!(before(&Arms::default()).unwrap(), []);
        assert!(before(&Arms { restore: Some("true".into()), ..Arms::default() }).is_err());
    }
}
