//! From what is decided field by field of a table to what is said of all of it: along an ordered factor, over conditions, and what it
//! depends on. Pure: it knows words and values, and neither transports nor sizes.

use super::compared::ConditionSettings;
use ipcost_model::ClaimVerdict;

/// A field of a table: what is known there, and the least and the largest value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FieldRange {
    pub(super) word: ClaimVerdict,
    pub(super) values: (f64, f64),
}

impl FieldRange {
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
pub(super) struct FieldGrid {
    /// What orders the rows, such as `size`.
    pub(super) factor: &'static str,
    /// Whether the values are ratios, of which it matters on which side of 1 they lie.
    pub(super) is_ratio: bool,
    /// Fields by row, then by column.
    pub(super) rows: Vec<Vec<Option<FieldRange>>>,
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
    /// Those of the conditions that are open somewhere between, and point the other way there.
    pub(super) doubtful: Vec<usize>,
}

fn is_decided(word: ClaimVerdict) -> bool {
    matches!(word, ClaimVerdict::Holds | ClaimVerdict::Fails | ClaimVerdict::NoDifference)
}

/// Ratios that differ from 1 by more than this lie on one side of it.
const SIDE: f64 = 0.05;

/// Whether two decided fields say the contrary of one another: one holds, the other does not, and their intervals are apart. Where they
/// are not, both may have one value.
fn contradict(a: FieldRange, b: FieldRange) -> bool {
    let overlap = a.values.0 <= b.values.1 && b.values.0 <= a.values.1;
    let holds = |known: FieldRange| known.word == ClaimVerdict::Holds;
    is_decided(a.word) && is_decided(b.word) && holds(a) != holds(b) && !overlap
}

/// What is known of a claim by the fields of its tables, a list for each thing that is compared. It depends if two fields contradict one another,
/// or if it fails for one thing and holds for another. Fields that are open take nothing from what is known of others.
pub(super) fn word_of(parts: &[Vec<FieldRange>]) -> ClaimVerdict {
    use ClaimVerdict::{Depends, Fails, Holds, NoDifference, NotTested, Open};
    let has = |word: ClaimVerdict| parts.iter().flatten().any(|known| known.word == word);
    match () {
        () if has(Depends) || parts.iter().any(|part| contradicts_itself(part)) => Depends,
        () if has(Holds) && has(Fails) => Depends,
        () if has(Holds) => Holds,
        () if has(Fails) => Fails,
        () if has(NoDifference) => NoDifference,
        () if has(Open) => Open,
        () => NotTested,
    }
}

/// Whether two of these fields contradict one another. A stranger's file may have many: the ends of intervals tell.
fn contradicts_itself(part: &[FieldRange]) -> bool {
    let ends = |holds: bool| {
        let mine = part
            .iter()
            .filter(|known| is_decided(known.word) && (known.word == ClaimVerdict::Holds) == holds);
        mine.map(|known| known.values)
            .reduce(|(lo, hi), (other_lo, other_hi)| (lo.max(other_lo), hi.min(other_hi)))
    };
    let (yes, no) = (ends(true), ends(false));
    yes.zip(no).is_some_and(|(yes, no)| !(yes.0 <= no.1 && no.0 <= yes.1))
}

impl FieldGrid {
    fn decided(&self, row: usize, column: usize) -> Option<FieldRange> {
        self.rows[row].get(column).copied().flatten().filter(|known| is_decided(known.word))
    }

    /// Whether two fields are said apart: they contradict one another, or one costs less and the other more, whatever that means for
    /// a claim.
    fn is_apart(&self, a: FieldRange, b: FieldRange) -> bool {
        let sides =
            |below: FieldRange, above: FieldRange| below.values.1 < 1.0 - SIDE && above.values.0 > 1.0 + SIDE;
        let both = is_decided(a.word) && is_decided(b.word);
        contradict(a, b) || (self.is_ratio && both && (sides(a, b) || sides(b, a)))
    }

    fn columns(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or_default()
    }

    /// What is known of a row under some conditions, which do not contradict one another.
    fn row(&self, row: usize, columns: &[usize]) -> Option<FieldRange> {
        columns.iter().filter_map(|column| self.decided(row, *column)).reduce(FieldRange::with)
    }

