//! Workloads: cells that do the same work, and the baseline of each.

use derive_more::Deref;
use serde::{Deserialize, Serialize};

use crate::arms::ArmName;
use crate::cell::{Pattern, Work};
use crate::error::ModelError;
use crate::expand::PlannedCell;

/// The default baseline: TCP is what people have today.
pub const DEFAULT_BASELINE: &str = "tcp";

/// Cells that do the same work and are compared with each other: one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Deref)]
pub struct Workload {
    #[deref]
    #[serde(flatten)]
    pub work: Work,
    /// Its cells, as indices, in the order of the job.
    pub cells: Vec<usize>,
    /// The table's baseline; `None` if no cell can be measured, and among floors.
    pub baseline: Option<usize>,
    /// For each of `cells`, the cell it is compared with; `None` for the baseline and for cells that cannot be
    /// measured.
    pub against: Vec<Option<usize>>,
}

/// Groups cells into workloads and finds the comparison cell of each.
///
/// # Errors
/// One line, if no cell matches the name of the baseline.
pub fn workloads(
    cells: &[PlannedCell],
    baseline: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<Vec<Workload>, ModelError> {
    let compared: Vec<&PlannedCell> =
        cells.iter().filter(|cell| cell.cell.pattern != Pattern::Floor).collect();
    if let Some(name) = baseline
        && !compared.iter().any(|cell| cell.goes_by(name))
    {
        if compared.is_empty() {
            return Err(ModelError::FloorBaseline(name.to_owned()));
        }
        let mut known: Vec<&str> = compared.iter().flat_map(|cell| cell.names()).collect();
        known.sort_unstable();
        known.dedup();
        return Err(ModelError::unknown("baseline", name, known));
    }
    let arms = cells.iter().any(|cell| cell.arm.is_some());
    let mut workloads = grouped(cells);
    // Compared cells come first; floors are not compared with one another.
    workloads.sort_by_key(|workload| workload.pattern == Pattern::Floor);
    for workload in workloads.iter_mut().filter(|workload| workload.pattern != Pattern::Floor) {
        let found = workload.compare(cells, baseline.unwrap_or(DEFAULT_BASELINE));
        if let (false, false, Some(stand_in), Some(name)) = (arms, found, workload.baseline, baseline) {
            let label = &cells[stand_in].label;
            notes.push(format!("baseline {name} is not in every table; where it is not, {label} stands in"));
        }
    }
    notes.dedup();
    Ok(workloads)
}

fn grouped(cells: &[PlannedCell]) -> Vec<Workload> {
    let mut workloads: Vec<Workload> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        // The two arms of a cell are compared with each other alone.
        let work = Work { row: cell.row.clone(), ..cell.work() };
        match workloads.iter_mut().find(|workload| workload.work == work) {
            Some(workload) => workload.cells.push(index),
            None => {
                workloads.push(Workload { work, cells: vec![index], baseline: None, against: Vec::new() })
            }
        }
    }
    workloads
}

impl Workload {
    /// Finds the comparison cell of each; `false` if nothing here matches the name.
    ///
    /// The first cell that matches is the table's baseline. Others that match are compared with that one, and the
    /// rest each with the one most like it: with the baseline `tcp`, a cell whose peers are written in Go is compared
    /// with TCP between peers written in Go, if that is measured.
    fn compare(&mut self, cells: &[PlannedCell], name: &str) -> bool {
        let available: Vec<usize> =
            self.cells.iter().copied().filter(|index| cells[*index].unavailable.is_none()).collect();
        let going_by = |exactly: bool| -> Vec<usize> {
            let fits = |index: &&usize| {
                let cell = &cells[**index];
                if exactly { cell.is_called(name) } else { cell.goes_by(name) }
            };
            available.iter().filter(fits).copied().collect()
        };
        // A label or an id is more specific than a transport or a peer.
        let mut candidates = going_by(true);
        if candidates.is_empty() {
            candidates = going_by(false);
        }
        let found = !candidates.is_empty();
        if !found {
            candidates.extend(available.first());
        }
        if self.row.is_some() {
            candidates =
                available.iter().copied().filter(|index| cells[*index].arm == Some(ArmName::A)).collect();
        }
        // Where bursts and long transfers cost otherwise, the long one is what a stream costs.
        if let Some(steady) = candidates.first().and_then(|first| self.steady(cells, &available, *first)) {
            candidates.retain(|cell| *cell != steady);
            candidates.insert(0, steady);
        }
        self.baseline = candidates.first().copied();
        let compared_with = |index: &usize| {
            let first = self.baseline.filter(|_| available.contains(index))?;
            match index {
                _ if *index == first => None,
                _ if candidates.contains(index) => Some(first),
                // The first of the most similar ones.
                _ => candidates
                    .iter()
                    .rev()
                    .copied()
                    .max_by_key(|other| cells[*index].likeness(&cells[*other])),
            }
        };
        self.against = self.cells.iter().map(compared_with).collect();
        found
    }
}

