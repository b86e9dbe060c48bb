//! What changed, as one page, which loads nothing and needs no script.

use ipcost_report::html::Fragment;
use ipcost_report::html::site::{Field, Look, Page, Section, Table};
use ipcost_report::numbers::ratio;
use ipcost_report::picture::plain_forest;
use ipcost_report::words::capitalised;

use super::drawn::drawn;
use super::record::{Change, Comparison, GroupChange};
use super::words::{
    NO_DIFFERENCE, bounds, change_verdict, differences, differences_title, group_bounds, group_name,
    group_verdict, groups, groups_title, how, known, name, said, sides, tables, value,
};

/// The page.
pub fn page(comparison: &Comparison) -> Page {
    let links =
        [("#words", "In plain words"), ("#changes", "Changes"), ("#differences", "What else differs")];
    Page {
        title: "Did it change?".to_owned(),
        about: sides(comparison).join(" · "),
        links: links.into_iter().map(|(address, name)| (address.to_owned(), name.to_owned())).collect(),
        sections: vec![
            words(Section::new("words", "In plain words"), comparison).fragment(),
            changes(Section::new("changes", "Changes"), comparison).fragment(),
            others(Section::new("differences", differences_title(comparison)), comparison).fragment(),
        ],
    }
}

/// All of it as one section of the page of a run with two arms.
pub fn section(comparison: &Comparison) -> Fragment {
    let section = Section::new("changed", "Did it change?").note(&sides(comparison).join(" · "));
    let section = changes(words(section, comparison), comparison);
    let settings = others(Section::new("", ""), comparison);
    section.folded(differences_title(comparison), settings).fragment()
}

fn words(section: Section, comparison: &Comparison) -> Section {
    let section = said(comparison).iter().fold(section, |section, line| section.paragraph(line));
    section.note(&format!("{}.", capitalised(&how(comparison))))
}

fn changes(mut section: Section, comparison: &Comparison) -> Section {
    let forest = drawn(comparison);
    if let Ok(picture) = plain_forest(&forest) {
        section = section.note(&forest.reading).picture(&picture);
    }
    let rows: Vec<Vec<Field>> = groups(comparison).map(|group| group_row(comparison, group)).collect();
    if !rows.is_empty() {
        let head = vec!["", "cells", "B / A", "", "verdict"];
        section = section.folded(groups_title(comparison), Section::new("", "").table(&Table { head, rows }));
    }
    tables(comparison).fold(section, |section, (title, changes)| {
        let rows = changes.iter().map(|change| row(change, comparison.margin)).collect();
        let table = Table { head: vec!["cell", "A", "B", "B / A", "", "verdict"], rows };
        section.folded(title, Section::new("", "").table(&table))
    })
}

fn group_row(comparison: &Comparison, group: &GroupChange) -> Vec<Field> {
    vec![
        Field::new(group_name(comparison, group), Look::Name),
        Field::new(group.cells.to_string(), Look::Number),
        Field::new(ratio(group.ratio), Look::Number),
        Field::new(group_bounds(group), Look::Interval),
        Field::new(group_verdict(group, comparison.margin), look(group.found.is_some(), group.ratio)),
    ]
}

fn row(change: &Change, margin: f64) -> Vec<Field> {
    vec![
        Field::new(name(change), Look::Name),
        Field::new(value(change, change.a), Look::Number),
        Field::new(value(change, change.b), Look::Number),
        Field::new(ratio(change.ratio), Look::Number),
        Field::new(bounds(change), Look::Interval),
        Field::new(change_verdict(change, margin), look(known(change), change.ratio)),
    ]
}

fn look(known: bool, ratio: f64) -> Look {
    match known {
        true if ratio > 1.0 => Look::Bad,
        true => Look::Good,
        false => Look::Open,
    }
}

fn others(section: Section, comparison: &Comparison) -> Section {
    let rows: Vec<Vec<Field>> = differences(comparison, true)
        .iter()
        .map(|differs| {
            let values = |values: &[String]| Field::new(values.join(", "), Look::Text);
            vec![Field::new(differs.what.clone(), Look::Name), values(&differs.a), values(&differs.b)]
        })
        .collect();
    match rows.is_empty() {
        true => section.paragraph(NO_DIFFERENCE),
        false => section.table(&Table { head: vec!["", "A", "B"], rows }),
    }
}
