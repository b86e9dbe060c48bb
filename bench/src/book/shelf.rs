//! The documents behind the figures, by name.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ipcost_features::answer::AnsweredRun;
use ipcost_features::answers::answered_as;
use ipcost_features::app::App;
use ipcost_features::replicate::ReplicationRecord;
use ipcost_model::{Document, and_joined, read_documents};

const PACKED: &str = ".json.gz";
const PLAIN: &str = ".json";

/// A directory of documents.
pub struct Shelf {
    dir: PathBuf,
    read: RefCell<BTreeMap<String, Rc<Vec<Document>>>>,
}

impl Shelf {
    pub fn open(dir: &Path) -> Result<Self> {
        ensure!(dir.is_dir(), "{} is no directory of documents", dir.display());
        Ok(Self { dir: dir.to_owned(), read: RefCell::default() })
    }

    /// Keeps every document of a directory in another, compressed, in place of those of the same name.
    pub fn keep(from: &Path, to: &Path) -> Result<()> {
        fs::create_dir_all(to)?;
        let mut count = 0;
        for (name, path) in documents(from)? {
            let bytes = bytes_of(&path)?;
            read_documents(&bytes).with_context(|| path.display().to_string())?;
            let file = File::create(to.join(format!("{name}{PACKED}")))?;
            // The same document is the same file.
            let mut packed = GzEncoder::new(file, Compression::best());
            packed.write_all(&bytes)?;
            packed.finish()?;
            count += 1;
        }
        ensure!(count > 0, "{} holds no documents (*{PLAIN}, *{PACKED})", from.display());
        Ok(())
    }

    /// The documents of a file, by its name without an ending.
    pub fn all(&self, name: &str) -> Result<Rc<Vec<Document>>> {
        if let Some(known) = self.read.borrow().get(name) {
            return Ok(Rc::clone(known));
        }
        let paths = [PACKED, PLAIN].map(|end| self.dir.join(format!("{name}{end}")));
        let path = paths.iter().find(|path| path.exists());
        let path = path.with_context(|| format!("{} has no {name}{PACKED}", self.dir.display()))?;
        let found = Rc::new(read_documents(&bytes_of(path)?).with_context(|| path.display().to_string())?);
        self.read.borrow_mut().insert(name.to_owned(), Rc::clone(&found));
        Ok(found)
    }

    /// The document of a file that holds one.
    pub fn one(&self, name: &str) -> Result<Document> {
        match &self.all(name)?[..] {
            [document] => Ok(document.clone()),
            all => bail!("{name} holds {} documents", all.len()),
        }
    }

    /// What `ipcost app` answered.
    pub fn app(&self, name: &str) -> Result<AnsweredRun<App>> {
        answered_as(self.one(name)?)?.with_context(|| format!("{name} is not of ipcost app"))
    }

    /// The ledgers of every file that holds nothing else.
    pub fn records(&self) -> Result<Vec<AnsweredRun<ReplicationRecord>>> {
        let mut found = Vec::new();
        for (name, _) in documents(&self.dir)? {
            let documents = self.all(&name)?;
            let records = documents.iter().map(|it| Ok(answered_as(it.clone())?));
            let records: Option<Vec<AnsweredRun<ReplicationRecord>>> = records.collect::<Result<_>>()?;
            found.extend(records.into_iter().flatten());
        }
        Ok(found)
    }
}

/// The same of several, in one where only TCP's congestion control differs.
pub fn origins(documents: &[Document]) -> String {
    let under = |document: &Document| document.host.tcp_congestion().map(str::to_owned);
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for document in documents {
        let under = under(document).into_iter();
        let of_it = under
            .clone()
            .fold(origin(document), |text, name| text.replace(&format!("under {name},"), "under {},"));
        match all.iter_mut().find(|(known, _)| *known == of_it) {
            Some((_, names)) => names.extend(under),
            None => all.push((of_it, under.collect())),
        }
    }
    let all = all.into_iter().map(|(text, names)| text.replace("{}", &and_joined(&names)));
    all.collect::<Vec<_>>().join("; ")
}

/// Where the figures of a document come from: `AMD EPYC, 2 cores, Linux 6.18.5, TCP under cubic, ipcost 0.1.0 (e8bd4d8), 2026-11-26`.
pub fn origin(Document { host, tool, started, .. }: &Document) -> String {
    let congestion = host.tcp_congestion().map(|name| format!(", TCP under {name}")).unwrap_or_default();
    let commit = tool.commit.as_ref().map(|commit| format!(" ({})", &commit[..commit.len().min(7)]));
    format!(
        "{}, {} cores, {} {}{congestion}, ipcost {}{}, {}",
        host.cpu.replace("(R)", "").trim(),
        host.physical_cores,
        if host.os == "linux" { "Linux" } else { &host.os },
        host.kernel,
        tool.version,
        commit.unwrap_or_default(),
        started.split('T').next().unwrap_or_default()
    )
}

/// The files of a directory, by name without an ending, in order.
fn documents(dir: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(name) = file.strip_suffix(PACKED).or_else(|| file.strip_suffix(PLAIN)) {
            all.insert(name.to_owned(), path);
        }
    }
    Ok(all)
}

fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    if !path.to_string_lossy().ends_with(".gz") {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).with_context(|| path.display().to_string())?;
    Ok(unpacked)
}