impl Workload {
    /// What costs otherwise in long transfers than in bursts is two questions: the table without the bursts of transports of which long
    /// transfers are measured, and the table without those. Each has a baseline of its own. `None` where there is one question.
    pub fn long_and_bursts(&self, cells: &[PlannedCell]) -> Option<[Self; 2]> {
        let baseline = self.baseline.filter(|_| self.row.is_none())?;
        let (long, others): (Vec<usize>, Vec<usize>) =
            self.cells.iter().partition(|cell| cells[**cell].is_steady());
        let learns = |cell: &&usize| {
            long.iter().any(|known| cells[*known].cell.transport == cells[**cell].cell.transport)
        };
        let bursts: Vec<usize> = others.iter().copied().filter(|cell| learns(&cell)).collect();
        let twin =
            |wanted: usize| bursts.iter().copied().find(|cell| cells[*cell].steady() == cells[wanted].point);
        let (first_long, first_burst) = (*long.first()?, *bursts.first()?);
        let without = |left_out: &[usize], stand_in: usize| {
            let kept: Vec<usize> =
                self.cells.iter().copied().filter(|cell| !left_out.contains(cell)).collect();
            let baseline = if left_out.contains(&baseline) { stand_in } else { baseline };
            Self { cells: kept, baseline: Some(baseline), against: Vec::new(), ..self.clone() }
        };
        Some([without(&bursts, first_long), without(&long, twin(baseline).unwrap_or(first_burst))])
    }

    /// The long transfer of a cell, if it is measured.
    fn steady(&self, cells: &[PlannedCell], available: &[usize], bursts: usize) -> Option<usize> {
        if cells[bursts].is_steady() || self.row.is_some() {
            return None;
        }
        let wanted = cells[bursts].steady();
        available.iter().copied().find(|index| cells[*index].point == wanted)
    }
}

impl PlannedCell {
    fn is_called(&self, name: &str) -> bool {
        self.id == name || self.label == name
    }

    /// Whether the name is this cell's label, id, transport, or one of its peers.
    fn goes_by(&self, name: &str) -> bool {
        self.is_called(name) || self.names().contains(&name)
    }

    fn names(&self) -> [&str; 4] {
        [&self.label, &self.cell.transport, &self.client, &self.server]
    }

    /// How much two cells of a workload have in common.
    fn likeness(&self, other: &Self) -> u32 {
        let same = [
            self.cell.transport == other.cell.transport,
            self.client == other.client,
            self.server == other.server,
        ];
        let options =
            self.cell.options.iter().filter(|option| other.cell.options.iter().any(|known| known == *option));
        let worth = 100 * same.iter().filter(|same| **same).count() + options.count();
        u32::try_from(worth).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Cell, Point};
    use crate::options::OptionValue;

    fn cell(transport: &str, peer: &str) -> PlannedCell {
        let point = Point::free(Cell::new(Pattern::Rr, transport, 64));
        let point = Point { client: peer.to_owned(), server: peer.to_owned(), ..point };
        PlannedCell {
            id: point.id(),
            label: format!("{transport} {peer}"),
            point,
            row: None,
            unavailable: None,
            lead_in: None,
            batch: None,
            ops: None,
            floor: None,
        }
    }

    fn against(cells: &[PlannedCell], baseline: &str) -> Vec<Option<usize>> {
        let workloads = workloads(cells, Some(baseline), &mut Vec::new()).unwrap();
        assert_eq!(workloads.len(), 1);
        workloads[0].against.clone()
    }

    #[test]
    fn each_cell_is_compared_with_the_baseline_most_like_it() {
        let cells = [cell("unix", "native"), cell("tcp", "native"), cell("unix", "go"), cell("tcp", "go")];
        assert_eq!(against(&cells, "tcp"), [Some(1), None, Some(3), Some(1)]);
        assert_eq!(against(&cells, "native"), [None, Some(0), Some(0), Some(1)]);
        assert_eq!(against(&cells, "unix go"), [Some(2), Some(2), None, Some(2)]);
    }

    #[test]
    fn options_count_for_likeness_and_the_first_wins_a_tie() {
        let with = |transport: &str, size: u64| {
            let mut cell = cell(transport, "native");
            cell.point.cell.options.set("so_sndbuf", OptionValue::Int(size)).unwrap();
            cell.id = format!("{transport}{size}");
            cell
        };
        let cells = [with("tcp", 1), with("tcp", 2), with("unix", 2), cell("pipe", "native")];
        assert_eq!(against(&cells, "tcp"), [None, Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn the_long_transfer_is_the_baseline_of_a_stream() {
        let mut steady = cell("tcp", "native");
        steady.point = steady.point.steady();
        let cells = [cell("unix", "native"), cell("tcp", "native"), steady];
        assert_eq!(against(&cells, "tcp"), [Some(2), Some(2), None]);
        assert_eq!(against(&cells, "unix"), [None, Some(0), Some(0)]);
        let parts = |baseline| {
            let workloads = workloads(&cells, Some(baseline), &mut Vec::new()).unwrap();
            let parts = workloads[0].long_and_bursts(&cells).unwrap();
            parts.map(|part| (part.cells, part.baseline.unwrap()))
        };
        assert_eq!(parts("tcp"), [(vec![0, 2], 2), (vec![0, 1], 1)]);
        assert_eq!(parts("unix"), [(vec![0, 2], 0), (vec![0, 1], 0)]);
        let workloads = workloads(&cells[..2], Some("tcp"), &mut Vec::new()).unwrap();
        assert_eq!(workloads[0].long_and_bursts(&cells), None);
    }

    #[test]
    fn what_cannot_be_measured_is_compared_with_nothing() {
        let mut cells = [cell("tcp", "native"), cell("unix", "native"), cell("pipe", "native")];
        cells[0].unavailable = Some("gone".into());
        let mut notes = Vec::new();
        let workload = &workloads(&cells, Some("tcp"), &mut notes).unwrap()[0];
        assert_eq!((workload.baseline, &workload.against), (Some(1), &vec![None, None, Some(1)]));
        assert!(notes[0].contains("unix native stands in"), "{notes:?}");
    }
}
