//! Lists the texts that travel with the program.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

const DIRECTORIES: [&str; 2] = ["replications", "schemas"];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    let mut table = String::from("&[\n");
    for directory in DIRECTORIES {
        let path = manifest.join(directory);
        println!("cargo::rerun-if-changed={}", path.display());
        let entries = fs::read_dir(&path).expect("the directory is there");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
        files.sort();
        for file in files {
            let name = file.file_name().and_then(|name| name.to_str()).expect("plain names");
            writeln!(table, "    (\"{directory}/{name}\", include_str!({file:?})),").expect("memory");
        }
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("texts.rs"), table).expect("it can be written");
}
