//! A flame graph: frames as wide as their time, each on the one that calls it.

use super::ink::{Anchor, Canvas, GUIDE, INK, PAPER, QUIET, WHOLE};
use super::text::{ELLIPSIS, Face, TO_BASE, clean, shortened, width};
use super::{Background, LEAD, LEFT, Picture, TITLE, paragraph};
use crate::figures::colours::PALETTE;

/// Wider than other pictures, so that more names have room.
const WIDE: f64 = 1200.0;
const ROOM: f64 = WIDE - 2.0 * LEFT;
/// The least width of a frame, as a share of the outermost: a tenth of a unit of the picture.
pub const NARROWEST_FRAME: f64 = 0.1 / ROOM;
/// The height of a frame.
const ROW: f64 = 18.0;
/// Between a frame's border and its name.
const PAD: f64 = 4.0;
const NAME: Face = Face { size: 11.5, bold: false };

/// Light enough for names.
const MORE: &str = PALETTE[2].dark;
const LESS: &str = PALETTE[1].light;
/// Without a tint, so that none is taken for a pale difference.
const SAME: &str = "#f0f0f0";

#[derive(Debug)]
pub struct Flame {
    /// What it is about.
    pub title: String,
    /// How to read it, a paragraph each.
    pub about: Vec<String>,
    /// The frames, the outermost first.
    pub frames: Vec<FlameFrame>,
}

/// A frame in its place.
#[derive(Debug)]
pub struct FlameFrame {
    /// What it stands for.
    pub kind: FrameKind,
    pub name: String,
    /// What is shown when the pointer rests on it.
    pub title: String,
    /// How many frames it is on.
    pub depth: usize,
    /// Where it begins, as a share of the outermost frame.
    pub begin: f64,
    /// Its width, as a share of the outermost frame.
    pub width: f64,
    /// How much more than in the baseline, if there is one; the largest has the full colour.
    pub more: Option<f64>,
}

/// What a frame stands for, in the order of neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameKind {
    /// The cell, or one of its sides.
    Whole,
    /// A thread, or a function outside the kernel.
    User,
    /// A function of the kernel.
    Kernel,
    /// A call that waits.
    Wait,
}

impl FrameKind {
    fn colour(self) -> &'static str {
        match self {
            Self::Whole => GUIDE,
            Self::User => PALETTE[3].dark,
            Self::Kernel => PALETTE[2].dark,
            Self::Wait => PALETTE[1].dark,
        }
    }
}

/// Draws a flame graph.
pub fn draw(flame: &Flame) -> Picture {
    let mut canvas = Canvas::of("ipcost");
    let mut y = paragraph(&mut canvas, &flame.title, TITLE, INK, 20.0) + 3.0;
    for text in &flame.about {
        y = paragraph(&mut canvas, text, LEAD, QUIET, y);
    }
    let compared = flame.frames.iter().any(|frame| frame.more.is_some());
    let top = legend(&mut canvas, compared, y + 4.0);
    let rows = flame.frames.iter().map(|frame| frame.depth + 1).max().unwrap_or(0);
    let bottom = top + ROW * rows as f64;
    // Without the outermost: its difference may be larger, and would make all others pale.
    let differences = flame.frames.iter().skip(1).filter_map(|frame| frame.more);
    let most = differences.map(f64::abs).fold(f64::MIN_POSITIVE, f64::max);
    flame.frames.iter().for_each(|frame| canvas.add(draw_frame(frame, most, bottom)));
    let height = (bottom + 14.0).ceil();
    Picture { title: clean(&flame.title), width: WIDE, height, background: Background::White, canvas }
}

/// The colours with what they mean, in one line.
fn legend(canvas: &mut Canvas, compared: bool, top: f64) -> f64 {
    let colours = if compared {
        [(MORE, "takes more"), (SAME, "the same"), (LESS, "takes less")]
    } else {
        [(FrameKind::User, "user code"), (FrameKind::Kernel, "kernel"), (FrameKind::Wait, "waiting")]
            .map(|(kind, words)| (kind.colour(), words))
    };
    let mut x = LEFT;
    for (colour, words) in colours {
        canvas.rectangle((x, top), (x + LEAD.size, top + LEAD.size), colour, 1.0);
        x += LEAD.size + 6.0;
        canvas.text((x, top + LEAD.size * (0.5 + TO_BASE)), Anchor::Start, LEAD, INK, words);
        x += width(words, LEAD) + 14.0;
    }
    top + 22.0
}

fn draw_frame(frame: &FlameFrame, most: f64, bottom: f64) -> Canvas {
    let mut canvas = Canvas::of("frame");
    canvas.title(&frame.title);
    let (left, top) = (LEFT + frame.begin * ROOM, bottom - ROW * (frame.depth + 1) as f64);
    let (right, under) = (left + frame.width * ROOM, top + ROW);
    let colour = if frame.more.is_some() { SAME } else { frame.kind.colour() };
    canvas.rectangle((left, top), (right, under), colour, 1.0);
    if let Some(more) = frame.more {
        let share = ((more.abs() / most).min(1.0) * 100.0).round() / 100.0;
        canvas.rectangle((left, top), (right, under), if more > 0.0 { MORE } else { LESS }, share);
    }
    // Waits have a pattern of their own, whatever the colours mean.
    let (border, dashes) = if frame.kind == FrameKind::Wait { (QUIET, "3 2") } else { (PAPER, WHOLE) };
    let corners = [(left, top), (right, top), (right, under), (left, under), (left, top)];
    canvas.lines(&corners, border, 0.75, dashes);
    let name = shortened(&clean(&frame.name), right - left - 2.0 * PAD, NAME);
    if !name.starts_with(ELLIPSIS) {
        let base = top + ROW / 2.0 + NAME.size * TO_BASE;
        canvas.text((left + PAD, base), Anchor::Start, NAME, INK, &name);
    }
    canvas
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn drawn(kind: FrameKind, width: f64) -> String {
        let name = "a_function_of_some_length".to_owned();
        let frame = FlameFrame { kind, name, title: String::new(), depth: 0, begin: 0.0, width, more: None };
        draw(&Flame { title: String::new(), about: Vec::new(), frames: vec![frame] }).svg()
    }

    #[test]
    fn user_code_the_kernel_and_waiting_look_different() {
        let kinds = [FrameKind::Whole, FrameKind::User, FrameKind::Kernel, FrameKind::Wait];
        let pictures = kinds.map(|kind| drawn(kind, 1.0));
        assert_eq!(pictures.iter().collect::<BTreeSet<_>>().len(), 4);
        assert_eq!(pictures.map(|svg| svg.contains("dasharray")), [false, false, false, true]);
    }

    #[test]
    fn names_are_cut_to_their_room() {
        let [whole, cut, none] = [1.0, 0.05, 0.005].map(|width| drawn(FrameKind::User, width));
        assert!(whole.contains("a_function_of_some_length"), "{whole}");
        assert!(cut.contains("a_fun") && cut.contains('…') && !cut.contains("length"), "{cut}");
        assert!(!none.contains("a_f") && !none.contains('…'), "{none}");
    }
}
