//! Runs in the order of time: a point each with its interval, a line for each level, and a dashed line at each change.

use super::ink::{Anchor, Canvas, INK, QUIET};
use super::plot::{self, whiskers};
use super::scale::{Extent, Scale};
use super::text::{Face, width};
use super::{Background, LEAD, LEFT, Picture, PictureError, RIGHT, bare, framed, paragraph, paragraphs};
use crate::figures::colours::PALETTE;
use crate::figures::ticks;
use crate::figures::timeline::{Timeline, TimelinePoint};
use crate::numbers::{ratio, time};

const TICK: Face = Face { size: 10.5, bold: false };
const NAME: Face = Face { size: 11.5, bold: true };

/// What the names of values take on the left.
const TICKS: f64 = 64.0;
/// Room for the ratios above the plot.
const HEAD: f64 = 20.0;
const PLOT: f64 = 260.0;
const BELOW: f64 = 40.0;
/// Free room at both ends of the line of runs.
const PAD: f64 = 12.0;
const LARGEST_POINT: f64 = 3.5;
/// Closer runs have no whiskers, whose ends would touch.
const LEAST_PITCH: f64 = 8.0;
/// Names of values on the axis, at most.
const MOST_TICKS: usize = 8;

const POINT: &str = PALETTE[0].light;
/// Of intervals that are close to each other.
const PALE: &str = "#bfe0f5";
const CHANGE: &str = PALETTE[2].light;

pub const READING: &str = "Points are runs in the order of time, one place each, with intervals at 95 %. Lines are the levels between changes; a dashed line is a change, with the new level over the old one.";

/// Draws runs over time, as a picture that stands for itself.
pub fn draw(timeline: &Timeline, background: Background) -> Result<Picture, PictureError> {
    let changes = timeline.marks.iter().map(|mark| format!("{}.", crate::words::capitalised(&mark.sentence)));
    framed(&timeline.title, [timeline.how.clone()], background, |canvas, y| {
        let y = paragraph(canvas, &timeline.about, LEAD, QUIET, y + 3.0);
        let y = paragraph(canvas, READING, LEAD, QUIET, y) + 8.0;
        let y = plot(timeline, canvas, y)?;
        Ok(paragraphs(canvas, changes.chain(timeline.notes.iter().cloned()), LEAD, INK, y) + 4.0)
    })
}

/// The same on a page that says everything else.
pub fn plain(timeline: &Timeline) -> Result<Picture, PictureError> {
    bare(&timeline.title, |canvas, y| plot(timeline, canvas, y + 4.0))
}

/// Draws the points from here on downwards; gives where it ends.
fn plot(timeline: &Timeline, canvas: &mut Canvas, top: f64) -> Result<f64, PictureError> {
    if timeline.points.is_empty() {
        return Err(PictureError::NothingMeasured);
    }
    canvas.add(Plot::of(timeline, top + HEAD).draw());
    Ok(top + HEAD + PLOT + BELOW)
}

struct Plot<'a> {
    timeline: &'a Timeline,
    up: Scale,
    pitch: f64,
}

impl<'a> Plot<'a> {
    fn of(timeline: &'a Timeline, top: f64) -> Self {
        let mut extent = Extent::default();
        for point in &timeline.points {
            extent.add_within(point.value.median, [point.value.lo, point.value.hi]);
            extent.add(point.level);
        }
        let room = RIGHT - LEFT - TICKS - 2.0 * PAD;
        let pitch = room / timeline.points.len().saturating_sub(1).max(1) as f64;
        Self { timeline, up: Scale::logarithmic(&extent, top + PLOT, top), pitch }
    }

    /// Where a run is; halves are between runs.
    fn across(&self, index: f64) -> f64 {
        let alone = self.timeline.points.len() == 1;
        let start = if alone { (LEFT + TICKS + RIGHT) / 2.0 } else { LEFT + TICKS + PAD };
        start + index * self.pitch
    }

    fn value(&self, value: f64) -> String {
        if self.timeline.is_ratio { ratio(value) } else { time(value) }
    }

    fn draw(&self) -> Canvas {
        let mut canvas = Canvas::of("panel");
        canvas.add(self.axes());
        for (index, point) in self.timeline.points.iter().enumerate() {
            canvas.add(self.point(index, point));
        }
        let mut free_from = f64::NEG_INFINITY;
        for mark in &self.timeline.marks {
            canvas.add(self.change(mark.at, mark.ratio, &mark.sentence, &mut free_from));
        }
        let edges = self.timeline.marks.iter().map(|mark| mark.at);
        let edges: Vec<usize> = std::iter::once(0).chain(edges).chain([self.timeline.points.len()]).collect();
        for pair in edges.windows(2).filter(|pair| pair[0] < pair[1]) {
            canvas.add(self.level(pair[0], pair[1]));
        }
        canvas
    }

    fn axes(&self) -> Canvas {
        let mut canvas = Canvas::of("axis");
        canvas.ends(&self.up);
        let name = |tick| if self.timeline.is_ratio { ticks::number(tick) } else { ticks::time(tick, None) };
        plot::values(&mut canvas, &self.up, (LEFT + TICKS, RIGHT), MOST_TICKS, TICK, name);
        self.days(&mut canvas);
        canvas
    }

