//! What is built for the plants.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use ipcost_stats::Random;

use xtask::shell::{command, path_text, root, run, run_command, succeeds, target};

/// Bytes of the file that is read from storage.
const COLD_BYTES: usize = 16 << 20;

/// What the library of plants is built from.
const SOURCES: [&str; 4] = ["hooks.c", "plants.c", "threads.c", "tools.c"];

/// Where everything for the plants is.
pub fn directory() -> PathBuf {
    target().join("planted")
}

/// The sources of what is planted.
pub fn sources() -> PathBuf {
    root().join("bench/src/causes/planted")
}

pub fn planted_library() -> Result<PathBuf> {
    let library = directory().join("planted.so");
    std::fs::create_dir_all(directory())?;
    let sources = SOURCES.map(|name| sources().join(name));
    let mut words = vec!["cc", "-std=gnu11", "-shared", "-fPIC", "-O2", "-Wall", "-pthread", "-o"];
    words.push(path_text(&library)?);
    for source in &sources {
        words.push(path_text(source)?);
    }
    run(&words)?;
    Ok(library)
}

/// The native peer, built so that its calls go through the C library, where the plants can see them.
pub fn planted_native() -> Result<PathBuf> {
    let place = target().join("planted-native");
    let words = ["cargo", "build", "--release", "--quiet", "--package", "ipcost"];
    let mut build = command(&words);
    build.env("RUSTFLAGS", "--cfg rustix_use_libc").env("CARGO_TARGET_DIR", &place);
    run_command(build, &words)?;
    Ok(place.join("release/ipcost"))
}

/// The directory for files of plants, with one to be read from storage.
pub fn files() -> Result<PathBuf> {
    let files = directory().join("files");
    std::fs::create_dir_all(&files)?;
    let cold = files.join("cold");
    if std::fs::metadata(&cold).map_or(0, |found| found.len()) != COLD_BYTES as u64 {
        let mut random = Random::new(1);
        let bytes: Vec<u8> = (0..COLD_BYTES / 8).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        std::fs::write(&cold, bytes).with_context(|| cold.display().to_string())?;
    }
    Ok(files)
}

/// A certificate with its key, in the directory for files.
pub fn certificate() -> Result<PathBuf> {
    let made = files()?.join("certificate.pem");
    let path = path_text(&made)?;
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650"];
    let name =
        ["-subj", "/CN=planted", "-addext", "subjectAltName=DNS:planted", "-keyout", path, "-out", path];
    let words = [&["openssl", "req", "-x509"][..], &curve, &name].concat();
    ensure!(made.exists() || succeeds(&words), "openssl made no certificate");
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planted_has_its_sources() {
        let found = std::fs::read_dir(sources()).map(|entries| entries.count());
        assert!(found.is_ok_and(|count| count >= SOURCES.len()), "{}", sources().display());
        assert!(SOURCES.iter().all(|name| sources().join(name).is_file()));
    }
}
