//! What flame graphs are drawn from: the samples of a pass of their own, and the times of the timed pass.

use ipcost_lab::stacks::Stacks;
use ipcost_model::protocol::PeerRole;

use crate::explain::flame::{CallWait, FlameCell, FlameSide};
use crate::explain::{ExplainedCell, Part, Sides};

/// A cell as a flame graph shows it. Processor time and waiting are those of timed batches; samples and traced calls tell
/// only how each divides.
pub(crate) fn flame_cell(cell: &ExplainedCell, stacks: &Sides<Stacks>) -> FlameCell {
    let side = |side: PeerRole, parts: [Part; 2]| {
        let of = |wanted: &Part| {
            cell.parts.iter().find(|part| part.part == *wanted).map_or(0.0, |part| part.ns.median)
        };
        let cpu_ns: f64 = parts.iter().map(of).map(|ns| ns.max(0.0)).sum();
        let off_ns = cell.wall_ns.map_or(0.0, |wall| wall.median) - cpu_ns;
        FlameSide {
            stacks: stacks.of(side).weights.clone(),
            cpu_ns,
            waits: waits(cell, side, off_ns.max(0.0)),
        }
    };
    FlameCell {
        label: cell.id.clone(),
        sides: Sides {
            client: side(PeerRole::Client, [Part::ClientUser, Part::ClientSystem]),
            server: side(PeerRole::Server, [Part::ServerUser, Part::ServerSystem]),
        },
    }
}

/// The time off the processor, by the calls that took longer than tracing does.
fn waits(cell: &ExplainedCell, side: PeerRole, off_ns: f64) -> Vec<CallWait> {
    let calls = cell.sides.of(side).system_calls.iter().flatten();
    let took: Vec<(String, f64)> =
        calls.filter_map(|call| Some((call.name.clone(), call.took_ns?))).collect();
    let sum: f64 = took.iter().map(|(_, ns)| ns).sum();
    let share = |(call, ns): (String, f64)| CallWait { call, ns: off_ns * ns / sum };
    if sum > 0.0 { took.into_iter().map(share).collect() } else { Vec::new() }
}
