//! docs/ledgers.md, from what `ipcost replicate --all --json` wrote on several machines.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use ipcost_features::replicate::{Ledger, LedgerClaim};

/// Writes the page to standard output.
///
/// # Errors
/// A file that cannot be read, or fewer machines than two.
pub fn print(paths: &[&str]) -> Result<()> {
    let machines: Vec<Vec<Ledger>> = paths.iter().map(|path| read(path)).collect::<Result<_>>()?;
    ensure!(machines.len() > 1, "one machine is no page; give the ledgers of two at least");
    print!("{}", page(&machines));
    Ok(())
}

fn read(path: &str) -> Result<Vec<Ledger>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let ledgers: Vec<Ledger> =
        serde_json::from_str(&text).with_context(|| format!("{path} holds no ledgers"))?;
    ensure!(!ledgers.is_empty(), "{path} holds no ledgers");
    Ok(ledgers)
}

fn page(machines: &[Vec<Ledger>]) -> String {
    let mut out = String::from(
        "# Ledgers\n\nWhat `ipcost replicate --all` found on several machines, written by `cargo xtask ledgers`. On your machine \
         the answers may differ: run the command.\n\n| | machine | ipcost |\n|---|---|---|\n",
    );
    for (letter, ledgers) in ('A'..).zip(machines) {
        let host = &ledgers[0].envelope.host;
        out.push_str(&format!(
            "| {letter} | {}, {} cores, {} {}{} | {} |\n",
            cell(&host.cpu),
            host.physical_cores,
            cell(&host.os),
            cell(&host.kernel),
            host.tcp_congestion().map(|name| format!(", TCP under {}", cell(name))).unwrap_or_default(),
            cell(&ledgers[0].envelope.tool.version)
        ));
    }
    // In the order of the first machine that ran them.
    let mut seen: BTreeMap<&str, ()> = BTreeMap::new();
    for ledger in machines.iter().flatten() {
        if seen.insert(&ledger.id, ()).is_none() {
            out.push_str(&experiment(machines, ledger));
        }
    }
    out
}

fn experiment(machines: &[Vec<Ledger>], first: &Ledger) -> String {
    let mut out = format!("\n## {}\n\n{}\n", first.id, first.question);
    if let Some(source) = &first.source {
        out.push_str(&format!("Source: {source}. Published on: {}.\n", first.machine));
    }
    for (number, claim) in (1..).zip(&first.claims) {
        out.push_str(&format!("\n**{number}. {}**", claim.text));
        if let Some(published) = &claim.published {
            out.push_str(&format!(" Published: {published}."));
        }
        out.push_str("\n\n| machine | verdict | here |\n|---|---|---|\n");
        for (letter, ledgers) in ('A'..).zip(machines) {
            let found = ledgers.iter().find(|ledger| ledger.id == first.id);
            let found = found.and_then(|ledger| ledger.claims.get(number - 1));
            out.push_str(&match found {
                Some(claim) => {
                    format!("| {letter} | {} | {} |\n", cell(claim.word.name()), cell(&said(claim)))
                }
                None => format!("| {letter} | | not run |\n"),
            });
        }
    }
    out
}

/// The sentence, and what differs between the cells.
fn said(claim: &LedgerClaim) -> String {
    let parts = [Some(claim.sentence.as_str()), claim.why.as_deref()];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(". ")
}

/// A text within a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_machine_stands_before_every_verdict() {
        let ledgers = |cpu: &str, word: &str| -> Vec<Ledger> {
            serde_json::from_value(json!([{
                "schema": "ipcost-replication/1", "tool": {"name": "ipcost", "version": "1"}, "started": "",
                "host": {"os": "linux", "kernel": "6", "arch": "x86_64", "cpu": cpu, "cores": 2, "physical_cores": 2},
                "id": "mine", "question": "Which?", "machine": "a laptop", "differs": null, "seed": 1, "runs": [],
                "claims": [{"text": "A is faster.", "published": "2 x", "word": word, "sentence": "0.5 | 1", "behind": null,
                    "tests": []}],
            }]))
            .unwrap()
        };
        let page = page(&[ledgers("AMD", "holds"), ledgers("Intel", "refuted")]);
        assert!(page.contains("| A | AMD, 2 cores, linux 6 | 1 |\n"), "{page}");
        assert!(page.contains("| A | holds | 0.5 \\| 1 |\n| B | fails | 0.5 \\| 1 |\n"), "{page}");
    }
}
