//! What a run that changes the machine has changed, on the disk until it is put back; and the lock that lets one such run at a time
//! do so.
//!
//! The guard puts the machine back if the engine is killed. If both are killed, the next run that measures does, from the
//! journal. The lock is free once engine, guard and commands are gone.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ipcost_sys::private_dir::{
    ensure_private, make_private, open_own_lock, part_of, read_own, remove_whole, write_whole,
};
use ipcost_sys::{Context, data_dir, file_lock, host, measuring};
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::lab::now;
use crate::processes::{Restoration, holds, read, setting};

/// The journal of this user on this machine, held by this program.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    lock: File,
}

/// How the machine was, and what arms have set since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalEntry {
    boot: Option<String>,
    network: Option<String>,
    process: u32,
    started: String,
    pub restoration: Restoration,
    /// Whether a command has begun whose result is not known.
    pub entering: bool,
    /// What the files have held after commands of arms.
    set: Vec<Vec<Option<String>>>,
}

impl JournalEntry {
    /// Of this program, before it changes anything.
    pub fn new(restoration: Restoration) -> Self {
        let (process, started) = (std::process::id(), now());
        Self {
            boot: host::boot(),
            network: host::network(),
            process,
            started,
            restoration,
            entering: true,
            set: Vec::new(),
        }
    }

    /// An arm's command has ended, and the files hold this.
    pub fn set_by_arm(&mut self, seen: &[Option<String>]) {
        self.entering = false;
        if !self.set.iter().any(|known| known == seen) {
            self.set.push(seen.to_vec());
        }
    }

    /// The files that hold neither what they did before nor what an arm has set.
    fn changed_since(&self) -> Vec<String> {
        let files = self.restoration.files.iter().enumerate();
        let changed = files.filter_map(|(index, file)| {
            let now = read(&file.path)?;
            let set = self.set.iter().filter_map(|seen| seen.get(index)?.as_ref());
            let known =
                set.chain([&file.text]).any(|text| holds(&file.path, &setting(&file.path, text), &now));
            (!known).then(|| format!("{} is {} now", file.path, setting(&file.path, &now)))
        });
        changed.collect()
    }
}

impl Journal {
    /// Takes the lock, and holds it until this value, the guard and commands that were given it are gone.
    ///
    /// # Errors
    /// That another run holds it, with who; that an earlier run's changes are not undone; that nothing can be written.
    pub fn take() -> Result<Self, EngineError> {
        let dir = data_dir::of_runs_at_work().ok_or(EngineError::Changing(
            "there is no place to keep what is changed; set IPCOST_RUN_DIR to a directory of your own",
        ))?;
        let make = |dir: &Path| make_private(dir).context(|| format!("cannot make {}", dir.display()));
        make(&dir)?;
        ensure_private(&dir)?;
        let journal = Self::held(&dir)?;
        if journal.path.symlink_metadata().is_ok() {
            return Err(EngineError::NotUndone { journal: journal.path });
        }
        Ok(journal)
    }

