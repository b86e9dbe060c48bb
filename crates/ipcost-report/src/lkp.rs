//! Lines of `key: value`, one figure each, as the parsers of LKP (the Linux kernel's performance tests) print them.
//!
//! Keys are frozen: LKP keeps the history of a figure under its key.

use std::collections::HashSet;

use ipcost_model::{CellRecord, Document};

/// What is written of a cell: the end of the key, and the figure.
type Figure = (&'static str, fn(&CellRecord) -> Option<f64>);

const FIGURES: [Figure; 4] = [
    ("wall_ns_per_op", |cell| Some(cell.wall_ns_per_op?.median)),
    ("cpu_ns_per_op", |cell| Some(cell.cpu_ns_per_op?.median)),
    ("latency_ns_p50", |cell| Some(cell.latency_ns.as_ref()?.p50 as f64)),
    ("latency_ns_p99", |cell| Some(cell.latency_ns.as_ref()?.p99 as f64)),
];

/// A line for every figure that a cell has.
pub fn render(document: &Document) -> String {
    let mut out = String::new();
    let mut taken = HashSet::new();
    for cell in &document.cells {
        let name = unique(name(&cell.id), &mut taken);
        for (end, figure) in FIGURES {
            if let Some(figure) = figure(cell) {
                // Without an exponent, which not every reader of such lines knows.
                out.push_str(&format!("{name}.{end}: {figure}\n"));
            }
        }
    }
    out
}

/// The id in lower case: points for slashes, and an underscore for whatever else is no letter of a key.
fn name(id: &str) -> String {
    let letter = |c: char| match c {
        '/' => '.',
        'a'..='z' | '0'..='9' | '.' | '-' | '_' => c,
        _ => '_',
    };
    id.to_lowercase().chars().map(letter).collect()
}

/// Of two ids that are alike as keys, the later one gets a number.
fn unique(name: String, taken: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.unwrap_or(name);
    taken.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_line_a_figure() {
        insta::assert_snapshot!(render(&fixture::measured()));
    }

    #[test]
    fn keys_are_plain_and_stay_apart() {
        let mut document = fixture::measured();
        for (cell, id) in document.cells.iter_mut().zip(["Mine: a", "mine__a", "rr/unix/64→1/c1"]) {
            id.clone_into(&mut cell.id);
        }
        let text = render(&document);
        let keys: Vec<&str> = text.lines().map(|line| line.split_once(": ").unwrap().0).collect();
        for key in ["mine__a.wall_ns_per_op", "mine__a-2.wall_ns_per_op"] {
            assert!(keys.contains(&key), "{text}");
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
        assert!(keys.iter().all(|key| key.chars().all(plain)), "{text}");
        assert_eq!(name("rr/unix/64→1/c1"), "rr.unix.64_1.c1");
    }
}
