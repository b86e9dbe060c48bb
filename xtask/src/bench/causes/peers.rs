//! The peers in which causes are planted.

use anyhow::{Context, Result, ensure};

use super::judge::{Blame, any};
use super::libraries::{planted_library, planted_native};
use crate::bench::build_c_peer;
use crate::shell::{command, path_text, root};

/// Their names.
pub const PEERS: [&str; 3] = ["native", "python", "c"];
/// An interpreter takes time of its own, whatever is planted.
const OF_AN_INTERPRETER: &[Blame] = &[any("runtime")];

/// A peer whose calls the library of plants sees.
pub struct Peer {
    /// Its name, as `--peers` takes it.
    pub name: &'static str,
    /// The command that starts it.
    command: Vec<String>,
    /// What is true of it without any plant.
    pub company: &'static [Blame],
    /// The library that is put before the C library.
    library: String,
}

impl Peer {
    /// Makes one ready.
    ///
    /// # Errors
    /// If something cannot be built, or the peer is unknown.
    pub fn build(wanted: &str) -> Result<Self> {
        let name = PEERS.into_iter().find(|name| *name == wanted).context("an unknown peer")?;
        let (command, company): (Vec<String>, &[Blame]) = match name {
            "native" => (vec![path_text(&planted_native()?)?.to_owned(), "peer".to_owned()], &[]),
            "python" => (python()?, OF_AN_INTERPRETER),
            _ => (vec![path_text(&build_c_peer()?)?.to_owned()], &[]),
        };
        Ok(Self { name, command, company, library: path_text(&planted_library()?)?.to_owned() })
    }

    /// Whether it is the one that cells have if they name none.
    pub fn is_native(&self) -> bool {
        self.name == "native"
    }

    /// The command with a cause planted, as `--peer` takes it.
    pub fn planted(&self, plant: &str, seed: u64, files: &str) -> String {
        format!(
            "env LD_PRELOAD={} PLANT={plant} PLANT_SEED={seed} PLANT_DIR={files} {}",
            self.library,
            self.command.join(" ")
        )
    }
}

/// The interpreter itself: a script that finds it would take the library as well.
fn python() -> Result<Vec<String>> {
    let asked =
        command(&["python3", "-c", "import sys; print(sys.executable)"]).output().context("python3")?;
    ensure!(asked.status.success(), "python3 does not run");
    let interpreter = String::from_utf8(asked.stdout)?.trim().to_owned();
    let program = root().join("crates/ipcost-foreign/peers/python/ipcost_peer.py");
    Ok(vec![interpreter, "-B".to_owned(), path_text(&program)?.to_owned()])
}
