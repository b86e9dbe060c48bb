//! Cost against the size of a message, or against the place of a buffer within a page: a panel a pattern, a line a
//! transport, with its interval as a band.

use ipcost_model::Document;

use super::ink::Canvas;
use super::{Body, lines};
use crate::figures::lines::{AcrossLines, Lines, LinesPanel};
use crate::figures::series::{Across, panels};
use crate::figures::texts;

/// Draws it from `top` down.
pub fn draw(document: &Document, across: Across, canvas: &mut Canvas, top: f64) -> Option<Body> {
    let (drawn, single): (Vec<LinesPanel>, Vec<LinesPanel>) =
        panels(document, across).into_iter().partition(|panel| panel.values().len() > 1);
    let lines = Lines {
        title: String::new(),
        reading: String::new(),
        across: AcrossLines::Cells(across),
        limit_ns: None,
        panels: drawn,
    };
    let Body { bottom, mut notes } = lines::body(&lines, canvas, top)?;
    let points = || lines.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    if points().any(|point| point.ends.is_some_and(|ends| ends.contains(&None))) {
        notes.push(
            "Hollow points have no interval yet: their arrows stand for one without bounds.".to_owned(),
        );
    }
    if points().any(|point| !point.modes.is_empty()) {
        notes.push(
            "Diamonds: a cell with two modes, and the cost of each; a line through its median hides them."
                .to_owned(),
        );
    }
    if lines.panels.iter().any(|panel| !panel.floors.is_empty()) {
        notes.push(texts::FLOORS.to_owned());
    }
    let skipped = single.iter().filter(|panel| !panel.lines.is_empty());
    let once = match across {
        Across::Size => "in one size",
        Across::Place => "at one place",
        Across::Pause => "with one pause",
    };
    notes.extend(skipped.map(|panel| format!("Not shown: {}: measured {once} only.", panel.title)));
    Some(Body { bottom, notes })
}

/// What the picture is about.
pub fn title(document: &Document, across: Across) -> String {
    let by = match across {
        Across::Size => "size of message",
        Across::Place => "place of the receive buffer",
        Across::Pause => "pause between operations",
    };
    let panels = panels(document, across);
    let mut drawn = panels.iter().filter(|panel| panel.values().len() > 1);
    match (drawn.next(), drawn.next()) {
        (Some(only), None) => format!("{}: cost by {by}", only.title),
        _ => format!("What one operation costs, by {by}"),
    }
}
