//! Packs the texts that travel with the program: a quarter of a megabyte takes a fifth of that compressed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

const DIRECTORIES: [&str; 2] = ["replications", "schemas"];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    let (mut all, mut table) = (Vec::new(), String::from("&[\n"));
    for directory in DIRECTORIES {
        let path = manifest.join(directory);
        println!("cargo::rerun-if-changed={}", path.display());
        let entries = fs::read_dir(&path).expect("the directory is there");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
        files.sort();
        for file in files {
            let name = file.file_name().and_then(|name| name.to_str()).expect("plain names");
            let text = fs::read_to_string(&file).expect("it is text");
            let start = all.len();
            all.extend_from_slice(text.as_bytes());
            writeln!(table, "    (\"{directory}/{name}\", {start}, {}),", all.len()).expect("memory");
        }
    }
    table.push_str("]\n");
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&all).expect("memory");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("texts.deflate"), encoder.finish().expect("memory")).expect("it can be written");
    fs::write(out.join("texts.rs"), table).expect("it can be written");
}
