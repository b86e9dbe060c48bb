//! From values to places, and the values that an axis names.

use crate::figures::ticks::DIGITS;

/// How far an interval may push an axis beyond the medians, as a factor; what goes on is marked with an arrow.
const MOST_BEYOND: f64 = 10.0;
/// The room beside the outermost values of a logarithmic axis, over its length.
const MARGIN: f64 = 0.04;
/// The least span of a logarithmic axis, as a factor.
const LEAST_SPAN: f64 = 1.5;
/// The least and the largest value that are drawn where they belong; others are drawn at the edge.
const DRAWABLE: (f64, f64) = (1e-30, 1e30);

/// An axis: the values from `from` to `to` are drawn from `start` to `end`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Whether equal distances are equal ratios.
    pub logarithmic: bool,
    /// The value at `start`.
    pub from: f64,
    /// The value at `end`; above `from`.
    pub to: f64,
    pub start: f64,
    /// A coordinate; below `start` on an axis that rises.
    pub end: f64,
}

/// The values that an axis has to show.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extent {
    medians: Option<(f64, f64)>,
    bounds: Option<(f64, f64)>,
}

impl Extent {
    /// Makes room for a value.
    pub fn add(&mut self, median: f64) {
        widen(&mut self.medians, median);
    }

    /// Makes room for the end of an interval, within reason.
    pub fn add_bound(&mut self, bound: Option<f64>) {
        if let Some(bound) = bound {
            widen(&mut self.bounds, bound);
        }
    }

    /// Makes room for a value with its interval.
    pub fn add_within(&mut self, median: f64, ends: [Option<f64>; 2]) {
        self.add(median);
        ends.into_iter().for_each(|end| self.add_bound(end));
    }

    /// The largest value over the smallest; 1 where there is none.
    pub fn factor(&self) -> f64 {
        self.medians.map_or(1.0, |(least, most)| if least > 0.0 { most / least } else { f64::INFINITY })
    }

    pub fn least(&self) -> Option<f64> {
        self.medians.map(|(least, _)| least)
    }

    fn span(&self) -> (f64, f64) {
        let (least, most) = self.medians.unwrap_or((1.0, 1.0));
        let (lower, upper) = self.bounds.unwrap_or((least, most));
        (lower.clamp(least / MOST_BEYOND, least), upper.clamp(most, most * MOST_BEYOND))
    }
}

fn widen(span: &mut Option<(f64, f64)>, value: f64) {
    let (least, most) = span.unwrap_or((value, value));
    *span = Some((least.min(value), most.max(value)));
}

impl Scale {
    /// An axis from zero.
    pub fn from_zero(extent: &Extent, start: f64, end: f64) -> Self {
        let (_, most) = extent.span();
        let most = most.clamp(DRAWABLE.0, DRAWABLE.1);
        Self { logarithmic: false, from: 0.0, to: most * (1.0 + MARGIN), start, end }
    }

    /// An axis on which equal distances are equal ratios.
    pub fn logarithmic(extent: &Extent, start: f64, end: f64) -> Self {
        let (least, most) = extent.span();
        let least = least.clamp(DRAWABLE.0, DRAWABLE.1);
        let most = most.clamp(least, DRAWABLE.1);
        let widening = (LEAST_SPAN / (most / least)).max(1.0).sqrt();
        let (least, most) = (least / widening, most * widening);
        let margin = (most / least).powf(MARGIN);
        Self { logarithmic: true, from: least / margin, to: most * margin, start, end }
    }

    /// Where a value is drawn; beyond the axis, at its end.
    pub fn place(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(DRAWABLE.0) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    /// Whether a value lies on the axis.
    pub fn holds(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// At most `most` round values on the axis, rising.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        if !self.logarithmic {
            return self.even_ticks(most);
        }
        let within = |digits: &[f64], every: i32| -> Vec<f64> {
            let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
            let values = decades
                .filter(|decade| decade.rem_euclid(every) == 0)
                .flat_map(|decade| digits.iter().map(move |digit| digit * 10f64.powi(decade)));
            values.filter(|value| self.holds(*value)).collect()
        };
        if self.to / self.from < 2.5 {
            return self.even_ticks(most);
        }
        let fine = DIGITS.iter().map(|digits| within(digits, 1));
        let coarse = (2..).map(|every| within(&[1.0], every));
        fine.chain(coarse).find(|ticks| ticks.len() <= most.max(1)).unwrap_or_default()
    }

    fn even_ticks(&self, most: usize) -> Vec<f64> {
        let rough = (self.to - self.from) / most.max(1) as f64;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(decade * 10.0);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step).floor() as i64;
        (first..=last).map(|count| count as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(values: &[f64]) -> Extent {
        let mut extent = Extent::default();
        values.iter().for_each(|value| extent.add(*value));
        extent
    }

    #[test]
    fn ticks_are_round_few_and_on_the_axis() {
        for (values, logarithmic) in [
            (vec![7.13, 25.0], false),
            (vec![3.0e4], false),
            (vec![0.0], false),
            (vec![1e29], false),
            (vec![0.5, 2.0], true),
            (vec![0.98, 1.03], true),
            (vec![1.0], true),
            (vec![64.0, 1e6], true),
            (vec![1e-20, 1e20], true),
            (vec![0.0, 1e300], true),
            (vec![5e-324, f64::MAX], true),
        ] {
            let extent = extent(&values);
            let make = if logarithmic { Scale::logarithmic } else { Scale::from_zero };
            let scale = make(&extent, 0.0, 100.0);
            let ticks = scale.ticks(7);
            assert!((2..=8).contains(&ticks.len()), "{values:?}: {ticks:?}");
            assert!(ticks.iter().all(|tick| scale.holds(*tick)), "{values:?}: {ticks:?}");
            assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}: {ticks:?}");
        }
    }

    #[test]
    fn places_follow_values() {
        let scale = Scale::from_zero(&extent(&[100.0]), 10.0, 114.0);
        assert_eq!([0.0, 50.0, 100.0].map(|value| scale.place(value).round()), [10.0, 60.0, 110.0]);
        let scale = Scale { logarithmic: true, from: 1.0, to: 100.0, start: 200.0, end: 0.0 };
        assert_eq!([1.0, 10.0, 100.0].map(|value| scale.place(value).round()), [200.0, 100.0, 0.0]);
        assert_eq!([0.0, f64::MAX].map(|value| scale.place(value)), [200.0, 0.0]);
    }

    #[test]
    fn a_wild_interval_does_not_squeeze_the_rest() {
        let mut extent = extent(&[1.0, 2.0]);
        extent.add_bound(Some(1e-9));
        extent.add_bound(Some(1e9));
        let scale = Scale::logarithmic(&extent, 0.0, 1.0);
        assert!(scale.from > 0.05 && scale.to < 30.0, "{scale:?}");
        assert!(!scale.holds(1e9) && scale.holds(1.0));
    }
}
