//! The directory of saved runs: writing whole documents, seeing what is there, removing.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use ipcost_model::Document;
use ipcost_report::json;
use ipcost_sys::file_writer::{NewFile, UNFINISHED, create_private};
use ipcost_sys::private_dir::{ensure_private, make_private};
use ipcost_sys::{data_dir, file_lock, found_file, user_dirs};

use super::id::RunId;

/// How a saved document's file name ends.
const END: &str = ".json.gz";
/// How a samples file's name ends.
pub const SAMPLES_END: &str = ".samples.jsonl";
/// After so long, no one is writing an unfinished file any more.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
/// So much of a summary is read; one that is longer is made again.
const MOST_SUMMARY_BYTES: u64 = 1 << 24;
/// How often another end is tried where an identifier is taken.
const MOST_TRIES: u64 = 64;

/// Where runs are saved: documents in `runs`, and in `summaries` what can always be made from them again.
#[derive(Debug, Clone)]
pub struct Store {
    runs: PathBuf,
    summaries: PathBuf,
}

/// A saved run's file; what is in it has not been looked at.
#[derive(Debug, Clone)]
pub struct RunFile {
    pub id: RunId,
    pub bytes: u64,
    modified: SystemTime,
    /// Whether it is not a document but the samples file of a run that has not ended, or was killed.
    pub is_samples: bool,
}

impl RunFile {
    pub fn name(&self) -> String {
        let end = if self.is_samples { SAMPLES_END } else { END };
        format!("{}{end}", self.id)
    }
}

/// What is in the directory.
#[derive(Debug, Default)]
pub struct Contents {
    pub runs: Vec<RunFile>,
    /// Names of what no run was saved as.
    pub strangers: Vec<String>,
}

impl Store {
    /// The user's: `$IPCOST_DATA_DIR`, `$XDG_DATA_HOME/ipcost`, or below where the system keeps data, such as
    /// `~/.local/share`. Nothing is made yet.
    pub fn of_user() -> anyhow::Result<Self> {
        let Some(dir) = data_dir::of_user() else {
            bail!(
                "there is no place for saved runs: none of IPCOST_DATA_DIR, XDG_DATA_HOME and {} names a directory",
                user_dirs::HOME
            );
        };
        Ok(Self::at(&dir))
    }

    /// One below another directory.
    pub fn at(dir: &Path) -> Self {
        Self { runs: dir.join("runs"), summaries: dir.join("summaries") }
    }

    /// Where the documents are.
    pub fn runs(&self) -> &Path {
        &self.runs
    }

