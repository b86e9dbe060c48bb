//! Writes the sources under `peers/` for embedding in the binary, compressed, with a table of them; and the golden
//! transcripts.

use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Suffixes of a peer's sources; all other files (built programs, notes, caches of tools) stay out.
const ENDINGS: [&str; 7] = ["c", "h", "go", "mod", "sum", "py", "rb"];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let peers = manifest.join("peers");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", peers.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut all = Vec::new();
    let table = sources(&peers, &mut all);
    fs::write(out.join("sources.rs"), table).expect("the output directory can be written");
    fs::write(out.join("sources.deflate"), deflated(&all)).expect("the output directory can be written");
    let transcripts = manifest.join("conformance");
    println!("cargo::rerun-if-changed={}", transcripts.display());
    fs::write(out.join("transcripts.rs"), texts(&transcripts)).expect("the output directory can be written");
}

/// The table of transcripts: name and text.
fn texts(dir: &Path) -> String {
    let entry = |path: PathBuf| {
        let name = name(&path);
        format!("    ({:?}, include_str!({path:?})),\n", name.trim_end_matches(".jsonl"))
    };
    format!("&[\n{}]\n", entries(dir).into_iter().map(entry).collect::<String>())
}

/// Compressed: a third of a megabyte of text takes a quarter of that.
fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// The table of sources, by directory; `all` takes their bytes, one after the other.
fn sources(peers: &Path, all: &mut Vec<u8>) -> String {
    let mut table = String::from("&[\n");
    for dir in entries(peers).into_iter().filter(|path| path.is_dir()) {
        let mut files = Vec::new();
        collect(&dir, &mut files);
        if files.is_empty() {
            continue;
        }
        writeln!(table, "    Directory {{ name: {:?}, files: &[", name(&dir)).expect("memory");
        for file in files {
            let path = file.strip_prefix(&dir).expect("it was found there");
            let path = path.to_str().expect("plain names");
            let bytes = fs::read(&file).expect("a source can be read");
            let (start, end) = (all.len(), all.len() + bytes.len());
            all.extend(bytes);
            let content = format!("Content::Packed({start}, {end})");
            writeln!(table, "        File {{ path: {path:?}, content: {content} }},").expect("memory");
        }
        table.push_str("    ] },\n");
    }
    table.push_str("]\n");
    table
}

/// The sources below a directory, without tests and hidden directories.
fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for path in entries(dir) {
        let name = name(&path);
        if name.starts_with('.') || name.starts_with("__") && path.is_dir() {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if is_source(&name) {
            files.push(path);
        }
    }
}

fn is_source(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let is_test = stem.ends_with("_test") || stem.starts_with("test_");
    ENDINGS.contains(&ending) && !is_test
}

/// In order of name, so that the same sources always produce the same table.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("peers/ can be read");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("peers/ can be read").path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> String {
    path.file_name().expect("an entry has a name").to_str().expect("plain names").to_owned()
}
