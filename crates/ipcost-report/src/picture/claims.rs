//! Claims as small multiples: a panel a condition, a row a test, with the ratio as a point, its interval as a bar and what is
//! claimed as shade. All panels of a claim have one axis.

use ipcost_model::{ClaimVerdict, Document};

use super::ink::{Anchor, BAND, Canvas, CanvasPoint, GUIDE, INK, QUIET};
use super::rows::whiskers;
use super::scale::{Extent, Scale};
use super::text::{Face, TO_BASE, clean, shortened, width};
use super::{
    Background, Chart, LEAD, LEFT, Picture, PictureError, RIGHT, bare, framed, paragraph, paragraphs,
    published,
};
use crate::figures::claims::{ConditionPanel, FigureClaim, FigureClaims, Multiples, TestRow, drawable};
use crate::figures::colours::PALETTE;
use crate::figures::ticks;

const CLAIM: Face = Face { size: 13.5, bold: true };
const NAME: Face = Face { size: 12.0, bold: true };
const SAID: Face = Face { size: 11.5, bold: false };
const LABEL: Face = Face { size: 11.0, bold: false };
const TICK: Face = Face { size: 10.0, bold: false };

/// How wide a panel is.
const PANEL: f64 = 252.0;
/// Panels side by side in a picture.
const SIDE_BY_SIDE: usize = 3;
const ROW: f64 = 17.0;
/// What a label takes that stands above its row.
const ABOVE: f64 = 15.0;
/// Labels wider than this stand above their rows.
const MOST_LABEL: f64 = 92.0;
const MOST_FIGURES: f64 = 96.0;
const GUTTER: f64 = 9.0;
const HEAD: f64 = 36.0;
const BETWEEN: f64 = 16.0;
/// How far intervals may push the axis beyond the values, as a factor.
const MOST_BEYOND: f64 = 3.0;
const MOST_TICKS: usize = 9;
/// What lies between the names of ticks.
const TICK_GAP: f64 = 5.0;
const RADIUS: f64 = 4.0;
/// Half the cap at the end of an interval; a point is larger, so that a narrow interval does not hide its shape.
const CAP: f64 = 2.5;

/// How to read the panels, and what their marks mean.
const LEGEND: [(ClaimVerdict, &str); 4] = [
    (ClaimVerdict::Holds, "holds"),
    (ClaimVerdict::Fails, "fails"),
    (ClaimVerdict::NoDifference, "no difference that matters"),
    (ClaimVerdict::Open, "open, or decides nothing"),
];

/// Draws the claims; `made` says where and with what they were measured.
pub fn draw(claims: &FigureClaims, made: &Document, background: Background) -> Result<Picture, PictureError> {
    if claims.claims.iter().all(|claim| claim.multiples().is_none()) {
        return Err(PictureError::lacks(Chart::Claims));
    }
    let feet = claims.notes.iter().cloned().chain([published::measured_on(made)]);
    framed(&claims.question, feet, background, |canvas, y| {
        let y = legend(canvas, y + 6.0);
        let mut y = paragraph(canvas, READING, LEAD, QUIET, y) + 8.0;
        let mut without = Vec::new();
        for claim in &claims.claims {
            let title = format!("{}. {}: “{}”", claim.number, claim.said, claim.text);
            let Some(multiples) = claim.multiples() else {
                without.push(format!("Not drawn, as it has no ratios: {title}"));
                continue;
            };
            canvas.line((LEFT, y), (RIGHT, y), GUIDE, 1.0);
            y = paragraph(canvas, &title, CLAIM, INK, y + 8.0);
            y = panels(canvas, &multiples, y);
        }
        Ok(paragraphs(canvas, without, LEAD, INK, y) + 4.0)
    })
}

/// The legend and the panels of one claim, for a page that has the words.
pub fn plain(claim: &FigureClaim) -> Result<Picture, PictureError> {
    let multiples = claim.multiples().ok_or_else(|| PictureError::lacks(Chart::Claims))?;
    bare(&claim.text, |canvas, y| {
        let y = legend(canvas, y);
        Ok(panels(canvas, &multiples, y))
    })
}

