//! Groups of cells: what one change of a kernel, a library or a setting is likely to affect together.

use ipcost_model::{Pattern, Placement, Point};
use ipcost_report::words::{capitalised, cores, escaped};
use ipcost_stats::{CellSet, all_but};
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

/// A group with its cells.
#[derive(Debug, Clone)]
pub struct NamedCells {
    /// What its cells have in common.
    pub group: CellGroup,
    /// Its cells, as indices, and its parts.
    pub set: CellSet,
    /// What the cells of each part have in common.
    pub parts: Vec<CellGroup>,
}

/// A group of cells as a question: the group, and the others if they are one, too. The two are one question.
#[derive(Debug, Clone)]
pub struct AskedGroup(pub Vec<NamedCells>);

impl AskedGroup {
    pub fn first(&self) -> &NamedCells {
        &self.0[0]
    }

    /// Its cells and those of the others.
    pub fn sides(&self) -> Vec<CellSet> {
        self.0.iter().map(|side| side.set.clone()).collect()
    }
}

/// What cells may have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Factor {
    Transport,
    Pattern,
    Placement,
    Peers,
}

const FACTORS: [Factor; 4] = [Factor::Transport, Factor::Pattern, Factor::Placement, Factor::Peers];

/// By what cells are grouped, the coarsest first: a change of a kernel or a setting may affect a transport in one place alone.
const GROUPED_BY: [&[Factor]; 8] = [
    &[Factor::Transport],
    &[Factor::Pattern],
    &[Factor::Placement],
    &[Factor::Peers],
    &[Factor::Pattern, Factor::Transport],
    &[Factor::Transport, Factor::Placement],
    &[Factor::Pattern, Factor::Placement],
    &[Factor::Pattern, Factor::Transport, Factor::Placement],
];

/// What a cell has of these, and what `within` has.
fn having(cell: &Point, factors: &[Factor], within: &CellGroup) -> CellGroup {
    let mut group = within.clone();
    for factor in factors {
        match factor {
            Factor::Transport => group.transport = Some(cell.transport.clone()),
            Factor::Pattern => group.pattern = Some(cell.pattern),
            Factor::Placement => group.placement = Some(cell.placement),
            Factor::Peers => group.peers = Some((cell.client.clone(), cell.server.clone())),
        }
    }
    group
}

/// The groups of some cells that differ in these factors, in the order of the cells.
fn grouped(
    cells: &[&Point],
    of: &[usize],
    factors: &[Factor],
    within: &CellGroup,
) -> Vec<(CellGroup, Vec<usize>)> {
    let mut found: Vec<(CellGroup, Vec<usize>)> = Vec::new();
    for index in of {
        let group = having(cells[*index], factors, within);
        match found.iter_mut().find(|(known, _)| *known == group) {
            Some((_, members)) => members.push(*index),
            None => found.push((group, vec![*index])),
        }
    }
    found
}

/// A group with its parts, by any of the factors that it leaves open, the coarsest first.
pub fn with_parts(cells: &[&Point], group: CellGroup, of: Vec<usize>) -> NamedCells {
    let mut by: Vec<Vec<Factor>> = (1..1_usize << FACTORS.len())
        .map(|chosen| {
            (0..FACTORS.len()).filter(|bit| chosen >> bit & 1 == 1).map(|bit| FACTORS[bit]).collect()
        })
        .collect();
    by.sort_by_key(Vec::len);
    let (mut names, mut parts): (Vec<CellGroup>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for (name, part) in by.iter().flat_map(|factors| grouped(cells, &of, factors, &group)) {
        if part.len() < of.len() && !parts.contains(&part) {
            names.push(name);
            parts.push(part);
        }
    }
    NamedCells { group, set: CellSet { cells: of, parts }, parts: names }
}

/// The groups of these cells by pattern, transport, placement, peers, and what of these a change may need together. Of two groups that
/// have the same cells, or each the cells that the other lacks, only the first is asked: they are one question.
pub fn groups(cells: &[&Point]) -> Vec<AskedGroup> {
    let all: Vec<usize> = (0..cells.len()).collect();
    let candidates =
        GROUPED_BY.iter().flat_map(|factors| grouped(cells, &all, factors, &CellGroup::default()));
    let mut asked: Vec<Vec<(CellGroup, Vec<usize>)>> = Vec::new();
    for (group, inside) in candidates {
        let outside = all_but(&inside, cells.len());
        let is_known = |known: &[(CellGroup, Vec<usize>)]| known.iter().any(|(_, known)| *known == inside);
        if inside.len().min(outside.len()) < LEAST || asked.iter().any(|known| is_known(known)) {
            continue;
        }
        match asked.iter_mut().find(|known| known[0].1 == outside) {
            Some(known) => known.push((group, inside)),
            None => asked.push(vec![(group, inside)]),
        }
    }
    let named = |(group, inside)| with_parts(cells, group, inside);
    asked.into_iter().map(|sides| AskedGroup(sides.into_iter().map(named).collect())).collect()
}