    /// The journal in a directory that exists.
    fn held(dir: &Path) -> Result<Self, EngineError> {
        let place = |end: &str| dir.join(format!("changes-{}.{end}", host::tag()));
        let path = place("lock");
        let failed = || format!("cannot lock {}", path.display());
        let mut lock = open_own_lock(&path).context(failed)?;
        if !file_lock::lock(&lock).context(failed)? {
            let mut holder = String::new();
            let _ = lock.take(MOST_BYTES).read_to_string(&mut holder);
            return Err(EngineError::Held(holder.escape_debug().to_string()));
        }
        let holder = format!("process {} of {} since {}", std::process::id(), measuring::own_user(), now());
        let written =
            lock.set_len(0).and_then(|()| lock.rewind()).and_then(|()| lock.write_all(holder.as_bytes()));
        written.context(failed)?;
        Ok(Self { path: place("json"), lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file that is locked.
    pub fn lock(&self) -> &File {
        &self.lock
    }

    /// Writes down how the machine was. The first time it is on the disk afterwards; what is added later matters only until the
    /// machine is restarted.
    pub fn write(&self, entry: &JournalEntry) -> Result<(), EngineError> {
        let text = serde_json::to_string(entry).expect("plain data");
        let failed = || format!("cannot write {}, without which nothing is changed", self.path.display());
        Ok(write_whole(&self.path, &text, entry.set.is_empty()).context(failed)?)
    }

    /// The machine is as it was.
    pub fn clear(&self) -> Result<(), EngineError> {
        clear(&self.path)
    }
}

pub(crate) fn clear(path: &Path) -> Result<(), EngineError> {
    Ok(remove_whole(path).context(|| format!("cannot remove {}", path.display()))?)
}

/// Whether the process that took the lock still measures.
fn is_measuring(holder: &str) -> bool {
    let process = holder.split_whitespace().nth(1).and_then(|number| number.parse().ok());
    let others = measuring::others();
    !measuring::is_known() || others.iter().any(|other| Some(other.process) == process)
}

/// How long a guard and commands may take after their engine.
const PATIENCE: Duration = Duration::from_secs(20);
const AGAIN: Duration = Duration::from_millis(5);
/// A user's name and two numbers.
const MOST_BYTES: u64 = 1_000;

/// What a run that was killed has left changed, and what was done about it: one sentence. `None` if there is nothing, or if the run
/// is still at work.
///
/// Only a journal in a directory of this user that no other can write to counts. Nothing is undone after a restart of the machine, or
/// if a setting has been changed since.
pub fn undo() -> Option<String> {
    look(true)
}

/// The same without undoing it.
pub fn left() -> Option<String> {
    look(false)
}

fn look(undo: bool) -> Option<String> {
    let dir = data_dir::of_runs_at_work().filter(|dir| dir.is_dir())?;
    // Without a file there is nothing to lock for.
    let path = dir.join(format!("changes-{}.json", host::tag()));
    [&path, &part_of(&path)].into_iter().find(|path| path.symlink_metadata().is_ok())?;
    let refused = |reason: String| {
        let path = path.display();
        Some(format!(
            "{path} may say what a run that was killed has changed, but is not used: {reason}; look at it and remove it"
        ))
    };
    if let Err(error) = ensure_private(&dir) {
        return refused(error.to_string());
    }
    let deadline = Instant::now() + PATIENCE;
    let journal = loop {
        match Journal::held(&dir) {
            Ok(journal) => break journal,
            // Where its engine is gone, its guard or a command is about to end.
            Err(EngineError::Held(holder)) if !is_measuring(&holder) && Instant::now() < deadline => {
                std::thread::sleep(AGAIN);
            }
            Err(EngineError::Held(_)) => return None,
            Err(error) => return refused(error.to_string()),
        }
    };
    let text = match read_own(&journal.path) {
        Ok(Some(text)) => text,
        Ok(None) => {
            // Killed while it wrote the first one, before it changed anything.
            let _ = undo.then(|| journal.clear());
            return None;
        }
        Err(error) => return refused(error.to_string()),
    };
    let entry: JournalEntry = match serde_json::from_str(&text) {
        Ok(entry) => entry,
        Err(error) => return refused(error.to_string()),
    };
    let killed = format!("a run that was killed (process {}, started {})", entry.process, entry.started);
    let (by_hand, path) = (entry.restoration.by_hand(), journal.path.display());
    let not = |why: &str| {
        Some(format!(
            "{killed} changed this machine, and that is not undone: {why}; by hand: {by_hand}; then remove {path}"
        ))
    };
    if entry.boot != host::boot() {
        return not("the machine has been restarted since");
    }
    if entry.network != host::network() {
        return not("it ran in another network namespace, which has settings of its own");
    }
    // What a command has set that was killed is not known.
    let changed = if entry.entering { Vec::new() } else { entry.changed_since() };
    if !changed.is_empty() {
        return not(&format!("{}, which that run did not set", changed.join(", ")));
    }
    if !undo {
        return Some(format!(
            "{killed} has changed this machine; the next run that measures undoes that. By hand: {by_hand}; then remove {path}"
        ));
    }
    match entry.restoration.carry_out().and_then(|()| journal.clear()) {
        Ok(()) => Some(format!(
            "{killed} had changed this machine; it is as it was before again ({})",
            names(&entry.restoration)
        )),
        Err(error) => not(&error.to_string()),
    }
}

fn names(restoration: &Restoration) -> String {
    let files =
        restoration.files.iter().map(|file| format!("{} is {}", file.path, setting(&file.path, &file.text)));
    restoration.command.iter().cloned().chain(files).collect::<Vec<_>>().join(", ")
}