/// How to read what is not a mark.
pub const READING: &str = "Bars are intervals at one level for all: of the tests that are decided, at most 5 % are expected to be wrong. A dashed bar has none yet. The shade ends at the bounds of the claim, which are dashed lines. The thin line is 1: no difference.";

/// The marks with what they mean, in one line.
fn legend(canvas: &mut Canvas, top: f64) -> f64 {
    let mut x = LEFT;
    let middle = top + LEAD.size * 0.7;
    for (known, words) in LEGEND {
        mark(canvas, known, (x + RADIUS + 1.0, middle));
        x += 2.0 * RADIUS + 8.0;
        canvas.text((x, middle + LEAD.size * TO_BASE), Anchor::Start, LEAD, INK, words);
        x += width(words, LEAD) + 14.0;
    }
    published_at(canvas, x + 2.0, (middle - RADIUS, middle + RADIUS));
    canvas.text((x + 8.0, middle + LEAD.size * TO_BASE), Anchor::Start, LEAD, INK, "the article");
    top + 20.0
}

fn panels(canvas: &mut Canvas, multiples: &Multiples<'_>, top: f64) -> f64 {
    let layout = ClaimColumns::of(multiples);
    let step = (RIGHT - LEFT - PANEL) / (SIDE_BY_SIDE - 1) as f64;
    let mut y = paragraph(canvas, &multiples.caption, LEAD, QUIET, top) + 8.0;
    for line in multiples.panels.chunks(SIDE_BY_SIDE) {
        for (index, panel) in line.iter().enumerate() {
            canvas.add(layout.panel(panel, (LEFT + index as f64 * step, y)));
        }
        y += line.iter().map(|panel| layout.height(panel)).fold(0.0, f64::max) + BETWEEN;
    }
    y
}

/// What the article has: a stroke, which no mark hides.
fn published_at(canvas: &mut Canvas, x: f64, (top, bottom): (f64, f64)) {
    canvas.line((x, top), (x, bottom), INK, 2.5);
}

/// A disc for what holds, a hollow square on its tip for what fails, a small disc for what makes no difference, a ring for what
/// is open.
fn mark(canvas: &mut Canvas, known: ClaimVerdict, at: CanvasPoint) {
    let colour = colour(known);
    match known {
        ClaimVerdict::Holds => canvas.point(at, RADIUS, colour, false),
        ClaimVerdict::Fails => canvas.diamond(at, RADIUS + 1.0, colour),
        ClaimVerdict::NoDifference => canvas.point(at, RADIUS - 1.5, colour, false),
        ClaimVerdict::Depends | ClaimVerdict::Open | ClaimVerdict::NotTested => {
            canvas.point(at, RADIUS - 0.5, colour, true)
        }
    }
}

fn colour(known: ClaimVerdict) -> &'static str {
    match known {
        ClaimVerdict::Holds => PALETTE[6].light,
        ClaimVerdict::Fails => PALETTE[2].light,
        ClaimVerdict::Depends => PALETTE[0].light,
        ClaimVerdict::NoDifference | ClaimVerdict::Open | ClaimVerdict::NotTested => PALETTE[5].light,
    }
}

/// Where the columns of all panels of a claim are, from the left of each.
struct ClaimColumns {
    scale: Scale,
    is_ratio: bool,
    /// Whether labels stand above their rows.
    is_above: bool,
    /// Whether rows have labels.
    has_labels: bool,
}

