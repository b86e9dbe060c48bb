//! The share of a request that a Unix socket saves, over how long the server works on it: a panel a placement, all with the same
//! axes. The line is what is saved at most, dashes are the margin, and points are requests as measured.

use ipcost_model::{Document, Estimate};

use super::ink::{Anchor, BAND, Canvas, CanvasPoint, INK, QUIET};
use super::plot::whiskers;
use super::text::{Face, TO_BASE, clean, shortened, width};
use super::{
    Background, Chart, LEAD, LEFT, Picture, PictureError, RIGHT, bare, framed, paragraph, paragraphs,
    published,
};
use crate::figures::colours::PALETTE;
use crate::figures::saving::{Curves, MeasuredSaving, PlacementPanel, per_cent};
use crate::numbers::time;

mod axes;
mod labels;

use axes::Axes;
use labels::Labels;

const NAME: Face = Face { size: 12.5, bold: true };
const SAID: Face = Face { size: 11.5, bold: false };
const LABEL: Face = Face { size: 11.0, bold: false };

/// Of a picture or a line of panels.
const WHOLE: f64 = RIGHT - LEFT;
/// How wide a panel is; one alone takes the whole line.
const PANEL: f64 = 384.0;
const SIDE_BY_SIDE: usize = 2;
const HEAD: f64 = 54.0;
const PLOT: f64 = 190.0;
const BELOW: f64 = 38.0;
const BETWEEN: f64 = 12.0;
const RADIUS: f64 = 4.0;
/// A mark is larger than a point, so that it is seen on the line.
const DIAMOND: f64 = 5.0;

/// Said of savings below the margin.
const BELOW_MARGIN: &str = "no longer matters";

/// What the line has the colour of: Unix sockets, as in all pictures.
const LINE: &str = PALETTE[2].light;
/// That of requests as measured.
const POINT: &str = PALETTE[0].light;

/// Draws the curves; `made` says where, when and with what they were measured.
pub fn draw(curves: &Curves, made: &Document, background: Background) -> Result<Picture, PictureError> {
    framed(&curves.title(), [published::measured_on(made)], background, |canvas, y| {
        let y = draw_legend(canvas, curves, y + 6.0);
        let y = paragraph(canvas, &curves.reading(), LEAD, QUIET, y);
        let y = panels(canvas, curves, y)?;
        Ok(paragraphs(canvas, curves.notes.iter().cloned(), LEAD, INK, y) + 4.0)
    })
}

/// The legend and the panels alone, for a page that has the words.
pub fn plain(curves: &Curves) -> Result<Picture, PictureError> {
    bare(&curves.title(), |canvas, y| {
        let y = draw_legend(canvas, curves, y);
        panels(canvas, curves, y)
    })
}

fn panels(canvas: &mut Canvas, curves: &Curves, top: f64) -> Result<f64, PictureError> {
    if curves.panels.is_empty() {
        return Err(PictureError::lacks(Chart::Saving));
    }
    let mut y = top + 10.0;
    let layout = SavingLayout::of(curves);
    for line in curves.panels.chunks(SIDE_BY_SIDE) {
        for (index, panel) in line.iter().enumerate() {
            canvas.add(layout.panel(panel, (LEFT + index as f64 * (WHOLE - PANEL), y)));
        }
        y += layout.height() + BETWEEN;
    }
    Ok(y)
}

/// How wide and how tall a sign is.
const SIGN: CanvasPoint = (20.0, 12.0);

/// The marks that are drawn with what they mean, in one line.
fn draw_legend(canvas: &mut Canvas, curves: &Curves, top: f64) -> f64 {
    let mut left = LEFT;
    let middle = top + LEAD.size * 0.7;
    let mut sign = |draw: &dyn Fn(&mut Canvas, f64), words: &str| {
        draw(canvas, left);
        left += SIGN.0 + 6.0;
        canvas.text((left, middle + LEAD.size * TO_BASE), Anchor::Start, LEAD, INK, words);
        left += width(words, LEAD) + 12.0;
    };
    let line = |canvas: &mut Canvas, x| canvas.line((x, middle), (x + SIGN.0, middle), LINE, 2.0);
    sign(&line, "saved at most");
    let margin = |canvas: &mut Canvas, x| {
        canvas.rectangle((x, middle), (x + SIGN.0, middle + SIGN.1 / 2.0), BAND, 1.0);
        canvas.dashes((x, middle), (x + SIGN.0, middle), INK, 1.25);
    };
    sign(&margin, &format!("margin, {}: below, it no longer matters", per_cent(curves.margin)));
    if curves.panels.iter().any(|panel| panel.until_ns.is_some()) {
        let until = |canvas: &mut Canvas, x| canvas.diamond((x + SIGN.0 / 2.0, middle), DIAMOND, INK);
        sign(&until, "from here on");
    }
    if curves.panels.iter().any(|panel| !panel.requests.is_empty()) {
        let point = |canvas: &mut Canvas, x| canvas.point((x + SIGN.0 / 2.0, middle), RADIUS, POINT, false);
        sign(&point, "a request as measured, with its interval");
    }
    top + 20.0
}

