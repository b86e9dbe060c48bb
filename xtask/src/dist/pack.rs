//! Archives in which nothing depends on when and where they were packed.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::contents::{ArchiveEntry, THIRD_PARTY};
use super::source_date;
use crate::shell::{path_text, root};

/// The file with the checksums.
pub const SUMS: &str = "SHA256SUMS";

pub fn gz(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}

/// Packs a folder into a tarball.
pub fn tar_gz(file: &Path, folder: &str, entries: &[ArchiveEntry]) -> Result<PathBuf> {
    let out = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
    let mut archive = tar::Builder::new(GzBuilder::new().write(out, Compression::best()));
    let date = source_date()?;
    for entry in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(entry.bytes.len() as u64);
        header.set_mode(if entry.executable { 0o755 } else { 0o644 });
        header.set_mtime(date);
        archive.append_data(&mut header, format!("{folder}/{}", entry.path), entry.bytes.as_slice())?;
    }
    archive.into_inner()?.finish()?.sync_all()?;
    Ok(file.to_owned())
}

/// Packs a folder into a zip archive, as Windows opens them.
pub fn zip(file: &Path, folder: &str, entries: &[ArchiveEntry]) -> Result<PathBuf> {
    let out = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
    let mut archive = ZipWriter::new(out);
    for entry in entries {
        let mode = if entry.executable { 0o755 } else { 0o644 };
        archive.start_file(format!("{folder}/{}", entry.path), deflated().unix_permissions(mode))?;
        archive.write_all(&entry.bytes)?;
    }
    archive.finish()?.sync_all()?;
    Ok(file.to_owned())
}

fn deflated() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).compression_level(Some(9))
}

/// Copies a wheel into a directory. Its list of components, which is written to a file of its own as well, loses the paths of
/// this machine; the licences of what is linked into the program are added.
pub fn wheel(from: &Path, dir: &Path, sbom: &Path, licences: &str) -> Result<PathBuf> {
    let mut packed = ZipArchive::new(File::open(from)?)?;
    let file = dir.join(from.file_name().context("a wheel has a name")?);
    let mut archive = ZipWriter::new(File::create(&file)?);
    let here = format!("path+file://{}", path_text(root())?);
    let line = |name: &str, bytes: &[u8]| {
        format!("{name},sha256={},{}\n", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)), bytes.len())
    };
    let mut components = None;
    for index in 0..packed.len() {
        let mut entry = packed.by_index(index)?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        let name = entry.name()?.into_owned();
        let mut options = deflated().unix_permissions(entry.unix_mode().unwrap_or(0o644));
        if let Some(time) = entry.last_modified() {
            options = options.last_modified_time(time);
        }
        if name.ends_with(".cyclonedx.json") {
            bytes = String::from_utf8(bytes)?.replace(&here, "path+file://").into_bytes();
            std::fs::write(sbom, &bytes).with_context(|| format!("cannot write {}", sbom.display()))?;
            components = Some((format!("{name},"), line(&name, &bytes)));
        }
        // The list of all files, which comes last.
        if let Some(folder) = name.strip_suffix("/RECORD") {
            let added = format!("{folder}/licenses/{THIRD_PARTY}");
            archive.start_file(added.clone(), options)?;
            archive.write_all(licences.as_bytes())?;
            let (of, corrected) = components.take().context("the wheel has no list of components")?;
            let record = String::from_utf8(bytes)?;
            let others = record.lines().filter(|line| !line.starts_with(&of)).map(|line| format!("{line}\n"));
            let lines = [corrected, line(&added, licences.as_bytes())].into_iter().chain(others);
            bytes = lines.collect::<String>().into_bytes();
        }
        archive.start_file(name, options)?;
        archive.write_all(&bytes)?;
    }
    archive.finish()?.sync_all()?;
    Ok(file)
}

/// The SHA-256 of a file, in hexadecimal.
pub fn sha256(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Writes the sums of all files as `sha256sum --check` reads them.
pub fn checksums(files: &[PathBuf], dir: &Path) -> Result<PathBuf> {
    let mut sums = String::new();
    for file in files {
        let name = file.strip_prefix(dir).unwrap_or(file);
        writeln!(sums, "{}  {}", sha256(file)?, name.display()).expect("memory");
    }
    let file = dir.join(SUMS);
    std::fs::write(&file, sums).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
