//! Groups of cells: what one change of a kernel, a library or a setting is likely to affect together.

use std::collections::BTreeSet;

use ipcost_model::{Pattern, Placement, Point};
use ipcost_report::words::{capitalised, cores, escaped};
use serde::{Deserialize, Serialize};

/// A group, and the cells outside it, have at least so many cells: one cell is a question of its own.
const LEAST: usize = 2;

/// What the cells of a group have in common; of all cells, nothing is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellGroup {
    /// Their pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Their transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Their placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// Their peers: client, then server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<(String, String)>,
}

impl CellGroup {
    /// Whether a cell belongs to it.
    pub fn has(&self, cell: &Point) -> bool {
        self.pattern.is_none_or(|pattern| cell.pattern == pattern)
            && self.transport.as_ref().is_none_or(|transport| cell.transport == *transport)
            && self.placement.is_none_or(|placement| cell.placement == placement)
            && self
                .peers
                .as_ref()
                .is_none_or(|(client, server)| cell.client == *client && cell.server == *server)
    }

    /// In words: `streams over tcp`.
    pub fn words(&self) -> String {
        let mut words = self.pattern.map_or("everything", plural).to_owned();
        if let Some(transport) = &self.transport {
            words.push_str(&format!(" over {}", escaped(transport)));
        }
        if let Some(placement) = self.placement {
            words.push_str(&format!(" on {}", cores(placement)));
        }
        if let Some((client, server)) = &self.peers {
            words.push_str(&format!(" between {} and {}", escaped(client), escaped(server)));
        }
        words
    }

    /// The same at the beginning of a sentence.
    pub fn title(&self) -> String {
        capitalised(&self.words())
    }
}

fn plural(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Connect => "connections",
        Pattern::Rr => "round trips",
        Pattern::Stream => "streams",
        Pattern::Floor => "floors",
    }
}

/// The groups of these cells by pattern, transport, placement, peers, and pattern over a transport, with their cells as
/// indices. Of two groups that have the same cells, or each the cells that the other lacks, only the first is there: they
/// are one question.
pub fn groups(cells: &[&Point]) -> Vec<(CellGroup, Vec<usize>)> {
    let by = |group: &dyn Fn(&Point) -> CellGroup| -> Vec<CellGroup> {
        let mut seen = BTreeSet::new();
        cells.iter().map(|cell| group(cell)).filter(|group| seen.insert(group.clone())).collect()
    };
    let none = CellGroup::default;
    let candidates = [
        by(&|cell| CellGroup { transport: Some(cell.transport.clone()), ..none() }),
        by(&|cell| CellGroup { pattern: Some(cell.pattern), ..none() }),
        by(&|cell| CellGroup { placement: Some(cell.placement), ..none() }),
        by(&|cell| CellGroup { peers: Some((cell.client.clone(), cell.server.clone())), ..none() }),
        by(&|cell| CellGroup {
            pattern: Some(cell.pattern),
            transport: Some(cell.transport.clone()),
            ..none()
        }),
    ];
    let mut known: BTreeSet<Vec<usize>> = BTreeSet::new();
    let mut groups = Vec::new();
    for group in candidates.into_iter().flatten() {
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            (0..cells.len()).partition(|cell| group.has(cells[*cell]));
        let enough = inside.len().min(outside.len()) >= LEAST;
        if enough && !known.contains(&inside) && !known.contains(&outside) {
            known.insert(inside.clone());
            groups.push((group, inside));
        }
    }
    groups
}
