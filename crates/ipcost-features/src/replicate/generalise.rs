//! From what is decided field by field of a table to what is said of all of it: along an ordered factor, over conditions, and what it
//! depends on. Pure: it knows words and values, and neither transports nor sizes.

use super::compared::Settings;
use ipcost_model::ClaimVerdict;

/// A field of a table: what is known there, and the least and the largest value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Known {
    pub(super) word: ClaimVerdict,
    pub(super) values: (f64, f64),
}

impl Known {
    /// What two fields say that do not contradict one another: a difference that matters in one of them is one.
    fn with(self, other: Self) -> Self {
        let (mine, others) = (self.values, other.values);
        match (is_decided(self.word), is_decided(other.word)) {
            (true, false) => self,
            (false, true) => other,
            _ => Self {
                word: if self.word == ClaimVerdict::NoDifference { other.word } else { self.word },
                values: (mine.0.min(others.0), mine.1.max(others.1)),
            },
        }
    }
}

/// Rows along one ordered factor, the least first, and conditions as columns. A field is `None` where nothing was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Grid {
    /// What orders the rows, such as `size`.
    pub(super) factor: &'static str,
    /// Whether the values are ratios, of which it matters on which side of 1 they lie.
    pub(super) is_ratio: bool,
    /// Fields by row, then by column.
    pub(super) rows: Vec<Vec<Option<Known>>>,
}

/// Neighbouring rows of which the same is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Segment {
    pub(super) word: ClaimVerdict,
    /// The first of its rows, and the last.
    pub(super) rows: (usize, usize),
    /// Rows between them that are open: their neighbours on both sides agree.
    pub(super) bridged: Vec<usize>,
    /// The least and the largest value of what is decided.
    pub(super) values: (f64, f64),
}

/// What conditions that do not contradict one another say along the rows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    /// The conditions, as columns.
    pub(super) columns: Vec<usize>,
    /// In the order of the rows.
    pub(super) segments: Vec<Segment>,
    /// Rows of which none of them knows anything, and that nothing bridges.
    pub(super) open: Vec<usize>,
}

fn is_decided(word: ClaimVerdict) -> bool {
    matches!(word, ClaimVerdict::Holds | ClaimVerdict::Fails | ClaimVerdict::NoDifference)
}

/// Ratios that differ from 1 by more than this lie on one side of it.
const SIDE: f64 = 0.05;

/// Whether two decided fields say the contrary of one another: what is no difference that matters does not hold either.
fn contradict(a: ClaimVerdict, b: ClaimVerdict) -> bool {
    is_decided(a) && is_decided(b) && (a == ClaimVerdict::Holds) != (b == ClaimVerdict::Holds)
}

impl Grid {
    fn decided(&self, row: usize, column: usize) -> Option<Known> {
        self.rows[row].get(column).copied().flatten().filter(|known| is_decided(known.word))
    }

    /// Whether two fields are said apart: they contradict one another, or one costs less and the other more, whatever that means for
    /// a claim.
    fn is_apart(&self, a: Known, b: Known) -> bool {
        let sides = |below: Known, above: Known| below.values.1 < 1.0 - SIDE && above.values.0 > 1.0 + SIDE;
        let both = is_decided(a.word) && is_decided(b.word);
        contradict(a.word, b.word) || (self.is_ratio && both && (sides(a, b) || sides(b, a)))
    }

    fn columns(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or_default()
    }

    /// What is known of a row under some conditions, which do not contradict one another.
    fn row(&self, row: usize, columns: &[usize]) -> Option<Known> {
        columns.iter().filter_map(|column| self.decided(row, *column)).reduce(Known::with)
    }

