//! The figures of an explanation in tables: parts next to each other, and what each side calls.

use ipcost_lab::system_calls::CallRecord;
use ipcost_model::protocol::PeerRole;
use ipcost_model::units::size_text;
use ipcost_model::{Estimate, Object};
use ipcost_report::numbers::{per_operation, time};
use ipcost_report::page::{Block, Column, Field, FieldValue, Paragraph, Section, Table};
use ipcost_report::words::capitalised;

use super::kinds::{CallKind, CallSum, calls_are_certain};
use super::sentences::{direction, oriented, part_name, place};
use super::{ExplainedCell, ExplainedDifference, ExplainedFloor, SideEvidence};

/// The most system calls that are shown of a side.
const MOST_CALLS: usize = 8;
/// What stands where a difference is within noise.
const NO_MORE: &str = "within noise";

/// The parts of two cells, how much more the costlier one, which comes first, takes of each, and what was counted.
pub fn of_pair<'a>(difference: &ExplainedDifference, a: &ExplainedCell, b: &ExplainedCell) -> Section<'a> {
    let sign = difference.wall_ns.map_or(1.0, |wall| direction(difference, wall.median));
    let (a, b) = if sign > 0.0 { (a, b) } else { (b, a) };
    let columns = [
        Column::text(""),
        Column::number("").titled(a.label.clone()),
        Column::number("").titled(b.label.clone()),
        Column::number("difference"),
        Column::text("interval").dropped(1),
    ];
    let row = |name: String, of: &dyn Fn(&ExplainedCell) -> Option<FieldValue>| {
        vec![FieldValue::Name(name).into(), Field::maybe(of(a)), Field::maybe(of(b))]
    };
    let cost =
        |name: String, ns: Option<(Estimate, bool)>, of: &dyn Fn(&ExplainedCell) -> Option<Estimate>| {
            let mut row = row(name, &|cell| of(cell).map(|ns| FieldValue::Cost(ns.median)));
            row.extend(ns.into_iter().flat_map(|(ns, differs)| change(&ns, differs)));
            row
        };
    let wall = difference.wall_ns.map(|ns| (oriented(&ns, sign), difference.differs));
    let mut rows = vec![cost("elapsed".to_owned(), wall, &|cell| cell.wall_ns)];
    rows.extend(difference.parts.iter().map(|part| {
        let of = |cell: &ExplainedCell| Some(cell.parts.iter().find(|known| known.part == part.part)?.ns);
        cost(format!("  {}", part_name(part.part)), Some((oriented(&part.ns, sign), part.differs)), &of)
    }));
    if a.floor.is_some() || b.floor.is_some() {
        let of_floor = FLOOR.map(|(name, value)| row(name.to_owned(), &|cell| value(cell.floor.as_ref()?)));
        let is_known = |row: &Vec<Field>| row.iter().skip(1).any(|field| field.value != FieldValue::Empty);
        rows.extend(of_floor.into_iter().filter(is_known));
    }
    rows.extend(difference.counts.iter().filter(|count| count.a > 0.0 || count.b > 0.0).map(|count| {
        let side = count.side.map_or(String::new(), |side| format!(", {side}"));
        let change = match count.differs {
            true => FieldValue::PerOperationChange(sign * (count.a - count.b)).into(),
            false => Field::from(NO_MORE),
        };
        let counts = if sign > 0.0 { [count.a, count.b] } else { [count.b, count.a] };
        let counts = counts.map(|count| FieldValue::PerOperation(count).into());
        let name = FieldValue::Name(format!("{}{side}", count.what.replace('_', " ")));
        [name.into()].into_iter().chain(counts).chain([change]).collect()
    }));
    rows.extend(network_names(&[a, b]).into_iter().map(|name| {
        let text = format!("{}, both sides", name.replace('_', " "));
        row(text, &|cell| cell.network.get(name).map(|count| FieldValue::PerOperation(*count)))
    }));
    section(&[a, b], Table::new(&columns).rows(rows))
}

/// What two costs differ by, and the interval of that.
fn change(ns: &Estimate, differs: bool) -> Vec<Field> {
    let interval = FieldValue::CostInterval(ns.lo, ns.hi);
    match (ns.lo, differs) {
        (None, _) => vec!["not known yet".into()],
        (_, true) => vec![FieldValue::CostChange(ns.median).into(), interval.into()],
        (_, false) => vec![NO_MORE.into(), interval.into()],
    }
}

type OfFloor = fn(&ExplainedFloor) -> Option<FieldValue>;

