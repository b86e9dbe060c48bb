//! Where the frames of a tree are in the picture, and what each tells of itself.

use ipcost_report::numbers::three_digits;
use ipcost_report::picture::{FlameFrame, FrameKind, NARROWEST_FRAME};

use super::tree::{FrameKey, TreeFrame};

/// The frames of a cell that are wide enough, the outermost first; colours compare with a baseline and its label.
pub fn placed(label: &str, whole: &TreeFrame, baseline: Option<(&str, &TreeFrame)>) -> Vec<FlameFrame> {
    let (baseline, theirs) = baseline.unzip();
    let mut placing = Placing { whole_ns: whole.ns, baseline, frames: Vec::new() };
    let key = (FrameKind::Whole, label.to_owned());
    placing.place(&key, whole, theirs, FramePosition { depth: 0, begin_ns: 0.0, side_ns: whole.ns });
    placing.frames
}

struct Placing<'a> {
    whole_ns: f64,
    /// What the baseline is called.
    baseline: Option<&'a str>,
    frames: Vec<FlameFrame>,
}

struct FramePosition {
    depth: usize,
    begin_ns: f64,
    /// The width of the side it is in.
    side_ns: f64,
}

impl Placing<'_> {
    /// Places a frame and all in it; `theirs` is that frame of the baseline.
    fn place(&mut self, key: &FrameKey, frame: &TreeFrame, theirs: Option<&TreeFrame>, place: FramePosition) {
        let width = frame.ns / self.whole_ns;
        if width < NARROWEST_FRAME {
            return;
        }
        let more_ns = frame.ns - theirs.map_or(0.0, |theirs| theirs.ns);
        let FramePosition { depth, mut begin_ns, side_ns } = place;
        self.frames.push(FlameFrame {
            kind: key.0,
            name: key.1.clone(),
            title: self.title(key, frame.ns, more_ns, (depth > 1).then_some(frame.ns / side_ns)),
            depth,
            begin: begin_ns / self.whole_ns,
            width,
            more: self.baseline.map(|_| more_ns),
        });
        for (key, inner) in &frame.inner {
            let theirs = theirs.and_then(|theirs| theirs.inner.get(key));
            let side_ns = if depth == 0 { inner.ns } else { side_ns };
            self.place(key, inner, theirs, FramePosition { depth: depth + 1, begin_ns, side_ns });
            begin_ns += inner.ns;
        }
    }

    fn title(&self, (kind, name): &FrameKey, ns: f64, more_ns: f64, share: Option<f64>) -> String {
        let kernel = if *kind == FrameKind::Kernel { " (kernel)" } else { "" };
        let share =
            share.map_or(String::new(), |share| format!(", {} % of its side", three_digits(100.0 * share)));
        let more = if more_ns < 0.0 { "less" } else { "more" };
        let difference = self.baseline.map_or(String::new(), |label| {
            format!("; {} ns {more} than in {label}", three_digits(more_ns.abs()))
        });
        format!("{name}{kernel}: {} ns per operation{share}{difference}", three_digits(ns))
    }
}
