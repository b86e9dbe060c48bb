//! A proof of `ipcost explain`: causes are planted in real runs, and each explanation has to name its own.
//!
//! The plants live outside the product: a library between a peer and the C library, settings of the system, or options
//! of cells. Nothing of the explanation knows of them.

mod judge;
mod libraries;
mod machine;
mod name_server;
mod options;
mod peers;
mod plants;
mod run;
mod show;

use anyhow::{Result, bail, ensure};
use ipcost_stats::Random;

use self::judge::{PlantTrial, judge};
use self::machine::is_busy;
use self::options::CausesOptions;
use self::peers::{PlantedPeer, PlantedPeers};
use self::plants::Plant;
use self::run::Runner;
use self::show::{PlantRow, PlantTotals};
use crate::common::build_ipcost;
use crate::processes::RunningChild;

/// JSON holds seeds of 52 bits exactly.
const SEED_SHIFT: u32 = 12;

/// Plants every cause in each peer and shows what was named, and what was blamed although absent.
pub fn bench(words: &[&str]) -> Result<()> {
    if cfg!(not(target_os = "linux")) {
        bail!("the plants are those of Linux");
    }
    let options = CausesOptions::read(words)?;
    build_ipcost()?;
    let runner = Runner::new(options.budget, &options.placement)?;
    eprintln!("xtask: seed {}", options.seed);
    let rows = measure(&runner, &options)?;
    let table = show::table(&rows);
    let lines = if options.markdown { table.markdown() } else { table.lines() };
    println!("{}", lines.join("\n"));
    let totals = PlantTotals::of(&rows);
    println!("\n{totals}");
    ensure!(totals.is_flawless(), "explain was wrong in {} cases", totals.flaws());
    Ok(())
}

/// A row for each plant and peer.
fn measure(runner: &Runner, options: &CausesOptions) -> Result<Vec<PlantRow>> {
    let hog = options.beside_hog.then(|| RunningChild::start(&mut runner.hog())).transpose()?;
    let chosen = chosen(options);
    let (mut peers, mut rows) = (PlantedPeers::default(), Vec::new());
    for (plant, peer) in &chosen {
        let mut row = PlantRow::new(plant, peer);
        row.skipped = plant.lacks(peer);
        let times = if row.skipped.is_some() { 0 } else { options.times };
        for time in 0..times {
            add_trial(&mut row, runner, plant, peers.get(peer)?, seed_of(options.seed, plant, peer, time));
        }
        eprintln!("xtask: {} of {}: {}", rows.len() + 1, chosen.len(), row.progress());
        rows.push(row);
    }
    drop(hog);
    Ok(rows)
}

/// Each plant that was asked for in each peer; those that take a certain peer, once.
fn chosen(options: &CausesOptions) -> Vec<(&'static Plant, &str)> {
    let wanted = || plants::all().filter(|plant| options.wants(plant.name));
    let free = || wanted().filter(|plant| plant.peer().is_none());
    let in_each = options.peers.iter().flat_map(|peer| free().map(move |plant| (plant, peer.as_str())));
    in_each.chain(wanted().filter_map(|plant| Some((plant, plant.peer()?)))).collect()
}

/// A seed of its own for each run, the same whichever others are run.
fn seed_of(seed: u64, plant: &Plant, peer: &str, time: u32) -> u64 {
    let name = format!("{} {peer} {time}", plant.name);
    let mixed = name.bytes().fold(seed, |mixed, byte| Random::new(mixed ^ u64::from(byte)).next_u64());
    mixed >> SEED_SHIFT
}

fn add_trial(row: &mut PlantRow, runner: &Runner, plant: &Plant, peer: &PlantedPeer, seed: u64) {
    match runner.explain(plant, peer, seed) {
        Ok(explained) => {
            let trial = judge(plant, peer.company, &explained.causes, is_busy(explained.others));
            row.add(trial, &explained);
        }
        Err(error) => row.add_failure(PlantTrial::default(), format!("seed {seed}: {error:#}")),
    }
}
