//! A list of every file in a prepared peer's directory, so that nothing else is ever run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use ipcost_sys::file_writer::create_private;
use sha2::{Digest, Sha256};

/// The file that lists the others, in the format of `sha256sum`.
pub const NAME: &str = "SHA256SUMS";

/// The SHA-256 of every file of a directory, by its path.
#[derive(Debug, PartialEq, Eq)]
pub struct Manifest(BTreeMap<String, String>);

impl Manifest {
    /// Reads every file of a directory.
    pub fn of(dir: &Path) -> io::Result<Self> {
        let mut sums = BTreeMap::new();
        collect(dir, "", &mut sums)?;
        Ok(Self(sums))
    }

    /// Writes it into the directory that it describes.
    pub fn write(&self, dir: &Path) -> io::Result<()> {
        let lines: String = self.0.iter().map(|(path, sum)| format!("{sum}  {path}\n")).collect();
        create_private(&dir.join(NAME))?.write_all(lines.as_bytes())
    }

    /// The manifest in a directory; `None` if it is malformed.
    pub fn read(dir: &Path) -> io::Result<Option<Self>> {
        Ok(Self::parse(&fs::read_to_string(dir.join(NAME))?))
    }

    /// Parses a manifest; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let entry = |line: &str| {
            let (sum, path) = line.split_once("  ")?;
            Some((path.to_owned(), sum.to_owned()))
        };
        text.lines().map(entry).collect::<Option<_>>().map(Self)
    }

    /// Whether it lists a file with this content.
    pub fn has(&self, path: &str, bytes: &[u8]) -> bool {
        self.0.get(path).is_some_and(|sum| *sum == hex(&Sha256::digest(bytes)))
    }
}

fn collect(dir: &Path, prefix: &str, sums: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| io::ErrorKind::InvalidData)?;
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), sums)?;
        } else if !kind.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{path} is not a regular file")));
        } else if path != NAME {
            sums.insert(path, sum_of(&entry.path())?);
        }
    }
    Ok(())
}

fn sum_of(path: &Path) -> io::Result<String> {
    let mut hasher = HashWriter(Sha256::new());
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(hex(&hasher.0.finalize()))
}

struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The letters of a fingerprint.
const SHORT: usize = 20;

/// Whether a text looks like a fingerprint.
pub fn is_fingerprint(text: &str) -> bool {
    text.len() == SHORT && text.bytes().all(|letter| matches!(letter, b'0'..=b'9' | b'a'..=b'f'))
}

/// A short hash of everything that determines a build.
pub fn fingerprint<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        // With its length, so that no two lists of parts have the same hash.
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut name = hex(&hasher.finalize());
    name.truncate(SHORT);
    name
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_sha256sum_says_and_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("sub/a"), "abc").unwrap();
        let manifest = Manifest::of(dir.path()).unwrap();
        manifest.write(dir.path()).unwrap();
        let text = fs::read_to_string(dir.path().join(NAME)).unwrap();
        assert_eq!(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  sub/a\n");
        assert_eq!(Manifest::read(dir.path()).unwrap().as_ref(), Some(&manifest));
        assert!(
            manifest.has("sub/a", b"abc") && !manifest.has("sub/a", b"abd") && !manifest.has("a", b"abc")
        );
        fs::write(dir.path().join("b"), "").unwrap();
        assert_ne!(Manifest::of(dir.path()).unwrap(), manifest, "a file more is a difference");
    }

    #[test]
    fn fingerprints_tell_lists_apart() {
        let of = |parts: &[&[u8]]| fingerprint(parts.iter().copied());
        assert_eq!(of(&[b"ab", b"c"]), of(&[b"ab", b"c"]));
        assert!(
            is_fingerprint(&of(&[])) && !is_fingerprint("of-my-own") && !is_fingerprint(&"g".repeat(SHORT))
        );
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
    }
}
