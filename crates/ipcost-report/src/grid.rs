//! Aligned columns, coloured or not.

use anstyle::Style;
use ipcost_model::escaped;
use unicode_width::UnicodeWidthStr;

use crate::page::Column;
use crate::wrap::{folded, longest_part};

/// The space between columns.
const GUTTER: usize = 2;
/// A column is folded into no less than this.
const LEAST_FOLDED: usize = 14;

/// A table whose columns are as wide as what they hold.
#[derive(Debug)]
pub struct Grid<'a> {
    pub columns: &'a [Column],
    /// Text with its style, in every column; what a terminal would obey in it is escaped.
    pub rows: Vec<Vec<(String, Style)>>,
    /// Whether columns are shown that are for those who ask for details.
    pub details: bool,
    /// The columns after the first are so many groups of the same ones: what is left out of one is left out of all.
    pub sides: usize,
}

impl Grid<'_> {
    /// How wide every column is, and how narrow it may become: titles fold, and cells of columns that say so. Computed once for all rows:
    /// there may be thousands.
    fn widths(&self) -> (Vec<usize>, Vec<usize>) {
        let of_column = |(index, column): (usize, &Column)| {
            let cells = self.rows.iter().map(|row| row[index].0.width()).max().unwrap_or(0);
            let title = escaped(&column.title).width();
            let least = if column.folds { cells.min(LEAST_FOLDED) } else { cells };
            (cells.max(title), least.max(title.min(LEAST_FOLDED)))
        };
        self.columns.iter().enumerate().map(of_column).unzip()
    }

    /// The columns that have something to show.
    fn shown(&self) -> Vec<usize> {
        let empty = |index: usize| self.rows.iter().all(|row| row[index].0.is_empty());
        let hidden = |index: usize| self.columns[index].details && !self.details;
        (0..self.columns.len()).filter(|index| !empty(*index) && !hidden(*index)).collect()
    }

    /// The width without the columns that are more expendable than this.
    pub fn width_up_to(&self, expendable: u8) -> usize {
        let (widths, _) = self.widths();
        let kept = self.shown().into_iter().filter(|index| self.columns[*index].expendable <= expendable);
        kept.map(|index| widths[index] + GUTTER).sum::<usize>().saturating_sub(GUTTER)
    }

    /// Writes it out in at most `room` columns of text, as far as folding titles and cells and leaving out columns allow.
    pub fn render(&self, out: &mut String, room: usize) {
        let (mut widths, mut least) = self.widths();
        let mut shown = self.shown();
        let total = |widths: &[usize], shown: &[usize]| {
            shown.iter().map(|index| widths[*index] + GUTTER).sum::<usize>().saturating_sub(GUTTER)
        };
        while total(&least, &shown) > room {
            let candidates = shown.iter().filter(|index| self.columns[**index].expendable > 0);
            let Some(least) = candidates.max_by_key(|index| self.columns[**index].expendable).copied() else {
                break;
            };
            let width = ((self.columns.len() - 1) / self.sides.max(1)).max(1);
            let is_twin = |index: usize| index > 0 && least > 0 && (index - 1) % width == (least - 1) % width;
            let goes = |index: &usize| *index == least || (self.sides > 1 && is_twin(*index));
            shown.retain(|index| !goes(index));
        }
        // At last every cell of text takes as many lines as it has words.
        for index in shown.iter().copied().filter(|index| !self.columns[*index].right) {
            if total(&least, &shown) <= room {
                break;
            }
            let words = self.rows.iter().map(|row| longest_part(&row[index].0)).max().unwrap_or(0);
            let titles = longest_part(&escaped(&self.columns[index].title));
            least[index] = least[index].min(words.max(titles));
        }
        while total(&widths, &shown) > room {
            let folds = |index: &&usize| widths[**index] > least[**index];
            let Some(widest) = shown.iter().filter(folds).max_by_key(|index| widths[**index]) else { break };
            widths[*widest] -= 1;
        }
        let title = |column: &Column| (escaped(&column.title), Style::new().dimmed());
        let titles = self.columns.iter().map(title).collect();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let cells: Vec<Vec<String>> =
                shown.iter().map(|index| folded(&row[*index].0, widths[*index])).collect();
            for place in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut line = String::new();
                for (index, lines) in shown.iter().zip(&cells) {
                    let text = lines.get(place).map_or("", String::as_str);
                    let style = row[*index].1;
                    let space = " ".repeat(widths[*index].saturating_sub(text.width()));
                    let text =
                        if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") };
                    let (before, after) = match self.columns[*index].right {
                        true => (space, String::new()),
                        false => (String::new(), space),
                    };
                    line.push_str(&format!("{before}{text}{after}{}", " ".repeat(GUTTER)));
                }
                out.push_str(line.trim_end());
                out.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(columns: &[Column], rows: &[&[&str]], room: usize) -> String {
        let row = |row: &&[&str]| row.iter().map(|text| ((*text).to_owned(), Style::new())).collect();
        let rows = rows.iter().map(row).collect();
        let mut out = String::new();
        Grid { columns, rows, details: false, sides: 0 }.render(&mut out, room);
        out.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "")
    }

    fn rendered(room: usize) -> String {
        let columns = [Column::text("name"), Column::number("µs").dropped(1), Column::text("note")];
        drawn(&columns, &[&["pipe", "7.1", "a–b"], &["unix-abstract", "16", ""]], room)
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(rendered(80), "name            µs  note\npipe           7.1  a–b\nunix-abstract   16\n");
    }

    #[test]
    fn what_is_expendable_goes_first() {
        assert_eq!(rendered(19), "name           note\npipe           a–b\nunix-abstract\n");
    }

    #[test]
    fn titles_and_names_fold_before_a_column_goes() {
        let columns = [
            Column::text("request").folded(),
            Column::number("rr/tcp/200/c1/writes=2,nodelay=false").dropped(1),
        ];
        let drawn = |room| drawn(&columns, &[&["PING, a connection for each", "93.0 µs"]], room);
        assert_eq!(
            drawn(40),
            "request                   rr/tcp/200/c1/\n                               writes=2,\n                           nodelay=false\nPING, a connection               93.0 µs\nfor each\n"
        );
        assert_eq!(drawn(20), "request\nPING, a connection\nfor each\n");
    }
}