/// What is shown of a floor. Where both ends differ by so much that the multiple says little, it is left out.
const FLOOR: [(&str, OfFloor); 3] = [
    ("× floor", |floor| floor.steady.then_some(FieldValue::Ratio(floor.multiple.median))),
    ("floor at the start", |floor| Some(FieldValue::Cost(floor.begin_ns))),
    ("floor at the end", |floor| Some(FieldValue::Cost(floor.end_ns))),
];

fn section<'a>(cells: &[&ExplainedCell], table: Table) -> Section<'a> {
    let names: Vec<String> = cells.iter().map(|cell| cell.label.clone()).collect();
    let place = cells.first().and_then(|cell| place(cell.placement));
    let place = place.map_or_else(String::new, |place| format!(" {place}"));
    let title = format!("{}, for one operation{place}", capitalised(&names.join(" and ")));
    Section::new("", title).with(table)
}

/// The parts of one cell, and what was counted.
pub fn of_cell<'a>(cell: &ExplainedCell) -> Section<'a> {
    let columns = [
        Column::text(""),
        Column::number("").titled(cell.label.clone()),
        Column::number("share"),
        Column::text("interval").dropped(1),
    ];
    let cost = |name: String, ns: &Estimate, share: Option<f64>| {
        let interval = ns.lo.zip(ns.hi).map(|_| FieldValue::CostInterval(ns.lo, ns.hi));
        vec![
            FieldValue::Name(name).into(),
            FieldValue::Cost(ns.median).into(),
            Field::maybe(share.map(FieldValue::Share)),
            Field::maybe(interval),
        ]
    };
    let mut rows: Vec<Vec<Field>> = Vec::new();
    rows.extend(cell.wall_ns.iter().map(|wall| cost("elapsed".to_owned(), wall, None)));
    rows.extend(
        cell.parts.iter().map(|part| cost(format!("  {}", part_name(part.part)), &part.ns, Some(part.share))),
    );
    if let Some(floor) = &cell.floor {
        let Estimate { median, lo, hi } = floor.multiple;
        for (name, value) in FLOOR.map(|(name, value)| (name, value(floor))) {
            let Some(value) = value else { continue };
            let interval =
                matches!(value, FieldValue::Ratio(_)).then_some(FieldValue::Interval(median, lo, hi));
            rows.push(vec![name.into(), value.into(), Field::default(), Field::maybe(interval)]);
        }
    }
    let mut count = |what: &str, of: &str, count: f64| {
        if count > 0.0 {
            let name = FieldValue::Name(format!("{}, {of}", what.replace('_', " ")));
            rows.push(vec![name.into(), FieldValue::PerOperation(count).into()]);
        }
    };
    for side in [PeerRole::Client, PeerRole::Server] {
        let evidence = cell.sides.of(side);
        let calls = evidence.system_calls.as_ref().filter(|_| calls_are_certain(cell, side));
        let calls = calls.map(|calls| calls.iter().map(|call| call.count).sum());
        for (what, known) in [
            ("system calls", calls),
            ("voluntary switches", evidence.voluntary_switches),
            ("involuntary switches", evidence.involuntary_switches),
        ] {
            count(what, side.name(), known.unwrap_or_default());
        }
        evidence.events.iter().for_each(|(name, known)| count(name, side.name(), *known));
    }
    network_names(&[cell]).into_iter().for_each(|name| count(name, "both sides", cell.network[name]));
    section(&[cell], Table::new(&columns).rows(rows))
}

/// Which system calls each side makes, with the bytes they move and how they fail; nothing if none is known.
pub fn calls<'a>(cell: &ExplainedCell) -> Option<Section<'a>> {
    let of = |side: PeerRole| {
        let SideEvidence { system_calls, .. } = cell.sides.of(side);
        let calls = system_calls.as_ref().filter(|calls| !calls.is_empty())?;
        let mut shown: Vec<String> = calls.iter().take(MOST_CALLS).map(|made| call(made, cell)).collect();
        if calls.len() > MOST_CALLS {
            shown.push(format!("{} more", calls.len() - MOST_CALLS));
        }
        Some(Paragraph::plain(format!("{side}: {}", shown.join(", "))))
    };
    let sides: Vec<Paragraph> = [PeerRole::Client, PeerRole::Server].into_iter().filter_map(of).collect();
    let title = format!("{} calls for one operation", capitalised(&cell.label));
    (!sides.is_empty()).then(|| Section::new("", title).with(Block::List(sides)))
}

fn call(call: &CallRecord, cell: &ExplainedCell) -> String {
    let kind = CallKind::of(call, &cell.transport);
    // What tracing may have changed is not exact.
    let about = if kind.is_certain(cell, Some(&CallSum::of(call))) { "" } else { "~" };
    let mut text = format!("{} {about}{}", call.name, per_operation(call.count));
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
            .map(|(error, rate)| format!("{error} {}", per_operation(*rate))),
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
