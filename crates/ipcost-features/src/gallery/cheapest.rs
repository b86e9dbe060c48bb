//! When which transport is cheapest: a row for each work and placement, a column for each group of hosts.

use std::collections::HashMap;

use ipcost_report::colours::slot_among;
use ipcost_report::html::matrix::{Matrix, MatrixField, MatrixRow, RowGroup, Tint};
use ipcost_report::numbers::ratio;
use ipcost_report::words::{capitalised, cores};

use super::Gallery;
use crate::fleet::{CheapestOn, Fleet, FleetCheapest, GroupCheapest};

/// So many names may be in an open field.
const MOST_NAMES: usize = 3;

/// How to read it.
pub fn reading(fleet: &Fleet, shown: &[(usize, u64)]) -> String {
    let groups: Vec<&GroupCheapest> = fleet
        .cheapest
        .iter()
        .flat_map(|table| &table.groups)
        .filter(|of| shown.iter().any(|(_, group)| *group == of.group))
        .collect();
    let mut parts =
        vec!["A colour: known to be the cheapest there, with its cost relative to the next.".to_owned()];
    if groups.iter().any(|of| of.cheapest.iter().any(|on| on.labels.len() > 1)) {
        let margin = fleet.margin * 100.0;
        parts.push(format!("Names with =: they cost the same within {margin:.0} % in the median."));
    }
    if groups.iter().any(|of| of.cheapest.len() > 1 || (of.open > 0 && !of.cheapest.is_empty())) {
        parts.push("Several parts: the hosts of the group differ, in these shares.".to_owned());
    }
    if groups.iter().any(|of| of.open > 0) {
        parts.push("Hatched: open, any of those named may be the cheapest.".to_owned());
    }
    parts.join(" ")
}

/// The table of these groups; `None` if no work of theirs was compared.
pub fn matrix(gallery: &Gallery, job: usize, shown: &[(usize, u64)]) -> Option<Matrix> {
    let fleet = &gallery.fleets[job];
    let colours = Colours::of(fleet);
    let mut parts: Vec<RowGroup> = Vec::new();
    for table in &fleet.cheapest {
        let row = row(table, shown, &colours);
        if row.fields.iter().all(Option::is_none) {
            continue;
        }
        let title = capitalised(&table.work);
        match parts.iter_mut().find(|part| part.title == title) {
            Some(part) => part.rows.push(row),
            None => parts.push(RowGroup { title, rows: vec![row] }),
        }
    }
    if parts.is_empty() {
        return None;
    }
    let column = |(index, group): &(usize, u64)| {
        // Hosts that only looked into claims ran no work of the table.
        let hosts = fleet.cheapest.iter().map(|table| hosts_of(table, *group)).max().unwrap_or_default();
        gallery.groups.column(*index, hosts)
    };
    let columns = shown.iter().map(column).collect();
    Some(Matrix { corner: "work, processes on".to_owned(), columns, parts })
}

fn row(table: &FleetCheapest, shown: &[(usize, u64)], colours: &Colours<'_>) -> MatrixRow {
    let field = |(_, group): &(usize, u64)| {
        let found = table.groups.iter().find(|of| of.group == *group)?;
        Some(field(found, colours))
    };
    MatrixRow {
        name: cores(table.placement).to_owned(),
        link: None,
        fields: shown.iter().map(field).collect(),
    }
}

/// How many hosts of a group did the work of a table.
fn hosts_of(table: &FleetCheapest, group: u64) -> u64 {
    table.groups.iter().find(|of| of.group == group).map_or(0, hosts)
}

fn hosts(found: &GroupCheapest) -> u64 {
    found.open + found.cheapest.iter().map(|on| on.hosts).sum::<u64>()
}

fn field(found: &GroupCheapest, colours: &Colours<'_>) -> MatrixField {
    let all = hosts(found);
    let name = |on: &CheapestOn| on.labels.join(" = ");
    let known = found.cheapest.iter().flat_map(|on| colours.tints(on));
    let open = (found.open > 0).then_some((Tint::Open, found.open as f64));
    let tints = known.chain(open).collect();
    match found.cheapest.first() {
        None => MatrixField {
            name: any_of(&found.open_among),
            small: "open".to_owned(),
            is_open: true,
            ..MatrixField::default()
        },
        Some(first) if first.hosts == all => {
            MatrixField { name: name(first), small: relative(first), tints, is_open: false }
        }
        Some(first) => {
            let mut others: Vec<String> =
                found.cheapest[1..].iter().map(|on| format!("{} on {}", name(on), on.hosts)).collect();
            others.extend((found.open > 0).then(|| format!("open on {}", found.open)));
            let small = format!("on {} of {all}; {}", first.hosts, others.join(", "));
            MatrixField { name: name(first), small, tints, is_open: false }
        }
    }
}

/// `0.46 × tcp`.
fn relative(on: &CheapestOn) -> String {
    let Some(relative) = on.relative else { return "same cost".to_owned() };
    format!("{} × {}", ratio(relative), on.next.as_deref().unwrap_or("the next"))
}

/// `pipe or unix`, `pipe or 4 others`.
fn any_of(labels: &[String]) -> String {
    match labels {
        [] => "open".to_owned(),
        [only] => only.clone(),
        [rest @ .., last] if labels.len() <= MOST_NAMES => format!("{} or {last}", rest.join(", ")),
        [first, others @ ..] => format!("{first} or {} others", others.len()),
    }
}

/// The places of transports in the palette.
struct Colours<'a>(HashMap<&'a str, usize>);

impl<'a> Colours<'a> {
    fn of(fleet: &'a Fleet) -> Self {
        let sets = fleet.cheapest.iter().flat_map(|table| &table.cheapest);
        let mut all: Vec<&str> = Vec::new();
        for name in sets.flat_map(|on| &on.transports) {
            if !all.contains(&name.as_str()) {
                all.push(name);
            }
        }
        Self(all.iter().map(|name| (*name, slot_among(all.iter().copied(), name))).collect())
    }

    /// The colours of cells that cost the same, which share the field of their hosts.
    fn tints(&self, on: &CheapestOn) -> Vec<(Tint, f64)> {
        let mut slots: Vec<usize> = Vec::new();
        for slot in on.transports.iter().filter_map(|name| self.0.get(name.as_str())) {
            if !slots.contains(slot) {
                slots.push(*slot);
            }
        }
        let share = on.hosts as f64 / slots.len().max(1) as f64;
        slots.into_iter().map(|slot| (Tint::Transport(slot), share)).collect()
    }
}
