//! The state of the machine in an arm: commands that set it, the check that they did, and putting it back.

use std::path::Path;
use std::time::{Duration, Instant};

use ipcost_model::{ArmName, ArmSetting, Arms, KeptFile, PlannedArms};
use ipcost_sys::interrupt::Interrupt;
use ipcost_sys::process::{PeerProcess, Spawn};
use ipcost_sys::shell::shell_command;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::guard::Guard;

/// What an arm has set, as read back.
type Seen = Vec<Option<String>>;

/// Puts the machine into the state of an arm, and back at the end.
pub(super) struct MachineState {
    arms: Arms,
    before: Vec<KeptFile>,
    /// Whether a command has been run and the machine not been put back since.
    changed: bool,
    /// What the kept files hold after the commands of A and of B.
    seen: [Option<Seen>; 2],
}

/// How to put the machine back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Restoration {
    command: Option<String>,
    files: Vec<KeptFile>,
    timeout: Duration,
}

impl MachineState {
    /// Of the arms of a plan; `None` if they have no commands.
    pub fn new(planned: Option<&PlannedArms>) -> Option<Self> {
        let planned = planned.filter(|planned| planned.arms.change_the_machine())?;
        let PlannedArms { arms, before } = planned.clone();
        Some(Self { arms, before, changed: false, seen: [None, None] })
    }

    /// Puts the machine into the state of an arm.
    ///
    /// # Errors
    /// That the command failed, or that both arms' commands leave the machine as it was.
    pub fn enter(
        &mut self,
        name: ArmName,
        guard: &mut Guard,
        interrupt: &Interrupt,
    ) -> Result<(), EngineError> {
        if !std::mem::replace(&mut self.changed, true) {
            guard.restores(&self.restoration());
        }
        let Some(command) = self.arms.arm(name).command.clone() else {
            // An arm without a command is the machine as it was.
            self.restoration().carry_out()?;
            self.seen[name as usize] = Some(self.read_back());
            return self.wait(interrupt);
        };
        let failed = |(reason, complaint): (String, String)| EngineError::Arm {
            arm: name.title(),
            command: command.clone(),
            reason,
            complaint,
        };
        run(&command, self.timeout()).map_err(failed)?;
        self.check(name).map_err(|reason| failed((reason, String::new())))?;
        self.wait(interrupt)
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

    fn read_back(&self) -> Seen {
        self.before.iter().map(|file| read(&file.path)).collect()
    }

    /// Reads back what the command of an arm has set.
    fn check(&mut self, name: ArmName) -> Result<(), String> {
        let command = self.arms.arm(name).command.as_deref().unwrap_or_default();
        for (path, wanted) in settings(command) {
            let found = read(&path).ok_or_else(|| format!("{path} cannot be read back"))?;
            if wanted.is_some_and(|wanted| !same_setting(&wanted, &found)) {
                return Err(format!("it succeeded, and {path} is still {}", found.trim()));
            }
        }
        let now = self.read_back();
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
            return Err(format!("both arms leave the machine in one state: {}", files.join(", ")));
        }
        Ok(())
    }

    /// Puts the machine back as it was.
    ///
    /// # Errors
    /// What failed, with the command to run by hand.
    pub fn restore(&mut self, guard: &mut Guard) -> Result<(), EngineError> {
        if !std::mem::replace(&mut self.changed, false) {
            return Ok(());
        }
        self.restoration().carry_out()?;
        guard.restored();
        Ok(())
    }

