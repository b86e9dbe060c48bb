//! Draws a tree of frames as SVG.
//!
//! Labels, functions and calls come from outside. They are only ever text or the value of `data-name`, and escaped; the
//! one script is a constant, and reads only numbers and that name.

use std::fmt::Write;

use ipcost_model::escaped;
use ipcost_report::numbers::three_digits;
use ipcost_report::xml::attribute;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::tree::{Frame, FrameKind};

/// Zooms into the frame that is clicked on.
pub const SCRIPT: &str = include_str!("zoom.js");

/// The width of the picture, and of its left and right margin, pixels.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 12.0;
/// The height of a frame, pixels.
const ROW: f64 = 18.0;
const FONT_SIZE: f64 = 12.0;
/// The height of a line above the frames, pixels.
const LINE: f64 = 20.0;
/// The width of a character over its size, in the typefaces of the picture.
const CHARACTER: f64 = 0.61;
/// Narrower frames are left out, pixels.
const NARROWEST: f64 = 0.1;
/// How many frames that only the baseline has are listed.
const MOST_LACKING: usize = 3;

const PAPER: &str = "#ffffff";
const WHOLE: Colour = (214, 218, 222);
const USER: Colour = (240, 196, 105);
const KERNEL: Colour = (233, 137, 84);
const WAIT: Colour = (150, 190, 220);
/// Ends of the scale of differences, apart for colour-blind readers too.
const SAME: Colour = (240, 240, 240);
const MORE: Colour = (213, 94, 0);
const LESS: Colour = (60, 140, 200);

type Colour = (u8, u8, u8);

/// What is drawn.
pub struct Picture<'a> {
    /// What the cell is called.
    pub label: &'a str,
    /// Its frames.
    pub frames: &'a Frame,
    /// What it is compared with: the label, the frames.
    pub baseline: Option<(&'a str, &'a Frame)>,
}

/// A frame in its place.
struct Placed<'a> {
    kind: FrameKind,
    name: &'a str,
    ns: f64,
    /// More than in the baseline, nanoseconds; negative if less. Not shown without a baseline.
    more_ns: f64,
    /// The width of the side it is in, nanoseconds.
    side_ns: f64,
    /// Where it begins, from the left, nanoseconds.
    begin_ns: f64,
    depth: usize,
}

/// The whole picture as a document.
pub fn render(picture: &Picture<'_>) -> String {
    let placed = placed(picture);
    let head = head(picture);
    let rows = 1 + placed.iter().map(|frame| frame.depth).max().unwrap_or(0);
    let top = MARGIN + LINE * (head.len() + 1) as f64;
    let bottom = top + ROW * rows as f64;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" stroke-width=\"0.5\" font-size=\"{FONT_SIZE}\" \
         font-family=\"'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace\">",
        height = bottom + MARGIN,
    );
    let _ = writeln!(out, "<title>{}</title>", xml(&head.join(" ")));
    let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"{PAPER}\"/>");
    head.iter().enumerate().for_each(|(line, text)| draw_line(&mut out, line, text));
    draw_legend(&mut out, picture, head.len());
    let scale = Scale {
        pixels_per_ns: (WIDTH - 2.0 * MARGIN) / picture.frames.ns,
        bottom,
        most_ns: placed.iter().skip(1).map(|frame| frame.more_ns.abs()).fold(0.0, f64::max),
    };
    placed.iter().for_each(|frame| draw_frame(&mut out, picture, &scale, frame));
    let _ = writeln!(out, "<script>{SCRIPT}</script>\n</svg>");
    out
}

/// The lines above the frames, the first of which is the title.
fn head(picture: &Picture<'_>) -> Vec<String> {
    let cell = picture.label;
    let Some((label, baseline)) = picture.baseline else {
        let width = "Width: processor time by sampled stacks, and time waiting, by side. Click to zoom.";
        return vec![format!("{cell}: ns per operation"), width.to_owned()];
    };
    let mut lines = vec![
        format!("{cell} against {label}: ns per operation"),
        format!("Width: {cell}. Colour: more or less than in {label}. Click to zoom."),
    ];
    let lacking = picture.frames.lacks(baseline);
    let named = lacking.iter().filter(|(_, ns)| *ns > 0.0).take(MOST_LACKING);
    let named: Vec<String> = named.map(|(name, ns)| format!("{name} {}", ns_text(*ns))).collect();
    if !named.is_empty() {
        let more = if lacking.len() > named.len() { ", …" } else { "" };
        lines.push(format!("Only in {label}: {}{more}", named.join(", ")));
    }
    lines
}

fn draw_line(out: &mut String, line: usize, text: &str) {
    let weight = if line == 0 { "bold" } else { "normal" };
    let y = MARGIN + LINE * line as f64 + FONT_SIZE;
    if let Some(fitted) = fitted(text, WIDTH - 2.0 * MARGIN) {
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{y}\" font-weight=\"{weight}\">{}<title>{}</title></text>",
            xml(&fitted),
            xml(text)
        );
    }
}

fn draw_legend(out: &mut String, picture: &Picture<'_>, line: usize) {
    let entries = if picture.baseline.is_some() {
        [(MORE, "takes more"), (SAME, "the same"), (LESS, "takes less")]
    } else {
        [(USER, "user code"), (KERNEL, "kernel"), (WAIT, "waiting")]
    };
    let y = MARGIN + LINE * line as f64;
    for (index, (colour, text)) in entries.into_iter().enumerate() {
        let x = MARGIN + 120.0 * index as f64;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{}\" stroke=\"#888888\"/>\
             <text x=\"{}\" y=\"{}\">{text}</text>",
            hexadecimal(colour),
            x + 18.0,
            y + 10.5
        );
    }
}

