//! Aligned columns, coloured or not.

use anstyle::Style;
use ipcost_model::{escaped, is_invisible};
use unicode_width::UnicodeWidthStr;

use crate::wrap::folded;

/// The space between columns.
const GUTTER: usize = 2;
/// A column is folded into no less than this.
const LEAST_FOLDED: usize = 14;

/// A piece of text with a style.
#[derive(Debug, Clone, Default)]
pub struct Piece {
    text: String,
    style: Style,
}

impl Piece {
    /// Text in a style; what a terminal would obey in it is escaped.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        let text = text.into();
        let text = if text.contains(is_invisible) { escaped(&text) } else { text };
        Self { text, style }
    }
}

impl<T: Into<String>> From<T> for Piece {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

#[derive(Debug, Clone, Copy)]
pub struct GridColumn {
    /// What stands above it.
    pub title: &'static str,
    /// Whether it is aligned to the right, as numbers are.
    pub right: bool,
    /// In which order columns are left out where the room is short; 0 stays always.
    pub expendable: u8,
    /// Whether its cells may take several lines where the room is short.
    pub folds: bool,
}

impl GridColumn {
    /// A column with this title, aligned to the right or not, left out in this order.
    pub const fn new(title: &'static str, right: bool, expendable: u8) -> Self {
        Self { title, right, expendable, folds: false }
    }
}

/// A table whose columns are as wide as what they hold.
#[derive(Debug, Default)]
pub struct Grid {
    columns: Vec<GridColumn>,
    titles: Vec<String>,
    rows: Vec<Vec<Piece>>,
    hidden: Vec<usize>,
    /// The columns after the first are so many groups of the same ones.
    sides: usize,
}

impl Grid {
    /// A table with these columns.
    pub fn new(columns: &[GridColumn]) -> Self {
        let titles = columns.iter().map(|column| column.title.to_owned()).collect();
        Self { columns: columns.to_vec(), titles, ..Self::default() }
    }

    /// Gives a column another title.
    pub fn title(&mut self, column: usize, title: String) {
        self.titles[column] = escaped(&title);
    }

    /// Leaves a column out whatever the room.
    pub fn hide(&mut self, column: usize) {
        self.hidden.push(column);
    }

    /// Takes the columns after the first for so many groups of the same ones: what is left out of one is left out of all.
    pub fn side_by_side(&mut self, sides: usize) {
        self.sides = sides;
    }

    /// Adds a row; cells that are missing at its end are empty.
    pub fn row(&mut self, mut pieces: Vec<Piece>) {
        pieces.resize(self.columns.len(), Piece::default());
        self.rows.push(pieces);
    }

    /// How wide every column is, and how narrow it may become: titles fold, and cells of columns that say so. Computed once for all rows:
    /// there may be thousands.
    fn widths(&self) -> (Vec<usize>, Vec<usize>) {
        let of_column = |(index, column): (usize, &GridColumn)| {
            let cells = self.rows.iter().map(|row| row[index].text.width()).max().unwrap_or(0);
            let title = self.titles[index].width();
            let least = if column.folds { cells.min(LEAST_FOLDED) } else { cells };
            (cells.max(title), least.max(title.min(LEAST_FOLDED)))
        };
        self.columns.iter().enumerate().map(of_column).unzip()
    }

    /// The columns that have something to show.
    fn shown(&self) -> Vec<usize> {
        let empty = |index: usize| self.rows.iter().all(|row| row[index].text.is_empty());
        (0..self.columns.len()).filter(|index| !empty(*index) && !self.hidden.contains(index)).collect()
    }

    /// The width without the columns that are more expendable than this.
    pub fn width_up_to(&self, expendable: u8) -> usize {
        let (widths, _) = self.widths();
        let kept = self.shown().into_iter().filter(|index| self.columns[*index].expendable <= expendable);
        kept.map(|index| widths[index] + GUTTER).sum::<usize>().saturating_sub(GUTTER)
    }

    /// Writes it out in at most `room` columns of text, as far as folding titles and cells and leaving out columns allow.
    pub fn render(&self, out: &mut String, room: usize) {
        let (mut widths, least) = self.widths();
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
        while total(&widths, &shown) > room {
            let folds = |index: &&usize| widths[**index] > least[**index];
            let Some(widest) = shown.iter().filter(folds).max_by_key(|index| widths[**index]) else { break };
            widths[*widest] -= 1;
        }
        let dimmed = Style::new().dimmed();
        let titles: Vec<Piece> =
            self.titles.iter().map(|title| Piece::styled(title.as_str(), dimmed)).collect();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let cells: Vec<Vec<String>> =
                shown.iter().map(|index| folded(&row[*index].text, widths[*index])).collect();
            for place in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let mut line = String::new();
                for (index, lines) in shown.iter().zip(&cells) {
                    let text = lines.get(place).map_or("", String::as_str);
                    let style = row[*index].style;
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

    const COLUMNS: [GridColumn; 3] = [
        GridColumn::new("name", false, 0),
        GridColumn::new("µs", true, 1),
        GridColumn::new("note", false, 0),
    ];

    fn rendered(room: usize) -> String {
        let mut grid = Grid::new(&COLUMNS);
        grid.row(vec!["pipe".into(), "7.1".into(), "a–b".into()]);
        grid.row(vec!["unix-abstract".into(), "16".into()]);
        let mut out = String::new();
        grid.render(&mut out, room);
        out.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "")
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
            GridColumn { folds: true, ..GridColumn::new("request", false, 0) },
            GridColumn::new("", true, 1),
        ];
        let mut grid = Grid::new(&columns);
        grid.title(1, "rr/tcp/200/c1/writes=2,nodelay=false".to_owned());
        grid.row(vec!["PING, a connection for each".into(), "93.0 µs".into()]);
        let drawn = |room| {
            let mut out = String::new();
            grid.render(&mut out, room);
            out.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "")
        };
        assert_eq!(
            drawn(40),
            "request                   rr/tcp/200/c1/\n                               writes=2,\n                           nodelay=false\nPING, a connection               93.0 µs\nfor each\n"
        );
        assert_eq!(drawn(20), "request\nPING, a connection\nfor each\n");
    }
}
