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

use std::borrow::Cow;

use anyhow::{Result, bail, ensure};
use ipcost_stats::Random;

use self::judge::{Trial, judge};
use self::machine::is_busy;
use self::options::Options;
use self::peers::Peer;
use self::plants::Plant;
use self::run::Runner;
use self::show::{Row, Totals};
use super::build_ipcost;
use super::processes::Running;
use crate::shell::succeeds;

/// JSON holds seeds of 52 bits exactly.
const SEED_SHIFT: u32 = 12;

/// Plants every cause in each peer and shows what was named, and what was blamed although absent.
///
/// # Errors
/// If something cannot be built, a plant is not named, or something absent is blamed.
pub fn bench(words: &[&str]) -> Result<()> {
    if cfg!(not(target_os = "linux")) {
        bail!("the plants are those of Linux");
    }
    let options = Options::read(words)?;
    ensure!(succeeds(&["strace", "-V"]), "strace is not installed: apt-get install strace");
    build_ipcost()?;
    let runner = Runner::new(options.budget, &options.placement)?;
    let peers = options.peers.iter().map(|name| Peer::build(name)).collect::<Result<Vec<_>>>()?;
    eprintln!("xtask: seed {}", options.seed);
    let rows = measure(&runner, &options, &peers)?;
    let table = show::table(&rows);
    let lines = if options.markdown { table.markdown() } else { table.lines() };
    println!("{}", lines.join("\n"));
    let totals = Totals::of(&rows);
    println!("\n{totals}");
    ensure!(totals.is_flawless(), "explain was wrong in {} cases", totals.flaws());
    Ok(())
}

/// A row for each plant and peer. Every run has a seed of its own.
fn measure(runner: &Runner, options: &Options, peers: &[Peer]) -> Result<Vec<Row>> {
    let hog = options.beside_hog.then(|| Running::start(&mut runner.hog())).transpose()?;
    let mut random = Random::new(options.seed);
    let chosen = chosen(options, peers)?;
    let mut rows = Vec::new();
    for (plant, peer) in &chosen {
        let mut row = Row::new(plant, peer.name);
        row.skipped = plant.lacks(peer.name);
        let times = if row.skipped.is_some() { 0 } else { options.times };
        for _ in 0..times {
            add_trial(&mut row, runner, plant, peer, random.next_u64() >> SEED_SHIFT);
        }
        eprintln!("xtask: {} of {}: {}", rows.len() + 1, chosen.len(), row.progress());
        rows.push(row);
    }
    drop(hog);
    Ok(rows)
}

/// Each plant that was asked for in each peer; those that take a certain peer, once.
fn chosen<'a>(options: &Options, peers: &'a [Peer]) -> Result<Vec<(&'static Plant, Cow<'a, Peer>)>> {
    let wanted = || plants::all().filter(|plant| options.wants(plant.name));
    let free = || wanted().filter(|plant| plant.peer().is_none());
    let mut chosen: Vec<(&Plant, Cow<'_, Peer>)> =
        peers.iter().flat_map(|peer| free().map(move |plant| (plant, Cow::Borrowed(peer)))).collect();
    for plant in wanted() {
        if let Some(name) = plant.peer() {
            chosen.push((plant, Cow::Owned(Peer::build(name)?)));
        }
    }
    Ok(chosen)
}

fn add_trial(row: &mut Row, runner: &Runner, plant: &Plant, peer: &Peer, seed: u64) {
    match runner.explain(plant, peer, seed) {
        Ok(explained) => {
            let trial = judge(plant, peer.company, &explained.causes, is_busy(explained.others));
            row.add(trial, &explained);
        }
        Err(error) => row.add_failure(Trial::default(), format!("seed {seed}: {error:#}")),
    }
}
