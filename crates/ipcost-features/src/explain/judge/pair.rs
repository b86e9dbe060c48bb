//! Two programs that run already, told as a cell is: what each calls for a request, against native peers with the same sizes and pace.

use std::collections::BTreeMap;

use ipcost_lab::machine_observer::Observed;
use ipcost_lab::strace::TraceSummary;
use ipcost_lab::system_calls::SystemCalls;
use ipcost_model::Estimate;

use super::causes::{CauseInputs, CellInputs, causes};
use super::{ObservedMachine, counts, of_calls, settle};
use crate::explain::{ExplainedCell, ExplainedDifference, Explanation, Purpose, Sides};

/// What was seen of two programs.
#[derive(Debug, Clone)]
pub struct PairSeen {
    /// What they are called: the client, then the server.
    pub names: [String; 2],
    /// The calls of each while it was traced.
    pub calls: [TraceSummary; 2],
    /// Requests in that time.
    pub requests: u64,
    /// From a request to its answer while nothing was traced, nanoseconds, if that is known.
    pub round_trip_ns: Option<f64>,
}

/// Puts the pair in front of its twin, of which an explanation is given, and compares them.
pub fn explain_pair(seen: &PairSeen, mut twin: Explanation) -> Explanation {
    let Some(native) = twin.cells.first_mut() else { return twin };
    native.purpose = Purpose::Twin;
    native.label = format!("its native twin over {}", native.cell.transport);
    let pair = cell_of(seen, native);
    let mut difference = ExplainedDifference {
        a: pair.id.clone(),
        b: native.id.clone(),
        division: pair.division,
        counts: counts(&pair, native),
        // One is measured, the other was only watched: what they differ by has no interval.
        ..ExplainedDifference::default()
    };
    let cells = [pair, native.clone()];
    let twins = [difference.clone()];
    let facts = CauseInputs {
        cells: &cells,
        of_cells: &[CellInputs::default(), CellInputs::default()],
        differences: &[],
        twins: &twins,
        ops: seen.requests,
        observed: &Observed::default(),
        machine: &ObservedMachine::default(),
        failure: None,
    };
    let found = causes(&facts);
    settle(std::slice::from_mut(&mut difference), &cells, &found);
    twin.causes = found;
    twin.twins = vec![difference];
    twin.differences = Vec::new();
    twin.cells = cells.into();
    twin
}

/// The pair as a cell: the twin's work, its own calls.
fn cell_of(seen: &PairSeen, native: &ExplainedCell) -> ExplainedCell {
    let side = |tally: &TraceSummary| {
        of_calls(&SystemCalls::between(&TraceSummary::default(), tally, seen.requests.max(1)))
    };
    let [client, server] = &seen.names;
    ExplainedCell {
        id: format!("{client} → {server}"),
        label: "your pair".to_owned(),
        purpose: Purpose::Watched,
        wall_ns: seen.round_trip_ns.map(|median| Estimate { median, lo: None, hi: None }),
        cpu_ns: None,
        wait_ns: None,
        parts: Vec::new(),
        floor: None,
        busy: None,
        limited_by: None,
        wake: None,
        sides: Sides { client: side(&seen.calls[0]), server: side(&seen.calls[1]) },
        network: BTreeMap::new(),
        held_back: Vec::new(),
        machine: BTreeMap::new(),
        alone: false,
        traced_ops: seen.requests,
        counted_ops: 0,
        ..native.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sentences::tests::cell;
    use super::*;
    use ipcost_model::Pattern;
    use ipcost_model::protocol::PeerRole;

    #[test]
    fn what_a_program_calls_more_than_its_twin_is_told_of_its_side() {
        let line = |call: &str| format!("7 {call} = 1 <0.000010>\n");
        let of = |calls: &[&str]| {
            let all: Vec<String> = calls.iter().map(|call| line(call)).collect();
            TraceSummary::of(&all.concat().repeat(100))
        };
        let usual = ["write(3<socket:[1]>, \"\"..., 64)", "read(3<socket:[1]>, \"\"..., 64)"];
        let more = [usual[0], "getpid()", "getpid()", "getpid()", usual[1]];
        let seen = PairSeen {
            names: ["mine".to_owned(), "redis".to_owned()],
            calls: [of(&more), of(&usual)],
            requests: 100,
            round_trip_ns: Some(50_000.0),
        };
        let mut native = cell("tcp", Pattern::Rr, 10_000.0);
        let calls = SystemCalls::between(&TraceSummary::default(), &of(&usual), 100);
        for side in [&mut native.sides.client, &mut native.sides.server] {
            side.system_calls = Some(calls.records());
        }
        let pair = cell_of(&seen, &native);
        let count = |side: PeerRole, name: &str| {
            let calls = pair.sides.of(side).system_calls.as_ref().unwrap();
            calls.iter().find(|call| call.name == name).map_or(0.0, |call| call.count)
        };
        assert_eq!((count(PeerRole::Client, "getpid"), count(PeerRole::Server, "getpid")), (3.0, 0.0));
        assert_eq!((count(PeerRole::Client, "write"), count(PeerRole::Server, "read")), (1.0, 1.0));
    }
}
