//! When which transport is cheapest: a field for every table, a column for every size of message; beneath, the baseline against each
//! other. A field says what the summary of the terminal says: a cell is the cheapest only if the document claims it.

mod field;

use std::collections::BTreeSet;

use ipcost_model::units::{counted, size_text};
use ipcost_model::{Document, Metric, Pattern, Placement, Work, WorkloadRecord};

use super::series::{Across, Alike, alike, name, size};
use crate::summary::{self, IF_IT_SLEEPS};
use crate::words;
pub use field::{CheapestField, Standing};
use field::{field, of_two};

/// What the map is about.
pub const TITLE: &str = "The cheapest transport, by size of message";
const MOST_SIZES: usize = 16;
/// The most rows, without those beneath them.
const MOST_ROWS: usize = 40;
/// The most rows of two cells beneath a row.
const MOST_PAIRS: usize = 6;

/// Fields in rows and columns.
pub struct Map {
    /// What stands above the columns.
    pub sizes: Vec<String>,
    /// The rows, by work.
    pub groups: Vec<CheapestGroup>,
    /// What has to be said about it.
    pub notes: Vec<String>,
}

/// Rows of the same work.
pub struct CheapestGroup {
    pub title: String,
    /// On one core, and on two.
    pub rows: Vec<CheapestRow>,
}

pub struct CheapestRow {
    /// Where the processes run.
    pub cores: &'static str,
    /// Which cells of its tables it is about.
    pub among: Among,
    /// One for each column, if it was measured.
    pub fields: Vec<Option<CheapestField>>,
}

/// The cells that a row is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Among {
    /// All of a table.
    All,
    /// Those that sleep while they wait.
    Sleeping,
    /// The baseline and another.
    Two(String),
}

impl CheapestRow {
    /// What it is called.
    pub fn name(&self) -> &str {
        match &self.among {
            Among::All => self.cores,
            Among::Sleeping => IF_IT_SLEEPS,
            Among::Two(names) => names,
        }
    }

    /// What a field of it is about: `64 B stream, one core, tcp or pipe`.
    pub fn work(&self, field: &CheapestField) -> String {
        match self.among {
            Among::All => field.work.clone(),
            Among::Sleeping | Among::Two(_) => format!("{}, {}", field.work, self.name()),
        }
    }
}

/// The map of a document; `None` if no work was compared in two sizes.
pub fn map(document: &Document) -> Option<Map> {
    let mut lines = lines(document);
    let compared = |(_, tables): &(String, Vec<&WorkloadRecord>)| {
        tables.len() > 1 && tables.iter().any(|table| table.fastest.is_some())
    };
    if !lines.iter().any(compared) {
        return None;
    }
    let mut notes = Vec::new();
    let rows = lines.len();
    lines.truncate(MOST_ROWS);
    if rows > MOST_ROWS {
        notes.push(format!("Not shown: {}.", counted((rows - MOST_ROWS) as u64, "more row")));
    }
    let sizes: BTreeSet<u64> =
        lines.iter().flat_map(|(_, tables)| tables).map(|table| size(&table.work)).collect();
    let shown: Vec<u64> = sizes.iter().copied().take(MOST_SIZES).collect();
    if sizes.len() > MOST_SIZES {
        notes.push(format!("Not shown: {}.", counted((sizes.len() - MOST_SIZES) as u64, "larger size")));
    }
    if lines.iter().flat_map(|(_, tables)| tables).any(|table| table.cells.len() > MOST_PAIRS + 1) {
        notes.push(format!("Not shown: the baseline against more than {MOST_PAIRS} others."));
    }
    let mut groups: Vec<CheapestGroup> = Vec::new();
    for (title, tables) in lines {
        let rows = rows_of(document, &tables, &shown);
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.rows.extend(rows),
            None => groups.push(CheapestGroup { title, rows }),
        }
    }
    notes.splice(0..0, explained(&groups));
    Some(Map { sizes: shown.into_iter().map(size_text).collect(), groups, notes })
}

/// How to read the map.
pub fn legend(document: &Document) -> String {
    format!(
        "Coloured: known to be the cheapest, with its cost relative to the runner-up; names with = cost the same within the margin. \
         Hatched: open, any of those named may be the cheapest. {}.",
        words::capitalised(&words::promise(document))
    )
}

/// What the rows beneath others are about.
fn explained(groups: &[CheapestGroup]) -> Vec<String> {
    let is_any = |wanted: fn(&Among) -> bool| {
        groups.iter().flat_map(|group| &group.rows).any(|row| wanted(&row.among))
    };
    let mut notes = Vec::new();
    if is_any(|among| *among == Among::Sleeping) {
        notes.push(format!("Rows \"{IF_IT_SLEEPS}\" leave out those that keep a core busy while they wait."));
    }
    if is_any(|among| matches!(among, Among::Two(_))) {
        notes.push(
            "Rows with two names compare those two alone: the cheaper, and its cost relative to the other."
                .to_owned(),
        );
    }
    notes
}