    fn make_directories(&self) -> anyhow::Result<()> {
        for dir in [&self.runs, &self.summaries] {
            make_own(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        self.sweep();
        Ok(())
    }

    /// Saves a document, whole or not at all: under the identifier that its run has, else under one that nothing has.
    pub fn save(&self, document: &Document, id: Option<&RunId>) -> anyhow::Result<RunFile> {
        self.make_directories()?;
        let context = || format!("cannot write to {}", self.runs.display());
        let file = self.written(document).with_context(context)?;
        let (id, file) = Self::named(file, id).with_context(context)?;
        // The new name itself has to reach the disk as well; where that is not possible, the rest stands.
        let _ = File::open(&self.runs).and_then(|dir| dir.sync_all());
        let about = file.metadata().with_context(context)?;
        let modified = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Ok(RunFile { id, bytes: about.len(), modified, is_samples: false })
    }

    /// Begins a samples file under an identifier that nothing else has; it stays locked while it is open.
    pub fn create_samples(&self) -> anyhow::Result<(RunId, PathBuf, File)> {
        self.make_directories()?;
        let context = || format!("cannot write to {}", self.runs.display());
        for id in fresh_ids() {
            let path = self.samples_path(&id);
            if self.path(&id).exists() {
                continue;
            }
            match create_private(&path) {
                Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => {}
                Err(failed) => return Err(failed).with_context(context),
                Ok(file) => {
                    // Where the file system has no locks, the run is taken for killed while it runs; no more.
                    let _ = file_lock::lock(&file);
                    return Ok((id, path, file));
                }
            }
        }
        bail!("cannot write to {}: every identifier is taken", self.runs.display())
    }

    /// The samples file of a run that has not ended.
    pub fn samples_path(&self, id: &RunId) -> PathBuf {
        self.runs.join(format!("{id}{SAMPLES_END}"))
    }

    /// Whether a run that has not ended is being measured.
    pub fn is_running(&self, id: &RunId) -> bool {
        self.open_samples(id).is_ok_and(|file| file_lock::is_locked(&file).unwrap_or(false))
    }

    /// An unfinished file with all of the document on the disk.
    fn written(&self, document: &Document) -> io::Result<NewFile> {
        let mut file = NewFile::private_in(&self.runs)?;
        let mut packed = GzEncoder::new(BufWriter::new(&mut file), Compression::default());
        json::write(document, &mut packed)?;
        packed.finish()?.flush()?;
        file.file().sync_all()?;
        Ok(file)
    }

    /// Gives an unfinished file its name; never that of another.
    fn named(mut file: NewFile, own: Option<&RunId>) -> io::Result<(RunId, File)> {
        for id in own.cloned().into_iter().chain(fresh_ids()) {
            match file.name(file_name(&id).as_ref())? {
                Ok(file) => return Ok((id, file)),
                Err(unnamed) => file = unnamed,
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// What is there; nothing where no run was saved yet.
    pub fn contents(&self) -> anyhow::Result<Contents> {
        let mut contents = Contents::default();
        let entries = match fs::read_dir(&self.runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(contents),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", self.runs.display()));
            }
        };
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {}", self.runs.display()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            // Whatever was removed in this moment is not there.
            let Ok(about) = entry.metadata() else { continue };
            let document = name.strip_suffix(END).and_then(RunId::parse).map(|id| (id, false));
            let samples = || name.strip_suffix(SAMPLES_END).and_then(RunId::parse).map(|id| (id, true));
            match document.or_else(samples).filter(|_| about.is_file()) {
                Some((id, is_samples)) => contents.runs.push(RunFile {
                    id,
                    bytes: about.len(),
                    modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    is_samples,
                }),
                None => contents.strangers.push(name),
            }
        }
        // One that was killed between saving its document and removing its samples has ended.
        let ended: HashSet<RunId> =
            contents.runs.iter().filter(|file| !file.is_samples).map(|file| file.id.clone()).collect();
        contents.runs.retain(|file| !file.is_samples || !ended.contains(&file.id));
        // Within a second, the ends of identifiers are random; what was written later is newer.
        contents
            .runs
            .sort_by(|a, b| (b.id.second(), b.modified, &b.id).cmp(&(a.id.second(), a.modified, &a.id)));
        contents.strangers.sort();
        Ok(contents)
    }

    /// The file of a saved run.
    pub fn path(&self, id: &RunId) -> PathBuf {
        self.runs.join(file_name(id))
    }

    /// Reads a saved run's file as it is.
    pub fn open(&self, id: &RunId) -> io::Result<impl Read + use<>> {
        found_file::open(&self.path(id))
    }

    /// Opens the samples file of a run that has not ended.
    pub fn open_samples(&self, id: &RunId) -> anyhow::Result<File> {
        let path = self.samples_path(id);
        found_file::open(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Removes a saved run.
    pub fn remove(&self, file: &RunFile) -> io::Result<()> {
        match fs::remove_file(self.runs.join(file.name())) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // A summary without a run is not listed.
        let _ = fs::remove_file(self.summary_path(&file.id));
        Ok(())
    }

    /// What was kept of a run beside its document, if anything.
    pub fn summary(&self, id: &RunId) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = found_file::open(&self.summary_path(id)).ok()?;
        file.take(MOST_SUMMARY_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Keeps something of a run beside its document. Where that fails it will be made from the document again.
    pub fn keep_summary(&self, id: &RunId, bytes: &[u8]) {
        let write = || -> io::Result<()> {
            make_private(&self.summaries)?;
            let mut file = NewFile::private_in(&self.summaries)?;
            file.write_all(bytes)?;
            file.replace(summary_name(id).as_ref()).map(drop)
        };
        let _ = write();
    }

    fn summary_path(&self, id: &RunId) -> PathBuf {
        self.summaries.join(summary_name(id))
    }

    /// Removes what was being written when a program was killed.
    pub fn sweep(&self) {
        let abandoned = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > ABANDONED);
        for entry in [&self.runs, &self.summaries].into_iter().flat_map(fs::read_dir).flatten().flatten() {
            let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            let old = || entry.metadata().and_then(|about| about.modified()).is_ok_and(abandoned);
            let name = entry.file_name().to_string_lossy().into_owned();
            let of_ended = || {
                let id = name.strip_suffix(SAMPLES_END).and_then(RunId::parse);
                id.is_some_and(|id| self.path(&id).exists())
            };
            if (unfinished && old()) || of_ended() {
                // Anyone who else sweeps may be faster.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The name of a saved document's file.
fn file_name(id: &RunId) -> String {
    format!("{id}{END}")
}

/// The name of the file with what is kept of a run beside its document.
fn summary_name(id: &RunId) -> String {
    format!("{id}.json")
}

/// Identifiers for this moment.
fn fresh_ids() -> impl Iterator<Item = RunId> {
    let now = SystemTime::now();
    (0..MOST_TRIES).map(move |attempt| RunId::new(now, u64::from(std::process::id()) << 32 | attempt))
}

/// Commands of peers and facts about the machine are no one else's business, and no one else is to put runs there.
fn make_own(dir: &Path) -> io::Result<()> {
    make_private(dir)?;
    ensure_private(dir).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        make_own(&dir.path().join("a/b")).unwrap();
        for made in ["a", "a/b"] {
            assert_eq!(fs::metadata(dir.path().join(made)).unwrap().permissions().mode() & 0o777, 0o700);
        }
        fs::set_permissions(dir.path().join("a/b"), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = make_own(&dir.path().join("a/b")).unwrap_err().to_string();
        assert!(
            refused.contains("other users can write to it") && refused.contains("chmod go-w"),
            "{refused}"
        );
    }

    #[test]
    fn a_taken_name_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        make_private(&store.runs).unwrap();
        let mut ids = Vec::new();
        for content in ["one", "two", "three"] {
            let mut file = NewFile::private_in(&store.runs).unwrap();
            file.write_all(content.as_bytes()).unwrap();
            ids.push((Store::named(file, None).unwrap().0, content));
        }
        for (id, content) in ids {
            assert_eq!(fs::read_to_string(store.path(&id)).unwrap(), content);
        }
        assert_eq!(store.contents().unwrap().runs.len(), 3);
    }

    #[test]
    fn what_is_written_later_is_newer_within_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        make_private(&store.runs).unwrap();
        for (id, after) in
            [("20260101-000000-ffff", 1), ("20260101-000000-0000", 2), ("20250101-000000-0001", 3)]
        {
            let file = File::create(store.runs.join(format!("{id}{END}"))).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(after)).unwrap();
        }
        let order: Vec<String> =
            store.contents().unwrap().runs.iter().map(|run| run.id.to_string()).collect();
        assert_eq!(order, ["20260101-000000-0000", "20260101-000000-ffff", "20250101-000000-0001"]);
    }

    #[test]
    fn what_was_abandoned_is_swept_and_what_is_new_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::at(dir.path());
        make_private(&store.runs).unwrap();
        let old = store.runs.join(format!("{UNFINISHED}old"));
        let new = store.runs.join(format!("{UNFINISHED}new"));
        File::create(&new).unwrap();
        File::create(&old).unwrap().set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
        store.sweep();
        assert!(!old.exists() && new.exists());
        assert!(store.contents().unwrap().runs.is_empty() && store.contents().unwrap().strangers.is_empty());
    }
}
