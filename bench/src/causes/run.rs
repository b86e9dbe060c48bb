//! One explanation of a cell with a cause planted.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ipcost_sys::quota::Quota;
use serde_json::Value;
use tempfile::TempDir;

use super::judge::Cause;
use super::libraries::{directory, files};
use super::machine::Watch;
use super::name_server::NameServer;
use super::peers::PlantedPeer;
use super::plants::{Plant, PlantMethod};
use crate::common::ipcost;
use crate::processes::RunningChild;
use xtask::shell::path_text;

/// Two cells that are compared get so many times the budget of one.
const PAIR_TIMES: u32 = 2;

/// What an explanation found.
#[derive(Debug)]
pub struct Explained {
    /// The causes, what weighs most first.
    pub causes: Vec<Cause>,
    /// The time of the cell over that of its twin or of the other cell.
    pub ratio: Option<f64>,
    /// The share of the processors' time that others took meanwhile, if it is known.
    pub others: Option<f64>,
    /// How long all of it took.
    pub took: Duration,
}

/// Runs the program as users do, with saved runs of its own.
pub struct Runner {
    program: PathBuf,
    files: PathBuf,
    /// The last explanation of each plant in each peer.
    records: PathBuf,
    /// Where runs are saved that no one needs.
    place: TempDir,
    budget: Duration,
    placement: String,
}

impl Runner {
    /// Explanations whose timed part takes so long, of cells in this placement if their plant needs none.
    pub fn new(budget: Duration, placement: &str) -> Result<Self> {
        let records = directory().join("explanations");
        std::fs::create_dir_all(&records)?;
        let place = tempfile::tempdir()?;
        let placement = format!("/{placement}");
        Ok(Self { program: ipcost(), files: files()?, records, place, budget, placement })
    }

    /// A process that takes a core in bursts.
    pub fn hog(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("hog");
        command
    }

    /// Explains a cell in which the cause is planted.
    pub fn explain(&self, plant: &Plant, peer: &PlantedPeer, seed: u64) -> Result<Explained> {
        let record = self.records.join(format!("{}-{}.json", plant.name, peer.name));
        let _ = std::fs::remove_file(&record);
        let words = self.words(plant, peer, seed, path_text(&record)?)?;
        let began = Instant::now();
        let (output, others) = self.run(plant, &words)?;
        let text = std::fs::read_to_string(&record).ok();
        ensure!(text.is_some() || !output.status.success(), "there is no {}", record.display());
        let complaint = || last_line(&String::from_utf8_lossy(&output.stderr)).to_owned();
        let explanation: Value = serde_json::from_str(&text.with_context(complaint)?)?;
        Ok(Explained {
            causes: Cause::all_of(&explanation),
            ratio: ratio(&explanation).filter(|_| plant.is_compared()),
            others,
            took: began.elapsed(),
        })
    }

    fn words(&self, plant: &Plant, peer: &PlantedPeer, seed: u64, record: &str) -> Result<Vec<String>> {
        let seed_text = seed.to_string();
        let mut words = vec!["explain".to_owned()];
        words.extend(cells(plant, peer.is_native(), &self.placement));
        let settings = ["--quiet", "--no-floor", "--seed", &seed_text, "--json", record];
        words.extend(settings.map(str::to_owned));
        words.extend(match plant.name {
            // Every connection that is refused is tried again after a second.
            "backlog" => ["--epochs", "1", "--timeout", "5min"].map(str::to_owned).to_vec(),
            _ => {
                let times = if plant.is_pair() { PAIR_TIMES } else { 1 };
                vec!["--budget".to_owned(), format!("{}ms", (self.budget * times).as_millis())]
            }
        });
        if cells(plant, peer.is_native(), &self.placement)[0].contains("planted") {
            let command = peer.planted(plant, seed, path_text(&self.files)?)?;
            words.extend(["--peer".to_owned(), format!("planted={command}")]);
        }
        Ok(words)
    }

