//! The split of a history whose sides differ most.

use super::{FEWEST_IN_LEVEL, segments};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitPoint {
    /// The first value of the second side, by index.
    pub at: usize,
    /// The energy distance of the sides, times n·m/(n + m) of their lengths, over the mean distance of two values of a
    /// segment; the latter is the same for every order of independent values.
    pub distance: f64,
}

/// The split with the largest distance, of any segment between the `edges`; `None` if all values are equal, or no segment
/// is long enough.
pub fn best_split(values: &[f64], edges: &[usize]) -> Option<SplitPoint> {
    let sums: Vec<Sums> = segments(values, edges).map(Sums::of).collect();
    let pairs: f64 = sums.iter().map(Sums::pairs).sum();
    let scale = sums.iter().map(Sums::whole).sum::<f64>() / pairs;
    let splits = edges.iter().zip(&sums).filter_map(|(start, sums)| {
        let SplitPoint { at, distance } = sums.best()?;
        Some(SplitPoint { at: start + at, distance: distance / scale })
    });
    let best = splits.max_by(|a, b| a.distance.total_cmp(&b.distance));
    best.filter(|split| split.distance.is_finite() && scale > 0.0)
}

/// Sums of distances within a segment: for i and j, of those between each of the first i and each of the first j values.
struct Sums {
    length: usize,
    sums: Vec<f64>,
}

impl Sums {
    fn of(segment: &[f64]) -> Self {
        let length = segment.len();
        let width = length + 1;
        let mut sums = vec![0.0; width * width];
        for i in 1..=length {
            let mut row = 0.0;
            for j in 1..=length {
                row += (segment[i - 1] - segment[j - 1]).abs();
                sums[i * width + j] = sums[(i - 1) * width + j] + row;
            }
        }
        Self { length, sums }
    }

    fn to(&self, i: usize, j: usize) -> f64 {
        self.sums[i * (self.length + 1) + j]
    }

    /// Ordered pairs of two values.
    fn pairs(&self) -> f64 {
        (self.length * self.length.saturating_sub(1)) as f64
    }

    fn whole(&self) -> f64 {
        self.to(self.length, self.length)
    }

    /// The best split of the first so many values, over how many. That the second side may end early finds a level that
    /// lasts for a while.
    fn best(&self) -> Option<SplitPoint> {
        let ends = 2 * FEWEST_IN_LEVEL..=self.length;
        let all = ends.flat_map(|end| {
            (FEWEST_IN_LEVEL..=end - FEWEST_IN_LEVEL)
                .map(move |at| SplitPoint { at, distance: self.distance(at, end) })
        });
        all.reduce(|best, split| if split.distance > best.distance { split } else { best })
    }

    /// Of the values before `at` and those from there to `end`: Q̂ of Matteson and James (2014) with exponent 1.
    fn distance(&self, at: usize, end: usize) -> f64 {
        let (n, m) = (at as f64, (end - at) as f64);
        let first = self.to(at, at);
        let between = self.to(at, end) - first;
        let second = self.to(end, end) - 2.0 * self.to(at, end) + first;
        let energy = 2.0 * between / (n * m) - first / (n * (n - 1.0)) - second / (m * (m - 1.0));
        n * m / (n + m) * energy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it is defined, value by value.
    fn directly(a: &[f64], b: &[f64]) -> f64 {
        let between: f64 = a.iter().flat_map(|x| b.iter().map(move |y| (x - y).abs())).sum();
        let within = |side: &[f64]| -> f64 {
            let all: f64 = side.iter().flat_map(|x| side.iter().map(move |y| (x - y).abs())).sum();
            all / (side.len() * (side.len() - 1)) as f64
        };
        let (n, m) = (a.len() as f64, b.len() as f64);
        n * m / (n + m) * (2.0 * between / (n * m) - within(a) - within(b))
    }

    #[test]
    fn sums_give_the_distance_as_defined() {
        let values = [0.3, 0.1, 0.4, 0.1, 0.5, 0.9, 0.2, 0.6, 0.5, 0.3];
        let sums = Sums::of(&values);
        for (at, end) in [(3, 6), (4, 10), (7, 10)] {
            let expected = directly(&values[..at], &values[at..end]);
            assert!((sums.distance(at, end) - expected).abs() < 1e-12, "{at} {end}");
        }
    }

    #[test]
    fn the_best_is_where_values_change_in_any_segment() {
        let values = [1.0, 1.1, 1.0, 1.1, 1.0, 1.1, 1.0, 1.1, 5.0, 5.1, 5.0, 5.1];
        assert_eq!(best_split(&values, &[0, 12]).map(|split| split.at), Some(8));
        assert_eq!(best_split(&values, &[0, 5, 12]).map(|split| split.at), Some(8));
        assert_eq!(best_split(&values, &[0, 4, 8, 12]), None, "no segment is long enough");
        assert_eq!(best_split(&[2.0; 12], &[0, 12]), None);
    }
}
