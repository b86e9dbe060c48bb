//! The rows as a table, and as Markdown for docs/faithfulness.md.

use ipcost_model::Placement;
use ipcost_report::numbers::time;
use ipcost_stats::Interval;

use super::comparisons::ToolComparison;
use crate::table::{TextTable, print_wrapped, quotient};
use crate::verdict::BenchVerdict;

const HEADER: [&str; 7] = ["tool", "measured", "placement", "tool's", "ipcost", "ipcost / tool", "verdict"];

/// A row, when all turns are over.
pub struct ToolRow<'a> {
    pub comparison: &'a ToolComparison,
    pub placement: Placement,
    /// The costs of an operation, nanoseconds.
    pub theirs: Option<f64>,
    pub ours: Option<f64>,
    /// Ours over theirs, as logarithms.
    pub ratio: Option<Interval>,
    pub verdict: BenchVerdict,
    pub failure: Option<&'a str>,
}

impl ToolRow<'_> {
    pub fn name(&self) -> String {
        let Self { comparison, placement, .. } = self;
        format!("{} ({}), {placement}", comparison.tool.name, comparison.measured)
    }

    fn cells(&self) -> [String; 7] {
        [
            self.comparison.tool.name.to_owned(),
            self.comparison.measured.to_owned(),
            self.placement.to_string(),
            self.theirs.map_or_else(|| "–".to_owned(), time),
            self.ours.map_or_else(|| "–".to_owned(), time),
            self.ratio.as_ref().map_or_else(|| "–".to_owned(), quotient),
            self.verdict.word().to_owned(),
        ]
    }

    /// The last column of Markdown.
    fn remarks(&self) -> String {
        let differs = self.comparison.differs.map(|why| format!(" What it does more: {why}."));
        format!("{}{}", self.comparison.does, differs.unwrap_or_default())
    }
}

/// Prints an aligned table, and below it what each tool does differently.
pub fn table(rows: &[ToolRow<'_>], not_run: &[String]) {
    for line in aligned(rows).lines() {
        println!("{line}");
    }
    println!("\nTimes are of one operation: a round trip, a request or a block.");
    let mut said = Vec::new();
    for row in rows {
        let text = format!("{} ({}): {}", row.comparison.tool.name, row.comparison.measured, row.remarks());
        if !said.contains(&text) {
            print_wrapped(&text);
            said.push(text);
        }
    }
    for row in rows {
        if let Some(failure) = row.failure {
            print_wrapped(&format!("failed: {}: {failure}", row.name()));
        }
    }
    for reason in not_run {
        print_wrapped(&format!("not run: {reason}"));
    }
}

fn aligned(rows: &[ToolRow<'_>]) -> TextTable<7> {
    TextTable { header: HEADER, numbers: 3..5, rows: rows.iter().map(ToolRow::cells).collect() }
}

/// Prints lines of a Markdown table.
pub fn markdown(rows: &[ToolRow<'_>], not_run: &[String]) {
    println!("| {} | what the tool does differently |", HEADER.join(" | "));
    println!("|{}", "---|".repeat(HEADER.len() + 1));
    for row in rows {
        let remarks = row.failure.map_or_else(|| row.remarks(), |failure| failure.replace(['|', '\n'], " "));
        println!("| {} | {remarks} |", row.cells().join(" | "));
    }
    for reason in not_run {
        println!("| not run: {reason} {}", "| ".repeat(HEADER.len() + 1).trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::super::comparisons::COMPARISONS;
    use super::*;
    use crate::table::{WIDTH, wrapped};

    fn rows() -> Vec<ToolRow<'static>> {
        let ratio = Interval { median: 0.0, bounds: Some((f64::ln(0.123), f64::ln(12.345))) };
        let row = |comparison, placement| ToolRow {
            comparison,
            placement,
            theirs: Some(12_345.6),
            ours: Some(123_456.7),
            ratio: Some(ratio),
            verdict: BenchVerdict::Explained,
            failure: None,
        };
        let all = COMPARISONS.iter().flat_map(|comparison| {
            comparison.placements.iter().map(move |&placement| (comparison, placement))
        });
        all.map(|(comparison, placement)| row(comparison, placement)).collect()
    }

    #[test]
    fn the_table_fits_a_terminal_of_100_columns() {
        for line in aligned(&rows()).lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn sentences_wrap_within_the_width_and_lose_no_word() {
        for row in rows() {
            let text = row.remarks();
            let lines = wrapped(&text);
            assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:?}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&lines.join(" ")), words(&text));
        }
    }
}