    /// Runs with what is planted beside the cell; with the share of the processors that others took.
    fn run(&self, plant: &Plant, words: &[String]) -> Result<(Output, Option<f64>)> {
        let hogs = match plant.way {
            PlantMethod::Hogs(count) => count,
            _ => 0,
        };
        let hogs = (0..hogs).map(|_| RunningChild::start(&mut self.hog())).collect::<Result<Vec<_>>>()?;
        let name_server = (plant.name == "dns").then(NameServer::start).transpose()?;
        let mut command = self.command(plant);
        command.args(words).env("IPCOST_DATA_DIR", self.place.path()).env("NO_COLOR", "1");
        let quota = match plant.way {
            PlantMethod::Quota(processors) => Some(Quota::impose(processors).context("a quota")?),
            _ => None,
        };
        let watch = Watch::start();
        let output = command.output();
        drop((quota, name_server));
        let others = watch.others();
        drop(hogs);
        Ok((output.context("cannot start ipcost")?, others))
    }

    fn command(&self, plant: &Plant) -> Command {
        let PlantMethod::Namespace(script, _) = plant.way else { return Command::new(&self.program) };
        let script = format!("set -e; ip link set lo up; {script}; exec \"$0\" \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", &script]).arg(&self.program);
        command
    }
}

/// The ids of one cell or two; the placement is for those that have none of their own.
fn cells(plant: &Plant, peer_is_native: bool, placement: &str) -> Vec<String> {
    let pair = match plant.way {
        PlantMethod::Client | PlantMethod::Nothing => "/planted->native",
        PlantMethod::Server => "/native->planted",
        PlantMethod::Tls => "/planted->planted",
        // What lies in the cell is the same in the native peer as users have it.
        _ if peer_is_native => "",
        _ => "/planted->native",
    };
    let work = plant.work;
    let id = |place: &str, options: &str| format!("{work}{place}{pair}{options}");
    match plant.way {
        PlantMethod::Options(options) | PlantMethod::Namespace(_, options) => vec![id("", options)],
        PlantMethod::Placement(place) => vec![id(place, "")],
        PlantMethod::Placements(one, other) => vec![id(one, ""), id(other, "")],
        PlantMethod::Against(options) => vec![id("", options), id("", "")],
        PlantMethod::Quota(_) | PlantMethod::Hogs(_) => vec![id("", "")],
        _ if plant.has_placement() => vec![id("", "")],
        PlantMethod::Nothing | PlantMethod::Client | PlantMethod::Server | PlantMethod::Tls => {
            vec![id(placement, "")]
        }
    }
}

fn ratio(explanation: &Value) -> Option<f64> {
    let difference = ["differences", "twins"].iter().find_map(|name| explanation[*name].as_array()?.first());
    difference?["ratio"]["median"].as_f64()
}

fn last_line(text: &str) -> &str {
    text.trim().lines().next_back().unwrap_or("it said nothing")
}

#[cfg(test)]
mod tests {
    use super::cells;
    use crate::causes::plants;

    #[test]
    fn cells_have_their_peers_and_placements() {
        let of = |name: &str, is_native| {
            let plant = plants::all().find(|plant| plant.name == name).unwrap();
            cells(plant, is_native, "/together").join(" ")
        };
        assert_eq!(of("fdatasync", true), "rr/unix/64/c1/together/planted->native");
        assert_eq!(of("server-fdatasync", false), "rr/unix/64/c1/together/native->planted");
        assert_eq!(of("migrations", true), "rr/unix/64/c1/free/planted->native");
        assert_eq!(of("nagle", true), "rr/tcp/200/c1/tcp_nodelay=false,writes=2,writes_by=client");
        assert_eq!(
            of("nagle", false),
            "rr/tcp/200/c1/planted->native/tcp_nodelay=false,writes=2,writes_by=client"
        );
        assert_eq!(of("hand-over", true), "rr/unix/64/c1/apart rr/unix/64/c1/together");
        assert_eq!(
            of("descriptor-table", true),
            "stream/pipe/64/c1/together/descriptor_table=shared stream/pipe/64/c1/together"
        );
    }
}
