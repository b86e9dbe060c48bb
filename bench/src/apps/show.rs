//! The loads as a table, and as Markdown for docs/faithfulness.md.

use ipcost_report::numbers::time;
use ipcost_stats::{Interval, median};

use super::LoadTimes;
use crate::table::{TextTable, print_wrapped, quotient};
use crate::verdict::{BenchVerdict, Reason};

/// A load, when all turns are over.
pub struct LoadRow {
    pub name: String,
    pub tool: &'static str,
    pub theirs: LoadSide,
    pub ours: LoadSide,
    /// Our ratio over theirs, as logarithms.
    pub quotient: Option<Interval>,
    pub differs: Option<Reason>,
    pub verdict: BenchVerdict,
    pub failure: Option<String>,
}

/// What one of both measured.
pub struct LoadSide {
    unix_ns: Option<f64>,
    tcp_ns: Option<f64>,
    /// Unix over TCP, as logarithms.
    ratio: Option<Interval>,
}

impl LoadSide {
    /// Medians over turns, and the ratio.
    pub fn of(all: &[LoadTimes], ratio: Option<Interval>) -> Self {
        let over = |figure: fn(&LoadTimes) -> f64| median(&all.iter().map(figure).collect::<Vec<_>>());
        Self { unix_ns: over(|times| times.unix_ns), tcp_ns: over(|times| times.tcp_ns), ratio }
    }

    fn cells(&self) -> [String; 3] {
        let shown = |time_ns: Option<f64>| time_ns.map_or_else(none, time);
        [shown(self.unix_ns), shown(self.tcp_ns), self.ratio.as_ref().map_or_else(none, quotient)]
    }
}

fn none() -> String {
    "–".to_owned()
}

/// Prints an aligned table and its Markdown, and what failed or was not run.
pub fn print(rows: &[LoadRow], not_run: &[String]) {
    let table = table(rows);
    table.lines().iter().for_each(|line| println!("{line}"));
    println!("\nTimes are of one request, ratios are unix / tcp.");
    for row in rows {
        if let Some(reason) = row.differs {
            print_wrapped(&format!("{} by {}: {}.", row.name, row.tool, reason.text()));
        }
        if let Some(failure) = &row.failure {
            print_wrapped(&format!("failed: {}: {failure}", row.name));
        }
    }
    not_run.iter().for_each(|reason| print_wrapped(&format!("not run: {reason}")));
    println!();
    table.markdown().iter().for_each(|line| println!("{line}"));
}

/// Two rows for each load, so that both ratios are one below the other.
fn table(rows: &[LoadRow]) -> TextTable<7> {
    let header = ["load", "by", "unix", "tcp", "unix / tcp", "ipcost / tool", "verdict"];
    let both = |row: &LoadRow| {
        let ([unix, tcp, ratio], ours) = (row.theirs.cells(), row.ours.cells());
        let theirs = [row.name.clone(), row.tool.to_owned(), unix, tcp, ratio, String::new(), String::new()];
        let [unix, tcp, ratio] = ours;
        let quotient = row.quotient.as_ref().map_or_else(none, quotient);
        [
            theirs,
            [String::new(), "ipcost".to_owned(), unix, tcp, ratio, quotient, row.verdict.word().to_owned()],
        ]
    };
    TextTable { header, numbers: 2..4, rows: rows.iter().flat_map(both).collect() }
}
