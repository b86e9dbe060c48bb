//! `ipcost gallery`: a static site of what holds where.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use ipcost_features::answers::answer_of;
use ipcost_features::fleet::Gatherer;
use ipcost_features::gallery::{FRONT, Gallery, MARKER, is_page_name};
use ipcost_model::units::counted;
use ipcost_model::{Document, Metric};
use ipcost_sys::file_writer::UNFINISHED;
use ipcost_sys::found_file;
use ipcost_sys::private_dir::check_trusted;
use tempfile::TempDir;

use crate::args::GalleryArgs;
use crate::build::tool;
use crate::exit::{Problem, note};
use crate::fleet::{gather, nothing};
use crate::output::{is_standard_output, write_html, write_text};

/// Where the pages of documents are, in the site.
const DOCUMENTS: &str = "documents";
/// So much of a page is read to find out what made it.
const HEAD: u64 = 4096;

/// Reads the documents and writes the site.
///
/// # Errors
/// What is wrong with the arguments, that no document counts, or what cannot be written.
pub fn run(args: &GalleryArgs) -> Result<ExitCode, Problem> {
    let site = Site::at(&args.out).map_err(Problem::usage)?;
    let mut reports = Reports::new(args.with_documents.then_some(&site)).map_err(Problem::failed)?;
    let gatherer = Gatherer::new(Metric::Wall);
    let gatherer = gather(&args.documents, gatherer, args.redacting, args.quiet, |file, document| {
        reports.write(file, document).map_err(Problem::failed)
    })?;
    let fleets = gatherer.finish_jobs(&tool());
    if fleets[0].hosts.is_empty() {
        return Err(Problem::usage(nothing("a gallery", &fleets[0])));
    }
    let hosts = fleets.iter().flat_map(|fleet| &fleet.hosts);
    let counted_files: HashSet<&String> = hosts.flat_map(|host| &host.files).collect();
    reports.pages.retain(|file, _| counted_files.contains(file));
    let addresses = reports.addresses();
    let gallery = Gallery::new(args.title.clone(), fleets, addresses);
    let pages = site.write(&gallery, &reports).map_err(Problem::failed)?;
    if !args.quiet {
        note(&format!("{}; open {}", counted(pages as u64, "page"), site.dir.join(FRONT).display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The directory of the site.
struct Site {
    dir: PathBuf,
}

impl Site {
    /// A directory that a gallery may be written to.
    ///
    /// # Errors
    /// That it is something else, or has other files.
    fn at(dir: &Path) -> anyhow::Result<Self> {
        if is_standard_output(dir) {
            bail!("a gallery is a directory of pages; name one, such as --out site");
        }
        let shown = dir.display();
        let site = Self { dir: dir.to_owned() };
        match fs::metadata(dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(site),
            Err(error) => return Err(error).with_context(|| format!("cannot use {shown} for --out")),
            Ok(metadata) if !metadata.is_dir() => {
                bail!("{shown} is not a directory; name a new directory for --out")
            }
            Ok(_) => {}
        }
        let other =
            site.foreign_file().with_context(|| format!("cannot read the directory {shown} of --out"))?;
        match other {
            Some(file) if !is_gallery(&dir.join(FRONT)) => bail!(
                "{shown} has other files, such as {file}; name a new or empty directory for --out, or that of an earlier gallery"
            ),
            _ => Ok(site),
        }
    }

    /// Makes the directory if it is missing.
    fn make(&self) -> anyhow::Result<()> {
        let dir = self.dir.display();
        // Pages are moved and removed there by their names: no one else may put something else in their place.
        let documents = self.dir.join(DOCUMENTS);
        let here = |dir| if dir == Path::new("") { Path::new(".") } else { dir };
        let existing = self.dir.ancestors().map(here).find(|dir| dir.symlink_metadata().is_ok());
        for own in
            existing.into_iter().chain(documents.symlink_metadata().is_ok().then_some(documents.as_path()))
        {
            check_trusted(own).map_err(|why| anyhow!("cannot write a gallery to {dir}: {why}"))?;
        }
        fs::create_dir_all(&self.dir).with_context(|| format!("cannot make the directory {dir} of --out"))?;
        Ok(())
    }

    /// Some file that is there already.
    fn foreign_file(&self) -> io::Result<Option<String>> {
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.starts_with(UNFINISHED) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Writes every page, the front one first, so that the directory is known again if this is interrupted; then removes pages of an
    /// earlier gallery that this one does not have. How many there are.
    fn write(&self, gallery: &Gallery, reports: &Reports) -> anyhow::Result<usize> {
        self.make()?;
        let mut names = Vec::new();
        for (name, html) in gallery.pages() {
            write_text(&html, &self.dir.join(&name))?;
            names.push(name);
        }
        let documents = self.dir.join(DOCUMENTS);
        let written = reports.publish(&documents)?;
        let count = names.len() + written.len();
        remove(&self.dir, |name| is_page_name(name) && !names.iter().any(|known| known == name), is_gallery)?;
        remove(
            &documents,
            |name| is_report_name(name) && !written.iter().any(|known| known == name),
            |_| true,
        )?;
        // It goes if it is empty.
        let _ = fs::remove_dir(&documents);
        Ok(count)
    }
}

/// Removes files of a directory by their names and what they are.
fn remove(dir: &Path, is_old: impl Fn(&str) -> bool, is_own: impl Fn(&Path) -> bool) -> anyhow::Result<()> {
    let Ok(entries) = fs::read_dir(dir) else { return Ok(()) };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && is_old(&entry.file_name().to_string_lossy()) && is_own(&path) {
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove the old page {}", path.display()))?;
        }
    }
    Ok(())
}

/// Whether a file is a page of a gallery.
fn is_gallery(file: &Path) -> bool {
    let mut head = Vec::new();
    found_file::open(file).and_then(|file| file.take(HEAD).read_to_end(&mut head)).is_ok()
        && String::from_utf8_lossy(&head).contains(MARKER)
}

/// The pages of documents. They are written while the documents are read, and move into the site once it is known which count.
struct Reports {
    dir: Option<TempDir>,
    /// The name of each page, by the name of the document's file.
    pages: HashMap<String, String>,
    /// How many were written.
    written: u64,
}

impl Reports {
    fn new(site: Option<&Site>) -> anyhow::Result<Self> {
        let dir = site.map(|site| {
            site.make()?;
            let made = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&site.dir);
            made.with_context(|| format!("cannot write to {}", site.dir.display()))
        });
        Ok(Self { dir: dir.transpose()?, pages: HashMap::new(), written: 0 })
    }

    /// Writes the page of a document, if pages are wanted.
    fn write(&mut self, file: &str, document: &Document) -> anyhow::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        // One whose answer cannot be read does not count either.
        let Ok(answer) = answer_of(document) else { return Ok(()) };
        self.written += 1;
        let name = format!("document-{}.html", self.written);
        write_html(document, answer.as_deref(), &dir.path().join(&name))?;
        self.pages.insert(file.to_owned(), name);
        Ok(())
    }

    /// Where the pages will be, by the names of the documents' files.
    fn addresses(&self) -> HashMap<String, String> {
        self.pages.iter().map(|(file, name)| (file.clone(), format!("{DOCUMENTS}/{name}"))).collect()
    }

    /// Moves the pages to where they belong; their names.
    fn publish(&self, to: &Path) -> anyhow::Result<Vec<String>> {
        let Some(dir) = &self.dir else { return Ok(Vec::new()) };
        fs::create_dir_all(to).with_context(|| format!("cannot make the directory {}", to.display()))?;
        for name in self.pages.values() {
            let page = to.join(name);
            fs::rename(dir.path().join(name), &page)
                .with_context(|| format!("cannot write {}", page.display()))?;
        }
        Ok(self.pages.values().cloned().collect())
    }
}

/// Whether the page of a document has such a name.
fn is_report_name(name: &str) -> bool {
    let number = name.strip_prefix("document-").and_then(|rest| rest.strip_suffix(".html"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