    /// The fields of two tables of the same rows and columns as one table; `None` where they contradict one another, or only one of
    /// them knows anything of a row: nothing is said of what is open.
    pub(super) fn with(&self, other: &Self) -> Option<Self> {
        let knows = |grid: &Self, row: usize| (0..grid.columns()).any(|at| grid.decided(row, at).is_some());
        if (0..self.rows.len()).any(|row| knows(self, row) != knows(other, row)) {
            return None;
        }
        let field = |pair: (&Option<Known>, &Option<Known>)| match pair {
            (Some(a), Some(b)) if self.is_apart(*a, *b) => None,
            (Some(a), Some(b)) => Some(Some(a.with(*b))),
            (one, other) => Some(one.or(*other)),
        };
        let row = |(a, b): (&Vec<Option<Known>>, &Vec<Option<Known>>)| -> Option<Vec<Option<Known>>> {
            a.iter().zip(b).map(field).collect()
        };
        let rows = self.rows.iter().zip(&other.rows).map(row).collect::<Option<_>>()?;
        Some(Self { rows, ..self.clone() })
    }
}

/// What is said of a table: as few statements as there are sets of conditions that do not contradict one another, the largest first.
/// Conditions under which everything is open say nothing.
pub(super) fn statements(grid: &Grid) -> Vec<Statement> {
    let rows = 0..grid.rows.len();
    let agree = |a: usize, b: usize| {
        let pair = |row| grid.decided(row, a).zip(grid.decided(row, b));
        rows.clone().filter_map(pair).all(|(a, b)| !grid.is_apart(a, b))
    };
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for column in 0..grid.columns() {
        if rows.clone().all(|row| grid.decided(row, column).is_none()) {
            continue;
        }
        match sets.iter_mut().find(|set| set.iter().all(|other| agree(*other, column))) {
            Some(set) => set.push(column),
            None => sets.push(vec![column]),
        }
    }
    sets.sort_by_key(|set| std::cmp::Reverse(set.len()));
    sets.into_iter().map(|columns| statement(grid, columns)).collect()
}

fn statement(grid: &Grid, columns: Vec<usize>) -> Statement {
    let mut segments: Vec<Segment> = Vec::new();
    let mut open = Vec::new();
    // Open rows since the last decided one.
    let mut gap = Vec::new();
    for row in 0..grid.rows.len() {
        let Some(known) = grid.row(row, &columns) else {
            gap.push(row);
            continue;
        };
        let Known { word, values } = known;
        let goes_on = |segment: &&mut Segment| {
            let so_far = Known { word: segment.word, values: segment.values };
            segment.word == word && !grid.is_apart(so_far, known)
        };
        match segments.last_mut().filter(goes_on) {
            Some(segment) => {
                segment.bridged.append(&mut gap);
                segment.rows.1 = row;
                segment.values = (segment.values.0.min(values.0), segment.values.1.max(values.1));
            }
            None => {
                open.append(&mut gap);
                segments.push(Segment { word, rows: (row, row), bridged: Vec::new(), values });
            }
        }
    }
    open.append(&mut gap);
    Statement { columns, segments, open }
}

/// What the word of a claim depends on: along rows, and from one condition to another that differs from it in one setting. What
/// tells most contradicting pairs of fields apart comes first.
pub(super) fn factors(grids: &[Grid], settings: &[Settings]) -> Vec<String> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut add = |name: &str, pairs: usize| match found.iter_mut().find(|(known, _)| known == name) {
        Some((_, count)) => *count += pairs,
        None if pairs > 0 => found.push((name.to_owned(), pairs)),
        None => {}
    };
    for grid in grids {
        let (rows, columns) = (grid.rows.len(), grid.columns());
        let differ = |(a, column_a): (usize, usize), (b, column_b): (usize, usize)| {
            let pair = grid.decided(a, column_a).zip(grid.decided(b, column_b));
            pair.is_some_and(|(a, b)| contradict(a.word, b.word))
        };
        for column in 0..columns {
            let pairs = (0..rows).flat_map(|a| (a + 1..rows).map(move |b| (a, b)));
            add(grid.factor, pairs.filter(|(a, b)| differ((*a, column), (*b, column))).count());
        }
        for (a, b) in (0..columns).flat_map(|a| (a + 1..columns).map(move |b| (a, b))) {
            if let Some(setting) = only_difference(&settings[a], &settings[b]) {
                add(setting, (0..rows).filter(|row| differ((*row, a), (*row, b))).count());
            }
        }
    }
    found.sort_by_key(|(_, pairs)| std::cmp::Reverse(*pairs));
    found.into_iter().map(|(name, _)| name).collect()
}