/// All frames that are wide enough, the outermost first.
fn placed<'a>(picture: &Picture<'a>) -> Vec<Placed<'a>> {
    let baseline = picture.baseline.map(|(_, baseline)| baseline);
    let root = Placed {
        kind: FrameKind::Whole,
        name: picture.label,
        ns: picture.frames.ns,
        more_ns: picture.frames.ns - baseline.map_or(0.0, |baseline| baseline.ns),
        side_ns: picture.frames.ns,
        begin_ns: 0.0,
        depth: 0,
    };
    let mut placing =
        Placing { placed: vec![root], narrowest_ns: NARROWEST * picture.frames.ns / (WIDTH - 2.0 * MARGIN) };
    placing.place_inner(0, picture.frames, baseline);
    placing.placed
}

struct Placing<'a> {
    placed: Vec<Placed<'a>>,
    narrowest_ns: f64,
}

impl<'a> Placing<'a> {
    /// Places what is in a placed frame; `theirs` is that frame of the baseline.
    fn place_inner(&mut self, outer: usize, frame: &'a Frame, theirs: Option<&'a Frame>) {
        let Placed { mut begin_ns, depth, side_ns, .. } = self.placed[outer];
        for (key, inner) in &frame.inner {
            let theirs = theirs.and_then(|theirs| theirs.inner.get(key));
            if inner.ns >= self.narrowest_ns {
                self.placed.push(Placed {
                    kind: key.0,
                    name: &key.1,
                    ns: inner.ns,
                    more_ns: inner.ns - theirs.map_or(0.0, |theirs| theirs.ns),
                    side_ns: if depth == 0 { inner.ns } else { side_ns },
                    begin_ns,
                    depth: depth + 1,
                });
                self.place_inner(self.placed.len() - 1, inner, theirs);
            }
            begin_ns += inner.ns;
        }
    }
}

/// How times become pixels and colours.
struct Scale {
    pixels_per_ns: f64,
    /// The lower edge of the outermost frame, pixels.
    bottom: f64,
    /// The largest difference of a frame within the cell, nanoseconds. The cell's own may be larger, and would make all
    /// others pale.
    most_ns: f64,
}

fn draw_frame(out: &mut String, picture: &Picture<'_>, scale: &Scale, frame: &Placed<'_>) {
    let (x, width) = (MARGIN + frame.begin_ns * scale.pixels_per_ns, frame.ns * scale.pixels_per_ns);
    let y = scale.bottom - ROW * (frame.depth + 1) as f64;
    let colour = if picture.baseline.is_some() {
        of_difference(frame.more_ns, scale.most_ns)
    } else {
        of_kind(frame.kind)
    };
    // A pattern of its own, whatever the colours mean.
    let dashes =
        if frame.kind == FrameKind::Wait { " stroke-width=\"1\" stroke-dasharray=\"3 2\"" } else { "" };
    let stroke = if frame.kind == FrameKind::Wait { "#555555" } else { PAPER };
    let name = xml(frame.name);
    let _ = writeln!(
        out,
        "<g class=\"frame\" data-name=\"{name}\"><title>{}</title>\
         <rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{ROW}\" fill=\"{}\" stroke=\"{stroke}\"{dashes}/>\
         <text x=\"{:.2}\" y=\"{}\">{}</text></g>",
        xml(&told(picture, frame)),
        hexadecimal(colour),
        x + 4.0,
        y + 13.0,
        xml(&fitted(frame.name, width - 8.0).unwrap_or_default()),
    );
}

/// What a frame tells of itself.
fn told(picture: &Picture<'_>, frame: &Placed<'_>) -> String {
    let place = match frame.kind {
        FrameKind::Kernel => " (kernel)",
        FrameKind::Whole | FrameKind::User | FrameKind::Wait => "",
    };
    let share = match frame.depth {
        0 | 1 => String::new(),
        _ => format!(", {} % of its side", three_digits(100.0 * frame.ns / frame.side_ns)),
    };
    let difference = match picture.baseline {
        None => String::new(),
        Some((label, _)) if frame.more_ns < 0.0 => {
            format!("; {} less than in {label}", ns_text(-frame.more_ns))
        }
        Some((label, _)) => format!("; {} more than in {label}", ns_text(frame.more_ns)),
    };
    format!("{}{place}: {} per operation{share}{difference}", frame.name, ns_text(frame.ns))
}

fn ns_text(ns: f64) -> String {
    format!("{} ns", three_digits(ns))
}

fn of_kind(kind: FrameKind) -> Colour {
    match kind {
        FrameKind::Whole => WHOLE,
        FrameKind::User => USER,
        FrameKind::Kernel => KERNEL,
        FrameKind::Wait => WAIT,
    }
}

/// The colour of a difference, if the largest is `most_ns`.
fn of_difference(more_ns: f64, most_ns: f64) -> Colour {
    if most_ns <= 0.0 {
        return SAME;
    }
    let end = if more_ns > 0.0 { MORE } else { LESS };
    let share = (more_ns.abs() / most_ns).min(1.0);
    let mixed =
        |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * share).round() as u8;
    (mixed(SAME.0, end.0), mixed(SAME.1, end.1), mixed(SAME.2, end.2))
}

fn hexadecimal((red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// As much of a text as there is room for, pixels; `None` if that would not help.
fn fitted(text: &str, room: f64) -> Option<String> {
    let most = (room / (FONT_SIZE * CHARACTER)).max(0.0) as usize;
    let shown = escaped(text);
    if shown.width() <= most {
        return Some(shown);
    }
    if most < 3 {
        return None;
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < most
    };
    Some(shown.chars().take_while(fits).chain(['…']).collect())
}

/// A text from outside as the text or the attribute of an element.
fn xml(text: &str) -> String {
    attribute(&escaped(text))
}
