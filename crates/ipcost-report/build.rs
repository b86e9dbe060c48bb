//! Packs the typefaces of pictures.

use std::io::Write;
use std::path::PathBuf;
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

const FONTS: [&str; 2] = ["Inter-Regular-subset", "Inter-SemiBold-subset"];

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    for font in FONTS {
        let path = manifest.join("fonts").join(font).with_extension("ttf");
        println!("cargo::rerun-if-changed={}", path.display());
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(path).expect("a font can be read")).expect("memory");
        let packed = out.join(font).with_extension("deflate");
        fs::write(packed, encoder.finish().expect("memory")).expect("it can be written");
    }
}
