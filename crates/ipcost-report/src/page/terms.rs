//! What the words of tables mean: said once, below the first table that has them.

use super::{Block, FieldValue, Page, Section, Table};
use crate::words::{AMOUNT_OPEN, SAME_IN_MEDIAN};

/// A word of tables: how fields that have it look, and what it means.
type Term = (fn(&str) -> bool, &'static str);

const TERMS: [Term; 15] = [
    (|text| text == "open" || text.ends_with("(open)"), "open: not known yet; a longer run may tell"),
    (|text| text.ends_with(AMOUNT_OPEN), "amount open: which costs less is known, not by how much"),
    (
        |text| {
            text.strip_prefix("within ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        },
        "within: which costs less is not known; they differ by no more than that",
    ),
    (|text| text.starts_with("at most "), "at most: which costs less is not known; it is no more than that"),
    (|text| text.starts_with("same (±"), "same: the difference is known to be smaller than that"),
    (
        |text| text == SAME_IN_MEDIAN,
        "same in the median: half of all epochs cost the same; what the slow ones cost is not known",
    ),
    (|text| text == "mean", "mean: over all epochs, the slow ones among them, while costs are medians"),
    (
        |text| text == "changed during the run",
        "changed during the run: early and late epochs say the opposite",
    ),
    (|text| text == "× floor", "floor: the least that this machine takes for the same switches and copies"),
    (
        |text| text == "elapsed",
        "elapsed: the difference is of both in each round, and need not be that of the medians",
    ),
    (
        |text| text == "spread of starts",
        "spread of starts: how much the cost differs from one start of the processes to the next, × the baseline's",
    ),
    (
        |text| text.ends_with(" of epochs"),
        "of epochs: how many cost about this much, where two groups of them differ",
    ),
    (|text| text == "load", "load: the share of the rate back to back"),
    (|text| text == "per burst", "per burst: a wait at its end, however long the burst is"),
    (|text| text == "per batch", "per batch: a wait that comes once, however many round trips a batch has"),
];

impl Page<'_> {
    /// The same with a line below each table for the words that are first met there.
    pub fn with_terms(mut self) -> Self {
        let mut left = TERMS.to_vec();
        // What is folded away comes last: a screen may leave it out.
        for folded in [false, true] {
            for part in [&mut self.answer, &mut self.blocks, &mut self.notes] {
                explain(part, folded, false, &mut left);
            }
        }
        self
    }
}

fn explain(blocks: &mut [Block<'_>], folded: bool, is_inside: bool, left: &mut Vec<Term>) {
    for block in blocks {
        match block {
            Block::Table(table) if folded == is_inside => table.terms = met(table, left),
            Block::Section(Section { blocks, .. }) => explain(blocks, folded, is_inside, left),
            Block::Details(Section { blocks, .. }) if folded => explain(blocks, folded, true, left),
            _ => {}
        }
    }
}

/// What the words mean that were not met before, in the order of `TERMS`.
fn met(table: &Table, left: &mut Vec<Term>) -> String {
    let fields = || {
        table.rows.iter().flatten().filter_map(|field| match &field.value {
            FieldValue::Text(text) | FieldValue::Name(text) => Some(text.trim()),
            _ => None,
        })
    };
    let titles = || table.columns.iter().map(|column| column.title.as_ref());
    let (met, others): (Vec<Term>, Vec<Term>) =
        left.iter().partition(|(has, _)| fields().chain(titles()).any(has));
    *left = others;
    met.into_iter().map(|(_, meaning)| meaning).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use ipcost_model::Verdict;

    use super::*;
    use crate::page::Column;
    use crate::words;

    fn table(fields: &[&str]) -> Table {
        let row = |field: &&str| vec![FieldValue::Name((*field).to_owned()).into()];
        Table::new(&[Column::text("verdict")]).rows(fields.iter().map(row))
    }

    #[test]
    fn a_word_is_explained_below_the_first_table_that_has_it() {
        let open = words::verdict(Verdict::Undecided, 1.0, 0.05);
        let direction = words::verdict(Verdict::Direction, 2.0, 0.05);
        let section = Section::new("", "").with(table(&[&direction, &open, "baseline"])).open();
        let page = Page { blocks: vec![table(&[&open]).into(), section], ..Page::default() }.with_terms();
        let shown = page.terminal(false, 80);
        let lines: Vec<&str> = shown.lines().map(str::trim).filter(|line| line.contains(": ")).collect();
        let meaning = |text: &str| TERMS.iter().find(|(has, _)| has(text)).unwrap().1;
        assert_eq!(lines.len(), 2, "{shown}");
        assert!(lines[0].contains(meaning(&open)) && lines[1].contains(meaning(&direction)), "{shown}");
        assert_eq!(page.markdown().matches(meaning(&open)).count(), 1);
        assert_eq!(page.html().matches(meaning(&open)).count(), 1);
    }
}