/// The tables by work and placement, each size once, with what they are called.
fn lines(document: &Document) -> Vec<(String, Vec<&WorkloadRecord>)> {
    // Floors are parts, and not compared.
    let tables = document.workloads.iter().filter(|table| table.pattern != Pattern::Floor);
    let line = |Alike { work, mirrors, items }| {
        let work: Work = work;
        let mut tables: Vec<&WorkloadRecord> = items;
        tables.sort_by_key(|table| size(&table.work));
        tables.dedup_by_key(|table| size(&table.work));
        (name(&Work { placement: Placement::Free, ..work }, mirrors, Across::Size), tables)
    };
    alike(tables, |table| table.work.clone(), Across::Size).into_iter().map(line).collect()
}

fn rows_of(document: &Document, tables: &[&WorkloadRecord], sizes: &[u64]) -> Vec<CheapestRow> {
    let cores = words::cores(tables[0].placement);
    let row = |among| CheapestRow { cores, among, fields: sizes.iter().map(|_| None).collect() };
    let mut rows = vec![row(Among::All)];
    for table in tables {
        let Ok(column) = sizes.binary_search(&size(&table.work)) else { continue };
        let sleeping = summary::sleeping(document, table);
        let of_sleeping = sleeping.map(|sleeping| (Among::Sleeping, field(document, &sleeping)));
        let all = std::iter::once((Among::All, field(document, table))).chain(of_sleeping);
        for (among, field) in all.chain(pairs(document, table)) {
            let place = rows.iter().position(|row| row.among == among).unwrap_or_else(|| {
                rows.push(row(among));
                rows.len() - 1
            });
            rows[place].fields[column] = Some(field);
        }
    }
    // Pairs stay in the order of the document.
    rows.sort_by_key(|row| match row.among {
        Among::All => 0,
        Among::Sleeping => 1,
        Among::Two(_) => 2,
    });
    rows.truncate(MOST_PAIRS + 2);
    rows
}

/// The baseline against each other cell, unless these two are all: `tcp or pipe`.
fn pairs(document: &Document, table: &WorkloadRecord) -> Vec<(Among, CheapestField)> {
    let Some(baseline) = table.baseline.as_ref().filter(|_| table.cells.len() > 2) else { return Vec::new() };
    let pair = |other: &String| {
        let known = words::contrast(document, Metric::Wall, other).filter(|known| known.b == *baseline)?;
        let cells = vec![baseline.clone(), other.clone()];
        let pair = WorkloadRecord {
            cells,
            fastest: Some(of_two(known)?),
            fastest_blocking: None,
            bursts: None,
            ..table.clone()
        };
        let names = format!("{} or {}", words::label(document, baseline), words::label(document, other));
        Some((Among::Two(names), field(document, &pair)))
    };
    table.cells.iter().filter(|id| *id != baseline).filter_map(pair).take(MOST_PAIRS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn first(document: &Document) -> CheapestField {
        map(document).unwrap().groups.remove(0).rows.remove(0).fields.remove(0).unwrap()
    }

    #[test]
    fn a_winner_that_is_not_claimed_is_open_whatever_its_contrast_says() {
        let mut document = fixture::in_sizes();
        let found = first(&document);
        assert_eq!((found.standing, found.name.as_str()), (Standing::Cheapest, "pipe"));
        // Against the baseline it is known to be cheaper, so that the summary does not name the baseline again.
        let tcp = document.workloads[0].baseline.clone().unwrap();
        let fastest = document.workloads[0].fastest.as_mut().unwrap();
        (fastest.claimed, fastest.open) = (false, vec![tcp]);
        let found = first(&document);
        assert_eq!((found.standing, found.name.as_str()), (Standing::Open, "pipe or tcp"));
        assert!(found.slots.is_empty());
    }

    #[test]
    fn ratios_are_those_of_the_document_the_other_way_round() {
        let mut document = fixture::in_sizes();
        let found = first(&document);
        assert_eq!(found.margin, "0.80 × unix");
        document.workloads[0].fastest.as_mut().unwrap().ratio = 40_000.0;
        assert_eq!(first(&document).margin, "< 0.001 × unix");
    }

    #[test]
    fn two_cells_are_no_pair_beneath_themselves() {
        let mut document = fixture::in_sizes();
        let pairs = |document: &Document| {
            let map = map(document).unwrap();
            map.groups
                .iter()
                .flat_map(|group| &group.rows)
                .filter(|row| matches!(row.among, Among::Two(_)))
                .count()
        };
        assert_eq!(pairs(&document), 6);
        document.workloads.iter_mut().for_each(|table| table.cells.truncate(2));
        assert_eq!(pairs(&document), 0);
    }
}
