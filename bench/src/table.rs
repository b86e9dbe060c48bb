//! Tables of figures, for a terminal and as Markdown.

use std::ops::Range;

use ipcost_stats::Interval;

/// Columns of the terminal that sentences may take.
pub const WIDTH: usize = 100;

/// A table whose columns are as wide as what they hold.
pub struct TextTable<const N: usize> {
    pub header: [&'static str; N],
    /// The columns of numbers, which are aligned to the right.
    pub numbers: Range<usize>,
    pub rows: Vec<[String; N]>,
}

impl<const N: usize> TextTable<N> {
    pub fn lines(&self) -> Vec<String> {
        let header = self.header.map(str::to_owned);
        let all: Vec<&[String; N]> = std::iter::once(&header).chain(&self.rows).collect();
        let length = |cell: &String| cell.chars().count();
        let widths: Vec<usize> = (0..N)
            .map(|column| all.iter().map(|cells| length(&cells[column])).max().unwrap_or_default())
            .collect();
        let line = |cells: &&[String; N]| {
            let padded = cells.iter().enumerate().map(|(column, cell)| {
                let width = widths[column];
                if self.numbers.contains(&column) {
                    format!("{cell:>width$}")
                } else {
                    format!("{cell:<width$}")
                }
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        all.iter().map(line).collect()
    }

    /// Its lines as Markdown.
    pub fn markdown(&self) -> Vec<String> {
        let line = |cells: &[String; N]| format!("| {} |", cells.join(" | "));
        let header = [line(&self.header.map(str::to_owned)), format!("|{}", "---|".repeat(N))];
        header.into_iter().chain(self.rows.iter().map(line)).collect()
    }
}

/// A quotient with its interval, which is open after a few turns.
pub fn quotient(ratio: &Interval) -> String {
    let bounds =
        ratio.bounds.map_or_else(|| "–".to_owned(), |(lo, hi)| format!("{:.2}–{:.2}", lo.exp(), hi.exp()));
    format!("{:.2} ({bounds})", ratio.median.exp())
}

pub fn print_wrapped(text: &str) {
    for line in wrapped(text) {
        println!("{line}");
    }
}

/// Lines of at most [`WIDTH`] columns, all but the first indented.
pub fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("  {word}"));
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