/// What all panels share.
struct SavingLayout {
    axes: Axes,
    width: f64,
    margin: f64,
}

impl SavingLayout {
    fn of(curves: &Curves) -> Self {
        let width = if curves.panels.len() == 1 { WHOLE } else { PANEL };
        Self { axes: Axes::of(curves, width, (HEAD, HEAD + PLOT)), width, margin: curves.margin }
    }

    fn height(&self) -> f64 {
        HEAD + PLOT + BELOW
    }

    fn panel(&self, panel: &PlacementPanel, (left, top): CanvasPoint) -> Canvas {
        let mut canvas = Canvas::of("panel");
        let axes = self.axes.moved(left, top);
        for (y, face, text) in [(12.0, NAME, &panel.name), (27.0, SAID, &panel.said)] {
            let text = shortened(&clean(text), self.width, face);
            canvas.text((left, top + y), Anchor::Start, face, INK, &text);
        }
        canvas.add(self.draw_margin(panel, &axes));
        canvas.add(axes.draw());
        canvas.add(curve(panel, &axes));
        let mut labels = Labels::new(&axes);
        if let Some(until_ns) = panel.until_ns.filter(|until_ns| until_ns.is_finite() && *until_ns > 0.0) {
            canvas.add(self.until(until_ns, &axes, &mut labels));
        }
        let drawn = |request: &&MeasuredSaving| {
            [request.work_ns, request.share.median].iter().all(|it| it.is_finite())
        };
        for request in panel.requests.iter().filter(drawn) {
            canvas.add(point(request, &axes, &mut labels));
        }
        canvas.add(labels.draw());
        canvas
    }

    /// The shares that do not matter, to either side of none.
    fn draw_margin(&self, panel: &PlacementPanel, axes: &Axes) -> Canvas {
        let mut canvas = Canvas::of("margin");
        if !self.margin.is_finite() || self.margin <= 0.0 {
            return canvas;
        }
        canvas.data("margin", self.margin);
        let place = |share: f64| axes.share.place(share);
        let (from, to) = (place(self.margin), place(-self.margin));
        let (start, end) = axes.ends();
        canvas.rectangle((start, from), (end, to), BAND, 1.0);
        canvas.lines(&[(start, from), (end, from)], INK, 1.25, "4 3");
        // Within the band and to the left of where the line comes down to it, if there is room for it.
        let zero = place(0.0);
        let free = panel.until_ns.map_or(0.0, |until_ns| axes.work(until_ns) - start);
        if zero - from > LABEL.size && free > width(BELOW_MARGIN, LABEL) + 2.0 * RADIUS {
            let base = (from + zero) / 2.0 + LABEL.size * TO_BASE;
            canvas.text((start + RADIUS, base), Anchor::Start, LABEL, QUIET, BELOW_MARGIN);
        }
        canvas
    }

    /// Where the line falls below the margin, with the work down on the axis.
    fn until(&self, until_ns: f64, axes: &Axes, labels: &mut Labels) -> Canvas {
        let mut canvas = Canvas::of("until");
        let text = format!("from {} on", time(until_ns));
        canvas.title(&format!(
            "with {} of work or more, less than {} is saved",
            time(until_ns),
            per_cent(self.margin)
        ));
        canvas.data("work", until_ns);
        let at = (axes.work(until_ns), axes.share.place(self.margin));
        canvas.dashes(at, (at.0, axes.share.place(0.0)), INK, 1.25);
        canvas.diamond(at, DIAMOND, INK);
        labels.add(at, DIAMOND, &text, INK);
        canvas
    }
}

fn curve(panel: &PlacementPanel, axes: &Axes) -> Canvas {
    let mut canvas = Canvas::of("line");
    canvas.title(&format!("saved at most {}", panel.name));
    let finite = panel.line.iter().filter(|(work, share)| work.is_finite() && share.is_finite());
    let places: Vec<CanvasPoint> =
        finite.map(|(work, share)| (axes.work(*work), axes.share.place(*share))).collect();
    canvas.lines(&places, LINE, 2.0, super::ink::WHOLE);
    canvas
}

fn point(request: &MeasuredSaving, axes: &Axes, labels: &mut Labels) -> Canvas {
    let mut canvas = Canvas::of("request");
    canvas.title(&request.label());
    canvas.data("work", request.work_ns.max(0.0));
    canvas.data("share", request.share.median);
    let at = (axes.work(request.work_ns), axes.share.place(request.share.median));
    let [lo, hi] = [request.share.lo, request.share.hi].map(|end| end.filter(|end| !end.is_nan()));
    canvas.add(whiskers(Estimate { lo, hi, ..request.share }, at, &axes.share, POINT));
    canvas.point(at, RADIUS, POINT, lo.is_none() || hi.is_none());
    let [bottom, top] = [lo, hi].map(|end| end.map_or(at.1, |end| axes.share.place(end)));
    labels.keep_free((at.0 - RADIUS, top - 2.0), (at.0 + RADIUS, bottom + 2.0));
    labels.add((at.0, top), RADIUS, &clean(&request.request), POINT);
    canvas
}

#[cfg(test)]
mod tests;
