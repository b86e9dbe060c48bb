//! The peers in which causes are planted.

use anyhow::{Context, Result, ensure};

use super::judge::{Blame, any};
use super::libraries::{planted_library, planted_native, sources};
use super::plants::{Plant, PlantMethod};
use crate::common::build_c_peer;
use xtask::shell::{command, path_text, root};

pub const NAMES: [&str; 3] = ["native", "python", "c"];
/// An interpreter takes time of its own, whatever is planted.
const OF_AN_INTERPRETER: &[Blame] = &[any("runtime")];

/// Peers, each made ready when it is first needed.
#[derive(Default)]
pub struct PlantedPeers(Vec<PlantedPeer>);

impl PlantedPeers {
    pub fn get(&mut self, name: &str) -> Result<&PlantedPeer> {
        let found = self.0.iter().position(|peer| peer.name == name);
        let index = match found {
            Some(index) => index,
            None => {
                self.0.push(PlantedPeer::build(name)?);
                self.0.len() - 1
            }
        };
        Ok(&self.0[index])
    }
}

/// A peer whose calls the library of plants sees.
#[derive(Debug)]
pub struct PlantedPeer {
    /// Its name, as `--peers` takes it.
    pub name: &'static str,
    /// The command that starts it.
    command: Vec<String>,
    /// What is true of it without any plant.
    pub company: &'static [Blame],
    /// The library that is put before the C library.
    library: String,
}

impl PlantedPeer {
    fn build(wanted: &str) -> Result<Self> {
        let name = NAMES.into_iter().find(|name| *name == wanted).context("an unknown peer")?;
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
    pub fn planted(&self, plant: &Plant, seed: u64, files: &str) -> Result<String> {
        let (library, how) = match plant.way {
            PlantMethod::Tls => ("PYTHONPATH", path_text(&sources().join("tls"))?.to_owned()),
            _ => ("LD_PRELOAD", self.library.clone()),
        };
        Ok(format!(
            "env {library}={how} PLANT={} PLANT_SEED={seed} PLANT_DIR={files} {}",
            known_to_library(plant),
            self.command.join(" ")
        ))
    }
}

/// The name by which the library knows what to do.
fn known_to_library(plant: &Plant) -> &'static str {
    match plant.way {
        PlantMethod::Client => plant.name.strip_suffix("-tcp").unwrap_or(plant.name),
        PlantMethod::Server => plant.name.strip_prefix("server-").unwrap_or(plant.name),
        _ => "none",
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
