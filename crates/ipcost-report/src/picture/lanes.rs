//! A time line of threads: a lane each, their states in colours and patterns, and what happened at moments.

use super::ink::{Anchor, Canvas, GUIDE, INK, QUIET};
use super::text::{ELLIPSIS, Face, TO_BASE, clean, shortened, width};
use super::{Background, LEAD, LEFT, Picture, PictureError, RIGHT, bare, framed};
use crate::figures::colours::PALETTE;
use crate::figures::lanes::{Lane, LaneSpan, LaneState, Lanes};
use crate::numbers::time;

const NAME: Face = Face { size: 11.5, bold: true };
const TICK: Face = Face { size: 10.5, bold: false };
/// Of a lane's name, of its bar, and below it.
const HEAD: f64 = 18.0;
const BAR: f64 = 18.0;
const GAP: f64 = 8.0;
/// Of the names of moments.
const MOMENTS: f64 = 16.0;
const PAD: f64 = 3.0;
/// Between the lines of a pattern.
const HATCH: f64 = 5.0;

const RUNS: &str = PALETTE[0].light;
const READY: &str = PALETTE[3].light;
const WAITS: &str = PALETTE[5].light;
const STOPPED: &str = PALETTE[2].light;

pub const READING: &str = "One slow request from left to right, a lane a thread.";

/// As a picture that stands for itself.
pub fn draw(lanes: &Lanes, background: Background) -> Result<Picture, PictureError> {
    framed(&lanes.title, [READING.to_owned()], background, |canvas, y| Ok(body(lanes, canvas, y + 8.0)))
}

/// On a page that has the words.
pub fn plain(lanes: &Lanes) -> Result<Picture, PictureError> {
    bare(&lanes.title, |canvas, y| Ok(body(lanes, canvas, y)))
}

fn body(lanes: &Lanes, canvas: &mut Canvas, top: f64) -> f64 {
    let across = Across { lasts_us: lanes.lasts_us.max(f64::MIN_POSITIVE) };
    let top = legend(lanes, canvas, top);
    let bottom = top + MOMENTS + lanes.lanes.len() as f64 * (HEAD + BAR + GAP);
    moments(lanes, canvas, across, (top, bottom));
    for (index, lane) in lanes.lanes.iter().enumerate() {
        canvas.add(drawn(lane, across, top + MOMENTS + index as f64 * (HEAD + BAR + GAP)));
    }
    canvas.text((LEFT, bottom + 12.0), Anchor::Start, TICK, QUIET, "0");
    canvas.text((RIGHT, bottom + 12.0), Anchor::End, TICK, QUIET, &time(lanes.lasts_us * 1e3));
    bottom + 22.0
}

/// From times to places.
#[derive(Debug, Clone, Copy)]
struct Across {
    lasts_us: f64,
}

