//! The samples file of a run: written while it runs, gone when its document is saved, read where it was killed.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use ipcost_lab::{About, CampaignState, document};
use ipcost_model::{
    Begun, Calibrated, Document, EpochRecord, Host, Plan, Purpose, Resumed, SAMPLES_SCHEMA, Samples,
    check_document, read_samples,
};
use ipcost_sys::file_writer::open_in_place;
use ipcost_sys::{file_lock, host};
use serde::Serialize;

use super::id::RunId;
use super::store::{RunFile, Store};
use crate::exit::warn;
use crate::measuring::with_answer;

/// A samples file that is being written; no one else writes to it, or takes the run for killed, meanwhile.
#[derive(Debug)]
pub struct SamplesFile {
    id: RunId,
    path: PathBuf,
    out: BufWriter<File>,
    failed: bool,
}

/// A record by its name, as [`ipcost_model::SamplesLine`] reads it, without taking it over.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum SamplesRecord<'a> {
    Begun(&'a Begun),
    Calibrated(&'a Calibrated),
    Epoch(&'a EpochRecord),
    Resumed(&'a Resumed),
}

impl SamplesFile {
    /// Begins one for a run under an identifier of its own.
    pub fn begin(
        store: &Store,
        about: &About,
        name: Option<&str>,
        plan: &Plan,
        purpose: Purpose,
    ) -> anyhow::Result<Self> {
        let (id, path, file) = store.create_samples()?;
        let begun = Begun {
            schema: SAMPLES_SCHEMA.to_owned(),
            id: id.to_string(),
            name: name.map(str::to_owned),
            tool: about.tool.clone(),
            debug_build: about.debug_build,
            host: about.host.clone(),
            boot: host::boot(),
            job: about.job.clone(),
            started: about.started.clone(),
            plan: plan.clone(),
            purpose,
        };
        let mut samples = Self { id, path, out: BufWriter::new(file), failed: false };
        if let Err(error) = samples.write(&SamplesRecord::Begun(&begun)) {
            let context = format!("cannot write {}", samples.path.display());
            samples.remove();
            return Err(error).context(context);
        }
        Ok(samples)
    }

    /// Opens the one of a run that was killed, to go on with it: what is not whole of it is cut off.
    pub fn reopen(store: &Store, run: &RunFile) -> anyhow::Result<(Self, Samples)> {
        let path = store.samples_path(&run.id);
        let context = || format!("cannot open {}", path.display());
        let mut file = open_in_place(&path).with_context(context)?;
        ensure!(
            file_lock::lock(&file).with_context(context)?,
            "run {} is being measured by another program; wait until it ends",
            run.id
        );
        let samples = read_samples(BufReader::new(&file)).with_context(|| path.display().to_string())?;
        file.set_len(samples.whole_bytes).with_context(context)?;
        file.seek(SeekFrom::End(0)).with_context(context)?;
        Ok((Self { id: run.id.clone(), path, out: BufWriter::new(file), failed: false }, samples))
    }

    pub fn id(&self) -> &RunId {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether all that was to be written has been.
    pub fn is_whole(&self) -> bool {
        !self.failed
    }

    /// Adds what calibration has found.
    pub fn calibrated(&mut self, calibrated: &Calibrated) {
        self.add(&SamplesRecord::Calibrated(calibrated));
    }

    /// Adds a complete epoch.
    pub fn epoch(&mut self, epoch: &EpochRecord) {
        self.add(&SamplesRecord::Epoch(epoch));
    }

    /// Adds that the run goes on.
    pub fn resumed(&mut self, resumed: &Resumed) {
        self.add(&SamplesRecord::Resumed(resumed));
    }

    /// Removes it: what it holds is in the document, or there is nothing.
    pub fn remove(self) {
        // One that stays behind beside its document is not listed, and swept away later.
        let _ = fs::remove_file(&self.path);
    }

    /// Adds a record. That it cannot be written is no reason to end the run; nothing more is written then.
    fn add(&mut self, line: &SamplesRecord<'_>) {
        if self.failed {
            return;
        }
        if let Err(error) = self.write(line) {
            self.failed = true;
            warn(&format!(
                "cannot write {}: {error}; the run goes on, but should it be killed, what it measures from here on is lost",
                self.path.display()
            ));
        }
    }

    /// What has left this program survives its being killed; it is not forced to the disk, which would disturb what is
    /// measured next.
    fn write(&mut self, line: &SamplesRecord<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

/// Reads an open samples file, which has this path.
pub fn read(path: &Path, file: File) -> anyhow::Result<Samples> {
    read_samples(BufReader::new(file)).with_context(|| path.display().to_string())
}

/// The document of what was complete when a run was killed, or is by now.
pub fn document_of(samples: Samples) -> Document {
    let Begun { name, tool, debug_build, host, job, started, purpose, .. } = &samples.begun;
    let (name, answer) = (name.clone(), purpose.answer.clone());
    let about = About {
        tool: tool.clone(),
        host: host.clone(),
        job: job.clone(),
        started: started.clone(),
        debug_build: *debug_build,
    };
    with_answer(Document { name, ..document(CampaignState::of_samples(samples), about) }, answer)
}

/// The same, where there is anything to show.
pub fn shown(samples: Samples) -> anyhow::Result<Document> {
    let id = samples.begun.id.clone();
    if samples.epochs.is_empty() {
        bail!(
            "run {id} has no complete epoch, so there is nothing to show; ipcost resume {id} goes on with it"
        );
    }
    let document = document_of(samples);
    // It may come from elsewhere, like any document.
    check_document(&document).with_context(|| format!("the samples of run {id}"))?;
    Ok(document)
}

/// Whether a path is meant as a samples file.
pub fn is_samples_path(path: &str) -> bool {
    path.ends_with(super::store::SAMPLES_END)
}

/// What a run is refused to go on for.
pub fn check_same(begun: &Begun, now: &About) -> anyhow::Result<()> {
    let (then, here) = (&begun.host, &now.host);
    let build = |debug: bool| if debug { "without optimisation" } else { "with optimisation" };
    let differs: Vec<String> = [
        ("ipcost", begun.tool.build(), now.tool.build()),
        ("ipcost was built", build(begun.debug_build).to_owned(), build(now.debug_build).to_owned()),
        ("system", then.os.clone(), here.os.clone()),
        ("kernel", then.kernel.clone(), here.kernel.clone()),
        ("processor", then.cpu.clone(), here.cpu.clone()),
        ("architecture", then.arch.clone(), here.arch.clone()),
        ("cores", then.cores.to_string(), here.cores.to_string()),
    ]
    .into_iter()
    // Samples of an older program have none of these.
    .chain(["machine", "name"].into_iter().filter_map(|fact| {
        let of = |host: &Host| host.more.get(fact)?.as_str().map(str::to_owned);
        Some((fact, of(then)?, of(here)?))
    }))
    .filter(|(_, then, now)| then != now)
    .map(|(what, then, now)| format!("{what} {then:?} then and {now:?} now"))
    .chain(restarted(begun.boot.as_deref()))
    .collect();
    if differs.is_empty() {
        return Ok(());
    }
    Err(anyhow!(
        "run {0} cannot go on: {1}; ipcost show {0} shows what was measured, ipcost run begins another",
        begun.id,
        differs.join(", ")
    ))
}

/// That the machine has been restarted, which changes where its memory and its interrupts are: epochs from before and after are not
/// one run.
fn restarted(then: Option<&str>) -> Option<String> {
    let now = host::boot()?;
    (then? != now).then(|| "the machine has been restarted since".to_owned())
}
