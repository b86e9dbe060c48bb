//! The figures of an explanation in tables: parts side by side, and what each side calls.

use ipcost_lab::system_calls::CallRecord;
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::{percent, size_text};
use ipcost_model::{Estimate, Object, Placement};
use ipcost_report::grid::{Column, Grid, Piece};
use ipcost_report::numbers::ratio;
use ipcost_report::words::{capitalised, escaped};

use crate::explain::kinds::{Kind, Sum, calls_are_certain};
use crate::explain::sentences::{number, part_name, place, span, time};
use crate::explain::{ExplainedCell, ExplainedDifference, ExplainedFloor, SideEvidence};

const NAME: Column = Column { title: "", right: false, expendable: 0 };
const VALUE: Column = Column { title: "", right: true, expendable: 0 };
const INTERVAL: Column = Column { title: "interval", right: false, expendable: 1 };
/// The most system calls that are shown of a side.
const MOST_CALLS: usize = 8;

/// The parts of two cells, their difference, and what was counted.
pub fn of_pair(
    out: &mut String,
    difference: &ExplainedDifference,
    a: &ExplainedCell,
    b: &ExplainedCell,
    room: usize,
) {
    let mut grid = Grid::new(&[NAME, VALUE, VALUE, VALUE, INTERVAL]);
    grid.title(0, heading(a.placement));
    grid.title(1, escaped(&a.label));
    grid.title(2, escaped(&b.label));
    grid.title(3, "difference".to_owned());
    let median = |estimate: Option<Estimate>| estimate.map_or(String::new(), |found| time(found.median));
    let mut row = |name: String, of_a: String, of_b: String, difference: Option<(Estimate, bool)>| {
        let (amount, around) = match difference {
            Some((ns, _)) if ns.lo.is_none() => ("not known yet".to_owned(), String::new()),
            Some((ns, true)) => (signed(ns.median), span(&ns)),
            Some((ns, false)) => ("no more".to_owned(), span(&ns)),
            None => Default::default(),
        };
        let around = around.trim().trim_matches(['(', ')']).to_owned();
        grid.row(vec![name.into(), of_a.into(), of_b.into(), amount.into(), Piece::from(around)]);
    };
    row(
        "elapsed".to_owned(),
        median(a.wall_ns),
        median(b.wall_ns),
        difference.wall_ns.map(|ns| (ns, difference.differs)),
    );
    let cost = |cell: &ExplainedCell, part| {
        median(cell.parts.iter().find(|known| known.part == part).map(|known| known.ns))
    };
    for part in &difference.parts {
        let name = format!("  {}", part_name(part.part));
        row(name, cost(a, part.part), cost(b, part.part), Some((part.ns, part.differs)));
    }
    if a.floor.is_some() || b.floor.is_some() {
        let row = |text: fn(&ExplainedFloor) -> String| {
            [a, b].map(|cell| cell.floor.as_ref().map_or(String::new(), text))
        };
        for (name, [of_a, of_b]) in [("× floor", row(floor_text)), ("floor, begin and end", row(floors_text))]
        {
            grid.row(vec![name.into(), of_a.into(), of_b.into()]);
        }
    }
    for count in difference.counts.iter().filter(|count| count.a > 0.0 || count.b > 0.0) {
        let side = count.side.map_or(String::new(), |side| format!(", {side}"));
        let name = format!("{}{side}", count.what.replace('_', " "));
        let change = if count.differs { format!("{:+.2}", count.a - count.b) } else { "no more".to_owned() };
        grid.row(vec![name.into(), number(count.a).into(), number(count.b).into(), change.into()]);
    }
    for name in network_names(&[a, b]) {
        let of = |cell: &ExplainedCell| cell.network.get(name).map_or(String::new(), |count| number(*count));
        let text = format!("{}, both sides", name.replace('_', " "));
        grid.row(vec![text.into(), of(a).into(), of(b).into()]);
    }
    grid.render(out, room);
}

fn heading(placement: Placement) -> String {
    let place = place(placement).map_or_else(String::new, |place| format!(", {place}"));
    format!("for one operation{place}")
}

/// The multiple of a floor; both floors where they differ by so much that the multiple says little.
fn floor_text(floor: &ExplainedFloor) -> String {
    if floor.steady { ratio(floor.multiple.median) } else { String::new() }
}

/// What the floor was at the begin and at the end.
fn floors_text(floor: &ExplainedFloor) -> String {
    format!("{}, then {}", time(floor.begin_ns), time(floor.end_ns))
}

