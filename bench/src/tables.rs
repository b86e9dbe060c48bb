//! The simulated table of docs/trust.md, in Markdown.

use ipcost_stats::simulation::{Design, Noise, Rival, Search, campaign};
use ipcost_stats::{Allocation, Looks, Variances, allocate, clopper_pearson, median};
use std::time::Duration;

const CAMPAIGNS: u64 = 2_000;
const ALPHA: f64 = 0.05;

/// Prints all of them.
pub fn print() {
    false_alarms();
    println!();
    allocations();
}

/// How often equal cells are called different: by this tool, and by other methods on the same machine.
fn false_alarms() {
    print!("| machine | ipcost |");
    Rival::ALL.iter().for_each(|(_, name)| print!(" {name} |"));
    println!("\n|---|---|---|---|---|---|");
    let looks = Looks::around(60, ALPHA);
    let design = Design { epochs: 120, rounds: 1, alpha: ALPHA, looks };
    for (noise, name) in Noise::ALL.iter().chain([&Noise::SLIGHT]).chain(&Noise::LATER).chain(&Noise::BEYOND)
    {
        let seeds = || 1..=CAMPAIGNS;
        let ours = seeds().filter(|seed| campaign(*noise, 0.0, &design, *seed).ever_missed).count();
        print!("| {name} | {} |", share(ours as u64));
        for (rival, _) in Rival::ALL {
            let fooled = seeds().filter(|seed| rival.is_fooled(*noise, *seed)).count();
            print!(" {} |", share(fooled as u64));
        }
        println!();
    }
}

fn share(count: u64) -> String {
    let (lo, hi) = clopper_pearson(count, CAMPAIGNS, 0.9);
    format!("{:.1} % ({:.1}–{:.1})", count as f64 / CAMPAIGNS as f64 * 100.0, lo * 100.0, hi * 100.0)
}

/// The time to a verdict on 5 % with the chosen allocation and with fixed ones.
fn allocations() {
    const LEAD_IN: Duration = Duration::from_millis(5);
    let fixed = [(1, 20), (10, 20), (10, 200)];
    println!("| start | between | within (20 ms) | chosen | time | 1 × 20 ms | 10 × 20 ms | 10 × 200 ms |");
    println!("|---|---|---|---|---|---|---|---|");
    for start_ms in [8_u64, 500] {
        for (between, within) in [(0.05, 0.01), (0.05, 0.05), (0.02, 0.10)] {
            let start = Duration::from_millis(start_ms);
            let variances =
                Variances { between: between * between, within: within * within, ..Variances::UNKNOWN };
            let chosen = allocate(&variances, start + LEAD_IN);
            let time = |allocation: Allocation| {
                let search = Search { between, within, rounds: allocation.rounds, batch: allocation.batch };
                let epochs: Vec<f64> =
                    (1..=200).map(|seed| search.epochs_to_tell(0.05, ALPHA, seed) as f64).collect();
                let each = start + allocation.rounds * (LEAD_IN + allocation.batch);
                // Two cells.
                2.0 * each.as_secs_f64() * median(&epochs).unwrap_or_default()
            };
            print!(
                "| {start_ms} ms | {:.0} % | {:.0} % | {} × {:.0} ms | {:.1} s |",
                between * 100.0,
                within * 100.0,
                chosen.rounds,
                chosen.batch.as_secs_f64() * 1e3,
                time(chosen)
            );
            for (rounds, batch_ms) in fixed {
                print!(" {:.1} s |", time(Allocation { rounds, batch: Duration::from_millis(batch_ms) }));
            }
            println!();
        }
    }
}