impl ClaimColumns {
    fn of(multiples: &Multiples<'_>) -> Self {
        let rows = || multiples.panels.iter().flat_map(|panel| &panel.rows);
        let widest = |of: &dyn Fn(&TestRow<'_>) -> f64| rows().map(of).fold(0.0, f64::max);
        let label = widest(&|row| width(&clean(&row.label), LABEL));
        let figures = widest(&|row| width(&clean(&row.figures), LABEL)).min(MOST_FIGURES);
        let is_above = label > MOST_LABEL;
        // Half a mark at the edge of the axis does not leave the picture.
        let start = if is_above || label == 0.0 { RADIUS + 2.0 } else { label + GUTTER };
        let scale = Scale::logarithmic(&extent(multiples), start, PANEL - figures - GUTTER);
        Self { scale, is_ratio: multiples.is_ratio, is_above, has_labels: label > 0.0 }
    }

    fn row_height(&self) -> f64 {
        if self.is_above { ROW + ABOVE } else { ROW }
    }

    fn height(&self, panel: &ConditionPanel<'_>) -> f64 {
        HEAD + panel.rows.len() as f64 * self.row_height() + 20.0
    }

    fn panel(&self, panel: &ConditionPanel<'_>, (left, top): CanvasPoint) -> Canvas {
        let mut canvas = Canvas::of("panel");
        let scale = Scale { start: left + self.scale.start, end: left + self.scale.end, ..self.scale };
        let name = shortened(&clean(&panel.condition.name), PANEL, NAME);
        canvas.text((left, top + 12.0), Anchor::Start, NAME, INK, &name);
        let said = shortened(&clean(&panel.condition.said), PANEL, SAID);
        canvas.text((left, top + 27.0), Anchor::Start, SAID, INK, &said);
        let first = top + HEAD;
        let bottom = first + panel.rows.len() as f64 * self.row_height();
        // Labels above rows have no lines behind them.
        let spans: Vec<(f64, f64)> = match self.is_above {
            false => vec![(first, bottom)],
            true => (1..=panel.rows.len())
                .map(|count| first + count as f64 * self.row_height())
                .map(|end| (end - ROW, end))
                .collect(),
        };
        canvas.add(axis(&scale, left, &spans, bottom));
        for (index, row) in panel.rows.iter().enumerate() {
            canvas.add(self.row(row, &scale, (left, first + index as f64 * self.row_height())));
        }
        canvas
    }

    fn row(&self, row: &TestRow<'_>, scale: &Scale, (left, top): CanvasPoint) -> Canvas {
        let mut canvas = Canvas::of("test");
        canvas.title(&row.sentence);
        let bottom = top + self.row_height();
        let middle = bottom - ROW / 2.0;
        let base = middle + LABEL.size * TO_BASE;
        if row.is_drawn {
            self.claimed(&mut canvas, row, scale, (bottom - ROW, bottom));
        }
        if self.has_labels {
            let (room, base) =
                if self.is_above { (PANEL, top + 12.0) } else { (scale.start - left - GUTTER, base) };
            let label = shortened(&clean(&row.label), room, LABEL);
            canvas.text((left, base), Anchor::Start, LABEL, INK, &label);
        }
        let from = scale.end + GUTTER;
        let figures = shortened(&clean(&row.figures), left + PANEL - from, LABEL);
        canvas.text((from, base), Anchor::Start, LABEL, INK, &figures);
        if let Some(value) = row.test.published.and_then(drawable).filter(|_| row.is_drawn) {
            canvas.data("published", value);
            published_at(&mut canvas, scale.place(value), (middle - ROW * 0.4, middle + ROW * 0.4));
        }
        if let Some(value) = row.test.value.and_then(drawable).filter(|_| row.is_drawn) {
            let known = if row.test.decides { row.test.known } else { ClaimVerdict::Open };
            let x = scale.place(value);
            canvas.data("value", value);
            let ends = [row.test.lo, row.test.hi].map(|end| end.filter(|end| !end.is_nan()));
            canvas.add(whiskers(scale, ends, (x, middle), colour(known), CAP));
            mark(&mut canvas, known, (x, middle));
        }
        canvas
    }

    /// What is claimed of the row: shade within the bounds, dashes at them; and the line at 1.
    fn claimed(&self, canvas: &mut Canvas, row: &TestRow<'_>, scale: &Scale, (top, bottom): (f64, f64)) {
        let bounds = [row.test.above, row.test.below].map(|bound| bound.and_then(drawable));
        if bounds.iter().any(Option::is_some) {
            let place = |bound: Option<f64>, edge: f64| bound.map_or(edge, |bound| scale.place(bound));
            let (from, to) = (place(bounds[0], scale.start), place(bounds[1], scale.end));
            if from < to {
                canvas.rectangle((from, top), (to, bottom), BAND, 1.0);
            }
        }
        if self.is_ratio && !bounds.contains(&Some(1.0)) {
            let x = scale.place(1.0);
            canvas.line((x, top), (x, bottom), QUIET, 1.0);
        }
        for bound in bounds.into_iter().flatten() {
            let x = scale.place(bound);
            canvas.lines(&[(x, top), (x, bottom)], INK, 1.25, "4 3");
        }
    }
}

/// The axis at `bottom` of a panel that begins at `left`, and lines at its ticks within `spans`.
fn axis(scale: &Scale, left: f64, spans: &[(f64, f64)], bottom: f64) -> Canvas {
    let mut canvas = Canvas::of("axis");
    canvas.ends(scale);
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for (value, text) in named_ticks(scale) {
        let x = scale.place(value);
        spans.iter().for_each(|(top, end)| canvas.line((x, *top), (x, *end), GUIDE, 1.0));
        let half = width(&text, TICK) / 2.0 + TICK_GAP / 2.0;
        // Nothing leaves the panel.
        let x = x.max(left + half);
        if taken.iter().all(|(from, to)| x + half <= *from || x - half >= *to) {
            canvas.text((x, bottom + 13.0), Anchor::Middle, TICK, QUIET, &text);
            taken.push((x - half, x + half));
        }
    }
    canvas.line((scale.start, bottom), (scale.end, bottom), QUIET, 1.0);
    canvas
}

/// Ticks of the axis, the most important first: 1, other powers of ten, then the rest. All have lines, and names if there is
/// room.
fn named_ticks(scale: &Scale) -> Vec<(f64, String)> {
    let ladders = ticks::logarithmic(scale.from, scale.to, ticks::number);
    let on_axis = |ladder: Vec<(f64, String)>| -> Vec<(f64, String)> {
        ladder.into_iter().filter(|(value, _)| scale.holds(*value)).collect()
    };
    let mut ladder =
        ladders.into_iter().map(on_axis).find(|ladder| ladder.len() <= MOST_TICKS).unwrap_or_default();
    ladder.sort_by_key(|(value, _)| {
        let power = value.log10();
        let is_whole = (power - power.round()).abs() < 1e-9;
        if is_whole { (0, power.round().abs() as i32) } else { (1, 0) }
    });
    ladder
}

/// What the axis of all panels has to show: values, bounds, 1 if it is one of ratios, and intervals within reason.
fn extent(multiples: &Multiples<'_>) -> Extent {
    let drawn = || multiples.panels.iter().flat_map(|panel| &panel.rows).filter(|row| row.is_drawn);
    let mut extent = Extent::default();
    let one = multiples.is_ratio.then_some(1.0);
    let bounds = drawn().flat_map(|row| [row.test.value, row.test.published, row.test.above, row.test.below]);
    let all: Vec<f64> = bounds.flatten().filter_map(drawable).chain(one).collect();
    all.iter().for_each(|value| extent.add(*value));
    let (least, most) = all
        .iter()
        .fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), value| (least.min(*value), most.max(*value)));
    for end in drawn().flat_map(|row| [row.test.lo, row.test.hi]) {
        let within = |end: f64| end.max(least / MOST_BEYOND).min(most * MOST_BEYOND);
        extent.add_bound(end.and_then(drawable).map(within).and_then(drawable));
    }
    extent
}

#[cfg(test)]
mod tests;