/// The parts of one cell, and what was counted.
pub fn of_cell(out: &mut String, cell: &ExplainedCell, room: usize) {
    let mut grid = Grid::new(&[NAME, VALUE, VALUE, INTERVAL]);
    grid.title(0, heading(cell.placement));
    grid.title(1, escaped(&cell.label));
    grid.title(2, "share".to_owned());
    let around = |ns: &Estimate| span(ns).trim().trim_matches(['(', ')']).to_owned();
    if let Some(wall) = &cell.wall_ns {
        grid.row(vec!["elapsed".into(), time(wall.median).into(), "".into(), around(wall).into()]);
    }
    for part in &cell.parts {
        let share = percent(part.share);
        let name = format!("  {}", part_name(part.part));
        grid.row(vec![name.into(), time(part.ns.median).into(), share.into(), around(&part.ns).into()]);
    }
    if let Some(floor) = &cell.floor {
        let multiple = &floor.multiple;
        let bounds = multiple.lo.zip(multiple.hi).map(|(lo, hi)| format!("{}–{}", ratio(lo), ratio(hi)));
        let bounds = bounds.unwrap_or_default();
        if floor.steady {
            grid.row(vec!["× floor".into(), ratio(multiple.median).into(), "".into(), bounds.into()]);
        }
        grid.row(vec!["floor, begin and end".into(), floors_text(floor).into()]);
    }
    for side in [PeerRole::Client, PeerRole::Server] {
        let evidence = cell.sides.of(side);
        let mut row = |what: &str, value: Option<f64>| {
            if let Some(value) = value.filter(|value| *value > 0.0) {
                grid.row(vec![format!("{}, {side}", what.replace('_', " ")).into(), number(value).into()]);
            }
        };
        let calls = evidence.system_calls.as_ref();
        row(
            "system calls",
            calls
                .filter(|_| calls_are_certain(cell, side))
                .map(|calls| calls.iter().map(|call| call.count).sum()),
        );
        row("voluntary switches", evidence.voluntary_switches);
        row("involuntary switches", evidence.involuntary_switches);
        evidence.events.iter().for_each(|(name, count)| row(name, Some(*count)));
    }
    for name in network_names(&[cell]) {
        let text = format!("{}, both sides", name.replace('_', " "));
        grid.row(vec![text.into(), number(cell.network[name]).into()]);
    }
    grid.render(out, room);
}

/// Which system calls each side makes, with the bytes they move and how they fail.
pub fn calls(out: &mut String, cell: &ExplainedCell, room: usize) {
    let of = |side: PeerRole| {
        let SideEvidence { system_calls, .. } = cell.sides.of(side);
        let calls = system_calls.as_ref().filter(|calls| !calls.is_empty())?;
        let mut shown: Vec<String> = calls.iter().take(MOST_CALLS).map(|made| call(made, cell)).collect();
        if calls.len() > MOST_CALLS {
            shown.push(format!("{} more", calls.len() - MOST_CALLS));
        }
        Some(format!("  {side}: {}", shown.join(", ")))
    };
    let lines: Vec<String> = [PeerRole::Client, PeerRole::Server].into_iter().filter_map(of).collect();
    if lines.is_empty() {
        return;
    }
    out.push_str(&format!("\n{} calls for one operation\n", capitalised(&escaped(&cell.label))));
    for line in lines {
        let options = textwrap::Options::new(room.clamp(40, 110)).subsequent_indent("    ");
        out.push_str(&textwrap::fill(&escaped(&line), options));
        out.push('\n');
    }
}

fn call(call: &CallRecord, cell: &ExplainedCell) -> String {
    let kind = Kind::of(call, &cell.transport);
    // What tracing may have changed is not exact.
    let about = if kind.is_certain(cell, Some(&Sum::of(call))) { "" } else { "~" };
    let mut text = format!("{} {about}{}", call.name, number(call.count));
    let failed: f64 = call.failures.values().sum();
    let succeeded = call.count - failed;
    let mut notes = Vec::new();
    if let Some(on) = call.on.filter(|on| !matches!(on, Object::Socket | Object::Pipe)) {
        notes.push(format!("on a {on}"));
    }
    if let Some(moved) = call.moved.filter(|moved| *moved > 0.0 && succeeded > 0.0) {
        notes.push(format!("{} each", bytes(moved / succeeded)));
        let asked = call.asked.map(|asked| asked / succeeded).unwrap_or_default();
        if asked > 1.05 * moved / succeeded {
            notes.push(format!("of {} asked for", bytes(asked)));
        }
    }
    if call.aside {
        notes.push("in threads that move no messages".to_owned());
    }
    // How long it waits for the other side says how slow that is while it is traced.
    if let Some(took) = call.took_ns.filter(|_| !kind.waits_for_other()) {
        notes.push(format!("{} in it", time(took)));
    }
    notes.extend(
        call.failures
            .iter()
            .filter(|(_, rate)| **rate > 0.0)
            .map(|(error, rate)| format!("{error} {}", number(*rate))),
    );
    if !notes.is_empty() {
        text.push_str(&format!(" ({})", notes.join(", ")));
    }
    text
}

/// Bytes on average: exact where they are whole.
fn bytes(mean: f64) -> String {
    let whole = mean.round();
    let near = (mean - whole).abs() < 0.01 * mean.max(1.0);
    if near && (whole < 10_000.0 || whole % 1_024.0 == 0.0 || whole % 1_000.0 == 0.0) {
        return size_text(whole as u64);
    }
    match mean {
        mean if mean >= 10_000.0 => format!("{:.1} KiB", mean / 1_024.0),
        mean => format!("{mean:.0} B"),
    }
}

fn network_names<'a>(cells: &[&'a ExplainedCell]) -> Vec<&'a str> {
    let mut names: Vec<&str> = cells
        .iter()
        .flat_map(|cell| {
            cell.network.iter().filter(|(_, count)| **count > 0.0).map(|(name, _)| name.as_str())
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn signed(ns: f64) -> String {
    if ns < 0.0 { format!("−{}", time(-ns)) } else { format!("+{}", time(ns)) }
}