impl Across {
    fn place(self, at_us: f64) -> f64 {
        LEFT + (at_us / self.lasts_us).clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

/// The states that occur, in one line.
fn legend(lanes: &Lanes, canvas: &mut Canvas, top: f64) -> f64 {
    let mut x = LEFT;
    for state in LaneState::ALL.iter().copied() {
        if !lanes.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.state == state) {
            continue;
        }
        bar(canvas, state, (x, top), (x + 22.0, top + LEAD.size));
        x += 28.0;
        canvas.text((x, top + LEAD.size * (0.5 + TO_BASE)), Anchor::Start, LEAD, INK, state.shown());
        x += width(state.shown(), LEAD) + 16.0;
    }
    top + 24.0
}

fn moments(lanes: &Lanes, canvas: &mut Canvas, across: Across, (top, bottom): (f64, f64)) {
    let mut free_from = f64::NEG_INFINITY;
    for (at_us, name) in &lanes.moments {
        let x = across.place(*at_us);
        canvas.dashes((x, top + MOMENTS - 2.0), (x, bottom), GUIDE, 1.0);
        let half = width(name, TICK) / 2.0;
        let middle = x.clamp(LEFT + half, RIGHT - half);
        if middle - half > free_from {
            canvas.text((middle, top + MOMENTS - 6.0), Anchor::Middle, TICK, QUIET, name);
            free_from = middle + half + 6.0;
        }
    }
}

fn drawn(lane: &Lane, across: Across, top: f64) -> Canvas {
    let mut canvas = Canvas::of("lane");
    canvas.title(&lane.name);
    canvas.text((LEFT, top + HEAD - 5.0), Anchor::Start, NAME, INK, &lane.name);
    lane.spans.iter().for_each(|span| canvas.add(drawn_span(span, across, top + HEAD)));
    canvas
}

fn drawn_span(span: &LaneSpan, across: Across, top: f64) -> Canvas {
    let mut canvas = Canvas::of("span");
    canvas.title(&span.title);
    canvas.data("from", span.from_us);
    canvas.data("to", span.to_us);
    let (left, right) = (across.place(span.from_us), across.place(span.to_us));
    bar(&mut canvas, span.state, (left, top), (right, top + BAR));
    let name = shortened(&clean(&span.name), right - left - 2.0 * PAD, TICK);
    if !name.is_empty() && !name.starts_with(ELLIPSIS) {
        let half = width(&name, TICK) / 2.0 + PAD;
        let middle = (left + right) / 2.0;
        canvas.rectangle(
            (middle - half, top + 2.0),
            (middle + half, top + BAR - 2.0),
            super::ink::PAPER,
            0.9,
        );
        let base = top + BAR / 2.0 + TICK.size * TO_BASE;
        canvas.text((middle, base), Anchor::Middle, TICK, INK, &name);
    }
    canvas
}

/// A state: filled where it runs, striped where it could, a dashed line where it waits, crossed out where it is stopped.
fn bar(canvas: &mut Canvas, state: LaneState, from: (f64, f64), to: (f64, f64)) {
    let middle = (from.1 + to.1) / 2.0;
    match state {
        LaneState::Runs => canvas.rectangle(from, to, RUNS, 1.0),
        LaneState::Ready => {
            canvas.rectangle(from, to, READY, 0.35);
            let tall = to.1 - from.1;
            let count = ((to.0 - from.0) / HATCH) as usize;
            for x in (0..count).map(|index| from.0 + index as f64 * HATCH) {
                let share = ((to.0 - x) / tall).min(1.0);
                canvas.line((x, to.1), (x + tall * share, to.1 - tall * share), READY, 1.2);
            }
        }
        LaneState::Waits => canvas.dashes((from.0, middle), (to.0, middle), WAITS, 1.5),
        LaneState::Stopped => {
            let corners = [from, (to.0, from.1), to, (from.0, to.1), from];
            canvas.lines(&corners, STOPPED, 1.2, super::ink::WHOLE);
            canvas.line(from, to, STOPPED, 1.2);
            canvas.line((from.0, to.1), (to.0, from.1), STOPPED, 1.2);
        }
        LaneState::Unknown => canvas.rectangle(from, to, GUIDE, 0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_looks_different_and_every_span_is_drawn() {
        let drawn_of = |state: LaneState| {
            let span = LaneSpan {
                from_us: 10.0,
                to_us: 900.0,
                state,
                title: "in fdatasync".to_owned(),
                name: "fdatasync".to_owned(),
            };
            let lane = Lane { name: "python3 <4711>".to_owned(), spans: vec![span.clone(), span] };
            let moments = vec![(0.0, "sent"), (400.0, "read")];
            let lanes =
                Lanes { title: "a request".to_owned(), lasts_us: 1_000.0, moments, lanes: vec![lane] };
            draw(&lanes, Background::White).unwrap().svg()
        };
        let pictures: std::collections::BTreeSet<String> =
            LaneState::ALL.iter().copied().map(drawn_of).collect();
        assert_eq!(pictures.len(), LaneState::ALL.len());
        for svg in pictures {
            let document = roxmltree::Document::parse(&svg).unwrap();
            let spans = document.descendants().filter(|node| node.attribute("class") == Some("span")).count();
            assert_eq!(spans, 2);
            assert!(!svg.contains("NaN") && svg.contains("fdatasync") && svg.contains("sent"));
        }
    }

    #[test]
    fn a_time_of_nothing_is_drawn() {
        assert!(!plain(&Lanes::default()).unwrap().svg().contains("NaN"));
    }
}
