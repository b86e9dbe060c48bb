//! Records the compiler, which a peer names in its hello.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
    // "rustc 1.95.0 (59807616e 2026-04-14)": the first two words.
    let words: Vec<&str> = version.as_deref().unwrap_or("rustc").split_whitespace().take(2).collect();
    println!("cargo::rustc-env=IPCOST_RUNTIME={}", words.join(" "));
}
