//! The axes of the curves: work across, on which zero has a place, and shares up.

use super::super::ink::{Anchor, Canvas, QUIET};
use super::super::plot;
use super::super::scale::{Extent, Scale};
use super::super::text::Face;
use crate::figures::saving::Curves;
use crate::figures::ticks::{self, percent};

const TICK: Face = Face { size: 10.5, bold: false };

/// Up to here equal distances are equal work, from here on equal ratios, nanoseconds: no server notices less than this.
const LINEAR_NS: f64 = 1e3;
/// Where the axis ends at least.
const LEAST_END_NS: f64 = 1e7;
/// What the linear part takes, over a decade of the other.
const LINEAR_PART: f64 = 0.6;
/// What the axes show.
const UP: &str = "saved of a request";
const ACROSS: &str = "work on top of the least request (logarithmic from 1 µs on)";

/// What the names of shares take on the left.
const TICKS: f64 = 42.0;
/// What stays free on the right, so that nothing at the end is cut.
const RIGHT_PAD: f64 = 20.0;
/// Room above the largest share, over its own, for the name of a point.
const ROOM_ABOVE: f64 = 1.12;

/// Where work and shares are.
#[derive(Debug, Clone, Copy)]
pub struct Axes {
    /// Where no work at all is.
    zero: f64,
    /// Work from [`LINEAR_NS`] on.
    logarithmic: Scale,
    pub share: Scale,
}

impl Axes {
    /// Those on which all panels fit, in a panel so wide, between its top and its bottom.
    pub fn of(curves: &Curves, width: f64, (top, bottom): (f64, f64)) -> Self {
        let requests = || curves.panels.iter().flat_map(|panel| &panel.requests);
        let lines = || curves.panels.iter().flat_map(|panel| &panel.line);
        let (zero, end) = (TICKS, width - RIGHT_PAD);
        let works = lines().map(|(work, _)| *work).chain(requests().map(|request| request.work_ns));
        let to = works.filter(|work| work.is_finite()).fold(LEAST_END_NS, f64::max);
        let decades = (to / LINEAR_NS).log10();
        let start = zero + (end - zero) * LINEAR_PART / (LINEAR_PART + decades);
        let logarithmic = Scale { logarithmic: true, from: LINEAR_NS, to, start, end };
        let medians = lines().map(|(_, share)| *share).chain(requests().map(|request| request.share.median));
        let medians: Vec<f64> = medians.chain([curves.margin]).filter(|share| share.is_finite()).collect();
        let ends = requests().flat_map(|request| [request.share.lo, request.share.hi]).flatten();
        let ends: Vec<f64> = ends.filter(|share| share.is_finite()).collect();
        let mut extent = Extent::default();
        // Shares below zero have their own room, further down.
        medians.iter().for_each(|share| extent.add(share.max(0.0)));
        ends.iter().for_each(|share| extent.add_bound(Some(share.max(0.0))));
        let upwards = Scale::from_zero(&extent, bottom, top);
        let to = upwards.to * ROOM_ABOVE;
        let below = medians.iter().copied().fold(0.0, f64::min).max(-to * 10.0);
        // An interval takes no more room below zero than above.
        let below = ends.into_iter().map(|share| share.max(-to)).fold(below, f64::min);
        Self { zero, logarithmic, share: Scale { from: below, to, ..upwards } }
    }

    /// The same for a panel at this place.
    pub fn moved(self, left: f64, top: f64) -> Self {
        let moved = |scale: Scale, by: f64| Scale { start: scale.start + by, end: scale.end + by, ..scale };
        Self {
            zero: self.zero + left,
            logarithmic: moved(self.logarithmic, left),
            share: moved(self.share, top),
        }
    }

    pub fn work(&self, work_ns: f64) -> f64 {
        match work_ns < LINEAR_NS {
            true => self.zero + (self.logarithmic.start - self.zero) * (work_ns / LINEAR_NS).max(0.0),
            false => self.logarithmic.place(work_ns),
        }
    }

    /// From left to right.
    pub fn ends(&self) -> (f64, f64) {
        (self.zero, self.logarithmic.end)
    }

    /// The axes with lines and names at their ticks.
    pub fn draw(&self) -> Canvas {
        let mut canvas = Canvas::of("axis");
        let (across, up) = (&self.logarithmic, &self.share);
        for (name, value) in [
            ("zero", self.zero),
            ("work-from", across.from),
            ("work-to", across.to),
            ("work-start", across.start),
            ("work-end", across.end),
        ] {
            canvas.data(name, value);
        }
        canvas.ends(up);
        let share = |tick| format!("{} %", percent(tick)).replace('-', "−");
        plot::values(&mut canvas, up, (self.zero, across.end), 6, TICK, share);
        // Digits between powers of ten say nothing here.
        let powers =
            across.ticks(16).into_iter().filter(|tick| (tick.log10() - tick.log10().round()).abs() < 1e-9);
        let works = std::iter::once(0.0).chain(powers);
        plot::places(&mut canvas, up, TICK, works.map(|tick| (self.work(tick), ticks::time(tick, None))));
        canvas.line((self.zero, up.place(0.0)), (across.end, up.place(0.0)), QUIET, 1.0);
        canvas.text((self.zero - TICKS, up.end - 6.0), Anchor::Start, TICK, QUIET, UP);
        let middle = ((self.zero + across.end) / 2.0, up.start + 32.0);
        canvas.text(middle, Anchor::Middle, TICK, QUIET, ACROSS);
        canvas
    }
}
