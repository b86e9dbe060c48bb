//! Lists the sources under `peers/` and the golden transcripts, which travel with the program.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Suffixes of a peer's sources; all other files (built programs, notes, caches of tools) stay out.
const ENDINGS: [&str; 7] = ["c", "h", "go", "mod", "sum", "py", "rb"];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let peers = manifest.join("peers");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", peers.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("sources.rs"), sources(&peers)).expect("the output directory can be written");
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

/// The table of sources, by directory.
fn sources(peers: &Path) -> String {
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
            writeln!(table, "        File {{ path: {path:?}, bytes: include_bytes!({file:?}) }},")
                .expect("memory");
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