    /// What the kept files hold in arms A and B, as far as seen.
    pub fn seen(&self) -> Vec<ArmSetting> {
        let of = |seen: &Option<Seen>, index: usize| -> Option<String> {
            seen.as_ref()?[index].as_deref().map(setting_of)
        };
        let setting = |(index, file): (usize, &KeptFile)| ArmSetting {
            path: file.path.clone(),
            before: setting_of(&file.text),
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

impl Restoration {
    /// Runs the command, and writes the files back.
    ///
    /// # Errors
    /// What failed, with the command to run by hand.
    pub fn carry_out(&self) -> Result<(), EngineError> {
        if let Some(command) = &self.command {
            let failed = |(reason, complaint): (String, String)| EngineError::NotRestored {
                reason: format!("{command}: {reason}: {}", complaint.trim().replace('\n', " ")),
                remedy: command.clone(),
            };
            run(command, self.timeout).map_err(failed)?;
        }
        for KeptFile { path, text } in &self.files {
            if read(path).as_ref() == Some(text) {
                continue;
            }
            let value = setting_of(text);
            let failed = |reason: String| EngineError::NotRestored {
                reason: format!("{path}: {reason}"),
                remedy: format!("echo {value} > {path}"),
            };
            std::fs::write(path, &value).map_err(|error| failed(error.to_string()))?;
            let found = read(path).unwrap_or_default();
            if !same_setting(&value, &found) {
                return Err(failed(format!("it is {} after {value} was written", found.trim())));
            }
        }
        Ok(())
    }
}

/// Runs a command line with the system's shell.
///
/// # Errors
/// How it failed, and its standard error.
fn run(line: &str, timeout: Duration) -> Result<(), (String, String)> {
    let command = shell_command(line);
    let started = PeerProcess::spawn(Spawn { command: &command, ..Spawn::default() });
    let mut process = started.map_err(|error| (format!("cannot be started: {error}"), String::new()))?;
    let status = process.finish(Instant::now() + timeout);
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err((format!("it failed ({status})"), process.complaint())),
        None => Err((
            format!("it did not end within {timeout:?}; give it more time (--command-timeout)"),
            process.complaint(),
        )),
    }
}

fn read(path: &str) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The setting that a file of the kernel holds: of several to choose from, the one in brackets.
fn setting_of(text: &str) -> String {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
    chosen.unwrap_or(text).trim().to_owned()
}

/// Whether a file holds a setting, however it separates its words.
fn same_setting(wanted: &str, text: &str) -> bool {
    wanted.split_whitespace().eq(setting_of(text).split_whitespace())
}

/// The files of the kernel that a command line is seen to set, with the value where it is plain: arguments of sysctl, and
/// paths of /proc/sys, /sys and /proc that are written to.
pub(crate) fn settings(line: &str) -> Vec<(String, Option<String>)> {
    let words = shlex::split(line).unwrap_or_default();
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    if words.iter().any(|word| Path::new(word).file_name().is_some_and(|name| name == "sysctl")) {
        let assignments = words.iter().filter_map(|word| word.split_once('='));
        found.extend(assignments.filter_map(|(name, value)| {
            // A name with slashes may have dots in it.
            let path = if name.contains('/') { name.to_owned() } else { name.replace('.', "/") };
            let path = format!("/proc/sys/{path}");
            let plain = !value.contains(['$', '`']);
            Path::new(&path).is_file().then(|| (path, plain.then(|| value.to_owned())))
        }));
    }
    let paths = words.iter().map(|word| word.trim_start_matches('>').trim_end_matches(';'));
    let of_kernel = paths.filter(|path| path.starts_with("/sys/") || path.starts_with("/proc/"));
    found.extend(of_kernel.filter(|path| Path::new(path).is_file()).map(|path| (path.to_owned(), None)));
    found.sort();
    found.dedup_by(|later, kept| later.0 == kept.0);
    found
}

/// What the commands of two arms are seen to set, and what is asked to be kept, as it is now.
///
/// # Errors
/// One line: that it cannot be read or written, or that nothing tells how to put the machine back.
pub(crate) fn before(arms: &Arms) -> Result<Vec<KeptFile>, String> {
    let commands = [&arms.a.command, &arms.b.command];
    if commands.iter().all(|command| command.is_none()) {
        return match (&arms.restore, arms.keep.first()) {
            (None, None) => Ok(Vec::new()),
            _ => Err(
                "no command changes the machine, so there is nothing to put back; leave restore and keep out"
                    .to_owned(),
            ),
        };
    }
    if let Some(restore) = &arms.restore {
        if restore.trim().is_empty() {
            return Err(
                "the command that puts the machine back is empty; give true if there is nothing to put back"
                    .to_owned(),
            );
        }
        return kept(arms.keep.iter().cloned());
    }
    let mut paths = arms.keep.clone();
    for command in commands.into_iter().flatten() {
        let seen = settings(command);
        if seen.is_empty() && arms.keep.is_empty() {
            return Err(format!(
                "ipcost cannot tell how to undo \"{command}\"; give the command that does (--restore), the file that holds the setting (--keep), or --restore true if there is nothing to undo"
            ));
        }
        paths.extend(seen.into_iter().map(|(path, _)| path));
    }
    paths.sort();
    paths.dedup();
    kept(paths.into_iter())
}

fn kept(paths: impl Iterator<Item = String>) -> Result<Vec<KeptFile>, String> {
    let one = |path: String| {
        let text = read(&path).ok_or_else(|| format!("{path} cannot be read, so it cannot be put back"))?;
        let writable = std::fs::OpenOptions::new().write(true).open(&path);
        writable.map_err(|error| {
            let root = if error.kind() == std::io::ErrorKind::PermissionDenied {
                "; it takes root: sudo ipcost ab …"
            } else {
                ""
            };
            format!("{path} cannot be written: {error}{root}")
        })?;
        Ok(KeptFile { path, text })
    };
    paths.map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_seen_in_commands() {
        let of = |line: &str| -> Vec<(String, Option<String>)> { settings(line) };
        let forward = "/proc/sys/net/ipv4/ip_forward";
        assert_eq!(of("sysctl -w net.ipv4.ip_forward=1"), [(forward.to_owned(), Some("1".to_owned()))]);
        assert_eq!(of("sysctl -qw net/ipv4/ip_forward=$X"), [(forward.to_owned(), None)]);
        assert_eq!(of("echo 1 > /proc/sys/net/ipv4/ip_forward"), [(forward.to_owned(), None)]);
        assert_eq!(of("echo 1 >/proc/sys/net/ipv4/ip_forward; true"), [(forward.to_owned(), None)]);
        assert_eq!(of("systemctl restart x"), []);
        assert_eq!(of("sysctl -w no.such.thing=1"), []);
    }

    #[test]
    fn of_several_to_choose_from_the_chosen_one_is_the_setting() {
        assert_eq!(setting_of("always [madvise] never\n"), "madvise");
        assert_eq!(setting_of("4096\t87380\t6291456\n"), "4096\t87380\t6291456");
        assert!(same_setting("4096 87380 6291456", "4096\t87380\t6291456\n"));
        assert!(!same_setting("bbr", "cubic\n"));
    }

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
        let error = before(&arms("modprobe x", None)).unwrap_err();
        assert!(error.contains("--restore") && error.contains("modprobe x"), "{error}");
        assert_eq!(before(&arms("modprobe x", Some("rmmod x"))), Ok(vec![]));
        assert!(before(&arms("true", Some(" "))).is_err());
        assert_eq!(before(&Arms::default()), Ok(vec![]));
        assert!(before(&Arms { restore: Some("true".into()), ..Arms::default() }).is_err());
    }

    #[test]
    fn a_command_that_fails_says_what_it_said() {
        let (reason, complaint) = run("echo no >&2; exit 3", Duration::from_secs(20)).unwrap_err();
        assert!(reason.contains("3") && complaint == "no", "{reason} {complaint}");
        let (reason, _) = run("sleep 30", Duration::from_millis(50)).unwrap_err();
        assert!(reason.contains("--command-timeout"), "{reason}");
        assert_eq!(run("true", Duration::from_secs(20)), Ok(()));
    }
}
