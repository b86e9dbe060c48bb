//! An optimised binary, ready to be copied.

use anyhow::{Context, Result};

use crate::shell::{self, root, target};

/// Builds it and puts it, with its licences, into `target/dist`.
///
/// # Errors
/// Where it cannot be built or copied.
pub fn run() -> Result<()> {
    shell::run(&["cargo", "build", "--release", "--package", "ipcost"])?;
    let dist = target().join("dist");
    std::fs::create_dir_all(&dist).context("cannot make target/dist")?;
    for (from, name) in [
        (target().join("release/ipcost"), "ipcost"),
        (root().join("LICENSE-MIT"), "LICENSE-MIT"),
        (root().join("LICENSE-APACHE"), "LICENSE-APACHE"),
        // The typeface in the binary, which pictures are set in.
        (root().join("crates/ipcost-report/fonts/NOTICE"), "NOTICE-Inter"),
        (root().join("crates/ipcost-report/fonts/OFL.txt"), "LICENSE-Inter"),
        (root().join("README.md"), "README.md"),
    ] {
        std::fs::copy(&from, dist.join(name)).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    println!("{}", dist.display());
    Ok(())
}
