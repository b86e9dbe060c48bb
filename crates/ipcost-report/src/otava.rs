//! Runs as rows, for Apache Otava (formerly Hunter), which looks for changes in the columns of such a table.
//!
//! Every field of a column that Otava looks at must be a number, so only cells that all rows have become columns.

use std::collections::{BTreeSet, HashMap};

use ipcost_model::Document;

use crate::csv::{number, text};

/// The columns before those of cells. Their names are stable.
const NAMES: [&str; 6] = ["time", "run", "name", "version", "commit", "kernel"];
/// A column that Otava takes for a branch of a repository.
const RESERVED: &str = "branch";

/// What is written of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct OtavaRow {
    facts: [String; NAMES.len()],
    /// In the order of the document.
    cells: Vec<String>,
    costs: HashMap<String, f64>,
}

impl OtavaRow {
    /// Of a document, which the row calls `run`.
    pub fn of(document: &Document, run: &str) -> Self {
        let tool = &document.tool;
        let facts = [
            &document.started,
            run,
            document.name.as_deref().unwrap_or_default(),
            &tool.version,
            tool.commit.as_deref().unwrap_or_default(),
            &document.host.kernel,
        ];
        let costs =
            document.cells.iter().filter_map(|cell| Some((cell.id.clone(), cell.wall_ns_per_op?.median)));
        Self {
            facts: facts.map(str::to_owned),
            cells: document.cells.iter().map(|cell| cell.id.clone()).collect(),
            costs: costs.collect(),
        }
    }
}

/// The table, in the order of time, and the cells that some row lacks, which have no column.
pub fn render(mut rows: Vec<OtavaRow>) -> (String, Vec<String>) {
    rows.sort_by(|a, b| a.facts[0].cmp(&b.facts[0]));
    let mut seen = BTreeSet::new();
    let all = rows.iter().flat_map(|row| &row.cells).filter(|id| seen.insert(id.as_str()));
    let (cells, missing): (Vec<&String>, Vec<&String>) =
        all.partition(|id| rows.iter().all(|row| row.costs.contains_key(id.as_str())));
    let missing = missing.into_iter().cloned().collect();
    let header: Vec<String> =
        NAMES.iter().map(|name| (*name).to_owned()).chain(cells.iter().map(|id| column(id))).collect();
    let mut out = header.join(",") + "\n";
    for row in &rows {
        let facts = row.facts.iter().map(|fact| text(fact));
        let costs = cells.iter().map(|id| number(row.costs[id.as_str()]));
        out.push_str(&(facts.chain(costs).collect::<Vec<_>>().join(",") + "\n"));
    }
    (out, missing)
}

/// The name of a cell's column: its id, unless a label of the job's is the name of another column.
fn column(id: &str) -> String {
    let is_taken = NAMES.contains(&id) || id == RESERVED;
    text(&if is_taken { format!("cell {id}") } else { id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_row_a_run_and_a_column_for_each_cell_that_all_have() {
        let later = fixture::measured();
        let mut earlier = later.clone();
        earlier.started = "2025-12-31T00:00:00Z".to_owned();
        earlier.cells[1].wall_ns_per_op = None;
        earlier.cells[5].id = "time".to_owned();
        let mut other = later.clone();
        other.cells[5].id = "time".to_owned();
        let (table, missing) = render(vec![OtavaRow::of(&other, "b"), OtavaRow::of(&earlier, "a")]);
        insta::assert_snapshot!(table);
        assert_eq!(missing, ["rr/unix/64/c1", "rr/tcp6/64/c1"]);
    }
}
