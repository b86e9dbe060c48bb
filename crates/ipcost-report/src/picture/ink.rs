//! The marks of a picture: lines, shapes and text, as elements of SVG.
//!
//! Attributes are only ever numbers and constants; what comes from outside goes into text, which is escaped.

use svg::node::Node;
use svg::node::element::{Circle, Element, Group, Path, Rectangle, Text, Title};

use super::text::{self, Face};

/// Text and points that matter.
pub const INK: &str = "#1f2328";
/// Text that explains.
pub const QUIET: &str = "#59636e";
/// Lines that guide the eye.
pub const GUIDE: &str = "#d8dee4";
/// What lies behind points: the margin.
pub const BAND: &str = "#eaeef2";
/// Paper, and the inside of hollow marks.
pub const PAPER: &str = "#ffffff";

const TYPEFACES: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif";
const ARROW: f64 = 5.0;

/// Where text is, seen from its coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// To the right of it.
    Start,
    /// Around it.
    Middle,
    /// To the left of it.
    End,
}

/// A point of the picture.
pub type Point = (f64, f64);

/// Marks that belong together; they are drawn in the order in which they were added.
#[derive(Debug, Default)]
pub struct Canvas(Group);

impl Canvas {
    /// Marks of a kind, which programs find by its class.
    pub fn of(class: &'static str) -> Self {
        Self(Group::new().set("class", class))
    }

    /// What is shown when the pointer rests on these marks, and read aloud.
    pub fn title(&mut self, text: &str) {
        self.0.append(Title::new(text::clean(text)));
    }

    /// A number for programs that read the picture.
    pub fn data(&mut self, name: &'static str, value: f64) {
        // Nine digits: more than a drawing has, and the same on every machine.
        let value: f64 = format!("{value:.8e}").parse().unwrap_or(value);
        self.0.assign(format!("data-{name}"), value);
    }

    /// Adds marks.
    pub fn add(&mut self, marks: Canvas) {
        self.0.append(marks.0);
    }

    /// A line of text, whose coordinate is on its base line.
    pub fn text(&mut self, (x, y): Point, anchor: Anchor, face: Face, colour: &'static str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let mut element = Text::new(text::clean(text))
            .set("x", rounded(x))
            .set("y", rounded(y))
            .set("text-anchor", anchor)
            .set("font-size", face.size)
            .set("fill", colour);
        if face.bold {
            element = element.set("font-weight", 600);
        }
        self.0.append(element);
    }

    /// A line.
    pub fn line(&mut self, from: Point, to: Point, colour: &'static str, thickness: f64) {
        self.0.append(stroked(&[from, to], colour, thickness));
    }

    /// A line of dashes.
    pub fn dashes(&mut self, from: Point, to: Point, colour: &'static str, thickness: f64) {
        self.lines(&[from, to], colour, thickness, "3 3");
    }

    /// Lines through points, with a pattern of dashes; `none` is whole.
    pub fn lines(&mut self, points: &[Point], colour: &'static str, thickness: f64, dashes: &'static str) {
        self.0.append(stroked(points, colour, thickness).set("stroke-dasharray", dashes));
    }

    /// An area.
    pub fn area(&mut self, points: &[Point], colour: &'static str, opacity: f64) {
        let outline = format!("{}Z", through(points));
        self.0.append(Path::new().set("d", outline).set("fill", colour).set("fill-opacity", opacity));
    }

    /// A rectangle between two of its corners.
    pub fn rectangle(&mut self, from: Point, to: Point, colour: &'static str, opacity: f64) {
        let element = Rectangle::new()
            .set("x", rounded(from.0))
            .set("y", rounded(from.1))
            .set("width", rounded(to.0 - from.0))
            .set("height", rounded(to.1 - from.1))
            .set("fill", colour);
        self.0.append(if opacity < 1.0 { element.set("fill-opacity", opacity) } else { element });
    }

    /// A disc, or a ring.
    pub fn point(&mut self, (x, y): Point, radius: f64, colour: &'static str, hollow: bool) {
        let disc = Circle::new().set("cx", rounded(x)).set("cy", rounded(y)).set("r", radius);
        let disc = match hollow {
            true => disc.set("fill", PAPER).set("stroke", colour).set("stroke-width", 2),
            false => disc.set("fill", colour),
        };
        self.0.append(disc);
    }

    /// A hollow square on its tip.
    pub fn diamond(&mut self, (x, y): Point, radius: f64, colour: &'static str) {
        let tips = [(x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius)];
        let outline = format!("{}Z", through(&tips));
        let element = Path::new().set("d", outline).set("fill", PAPER).set("stroke", colour);
        self.0.append(element.set("stroke-width", 1.5));
    }

    /// The head of an arrow whose tip is at `tip` and which points along `towards`, a step of length 1.
    pub fn arrow_head(&mut self, tip: Point, towards: Point, colour: &'static str) {
        let (back_x, back_y) = (tip.0 - towards.0 * ARROW, tip.1 - towards.1 * ARROW);
        let (side_x, side_y) = (towards.1 * ARROW * 0.8, towards.0 * ARROW * 0.8);
        self.area(
            &[tip, (back_x + side_x, back_y + side_y), (back_x - side_x, back_y - side_y)],
            colour,
            1.0,
        );
    }

    /// The whole picture as a document of SVG.
    pub fn document(self, width: f64, height: f64, title: &str, paper: bool) -> String {
        let mut document = svg::Document::new()
            .set("viewBox", (0, 0, width, height))
            .set("width", width)
            .set("height", height)
            .set("role", "img")
            .set("font-family", TYPEFACES)
            .add(Title::new(text::clean(title)));
        if paper {
            let sheet = Rectangle::new().set("width", "100%").set("height", "100%").set("fill", PAPER);
            document = document.add(sheet);
        }
        format!("{}\n", document.add(Element::from(self.0)))
    }
}

fn stroked(points: &[Point], colour: &'static str, thickness: f64) -> Path {
    let path = Path::new().set("d", through(points)).set("fill", "none").set("stroke", colour);
    path.set("stroke-width", thickness)
}

fn through(points: &[Point]) -> String {
    let steps = points.iter().enumerate();
    steps
        .map(|(index, (x, y))| {
            format!("{}{} {}", if index == 0 { 'M' } else { 'L' }, rounded(*x), rounded(*y))
        })
        .collect()
}

/// Hundredths are finer than any eye.
fn rounded(coordinate: f64) -> f64 {
    (coordinate * 100.0).round() / 100.0
}