/// The one setting in which two conditions differ.
fn only_difference<'a>(a: &'a Settings, b: &'a Settings) -> Option<&'a str> {
    let set = |one: &'a Settings, other: &'a Settings| {
        one.iter().filter(|(name, value)| other.get(*name) != Some(*value)).map(|(name, _)| name.as_str())
    };
    let mut differing: Vec<&str> = set(a, b).chain(set(b, a)).collect();
    differing.sort_unstable();
    differing.dedup();
    match differing[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// The rows of a table as they are shown: neighbours of which the same is known in every column are one.
pub(super) fn merged(grid: &Grid) -> Vec<(usize, usize)> {
    let words = |row: usize| -> Vec<Option<ClaimVerdict>> {
        (0..grid.columns()).map(|column| grid.rows[row].get(column)?.map(|known| known.word)).collect()
    };
    let mut found: Vec<(usize, usize)> = Vec::new();
    for row in 0..grid.rows.len() {
        match found.last_mut() {
            Some(last) if words(last.0) == words(row) => last.1 = row,
            _ => found.push((row, row)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table in letters, one word a condition: `h` holds, `f` fails, `s` no difference, `o` open, `-` not measured. The
    /// value of a field is the number of its row.
    fn grid(columns: &[&str]) -> Grid {
        let field = |row: usize, letters: &str| {
            let word = match letters.as_bytes()[row] {
                b'h' => ClaimVerdict::Holds,
                b'f' => ClaimVerdict::Fails,
                b's' => ClaimVerdict::NoDifference,
                b'o' => ClaimVerdict::Open,
                _ => return None,
            };
            Some(Known { word, values: (row as f64, row as f64) })
        };
        let row = |row| columns.iter().map(|letters| field(row, letters)).collect();
        Grid { factor: "size", is_ratio: false, rows: (0..columns[0].len()).map(row).collect() }
    }

    /// `0+1: h0-1 (0) f3`: conditions, segments with what they bridge, and what is open.
    fn said(columns: &[&str]) -> Vec<String> {
        let rows = |(first, last): (usize, usize)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        let list = |rows: &[usize]| rows.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        let segment = |segment: &Segment| {
            let bridged = if segment.bridged.is_empty() {
                String::new()
            } else {
                format!("({})", list(&segment.bridged))
            };
            format!(" {}{}{bridged}", &segment.word.name()[..1], rows(segment.rows))
        };
        let one = |it: &Statement| {
            let open = if it.open.is_empty() { String::new() } else { format!(" ?{}", list(&it.open)) };
            let columns = list(&it.columns).replace(',', "+");
            format!("{columns}:{}{open}", it.segments.iter().map(segment).collect::<String>())
        };
        statements(&grid(columns)).iter().map(one).collect()
    }

    #[test]
    fn a_sign_that_changes_once_is_said_from_where_to_where() {
        assert_eq!(said(&["hhfff"]), ["0: h0-1 f2-4"]);
        assert_eq!(said(&["hhhhh"]), ["0: h0-4"]);
        assert_eq!(said(&["hofff"]), ["0: h0 f2-4 ?1"], "the gap lies between two answers");
        assert_eq!(said(&["oofoo"]), ["0: f2 ?0,1,3,4"], "nothing is said beyond what is known");
    }

    #[test]
    fn open_gaps_are_bridged_where_both_sides_agree_and_named() {
        assert_eq!(said(&["hohoh"]), ["0: h0-4(1,3)"]);
        assert_eq!(said(&["hoohf"]), ["0: h0-3(1,2) f4"]);
        assert_eq!(said(&["hoo"]), ["0: h0 ?1,2"], "an open end is no gap");
        assert_eq!(said(&["h--h"]), ["0: h0-3(1,2)"], "what was not measured is not known either");
    }

    #[test]
    fn conditions_that_do_not_contradict_are_said_together() {
        assert_eq!(
            said(&["hofoo", "hhoff", "hoffo", "hhoof", "fffoo"]),
            ["0+1+2+3: h0-1 f2-4", "4: f0-2 ?3,4"]
        );
        assert_eq!(said(&["oo", "hf"]), ["1: h0 f1"], "all that is open says nothing");
        assert_eq!(said(&["sf", "fs"]), ["0+1: f0-1"], "neither holds");
        assert_eq!(said(&["h", "s"]), ["0: h0", "1: n0"]);
        assert!(said(&["ooo"]).is_empty());
        assert!(statements(&Grid::default()).is_empty());
    }

    #[test]
    fn values_are_those_of_what_is_decided() {
        let found = statements(&grid(&["ohhoh"]));
        assert_eq!(found[0].segments[0].values, (1.0, 4.0));
        let mut wild = grid(&["hoh"]);
        wild.rows[1][0] = Some(Known { word: ClaimVerdict::Open, values: (1e6, 1e6) });
        assert_eq!(statements(&wild)[0].segments[0].values, (0.0, 2.0), "what is open may be anything");
    }

    #[test]
    fn tables_that_do_not_contradict_are_one() {
        let of = |a: &str, b: &str| grid(&[a]).with(&grid(&[b]));
        assert_eq!(of("ho", "ho"), Some(grid(&["ho"])));
        assert_eq!(of("ho", "hh"), None, "of the second nothing is known of one, and so of both");
        assert_eq!(of("sf", "ff"), Some(grid(&["ff"])));
        assert_eq!(of("hh", "hf"), None);
    }

    #[test]
    fn ratios_on_either_side_of_1_are_said_apart_though_both_fail() {
        let mut both = grid(&["fff"]);
        both.is_ratio = true;
        for (row, value) in [1.5, 2.0, 0.6].into_iter().enumerate() {
            both.rows[row][0] = Some(Known { word: ClaimVerdict::Fails, values: (value, value) });
        }
        let segments = &statements(&both)[0].segments;
        assert_eq!(segments.iter().map(|it| it.values).collect::<Vec<_>>(), [(1.5, 2.0), (0.6, 0.6)]);
    }

    fn set(all: &[(&str, &str)]) -> Settings {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_word_depends_on_what_contradicting_fields_differ_in() {
        let (published, one, two) =
            (set(&[]), set(&[("placement", "together")]), set(&[("placement", "apart")]));
        let both = set(&[("placement", "apart"), ("tcp_nodelay", "true")]);
        let settings = [published, one, two, both];
        let of = |columns: &[&str]| factors(&[grid(columns)], &settings);
        assert_eq!(of(&["hf", "hf", "hf", "hf"]), ["size"]);
        assert_eq!(of(&["oo", "hh", "ff", "ff"]), ["placement"]);
        assert_eq!(of(&["oo", "oo", "hh", "ff"]), ["tcp_nodelay"]);
        assert_eq!(of(&["hf", "hf", "hf", "ff"]), ["size", "tcp_nodelay"], "what tells most comes first");
        assert!(of(&["ho", "ho", "oh", "oh"]).is_empty(), "nothing contradicts");
        assert!(
            factors(&[grid(&["h"]), grid(&["f"])], &settings[..1]).is_empty(),
            "of two things, each is so"
        );
    }

    #[test]
    fn neighbours_that_agree_in_every_column_are_one_row() {
        assert_eq!(merged(&grid(&["hhho", "oofo"])), [(0, 1), (2, 2), (3, 3)]);
        assert_eq!(merged(&grid(&["hhhh"])), [(0, 3)]);
        assert!(merged(&Grid::default()).is_empty());
    }
}
