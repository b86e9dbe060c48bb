//! Multiples of floors on a script instead of a machine: exactly what the figures say.

use ipcost_lab::{Contrasts, PlanSettings, plan, run};
use ipcost_model::{
    Capabilities, Document, FloorKind, Offers, Pattern, Placement, Plan, TransportState, expand, parse_job,
};
use ipcost_stats::Random;

use crate::script::*;

const CALL: Capabilities = Capabilities { name: "call", floor: Some(FloorKind::SystemCall), ..NULL };
const HAND: Capabilities = Capabilities { name: "hand", floor: Some(FloorKind::HandOver), ..NULL };
const COPY: Capabilities = Capabilities { name: "copy", floor: Some(FloorKind::Copy), ..NULL };

fn planned_with_floors(text: &str) -> Plan {
    let state = |capabilities| TransportState { capabilities, unavailable: None };
    let transports = [state(&NULL), state(&TWO), state(&CALL), state(&HAND), state(&COPY)];
    let job = parse_job(text).unwrap();
    let lacking = [(Placement::Apart, "only one core".to_owned())];
    let offers = Offers {
        transports: &transports,
        placements_unavailable: &lacking,
        peers: &[],
        lacks: Offers::LACKS_NOTHING,
    };
    plan(expand(&job, &offers).unwrap(), &PlanSettings::of(&job, 1)).unwrap()
}

fn measured(plan: Plan, script: &mut Script) -> Document {
    report(run(plan, &Contrasts, script, &mut Known::default(), &mut Witness::default()))
}

const RR: &str = "floor = true\nbaseline = \"two\"\nseed = 3\nepochs = 30\nlatency = \"off\"\n[[cells]]\ntransport = [\"one\", \"two\"]\n";

#[test]
fn a_multiple_is_the_cost_over_its_parts_in_the_same_round() {
    let plan = planned_with_floors(RR);
    let ids: Vec<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(ids, ["rr/one/64/c1", "rr/two/64/c1", "floor/hand/c1", "floor/copy/64/c1"]);
    // The machine's speed differs from epoch to epoch; multiples are taken within one.
    let speed = |epoch: u32| 1.0 + 0.3 * f64::from(epoch % 7);
    let costs = [10_000.0, 20_000.0, 2_000.0, 250.0];
    let document = measured(plan, &mut Script::new(move |cell, epoch| costs[cell] * speed(epoch)));
    for (index, multiple) in [(0, 2.0), (1, 4.0)] {
        let floor = document.cells[index].floor.as_ref().unwrap();
        assert_eq!(floor.made_of, "2 hand-overs + 4 copies of 64 B");
        let near = |value: f64| (value / multiple - 1.0).abs() < 1e-3;
        assert!(near(floor.multiple.median), "{floor:?}");
        assert!(near(floor.multiple.lo.unwrap()) && near(floor.multiple.hi.unwrap()), "{floor:?}");
        let parts: Vec<(&str, f64)> =
            floor.parts.iter().map(|part| (part.cell.as_str(), part.count)).collect();
        assert_eq!(parts, [("floor/hand/c1", 2.0), ("floor/copy/64/c1", 4.0)]);
        for part in &floor.parts {
            let cell = document.cells.iter().find(|cell| cell.id == part.cell).unwrap();
            assert_eq!(part.ns, part.count * cell.wall_ns_per_op.unwrap().median);
        }
        let together: f64 = floor.parts.iter().map(|part| part.ns).sum();
        assert!((floor.ns_per_op / together - 1.0).abs() < 1e-3, "{floor:?}");
    }
    assert!(document.cells[2].floor.is_none());
}

#[test]
fn the_interval_covers_what_noise_hides() {
    let mut random = Random::new(5);
    let costs = [10_000.0, 20_000.0, 2_000.0, 250.0];
    let mut script = Script::new(move |cell, _| costs[cell] * (0.1 * random.normal()).exp());
    let document = measured(planned_with_floors(RR), &mut script);
    let multiple = document.cells[0].floor.as_ref().unwrap().multiple;
    let (lo, hi) = (multiple.lo.unwrap(), multiple.hi.unwrap());
    assert!(lo < 2.0 && 2.0 < hi && lo < multiple.median && multiple.median < hi, "{multiple:?}");
    assert!(hi / lo < 1.5, "{multiple:?}");
}

#[test]
fn floors_are_neither_compared_nor_ranked_and_share_no_alpha() {
    let document = measured(planned_with_floors(RR), &mut noisy(&[10_000.0, 20_000.0, 2_000.0, 250.0], 0.02));
    let without = planned(&RR.replace("floor = true\n", ""));
    assert_eq!(document.analysis.family, without.family);
    assert!(document.contrasts.iter().all(|contrast| !contrast.a.starts_with("floor/")));
    let tables: Vec<Pattern> = document.workloads.iter().map(|table| table.pattern).collect();
    assert_eq!(tables, [Pattern::Rr, Pattern::Floor]);
    let floors = &document.workloads[1];
    assert_eq!((floors.cells.len(), &floors.baseline, &floors.fastest), (2, &None, &None));
}

#[test]
fn what_costs_less_than_its_floor_is_told() {
    let document = measured(planned_with_floors(RR), &mut noisy(&[3_000.0, 20_000.0, 2_000.0, 2.0], 0.02));
    let warning = document.warnings.iter().find(|warning| warning.code == "below-floor").unwrap();
    let about = ["0.74", "0.75", "0.76"].map(|cost| format!("rr/one/64/c1 costs {cost} × its floor"));
    assert!(about.iter().any(|text| warning.message.contains(text)), "{}", warning.message);
    let about_two = |warning: &&ipcost_model::Warning| warning.message.starts_with("rr/two");
    assert!(!document.warnings.iter().filter(|warning| warning.code == "below-floor").any(|w| about_two(&w)));
}

#[test]
fn without_a_part_there_is_no_multiple() {
    // Placement apart is unavailable: its cells are not measured, and need no floor.
    let text = RR.replace("[[cells]]\n", "[[cells]]\nplacement = [\"together\", \"apart\"]\n");
    let plan = planned_with_floors(&text);
    let apart = plan.cells.iter().filter(|cell| cell.placement == Placement::Apart);
    assert!(apart.clone().count() == 2 && apart.into_iter().all(|cell| cell.floor.is_none()));
    assert!(plan.cells.iter().any(|cell| cell.id == "floor/hand/c1/together"));
}