    /// The first run of a day has its name, if there is room.
    fn days(&self, canvas: &mut Canvas) {
        let mut free_from = f64::NEG_INFINITY;
        let mut last = "";
        for (index, point) in self.timeline.points.iter().enumerate() {
            let x = self.across(index as f64);
            let half = width(&point.day, TICK) / 2.0;
            if point.day == last || x - half < free_from || x + half > RIGHT + PAD {
                continue;
            }
            last = &point.day;
            free_from = x + half + 8.0;
            canvas.line((x, self.up.start), (x, self.up.start + 4.0), QUIET, 1.0);
            canvas.text((x, self.up.start + 17.0), Anchor::Middle, TICK, QUIET, &point.day);
        }
    }

    fn change(&self, at: usize, ratio_of: f64, sentence: &str, free_from: &mut f64) -> Canvas {
        let mut canvas = Canvas::of("change");
        canvas.title(sentence);
        canvas.data("at", at as f64);
        canvas.data("ratio", ratio_of);
        let x = self.across(at as f64 - 0.5);
        canvas.dashes((x, self.up.end), (x, self.up.start), CHANGE, 1.5);
        let name = format!("{} ×", ratio(ratio_of));
        let half = width(&name, NAME) / 2.0;
        if x - half > *free_from {
            canvas.text((x, self.up.end - 6.0), Anchor::Middle, NAME, CHANGE, &name);
            *free_from = x + half + 4.0;
        }
        canvas
    }

    fn level(&self, from: usize, to: usize) -> Canvas {
        let mut canvas = Canvas::of("level");
        let level = self.timeline.points[from].level;
        canvas.title(&self.value(level));
        canvas.data("level", level);
        let y = self.up.place(level);
        let beyond = (self.pitch * 0.4).min(PAD / 2.0);
        let ends = [self.across(from as f64) - beyond, self.across(to as f64 - 1.0) + beyond];
        canvas.line((ends[0], y), (ends[1], y), INK, 2.0);
        canvas
    }

    fn point(&self, index: usize, point: &TimelinePoint) -> Canvas {
        let mut canvas = Canvas::of("run");
        canvas.title(&format!("{}: {}", point.name, self.value(point.value.median)));
        canvas.data("value", point.value.median);
        let at = (self.across(index as f64), self.up.place(point.value.median));
        canvas.add(self.interval(point, at));
        let radius = (self.pitch / 2.0).clamp(1.5, LARGEST_POINT);
        canvas.point(at, radius, POINT, point.value.lo.is_none() || point.value.hi.is_none());
        canvas
    }

    /// Of runs that are close to each other a pale line, so that the points are seen.
    fn interval(&self, point: &TimelinePoint, at: (f64, f64)) -> Canvas {
        if self.pitch >= LEAST_PITCH {
            return whiskers(point.value, at, &self.up, POINT);
        }
        let mut canvas = Canvas::of("interval");
        let [lo, hi] = [point.value.lo, point.value.hi].map(|end| end.map_or(at.1, |end| self.up.place(end)));
        canvas.line((at.0, lo), (at.0, hi), PALE, 1.0);
        canvas
    }
}

#[cfg(test)]
mod tests {
    use ipcost_model::Estimate;

    use super::*;
    use crate::figures::timeline::ChangeMark;

    fn timeline(points: usize) -> Timeline {
        let point = |index: usize| {
            let level = if index < points / 2 { 7_000.0 } else { 7_840.0 };
            let median = level * (1.0 + (index * 7 % 5) as f64 / 100.0 - 0.02);
            let value =
                Estimate { median, lo: Some(median * 0.98), hi: (index != 4).then_some(median * 1.03) };
            TimelinePoint {
                day: format!("2026-11-{:02}", 1 + index / 2 % 28),
                name: "a <run>".to_owned(),
                value,
                level,
            }
        };
        Timeline {
            title: "rr/unix/64/c1 over some runs".to_owned(),
            about: "on lab".to_owned(),
            is_ratio: false,
            points: (0..points).map(point).collect(),
            marks: vec![ChangeMark {
                at: points / 2,
                ratio: 1.12,
                sentence: "from then on 1.12 ×".to_owned(),
            }],
            notes: vec!["1 change.".to_owned()],
            how: "somehow".to_owned(),
        }
    }

    #[test]
    fn every_run_level_and_change_is_drawn() {
        let svg = draw(&timeline(20), Background::White).unwrap().svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let count = |class: &str| {
            document.descendants().filter(|node| node.attribute("class") == Some(class)).count()
        };
        assert_eq!((count("run"), count("level"), count("change")), (20, 2, 1));
        assert!(svg.contains("1.12 ×") && svg.contains("2026-11-01") && !svg.contains("NaN"));
    }

    #[test]
    fn few_or_many_runs_are_drawn_too_and_none_are_refused() {
        for points in [1, 2, 1_000] {
            let mut timeline = timeline(points);
            timeline.marks.retain(|mark| mark.at > 0);
            let svg = draw(&timeline, Background::White).unwrap().svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{points}");
        }
        let none = Timeline { points: Vec::new(), marks: Vec::new(), ..timeline(2) };
        assert!(draw(&none, Background::White).is_err());
    }
}
