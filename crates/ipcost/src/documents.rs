//! Finding documents that users name.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use flate2::read::MultiGzDecoder;
use ipcost_features::answer::AnsweredRun;
use ipcost_features::answers::answered_as;
use ipcost_features::replicate::ReplicationRecord;
use ipcost_features::watch::{SlowRecord, WATCH_SCHEMA, Watched};
use ipcost_model::{Document, MAX_DOCUMENT_BYTES, escaped, read_document, read_documents, read_record};
use ipcost_sys::found_file;
use serde_json::Value;

use crate::history;

/// How a file begins that was packed by gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The document that a user means: a file, a saved run by identifier, name or position, or `-` for standard input.
/// A file goes before a saved run; both may be packed by gzip.
pub fn load(name: &str) -> anyhow::Result<Document> {
    match find(name, |path| File::open(path))? {
        NamedDocument::Document(document) => Ok(*document),
        NamedDocument::Bytes(bytes) => read_document(&bytes).with_context(|| name.to_owned()),
    }
}

/// What a name stands for where it may be more than a document.
pub enum NamedRun {
    One(Box<Document>),
    /// What `ipcost watch --json` wrote.
    Watch(Box<Watched>),
    /// Several experiments, in a file that `ipcost replicate --json` wrote.
    Experiments(Vec<AnsweredRun<ReplicationRecord>>),
}

/// The same, or several experiments in a file, or what was watched.
pub fn load_any(name: &str) -> anyhow::Result<NamedRun> {
    let mut documents = match find(name, |path| File::open(path))? {
        NamedDocument::Document(document) => vec![*document],
        NamedDocument::Bytes(bytes) => match read_watched(&bytes) {
            Some(watched) => return Ok(NamedRun::Watch(Box::new(watched.with_context(|| name.to_owned())?))),
            None => read_documents(&bytes).with_context(|| name.to_owned())?,
        },
    };
    if documents.len() == 1 {
        return Ok(NamedRun::One(Box::new(documents.remove(0))));
    }
    let count = documents.len();
    let experiments = documents.into_iter().map(answered_as).collect::<Result<Option<Vec<_>>, _>>();
    match experiments.with_context(|| name.to_owned())? {
        Some(experiments) => Ok(NamedRun::Experiments(experiments)),
        None => bail!("{name} holds {count} documents; one of them can be shown at a time"),
    }
}

/// The same of a name that is not the user's, but was found in a directory or a file: of files, only a regular one.
pub fn load_found(name: &str) -> anyhow::Result<Document> {
    match find(name, found_file::open)? {
        NamedDocument::Document(document) => Ok(*document),
        NamedDocument::Bytes(bytes) => read_document(&bytes).with_context(|| name.to_owned()),
    }
}

/// The same, or the documents of several experiments in a file; read once, since it may be a pipe.
pub fn load_all(name: &str, is_found: bool) -> anyhow::Result<Vec<Document>> {
    let open = if is_found { found_file::open } else { |path: &Path| File::open(path) };
    match find(name, open)? {
        NamedDocument::Document(document) => Ok(vec![*document]),
        NamedDocument::Bytes(bytes) => read_documents(&bytes).with_context(|| name.to_owned()),
    }
}

/// Reads what was watched; `None` if it is no such record. Others have chosen its texts: none is to speak to this terminal.
fn read_watched(bytes: &[u8]) -> Option<anyhow::Result<Watched>> {
    fn plain(value: &mut Value) {
        match value {
            Value::String(text) => *text = escaped(text),
            Value::Array(all) => all.iter_mut().for_each(plain),
            Value::Object(all) => all.values_mut().for_each(plain),
            _ => {}
        }
    }
    // Its first key says what it is; documents may be large.
    let begin = String::from_utf8_lossy(bytes.get(..200).unwrap_or(bytes)).into_owned();
    begin.contains(&format!("\"{WATCH_SCHEMA}\"")).then(|| {
        let mut value: Value = read_record(bytes)?;
        plain(&mut value);
        let watched: Watched = serde_json::from_value(value)?;
        let fits = watched.slow.as_ref().is_none_or(SlowRecord::is_consistent);
        ensure!(
            fits,
            "a record of what was watched that contradicts itself: its slow requests do not fit together"
        );
        Ok(watched)
    })
}

/// What a name stands for.
enum NamedDocument {
    Document(Box<Document>),
    Bytes(Vec<u8>),
}

fn find(name: &str, open: impl FnOnce(&Path) -> io::Result<File>) -> anyhow::Result<NamedDocument> {
    let read = |path: &str| open(Path::new(path)).with_context(|| format!("cannot read {path}"));
    Ok(match name {
        "-" => NamedDocument::Bytes(unpacked(io::stdin().lock()).context("cannot read standard input")?),
        name if !is_file(name) && history::is_run(name) => {
            NamedDocument::Document(Box::new(history::load(name)?))
        }
        path if history::is_samples_path(path) => {
            NamedDocument::Document(Box::new(history::load_samples(Path::new(path), read(path)?)?))
        }
        path => NamedDocument::Bytes(unpacked(read(path)?).with_context(|| format!("cannot read {path}"))?),
    })
}

fn is_file(name: &str) -> bool {
    let path = Path::new(name);
    path.exists() && !path.is_dir()
}

/// Everything, unpacked, but not endlessly much: one byte beyond the limit is enough to refuse it.
pub fn unpacked(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    from.by_ref().take(GZIP.len() as u64).read_to_end(&mut start)?;
    let packed = start == GZIP;
    let whole = io::Cursor::new(start).chain(from);
    if packed { bounded(MultiGzDecoder::new(io::BufReader::new(whole))) } else { bounded(whole) }
}

/// Whether it is not reading that failed, but what was read: packed, but broken or cut off.
pub fn is_content(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_what_is_cut_off_is_an_error() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(b"{\"schema\": 1}").unwrap();
        let packed = packer.finish().unwrap();
        assert_eq!(unpacked(&packed[..]).unwrap(), b"{\"schema\": 1}");
        for plain in [&b""[..], b"{", b"{}"] {
            assert_eq!(unpacked(plain).unwrap(), plain);
        }
        for cut in 2..packed.len() {
            assert!(is_content(&unpacked(&packed[..cut]).unwrap_err()), "{cut}");
        }
    }
}
