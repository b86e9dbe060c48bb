//! The places of the charts, and the switches above them; the script fills both.

use ipcost_model::{Document, Pattern};

use super::pairs::Quantity;
use super::{cheapest, text};
use crate::figures::colours;

const TEMPLATE: &str = include_str!("../../assets/html/charts.html");
/// The marks of transports, as outlines around the origin; with a colour they tell transports apart twice.
const MARKS: [&str; 6] = [
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "M-4.5-4.5h9v9h-9z",
    "M0-6L6 0 0 6-6 0z",
    "M0-5.5L5.5 4.5h-11z",
    "M-2.5-4.5h5v9h-5z",
    "M0 5.5L5.5-4.5h-11z",
];

/// A transport as charts show it.
pub struct Transport<'a> {
    pub name: &'a str,
    /// The place of its colour in the palette.
    pub colour: usize,
    /// The outline of its mark.
    pub mark: &'static str,
}

/// The transports of a document, in its order.
pub fn transports(document: &Document) -> Vec<Transport<'_>> {
    let mut names: Vec<&str> = Vec::new();
    for cell in &document.cells {
        if !names.contains(&cell.transport.as_str()) {
            names.push(&cell.transport);
        }
    }
    let transport = |(index, name)| {
        let mark = MARKS[index % MARKS.len()];
        Transport { name, colour: colours::slot(document, name), mark }
    };
    names.into_iter().enumerate().map(transport).collect()
}

/// The section of the charts.
pub fn section(document: &Document) -> String {
    let radio = |name: &str, value: &str, checked: bool, shown: &str| {
        let checked = if checked { " checked" } else { "" };
        format!(
            "<label><input type=\"radio\" name=\"{name}\" value=\"{value}\"{checked}><span>{shown}</span></label>"
        )
    };
    let first = starting_pattern(document);
    let patterns = patterns(document);
    let patterns = patterns.iter().map(|pattern| {
        let name = pattern.name();
        radio("pattern", name, Some(*pattern) == first, name)
    });
    let metrics = Quantity::ALL
        .map(|quantity| radio("metric", quantity.name(), quantity == Quantity::Wall, quantity.short()));
    let scales = [("linear", "linear"), ("log", "logarithmic")]
        .map(|(value, shown)| radio("scale", value, value == "log", shown));
    let transports = transports(document);
    let transports = transports.iter().enumerate().map(|(index, transport)| {
        let Transport { name, colour, mark } = transport;
        let name = text(name);
        format!(
            "<label class=\"chip\"><input type=\"checkbox\" name=\"transport\" value=\"{index}\" checked>\
             <svg viewBox=\"-7 -7 14 14\" class=\"picture t{colour}\" aria-hidden=\"true\"><path class=\"mark\" d=\"{mark}\"/></svg>\
             <span>{name}</span></label>"
        )
    });
    // Names of transports come last: nothing in them is replaced.
    TEMPLATE
        .replace("{patterns}", &patterns.collect::<String>())
        .replace("{metrics}", &metrics.concat())
        .replace("{scales}", &scales.concat())
        .replace("{transports}", &transports.collect::<String>())
        .replacen("{cheapest}", &cheapest::figure(document).unwrap_or_default(), 1)
}

fn patterns(document: &Document) -> Vec<Pattern> {
    let mut patterns: Vec<Pattern> = Vec::new();
    for table in &document.workloads {
        if !patterns.contains(&table.pattern) {
            patterns.push(table.pattern);
        }
    }
    patterns
}

/// The pattern with the most tables; floors are what others are seen against.
fn starting_pattern(document: &Document) -> Option<Pattern> {
    let tables = |pattern: &Pattern| match pattern {
        Pattern::Floor => 0,
        Pattern::Rr | Pattern::Stream | Pattern::Connect => {
            document.workloads.iter().filter(|table| table.pattern == *pattern).count()
        }
    };
    // The first of several with as many.
    patterns(document).into_iter().rev().max_by_key(tables)
}
