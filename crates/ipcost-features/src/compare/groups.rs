//! Groups of cells: what one change of a kernel, a library or a setting is likely to affect together.

use std::collections::BTreeSet;

use ipcost_model::{Pattern, Placement, Point};
use ipcost_report::words::{capitalised, cores, escaped};
use ipcost_stats::{GroupEvidence, Shift, median};
use serde::{Deserialize, Serialize};

/// A group, and the cells outside it, have at least so many cells: one cell is a question of its own.
const LEAST: usize = 2;

/// What the cells of a group have in common; of all cells, nothing is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

    /// Whether it is all cells.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
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

/// A group of cells as a question.
#[derive(Debug, Clone)]
pub struct AskedGroup {
    /// What its cells have in common.
    pub group: CellGroup,
    /// Its cells, as indices.
    pub cells: Vec<usize>,
    /// What all others have in common, if that is a group, too.
    pub others: Option<CellGroup>,
}

impl AskedGroup {
    /// The group or the others, whichever moved farther, with its cells and how far it moved relative to the rest: the two are
    /// one question.
    pub fn that_moved(&self, shift: Shift, evidence: &impl GroupEvidence) -> (CellGroup, Vec<usize>, Shift) {
        let outside: Vec<usize> = (0..evidence.cells()).filter(|cell| !self.cells.contains(cell)).collect();
        let moved = |cells: &[usize]| {
            let logs: Vec<f64> = cells.iter().map(|cell| evidence.of_cell(*cell)).collect();
            median(&logs).unwrap_or_default().abs()
        };
        match &self.others {
            Some(others) if moved(&outside) > moved(&self.cells) => {
                let bounds = shift.bounds.map(|(lo, hi)| (-hi, -lo));
                (others.clone(), outside, Shift { by: -shift.by, bounds })
            }
            _ => (self.group.clone(), self.cells.clone(), shift),
        }
    }
}

/// The groups of these cells by pattern, transport, placement, peers, and pattern over a transport. Of two groups that have the
/// same cells, or each the cells that the other lacks, only the first is asked: they are one question.
pub fn groups(cells: &[&Point]) -> Vec<AskedGroup> {
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
    let mut asked: Vec<AskedGroup> = Vec::new();
    for group in candidates.into_iter().flatten() {
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            (0..cells.len()).partition(|cell| group.has(cells[*cell]));
        if inside.len().min(outside.len()) < LEAST || asked.iter().any(|known| known.cells == inside) {
            continue;
        }
        match asked.iter_mut().find(|known| known.cells == outside) {
            Some(known) => known.others = known.others.take().or(Some(group)),
            None => asked.push(AskedGroup { group, cells: inside, others: None }),
        }
    }
    asked
}
