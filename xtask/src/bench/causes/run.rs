//! One explanation of a cell with a cause planted.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ipcost_sys::quota::Quota;
use serde_json::Value;
use tempfile::TempDir;

use super::judge::Cause;
use super::libraries::files;
use super::machine::Watch;
use super::name_server::NameServer;
use super::peers::Peer;
use super::plants::{Plant, Way};
use crate::bench::ipcost;
use crate::bench::processes::Running;
use crate::shell::path_text;

/// What an explanation found.
#[derive(Debug)]
pub struct Explained {
    /// The causes, what weighs most first.
    pub causes: Vec<Cause>,
    /// The time of the cell over that of its twin or of the other cell.
    pub ratio: Option<f64>,
    /// Whether others took the processors meanwhile.
    pub machine_is_busy: bool,
    /// How long all of it took.
    pub took: Duration,
}

/// Runs the program as users do, with saved runs of its own.
pub struct Runner {
    program: PathBuf,
    files: PathBuf,
    place: TempDir,
    budget: String,
}

impl Runner {
    /// Explanations whose timed part takes so long.
    ///
    /// # Errors
    /// If there is no place for them.
    pub fn new(budget: &str) -> Result<Self> {
        Ok(Self {
            program: ipcost(),
            files: files()?,
            place: tempfile::tempdir()?,
            budget: budget.to_owned(),
        })
    }

    /// A process that takes a core in bursts.
    pub fn hog(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("hog");
        command
    }

    /// Explains a cell in which the cause is planted.
    ///
    /// # Errors
    /// If the program fails without an explanation.
    pub fn explain(&self, plant: &Plant, peer: &Peer, seed: u64) -> Result<Explained> {
        let record = self.place.path().join("explanation.json");
        let _ = std::fs::remove_file(&record);
        let words = self.words(plant, peer, seed)?;
        let began = Instant::now();
        let (output, machine_is_busy) = self.run(plant, &words)?;
        let text = std::fs::read_to_string(&record).ok();
        ensure!(text.is_some() || !output.status.success(), "there is no {}", record.display());
        let complaint = || last_line(&String::from_utf8_lossy(&output.stderr)).to_owned();
        let explanation: Value = serde_json::from_str(&text.with_context(complaint)?)?;
        Ok(Explained {
            causes: Cause::all_of(&explanation),
            ratio: ratio(&explanation),
            machine_is_busy,
            took: began.elapsed(),
        })
    }

    fn words(&self, plant: &Plant, peer: &Peer, seed: u64) -> Result<Vec<String>> {
        let seed_text = seed.to_string();
        let record = self.place.path().join("explanation.json");
        let mut words = vec!["explain".to_owned()];
        words.extend(cells(plant, peer));
        let settings = ["--quiet", "--no-floor", "--seed", &seed_text, "--json", path_text(&record)?];
        words.extend(settings.map(str::to_owned));
        words.extend(match plant.name {
            // Every connection that is refused is tried again after a second.
            "backlog" => ["--epochs", "1", "--timeout", "5min"].map(str::to_owned).to_vec(),
            _ => vec!["--budget".to_owned(), self.budget.clone()],
        });
        if cells(plant, peer)[0].contains("planted") {
            let command = peer.planted(known_to_library(plant), seed, path_text(&self.files)?);
            words.extend(["--peer".to_owned(), format!("planted={command}")]);
        }
        Ok(words)
    }

    /// Runs with what is planted beside the cell; with whether others took the processors.
    fn run(&self, plant: &Plant, words: &[String]) -> Result<(Output, bool)> {
        let hogs = match plant.way {
            Way::Hogs(count) => count,
            _ => 0,
        };
        let hogs = (0..hogs).map(|_| Running::start(&mut self.hog())).collect::<Result<Vec<_>>>()?;
        let name_server = (plant.name == "dns").then(NameServer::start).transpose()?;
        let mut command = self.command(plant);
        command.args(words).env("IPCOST_DATA_DIR", self.place.path()).env("NO_COLOR", "1");
        let quota = match plant.way {
            Way::Quota(processors) => Some(Quota::impose(processors).context("a quota")?),
            _ => None,
        };
        let watch = Watch::start();
        let output = command.output();
        drop((quota, name_server));
        let machine_is_busy = watch.is_busy();
        drop(hogs);
        Ok((output.context("cannot start ipcost")?, machine_is_busy))
    }

    fn command(&self, plant: &Plant) -> Command {
        let Way::Namespace(script, _) = plant.way else { return Command::new(&self.program) };
        let script = format!("set -e; ip link set lo up; {script}; exec \"$0\" \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", &script]).arg(&self.program);
        command
    }
}

/// The name by which the library knows what to do.
fn known_to_library(plant: &Plant) -> &'static str {
    match plant.way {
        Way::Client => plant.name.strip_suffix("-tcp").unwrap_or(plant.name),
        Way::Server => plant.name.strip_prefix("server-").unwrap_or(plant.name),
        _ => "none",
    }
}

/// The ids of one cell or two.
fn cells(plant: &Plant, peer: &Peer) -> Vec<String> {
    let work = plant.work;
    let pair = match plant.way {
        Way::Client | Way::Nothing => "/planted->native",
        Way::Server => "/native->planted",
        // What lies in the cell is the same in the native peer as users have it.
        _ if peer.is_native() => "",
        _ => "/planted->native",
    };
    match plant.way {
        Way::Options(options) | Way::Namespace(_, options) => vec![format!("{work}{pair}{options}")],
        Way::Placement(place) => vec![format!("{work}/{place}{pair}")],
        Way::Placements(one, other) => [one, other].map(|place| format!("{work}/{place}{pair}")).to_vec(),
        Way::Against(options) => vec![format!("{work}{pair}{options}"), format!("{work}{pair}")],
        _ => vec![format!("{work}{pair}")],
    }
}

fn ratio(explanation: &Value) -> Option<f64> {
    let difference = ["differences", "twins"].iter().find_map(|name| explanation[*name].as_array()?.first());
    difference?["ratio"]["median"].as_f64()
}

fn last_line(text: &str) -> &str {
    text.trim().lines().next_back().unwrap_or("it said nothing")
}
