//! Names of marks, to their upper right, where the line does not go; moved up where they would hide each other, or down where there is no
//! room above.

use super::super::ink::{Anchor, Canvas, CanvasPoint};
use super::super::text::{Face, shortened, width};
use super::axes::Axes;

const FACE: Face = Face { size: 11.0, bold: false };
/// From a mark to its name.
const GAP: f64 = 3.0;
/// What a name has at least.
const LEAST: f64 = 84.0;
/// From a name to the next.
const APART: f64 = 1.0;

/// The names of a panel.
pub struct Labels {
    ends: (f64, f64),
    top: f64,
    /// Rectangles, by their upper left and their lower right corner.
    taken: Vec<[CanvasPoint; 2]>,
    names: Vec<(CanvasPoint, &'static str, String)>,
}

impl Labels {
    pub fn new(axes: &Axes) -> Self {
        Self { ends: axes.ends(), top: axes.share.end, taken: Vec::new(), names: Vec::new() }
    }

    /// What no name may hide.
    pub fn keep_free(&mut self, from: CanvasPoint, to: CanvasPoint) {
        self.taken.push([from, to]);
    }

    /// Names a mark of some radius.
    pub fn add(&mut self, at: CanvasPoint, radius: f64, text: &str, colour: &'static str) {
        let x = at.0 + radius + GAP;
        // A name that is cut short hides less than one that is moved over the line.
        let text = shortened(text, (self.ends.1 - x).max(LEAST), FACE);
        let room = width(&text, FACE);
        // Nothing leaves the panel.
        let x = x.min(self.ends.1 - room).max(self.ends.0 + GAP);
        let place = |base: f64| [(x, base - FACE.size), (x + room, base + GAP)];
        let hidden = |base: f64| self.taken.iter().copied().find(|taken| overlap(*taken, place(base)));
        let highest = self.top + FACE.size;
        let wanted = (at.1 - radius - GAP).max(highest);
        let mut base = wanted;
        while let Some([from, _]) = hidden(base) {
            base = from.1 - GAP - APART;
        }
        if base < highest {
            base = wanted;
            while let Some([_, to]) = hidden(base) {
                base = to.1 + FACE.size + APART;
            }
        }
        self.taken.push(place(base));
        self.names.push(((x, base), colour, text));
    }

    pub fn draw(self) -> Canvas {
        let mut canvas = Canvas::of("names");
        for (at, colour, text) in self.names {
            canvas.text(at, Anchor::Start, FACE, colour, &text);
        }
        canvas
    }
}

fn overlap([a_from, a_to]: [CanvasPoint; 2], [b_from, b_to]: [CanvasPoint; 2]) -> bool {
    a_from.0 < b_to.0 && b_from.0 < a_to.0 && a_from.1 < b_to.1 && b_from.1 < a_to.1
}
