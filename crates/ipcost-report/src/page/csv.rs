//! The figures of a page as comma-separated values.

use super::{Block, FieldValue, Page, Table};
use crate::csv::{number, text};

impl Page<'_> {
    /// As CSV: its data, or its tables one after the other, each under its heading. Numbers are whole; costs are nanoseconds.
    pub fn csv(&self) -> String {
        if let Some(data) = &self.data {
            return table(data, None);
        }
        let mut tables = Vec::new();
        for part in [&self.blocks, &self.answer] {
            collect(part, "", &mut tables);
        }
        let single = tables.len() == 1;
        let drawn = tables.iter().map(|(title, inner)| table(inner, (!single).then_some(title.as_str())));
        drawn.collect::<Vec<String>>().join("\n")
    }
}

fn collect<'b>(blocks: &'b [Block<'_>], under: &str, tables: &mut Vec<(String, &'b Table)>) {
    for block in blocks {
        match block {
            // Without titles it is an answer to read, made of what other tables hold.
            Block::Table(table) if table.columns.iter().all(|column| column.title.is_empty()) => {}
            Block::Table(table) if !table.rows.is_empty() => tables.push((under.to_owned(), table)),
            Block::Section(section) | Block::Details(section) => {
                let title = if section.title.is_empty() { under } else { &section.title };
                collect(&section.blocks, title, tables);
            }
            _ => {}
        }
    }
}

/// A table; of several each row begins with the heading that it is under.
fn table(table: &Table, under: Option<&str>) -> String {
    let fields = |column: usize| {
        table.rows.iter().map(move |row| row.get(column)).map(|field| field.map(|field| &field.value))
    };
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|column| fields(column).flatten().map(width).max().unwrap_or(1))
        .collect();
    let mut head: Vec<String> = under.map(|_| "table".to_owned()).into_iter().collect();
    let mut name = String::new();
    for (place, (column, width)) in table.columns.iter().zip(&widths).enumerate() {
        name = match column.title.as_ref() {
            "" if place == 0 => "what".to_owned(),
            // An interval belongs to the value before it.
            "" if *width == 2 => name,
            "" => format!("column_{}", place + 1),
            title => title.replace(" / ", "_over_").replace(' ', "_") + unit(fields(place).flatten()),
        };
        let ends: &[&str] = match width {
            3 => &["", "_lo", "_hi"],
            2 => &["_lo", "_hi"],
            _ => &[""],
        };
        head.extend(ends.iter().map(|end| text(&format!("{name}{end}"))));
    }
    let row = |row: &Vec<super::Field>| {
        let mut all: Vec<String> = under.map(text).into_iter().collect();
        for (place, width) in widths.iter().enumerate() {
            let mut parts = row.get(place).map(|field| parts(&field.value)).unwrap_or_default();
            parts.resize(*width, String::new());
            all.extend(parts);
        }
        all.join(",") + "\n"
    };
    let rows: String = table.rows.iter().map(row).collect();
    format!("{}\n{rows}", head.join(","))
}

/// The end of the name of a column that says its unit.
fn unit<'a>(values: impl Iterator<Item = &'a FieldValue>) -> &'static str {
    let of = |value: &FieldValue| match value {
        FieldValue::Cost(_)
        | FieldValue::CostChange(_)
        | FieldValue::CostInterval(..)
        | FieldValue::Duration(_) => Some("_ns"),
        FieldValue::Size(_) => Some("_bytes"),
        _ => None,
    };
    values.filter_map(of).next().unwrap_or_default()
}

/// How many fields a value takes.
fn width(value: &FieldValue) -> usize {
    match value {
        FieldValue::RatioWithin(..) => 3,
        FieldValue::Interval(..) | FieldValue::CostInterval(..) | FieldValue::Range(..) => 2,
        _ => 1,
    }
}

fn parts(value: &FieldValue) -> Vec<String> {
    let maybe = |end: &Option<f64>| end.map_or_else(String::new, number);
    match value {
        FieldValue::Empty => vec![String::new()],
        FieldValue::Text(said) | FieldValue::Name(said) | FieldValue::Brief(said) => {
            vec![text(said.trim_start())]
        }
        FieldValue::Count(count) | FieldValue::Size(count) | FieldValue::Duration(count) => {
            vec![count.to_string()]
        }
        FieldValue::Cost(plain)
        | FieldValue::CostChange(plain)
        | FieldValue::PerOperation(plain)
        | FieldValue::PerOperationChange(plain)
        | FieldValue::Number(plain)
        | FieldValue::Ratio(plain)
        | FieldValue::Share(plain) => vec![number(*plain)],
        FieldValue::Interval(_, lo, hi) | FieldValue::CostInterval(lo, hi) => vec![maybe(lo), maybe(hi)],
        FieldValue::Range(_, from, to) => vec![number(*from), number(*to)],
        FieldValue::RatioWithin(ratio, lo, hi) => vec![number(*ratio), maybe(lo), maybe(hi)],
        FieldValue::Flag(flag) => vec![flag.to_string()],
    }
}
