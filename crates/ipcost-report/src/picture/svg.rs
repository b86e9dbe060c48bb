//! A picture as SVG.
//!
//! Attributes are only ever numbers and constants; what comes from outside goes into text, which is escaped.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use super::ink::{Anchor, BAND, Canvas, CanvasPoint, GUIDE, INK, Mark, PAPER, QUIET, WHOLE, diamond};
use super::{Background, Picture};
use crate::figures::colours::{Colour, PALETTE};
use crate::xml;

const TYPEFACES: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif";

/// Attributes of an element, by name.
type SvgAttributes<'a> = [(&'a str, &'a dyn Display)];

/// How a colour of the picture is written.
type Paint = fn(&'static str) -> Cow<'static, str>;

/// The whole picture as a document.
pub fn render(picture: &Picture) -> String {
    let mut out = String::new();
    open(
        &mut out,
        "svg",
        &[
            ("font-family", &TYPEFACES),
            ("height", &picture.height),
            ("role", &"img"),
            ("viewBox", &format!("0 0 {} {}", picture.width, picture.height)),
            ("width", &picture.width),
            ("xmlns", &"http://www.w3.org/2000/svg"),
        ],
    );
    title(&mut out, &picture.title);
    if picture.background == Background::White {
        empty(&mut out, "rect", &[("fill", &PAPER), ("height", &"100%"), ("width", &"100%")]);
    }
    group(&mut out, &picture.canvas, |colour| colour.into());
    close(&mut out, "svg");
    out
}

/// The picture as an element of the page, in the page's colours, light or dark.
pub fn render_inline(picture: &Picture) -> String {
    let mut out = String::new();
    let view = format!("0 0 {} {}", picture.width, picture.height);
    open(&mut out, "svg", &[("font-family", &TYPEFACES), ("role", &"img"), ("viewBox", &view)]);
    title(&mut out, &picture.title);
    group(&mut out, &picture.canvas, of_page);
    close(&mut out, "svg");
    out
}

/// A colour of pictures as the page has it.
fn of_page(colour: &'static str) -> Cow<'static, str> {
    match colour {
        INK => "var(--ink)".into(),
        QUIET => "var(--quiet)".into(),
        GUIDE => "var(--faint)".into(),
        BAND => "var(--band)".into(),
        PAPER => "var(--paper)".into(),
        own => match PALETTE.iter().find(|known| known.light == own) {
            Some(Colour { light, dark }) => format!("light-dark({light}, {dark})").into(),
            None => own.into(),
        },
    }
}

fn group(out: &mut String, canvas: &Canvas, paint: Paint) {
    let data: Vec<_> = canvas.data_values().map(|(name, value)| (format!("data-{name}"), value)).collect();
    let mut attributes: Vec<(&str, &dyn Display)> = vec![("class", &canvas.class)];
    attributes.extend(data.iter().map(|(name, value)| (name.as_str(), value as &dyn Display)));
    open(out, "g", &attributes);
    if let Some(text) = canvas.title_text() {
        title(out, text);
    }
    canvas.marks().iter().for_each(|mark| self::mark(out, mark, paint));
    close(out, "g");
}

fn mark(out: &mut String, mark: &Mark, paint: Paint) {
    let paper = paint(PAPER);
    match mark {
        Mark::Group(marks) => group(out, marks, paint),
        Mark::Text { at, anchor, face, colour, text } => {
            let colour = paint(colour);
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y) = rounded(*at);
            let mut attributes: Vec<(&str, &dyn Display)> =
                vec![("fill", &colour), ("font-size", &face.size)];
            if face.bold {
                attributes.push(("font-weight", &600));
            }
            attributes.extend([("text-anchor", &anchor as &dyn Display), ("x", &x), ("y", &y)]);
            open(out, "text", &attributes);
            let _ = writeln!(out, "{}", xml::text(text));
            close(out, "text");
        }
        Mark::Lines { points, colour, thickness, dashes } => {
            let colour = paint(colour);
            let outline = through(points);
            let mut attributes: Vec<(&str, &dyn Display)> =
                vec![("d", &outline), ("fill", &"none"), ("stroke", &colour)];
            if *dashes != WHOLE {
                attributes.push(("stroke-dasharray", dashes));
            }
            attributes.push(("stroke-width", thickness));
            empty(out, "path", &attributes);
        }
        Mark::Area { points, colour, opacity } => {
            let colour = paint(colour);
            let outline = format!("{}Z", through(points));
            empty(out, "path", &[("d", &outline), ("fill", &colour), ("fill-opacity", opacity)]);
        }
        Mark::Rectangle { from, to, colour, opacity } => {
            let colour = paint(colour);
            let ((x, y), (width, height)) = (rounded(*from), rounded((to.0 - from.0, to.1 - from.1)));
            let mut attributes: Vec<(&str, &dyn Display)> = vec![("fill", &colour)];
            if *opacity < 1.0 {
                attributes.push(("fill-opacity", opacity));
            }
            attributes.extend([("height", &height as &dyn Display), ("width", &width), ("x", &x), ("y", &y)]);
            empty(out, "rect", &attributes);
        }
        Mark::Disc { centre, radius, colour, ring } => {
            let colour = paint(colour);
            let (x, y) = rounded(*centre);
            match ring {
                None => empty(out, "circle", &[("cx", &x), ("cy", &y), ("fill", &colour), ("r", radius)]),
                Some(thickness) => empty(
                    out,
                    "circle",
                    &[
                        ("cx", &x),
                        ("cy", &y),
                        ("fill", &paper),
                        ("r", radius),
                        ("stroke", &colour),
                        ("stroke-width", thickness),
                    ],
                ),
            }
        }
        Mark::Diamond { centre, radius, colour, thickness } => {
            let colour = paint(colour);
            let outline = format!("{}Z", through(&diamond(*centre, *radius)));
            empty(
                out,
                "path",
                &[("d", &outline), ("fill", &paper), ("stroke", &colour), ("stroke-width", thickness)],
            );
        }
    }
}

fn title(out: &mut String, text: &str) {
    let _ = writeln!(out, "<title>{}</title>", xml::text(text));
}

fn open(out: &mut String, name: &str, attributes: &SvgAttributes<'_>) {
    tag(out, name, attributes, ">");
}

fn empty(out: &mut String, name: &str, attributes: &SvgAttributes<'_>) {
    tag(out, name, attributes, "/>");
}

fn close(out: &mut String, name: &str) {
    let _ = writeln!(out, "</{name}>");
}

fn tag(out: &mut String, name: &str, attributes: &SvgAttributes<'_>, end: &str) {
    let _ = write!(out, "<{name}");
    for (name, value) in attributes {
        let value = xml::attribute(&value.to_string());
        let _ = write!(out, " {name}=\"{value}\"");
    }
    let _ = writeln!(out, "{end}");
}

fn through(points: &[CanvasPoint]) -> String {
    let mut outline = String::new();
    for (index, point) in points.iter().enumerate() {
        let (x, y) = rounded(*point);
        let _ = write!(outline, "{}{x} {y}", if index == 0 { 'M' } else { 'L' });
    }
    outline
}

/// Hundredths are finer than any eye.
fn rounded((x, y): CanvasPoint) -> CanvasPoint {
    let rounded = |coordinate: f64| (coordinate * 100.0).round() / 100.0;
    (rounded(x), rounded(y))
}
