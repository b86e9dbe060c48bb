//! docs/ledgers.md for `cargo xtask figures`, from what `ipcost replicate --all --json` wrote on several machines.

use ipcost_features::answer::AnsweredRun;
use ipcost_features::replicate::{ReaderQuestion, ReplicationRecord, answers, claims_in_lines};
use ipcost_model::Document;
use ipcost_report::words::capitalised;

/// The ledgers of each machine: what one found may be in several files.
pub fn by_machine(
    files: impl IntoIterator<Item = Vec<AnsweredRun<ReplicationRecord>>>,
) -> Vec<Vec<AnsweredRun<ReplicationRecord>>> {
    let mut machines: Vec<Vec<AnsweredRun<ReplicationRecord>>> = Vec::new();
    for records in files {
        match machines.iter_mut().find(|known| machine(known) == machine(&records)) {
            Some(known) => known.extend(records),
            None => machines.push(records),
        }
    }
    machines
}

/// The machine of some ledgers: one is named where congestion control differs only.
fn machine(records: &[AnsweredRun<ReplicationRecord>]) -> String {
    let Document { host, tool, .. } = &records[0].document;
    format!(
        "{}, {} cores, {} {}{}, ipcost {}",
        cell(&host.cpu),
        host.physical_cores,
        cell(&host.os),
        cell(&host.kernel),
        host.tcp_congestion().map(|name| format!(", TCP under {}", cell(name))).unwrap_or_default(),
        cell(&tool.version)
    )
}

pub fn page(machines: &[Vec<AnsweredRun<ReplicationRecord>>]) -> String {
    let mut out = String::from(
        "# Ledgers\n\nWhat holds of the claims of published experiments, on these machines: a line for each claim and machine, written by \
         `cargo xtask figures` from documents of `ipcost replicate --json`. On your machine the answers may differ: run the command.\n\n\
         A ratio is what the first costs relative to the second, over all loads and conditions that decide. [Published experiments](replications.md) says what \
         the words mean; `ipcost show FILE --details` has the tables and every test.\n\n| | machine |\n|---|---|\n",
    );
    for (letter, records) in ('A'..).zip(machines) {
        out.push_str(&format!("| {letter} | {} |\n", machine(records)));
    }
    for (letter, records) in ('A'..).zip(machines) {
        let title = if machines.len() > 1 {
            format!("Who was right, on {letter}")
        } else {
            "Who was right".to_owned()
        };
        out.push_str(&format!("\n## {title}\n\n"));
        for ReaderQuestion { title, here, articles } in answers(records) {
            out.push_str(&format!("- **{title}.** {here}. {}.\n", capitalised(&articles)));
        }
    }
    // In the order of the first machine that ran them.
    let mut seen: Vec<&str> = Vec::new();
    for record in machines.iter().flatten() {
        if !seen.contains(&record.id.as_str()) {
            seen.push(&record.id);
            out.push_str(&experiment(machines, record));
        }
    }
    out
}

fn experiment(machines: &[Vec<AnsweredRun<ReplicationRecord>>], first: &ReplicationRecord) -> String {
    let mut out = format!("\n## {}\n\n{}\n", first.id, first.question);
    if let Some(source) = &first.source {
        out.push_str(&format!("Source: {source}. Published on: {}.\n", first.machine));
    }
    out.push_str("\n| claim | machine | verdict | here |\n|---|---|---|---|\n");
    for number in 0..first.claims.len() {
        for (letter, records) in ('A'..).zip(machines) {
            let text = if letter == 'A' {
                format!("{}. “{}”", number + 1, first.claims[number].text)
            } else {
                String::new()
            };
            let found = records.iter().find(|record| record.id == first.id);
            let said = found.and_then(|record| claims_in_lines(record).into_iter().nth(number));
            let (word, said) = said.unwrap_or_else(|| (String::new(), "not run".to_owned()));
            out.push_str(&format!("| {} | {letter} | {word} | {} |\n", cell(&text), cell(&said)));
        }
    }
    out
}

/// A text within a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use ipcost_model::Host;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_machine_stands_before_every_verdict() {
        let records = |cpu: &str, word: &str| -> Vec<AnsweredRun<ReplicationRecord>> {
            let answer = serde_json::from_value(json!({
                "schema": "ipcost-replication/1", "id": "mine", "question": "Which?", "machine": "a laptop", "differs": null, "runs": [],
                "claims": [{"text": "A is | faster.", "published": "2 x", "word": word, "sentence": "x 0.50 × y", "behind": null, "tests": [{
                    "about": "x over y", "software": "native", "measure": "wall", "value": 0.5, "lo": 0.4, "hi": 0.6,
                    "claimed": "< 1", "word": word, "decides": true, "detail": null,
                    "compared": {"a": "x", "b": "y", "pattern": "rr", "load": {"size": 64}}}]}],
            }));
            let host = Host { cpu: cpu.to_owned(), physical_cores: 2, ..Host::default() };
            let document = Document { host, ..Document::default() };
            vec![AnsweredRun { document, answer: answer.unwrap() }]
        };
        let page = page(&[records("AMD", "holds"), records("Intel", "fails")]);
        assert!(page.contains("| A | AMD, 2 cores,  , ipcost  |\n"), "{page}");
        assert!(
            page.contains(
                "| 1. “A is \\| faster.” | A | holds | x 0.50 × y |\n|  | B | fails | x 0.50 × y |\n"
            ),
            "{page}"
        );
    }
}
