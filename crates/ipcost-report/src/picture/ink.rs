//! The marks of a picture: lines, shapes and text.

use super::scale::Scale;
use super::text::{self, Face};

/// Text and points that matter.
pub const INK: &str = "#1f2328";
pub const QUIET: &str = "#59636e";
/// Lines that guide the eye.
pub const GUIDE: &str = "#d8dee4";
/// What lies behind points: the margin.
pub const BAND: &str = "#eaeef2";
/// Paper, and the inside of hollow marks.
pub const PAPER: &str = "#ffffff";

/// The pattern of dashes of a line without any.
pub const WHOLE: &str = "none";

const ARROW: f64 = 5.0;

/// Where text is, seen from its coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// To the right of it.
    Start,
    Middle,
    /// To the left of it.
    End,
}

/// A point of the picture.
pub type CanvasPoint = (f64, f64);

/// The corners of a square on its tip.
pub fn diamond((x, y): CanvasPoint, radius: f64) -> [CanvasPoint; 4] {
    [(x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius)]
}

/// What is drawn; lengths are in units of the picture.
#[derive(Debug)]
pub enum Mark {
    /// Marks that belong together.
    Group(Canvas),
    /// A line of text, whose coordinate is on its base line.
    Text {
        at: CanvasPoint,
        anchor: Anchor,
        /// How it is set.
        face: Face,
        colour: &'static str,
        text: String,
    },
    Lines {
        points: Vec<CanvasPoint>,
        colour: &'static str,
        thickness: f64,
        /// Lengths of dashes and gaps in turn, or [`WHOLE`].
        dashes: &'static str,
    },
    Area {
        points: Vec<CanvasPoint>,
        colour: &'static str,
        /// How little shines through, from 0 to 1.
        opacity: f64,
    },
    Rectangle {
        /// Its upper left corner.
        from: CanvasPoint,
        /// Its lower right corner.
        to: CanvasPoint,
        colour: &'static str,
        /// How little shines through, from 0 to 1.
        opacity: f64,
    },
    /// A disc, or a ring filled with paper.
    Disc {
        centre: CanvasPoint,
        /// To the middle of the ring.
        radius: f64,
        /// Of the disc or the ring.
        colour: &'static str,
        /// The thickness of the ring.
        ring: Option<f64>,
    },
    /// A square on its tip, filled with paper.
    Diamond {
        centre: CanvasPoint,
        /// From there to a tip, in the middle of the line.
        radius: f64,
        colour: &'static str,
        thickness: f64,
    },
}

/// Marks that belong together; they are drawn in the order in which they were added.
#[derive(Debug)]
pub struct Canvas {
    /// What they are, for programs.
    pub class: &'static str,
    title: Option<String>,
    data: Vec<(&'static str, f64)>,
    marks: Vec<Mark>,
}

impl Canvas {
    /// Marks of a kind, which programs find by its class.
    pub fn of(class: &'static str) -> Self {
        Self { class, title: None, data: Vec::new(), marks: Vec::new() }
    }

    /// What is shown when the pointer rests on these marks, and read aloud.
    pub fn title(&mut self, text: &str) {
        self.title = Some(text::clean(text));
    }

    /// A number for programs that read the picture.
    pub fn data(&mut self, name: &'static str, value: f64) {
        // Nine digits: more than a drawing has, and the same on every machine.
        let value: f64 = format!("{value:.8e}").parse().unwrap_or(value);
        self.data.push((name, value));
    }

    /// The ends of an axis, by value and by place.
    pub fn ends(&mut self, Scale { from, to, start, end, .. }: &Scale) {
        for (name, value) in [("from", *from), ("to", *to), ("start", *start), ("end", *end)] {
            self.data(name, value);
        }
    }

    pub fn title_text(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The numbers, in order of their names.
    pub fn data_values(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let mut data = self.data.clone();
        data.sort_by_key(|(name, _)| *name);
        data.into_iter()
    }

    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    pub fn add(&mut self, marks: Canvas) {
        self.marks.push(Mark::Group(marks));
    }

    /// A line of text, whose coordinate is on its base line.
    pub fn text(&mut self, at: CanvasPoint, anchor: Anchor, face: Face, colour: &'static str, text: &str) {
        self.marks.push(Mark::Text { at, anchor, face, colour, text: text::clean(text) });
    }

    pub fn line(&mut self, from: CanvasPoint, to: CanvasPoint, colour: &'static str, thickness: f64) {
        self.lines(&[from, to], colour, thickness, WHOLE);
    }

    /// A line of dashes.
    pub fn dashes(&mut self, from: CanvasPoint, to: CanvasPoint, colour: &'static str, thickness: f64) {
        self.lines(&[from, to], colour, thickness, "3 3");
    }

    /// Lines through points, with a pattern of dashes.
    pub fn lines(
        &mut self,
        points: &[CanvasPoint],
        colour: &'static str,
        thickness: f64,
        dashes: &'static str,
    ) {
        self.marks.push(Mark::Lines { points: points.to_vec(), colour, thickness, dashes });
    }

    pub fn area(&mut self, points: &[CanvasPoint], colour: &'static str, opacity: f64) {
        self.marks.push(Mark::Area { points: points.to_vec(), colour, opacity });
    }

    /// A rectangle, from its upper left corner to its lower right one.
    pub fn rectangle(&mut self, from: CanvasPoint, to: CanvasPoint, colour: &'static str, opacity: f64) {
        self.marks.push(Mark::Rectangle { from, to, colour, opacity });
    }

    /// A disc, or a ring.
    pub fn point(&mut self, centre: CanvasPoint, radius: f64, colour: &'static str, hollow: bool) {
        self.marks.push(Mark::Disc { centre, radius, colour, ring: hollow.then_some(2.0) });
    }

    /// A hollow square on its tip.
    pub fn diamond(&mut self, centre: CanvasPoint, radius: f64, colour: &'static str) {
        self.marks.push(Mark::Diamond { centre, radius, colour, thickness: 1.5 });
    }

    /// The head of an arrow whose tip is at `tip` and which points along `towards`, a step of length 1.
    pub fn arrow_head(&mut self, tip: CanvasPoint, towards: CanvasPoint, colour: &'static str) {
        let (back_x, back_y) = (tip.0 - towards.0 * ARROW, tip.1 - towards.1 * ARROW);
        let (side_x, side_y) = (towards.1 * ARROW * 0.8, towards.0 * ARROW * 0.8);
        self.area(
            &[tip, (back_x + side_x, back_y + side_y), (back_x - side_x, back_y - side_y)],
            colour,
            1.0,
        );
    }
}
