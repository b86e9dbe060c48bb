//! What pictures of lines share: ticks, intervals as areas, and the names at the ends of lines.

use ipcost_model::Estimate;

use super::RIGHT;
use super::ink::{Anchor, Canvas, CanvasPoint, GUIDE, INK, QUIET};
use super::scale::Scale;
use super::text::{Face, clean, shortened, width};
use crate::figures::ticks;

/// The title of a panel.
pub const HEAD: Face = Face { size: 14.0, bold: true };
const NAME: Face = Face { size: 12.0, bold: false };
pub const SMALL: Face = Face { size: 11.0, bold: false };

/// What the names of ticks take on the left.
pub const TICKS: f64 = 58.0;
const LEAST_TALL: f64 = 300.0;
/// How far names of lines stand apart.
pub const NAME_ROOM: f64 = 15.0;
pub const MOST_NAME: f64 = 210.0;
/// From the end of an axis to the names of lines.
const GUTTER: f64 = 26.0;
/// How far an unbounded interval is drawn from its point.
const STUB: f64 = 16.0;

/// How tall a plot with so many lines is.
pub fn tall(lines: usize) -> f64 {
    (NAME_ROOM * (lines as f64 + 1.0)).max(LEAST_TALL)
}

/// Where an axis ends, so that names fit beside it that take at most so much.
pub fn end(names: impl Iterator<Item = impl AsRef<str>>, most: f64) -> f64 {
    let widest = names.map(|name| width(&clean(name.as_ref()), NAME)).fold(0.0, f64::max);
    RIGHT - GUTTER - widest.min(most)
}

/// Adds a line across with its name at round values up an axis, at most so many.
pub fn values(
    canvas: &mut Canvas,
    up: &Scale,
    (start, end): (f64, f64),
    most: usize,
    face: Face,
    name: impl Fn(f64) -> String,
) {
    for tick in up.ticks(most) {
        let y = up.place(tick);
        canvas.line((start, y), (end, y), GUIDE, 1.0);
        canvas.text((start - 8.0, y + 4.0), Anchor::End, face, QUIET, &name(tick));
    }
}

/// Adds a line up at every place across, with its name where there is room.
pub fn places(canvas: &mut Canvas, up: &Scale, face: Face, named: impl IntoIterator<Item = (f64, String)>) {
    let mut free_from = f64::NEG_INFINITY;
    for (x, name) in named {
        canvas.line((x, up.end), (x, up.start + 4.0), GUIDE, 1.0);
        let half = width(&name, face) / 2.0;
        if x - half > free_from {
            canvas.text((x, up.start + 16.0), Anchor::Middle, face, QUIET, &name);
            free_from = x + half + 4.0;
        }
    }
}

/// Adds lines and names for times that rise, and for values across.
pub fn ticks(
    canvas: &mut Canvas,
    (across, up): (&Scale, &Scale),
    named: impl IntoIterator<Item = (f64, String)>,
) {
    values(canvas, up, (across.start, across.end), 8, SMALL, |tick| ticks::time(tick, None));
    places(canvas, up, SMALL, named.into_iter().map(|(value, name)| (across.place(value), name)));
    canvas.line((across.start, up.start), (across.end, up.start), QUIET, 1.0);
}

/// The intervals of neighbouring points as one area, each from its lower end to its upper one; where one of them has none, there is a
/// gap.
pub fn band(intervals: &[Option<[CanvasPoint; 2]>], colour: &'static str, opacity: f64) -> Canvas {
    let mut canvas = Canvas::of("band");
    for pair in intervals.windows(2) {
        if let (Some(left), Some(right)) = (pair[0], pair[1]) {
            canvas.area(&[left[0], left[1], right[1], right[0]], colour, opacity);
        }
    }
    canvas
}

/// The interval of a point: solid where it is known, a stub of dashes with an arrow where it is unbounded.
pub fn whiskers(cost: Estimate, (x, y): CanvasPoint, up: &Scale, colour: &'static str) -> Canvas {
    let Estimate { lo, hi, .. } = cost;
    let mut canvas = Canvas::of(if lo.is_none() || hi.is_none() { "interval unbounded" } else { "interval" });
    for (end, towards) in [(lo, 1.0), (hi, -1.0)] {
        match end {
            Some(value) => {
                let to = up.place(value);
                canvas.line((x, y), (x, to), colour, 1.25);
                if up.holds(value) {
                    canvas.line((x - 3.0, to), (x + 3.0, to), colour, 1.25);
                } else {
                    canvas.arrow_head((x, to), (0.0, towards), colour);
                }
            }
            None => {
                canvas.dashes((x, y), (x, y + towards * STUB), colour, 1.25);
                canvas.arrow_head((x, y + towards * STUB), (0.0, towards), colour);
            }
        }
    }
    canvas
}

/// What stands at the right end of a line.
pub struct Name {
    pub text: String,
    pub colour: &'static str,
    /// Where its line ends.
    pub end: CanvasPoint,
}

/// The names of lines at their right ends, moved apart where they would hide each other.
pub fn names(names: Vec<Name>, across: &Scale, up: &Scale) -> Canvas {
    let mut canvas = Canvas::of("names");
    add_names(&mut canvas, names, across, up);
    canvas
}

/// The same, not as a group.
pub fn add_names(canvas: &mut Canvas, mut names: Vec<Name>, across: &Scale, up: &Scale) {
    names.sort_by(|a, b| a.end.1.total_cmp(&b.end.1));
    let wanted: Vec<f64> = names.iter().map(|name| name.end.1).collect();
    let start = across.end + GUTTER;
    for (name, y) in names.iter().zip(apart(&wanted, NAME_ROOM, up.end + 6.0, up.start - 2.0)) {
        let (x, end) = name.end;
        canvas.lines(&[(x + 5.0, end), (across.end + 4.0, end), (start - 4.0, y)], name.colour, 0.75, "none");
        let text = shortened(&clean(&name.text), RIGHT - start, NAME);
        canvas.text((start, y + 4.0), Anchor::Start, NAME, INK, &text);
    }
}

/// Places near the wanted ones, which rise, at least `room` apart, and between the limits as far as there is room.
pub fn apart(wanted: &[f64], room: f64, least: f64, most: f64) -> Vec<f64> {
    let mut places: Vec<f64> = Vec::with_capacity(wanted.len());
    for want in wanted {
        let after = places.last().map_or(least, |last| last + room);
        places.push(want.max(after));
    }
    let mut limit = most;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - room;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_apart_and_keep_their_order() {
        let places = apart(&[10.0, 11.0, 50.0, 98.0, 99.0], 15.0, 0.0, 100.0);
        assert_eq!(places, [10.0, 25.0, 50.0, 85.0, 100.0]);
        assert_eq!(apart(&[5.0], 15.0, 0.0, 100.0), [5.0]);
    }
}