    /// The fields of two tables of the same rows and columns as one table; `None` where they contradict one another, or only one of
    /// them knows anything of a row: nothing is said of what is open.
    pub(super) fn with(&self, other: &Self) -> Option<Self> {
        let knows = |grid: &Self, row: usize| (0..grid.columns()).any(|at| grid.decided(row, at).is_some());
        if (0..self.rows.len()).any(|row| knows(self, row) != knows(other, row)) {
            return None;
        }
        let field = |pair: (&Option<FieldRange>, &Option<FieldRange>)| match pair {
            (Some(a), Some(b)) if self.is_apart(*a, *b) => None,
            (Some(a), Some(b)) => Some(Some(a.with(*b))),
            (one, other) => Some(one.or(*other)),
        };
        let row = |(a, b): (&Vec<Option<FieldRange>>, &Vec<Option<FieldRange>>)| -> Option<Vec<Option<FieldRange>>> {
            a.iter().zip(b).map(field).collect()
        };
        let rows = self.rows.iter().zip(&other.rows).map(row).collect::<Option<_>>()?;
        Some(Self { rows, ..self.clone() })
    }
}

/// What is said of a table: as few statements as there are sets of conditions that do not contradict one another, the largest first.
/// Conditions under which everything is open say nothing.
pub(super) fn statements(grid: &FieldGrid) -> Vec<Statement> {
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

fn statement(grid: &FieldGrid, columns: Vec<usize>) -> Statement {
    let mut segments: Vec<Segment> = Vec::new();
    let mut open = Vec::new();
    // Open rows since the last decided one.
    let mut gap = Vec::new();
    for row in 0..grid.rows.len() {
        let Some(known) = grid.row(row, &columns) else {
            gap.push(row);
            continue;
        };
        let FieldRange { word, values } = known;
        let goes_on = |segment: &&mut Segment| {
            let so_far = FieldRange { word: segment.word, values: segment.values };
            segment.word == word && !grid.is_apart(so_far, known)
        };
        let segment = segments.last_mut().filter(goes_on);
        let agrees =
            |segment: &&mut Segment| gap.iter().all(|row| points(grid, *row, &columns, segment.values));
        match segment.filter(agrees) {
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
    let is_doubtful = |column: &usize| {
        let of_column = std::slice::from_ref(column);
        segments.iter().any(|it| (it.rows.0..=it.rows.1).any(|row| !points(grid, row, of_column, it.values)))
    };
    let doubtful = columns.iter().copied().filter(is_doubtful).collect();
    Statement { columns, segments, open, doubtful }
}

/// Whether what is open in a row points to the same side of 1 as these values, as far as it is a ratio.
fn points(grid: &FieldGrid, row: usize, columns: &[usize], (least, most): (f64, f64)) -> bool {
    let open = columns.iter().filter_map(|column| grid.rows[row].get(*column).copied().flatten());
    let mut open = open.filter(|known| !is_decided(known.word)).map(|known| known.values.0);
    !grid.is_ratio || !open.any(|value| (value > 1.0 && most < 1.0) || (value < 1.0 && least > 1.0))
}

/// What the word of a claim depends on: along rows, and from one condition to another that differs from it in one setting. What
/// tells most contradicting pairs of fields apart comes first.
pub(super) fn factors(grids: &[FieldGrid], settings: &[ConditionSettings]) -> Vec<String> {
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
            pair.is_some_and(|(a, b)| contradict(a, b))
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
fn only_difference<'a>(a: &'a ConditionSettings, b: &'a ConditionSettings) -> Option<&'a str> {
    let set = |one: &'a ConditionSettings, other: &'a ConditionSettings| {
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
pub(super) fn merged<T: PartialEq>(rows: &[T]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for row in 0..rows.len() {
        match found.last_mut() {
            Some(last) if rows[last.0] == rows[row] => last.1 = row,
            _ => found.push((row, row)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::level::{ClaimField, known};
    use super::*;
    use crate::claims::{Bounded, ClaimBounds};

    /// A table in letters, one word a condition: `h` holds, `f` fails, `s` no difference, `o` open, `-` not measured. The
    /// value of a field is the number of its row, and more where it does not hold.
    fn grid(columns: &[&str]) -> FieldGrid {
        let field = |row: usize, letters: &str| {
            let (word, more) = match letters.as_bytes()[row] {
                b'h' => (ClaimVerdict::Holds, 0),
                b'f' => (ClaimVerdict::Fails, 100),
                b's' => (ClaimVerdict::NoDifference, 50),
                b'o' => (ClaimVerdict::Open, 0),
                _ => return None,
            };
            let value = (row + more) as f64;
            Some(FieldRange { word, values: (value, value) })
        };
        let row = |row| columns.iter().map(|letters| field(row, letters)).collect();
        FieldGrid { factor: "size", is_ratio: false, rows: (0..columns[0].len()).map(row).collect() }
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
        assert!(statements(&FieldGrid::default()).is_empty());
    }

    #[test]
    fn a_word_follows_from_fields_and_contradiction_takes_intervals_that_are_apart() {
        use ClaimVerdict::{Depends, Fails, Holds, NoDifference, NotTested, Open};
        let of = |all: &[(ClaimVerdict, f64, f64)]| {
            word_of(&[all
                .iter()
                .map(|(word, lo, hi)| FieldRange { word: *word, values: (*lo, *hi) })
                .collect()])
        };
        let (yes, no, same) = ((Holds, 0.7, 0.8), (Fails, 1.2, 1.4), (NoDifference, 0.96, 1.02));
        assert_eq!(of(&[yes, (Open, 0.9, 0.9)]), Holds, "nothing says that it depends");
        assert_eq!(of(&[no, (Open, 0.9, 0.9)]), Fails);
        assert_eq!(of(&[yes, no]), Depends);
        assert_eq!(of(&[yes, same]), Depends);
        assert_eq!(of(&[(Holds, 0.94, 0.99), same]), Holds, "both may be 0.97");
        assert_eq!(of(&[no, same]), Fails);
        assert_eq!(of(&[same, (Open, 1.0, 1.0)]), NoDifference);
        assert_eq!(of(&[(Open, 1.0, 1.0)]), Open);
        assert_eq!(word_of(&[]), NotTested);
        let known = |(word, lo, hi): (ClaimVerdict, f64, f64)| vec![FieldRange { word, values: (lo, hi) }];
        assert_eq!(word_of(&[known(yes), known(no)]), Depends, "of two things it holds for one");
        assert_eq!(word_of(&[known(yes), known(same)]), Holds);
        let calls = |word| vec![FieldRange { word, values: (f64::NAN, f64::NAN) }];
        assert_eq!(word_of(&[calls(Holds), calls(Fails)]), Depends);
    }

    /// The truth is one ratio everywhere, and says so: a claim of its direction depends on nothing.
    #[test]
    fn one_ratio_under_all_conditions_depends_on_nothing() {
        let mut random = ipcost_stats::Random::new(3);
        let below = ClaimBounds { below: Some(Bounded::Strictly(1.0)), margin: Some(0.05), above: None };
        let mut depends = 0;
        for _ in 0..200 {
            let noise = 0.01 + 0.05 * random.unit();
            let fields: Vec<ClaimField> = (0..12)
                .map(|_| ClaimField {
                    start: ipcost_stats::Start::ALWAYS,
                    epochs: (1..=24).map(|epoch| (epoch, 0.97f64.ln() + noise * random.normal())).collect(),
                    is_ratio: true,
                    is_count: false,
                    claimed: below,
                    direction: None,
                })
                .collect();
            let found = known(&fields, fields.len());
            let of = |(field, epochs): (&ClaimField, &usize)| {
                let values = field.at(found.level, *epochs)?.interval?;
                Some(FieldRange { word: below.decide(Some(values)), values })
            };
            let part: Vec<FieldRange> = fields.iter().zip(&found.epochs).filter_map(of).collect();
            depends += u32::from(word_of(&[part]) == ClaimVerdict::Depends);
        }
        assert!(depends <= 10, "{depends} of 200");
    }

    #[test]
    fn what_is_open_and_points_the_other_way_is_not_spoken_for() {
        let at = |word, value: f64| Some(FieldRange { word, values: (value, value) });
        let (fails, open) = (ClaimVerdict::Fails, ClaimVerdict::Open);
        let rows = vec![
            vec![at(fails, 1.4), at(open, 1.3)],
            vec![at(open, 0.8), at(open, 1.2)],
            vec![at(fails, 2.0), at(open, 0.8)],
        ];
        let grid = FieldGrid { factor: "size", is_ratio: true, rows };
        let found = &statements(&grid)[0];
        assert_eq!((found.segments.len(), &found.open[..]), (2, &[1][..]), "no bridge over 0.8");
        let rows = vec![vec![at(fails, 1.4), at(fails, 1.5)], vec![at(fails, 2.0), at(open, 0.8)]];
        let found = &statements(&FieldGrid { rows, ..grid })[0];
        assert_eq!((&found.columns[..], &found.doubtful[..]), (&[0, 1][..], &[1][..]));
    }

    /// A table of ratios as tests of one claim make it: that they are below 1.
    fn any_grid() -> impl Strategy<Value = FieldGrid> {
        let field = proptest::option::weighted(0.9, (0.3f64..3.0, 1.0f64..1.3));
        let of = |field: Option<(f64, f64)>| {
            let (value, width) = field?;
            let values = (value / width, value * width);
            let below = ClaimBounds { below: Some(Bounded::Strictly(1.0)), margin: Some(0.05), above: None };
            let word = below.decide(Some(values));
            Some(FieldRange { word, values: if is_decided(word) { values } else { (value, value) } })
        };
        let rows = proptest::collection::vec(proptest::collection::vec(field, 4), 1..6);
        rows.prop_map(move |rows| FieldGrid {
            factor: "size",
            is_ratio: true,
            rows: rows.into_iter().map(|row| row.into_iter().map(of).collect()).collect(),
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn no_word_contradicts_its_table(grid in any_grid()) {
            let fields: Vec<FieldRange> = grid.rows.iter().flatten().flatten().copied().collect();
            let word = word_of(std::slice::from_ref(&fields));
            let has = |word: ClaimVerdict| fields.iter().any(|known| known.word == word);
            let apart = fields.iter().any(|a| fields.iter().any(|b| contradict(*a, *b)));
            prop_assert_eq!(word == ClaimVerdict::Depends, apart);
            match word {
                ClaimVerdict::Holds => prop_assert!(has(ClaimVerdict::Holds) && !has(ClaimVerdict::Fails)),
                ClaimVerdict::Fails => prop_assert!(has(ClaimVerdict::Fails) && !has(ClaimVerdict::Holds)),
                ClaimVerdict::Open => prop_assert!(fields.iter().all(|known| !is_decided(known.word))),
                _ => {}
            }
        }

        #[test]
        fn no_sentence_contradicts_its_table(grid in any_grid()) {
            for it in statements(&grid) {
                for segment in &it.segments {
                    let (least, most) = segment.values;
                    prop_assert!(!(most > 1.0 + SIDE && least < 1.0 - SIDE), "never across 1: {:?}", segment);
                    for (row, column) in (segment.rows.0..=segment.rows.1).flat_map(|row| it.columns.iter().map(move |column| (row, *column))) {
                        let Some(known) = grid.rows[row][column] else { continue };
                        let (lo, hi) = known.values;
                        if is_decided(known.word) {
                            prop_assert!(least <= lo && hi <= most, "its interval is in the range");
                        } else if (most < 1.0 && lo > 1.0) || (least > 1.0 && hi < 1.0) {
                            prop_assert!(it.doubtful.contains(&column), "what points the other way is named");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn values_are_those_of_what_is_decided() {
        let found = statements(&grid(&["ohhoh"]));
        assert_eq!(found[0].segments[0].values, (1.0, 4.0));
        let mut wild = grid(&["hoh"]);
        wild.rows[1][0] = Some(FieldRange { word: ClaimVerdict::Open, values: (1e6, 1e6) });
        assert_eq!(statements(&wild)[0].segments[0].values, (0.0, 2.0), "what is open may be anything");
    }

    #[test]
    fn tables_that_do_not_contradict_are_one() {
        let of = |a: &str, b: &str| grid(&[a]).with(&grid(&[b]));
        assert_eq!(of("ho", "ho"), Some(grid(&["ho"])));
        assert_eq!(of("ho", "hh"), None, "of the second nothing is known of one, and so of both");
        assert!(
            of("sf", "ff")
                .is_some_and(|both| both.rows[0][0].is_some_and(|it| it.word == ClaimVerdict::Fails))
        );
        assert_eq!(of("hh", "hf"), None);
    }

    #[test]
    fn ratios_on_either_side_of_1_are_said_apart_though_both_fail() {
        let mut both = grid(&["fff"]);
        both.is_ratio = true;
        for (row, value) in [1.5, 2.0, 0.6].into_iter().enumerate() {
            both.rows[row][0] = Some(FieldRange { word: ClaimVerdict::Fails, values: (value, value) });
        }
        let segments = &statements(&both)[0].segments;
        assert_eq!(segments.iter().map(|it| it.values).collect::<Vec<_>>(), [(1.5, 2.0), (0.6, 0.6)]);
    }

    fn set(all: &[(&str, &str)]) -> ConditionSettings {
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
        assert_eq!(merged(&["ho", "ho", "hf", "oo"]), [(0, 1), (2, 2), (3, 3)]);
        assert_eq!(merged(&["h"; 4]), [(0, 3)]);
        assert!(merged::<u8>(&[]).is_empty());
    }
}
