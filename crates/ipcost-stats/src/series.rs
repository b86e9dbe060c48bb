//! From batches to epochs: the only way from rounds to the values that intervals are drawn from.

use crate::median::median;

/// A value for each round in which something was measured, in the order of epochs and rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Series<T = f64> {
    rounds: Vec<Round<T>>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Round<T> {
    epoch: u32,
    round: u32,
    value: T,
}

impl<T> Round<T> {
    fn place(&self) -> (u32, u32) {
        (self.epoch, self.round)
    }
}

// Derived, it would ask for a default of values.
impl<T> Default for Series<T> {
    fn default() -> Self {
        Self { rounds: Vec::new() }
    }
}

impl<T: Copy> Series<T> {
    /// A series of epoch, round and value. Of several values for one round the last counts.
    pub fn new(rounds: impl IntoIterator<Item = (u32, u32, T)>) -> Self {
        let mut rounds: Vec<Round<T>> =
            rounds.into_iter().map(|(epoch, round, value)| Round { epoch, round, value }).collect();
        rounds.sort_by_key(Round::place);
        rounds.dedup_by(|later, kept| {
            let is_same = later.place() == kept.place();
            if is_same {
                kept.value = later.value;
            }
            is_same
        });
        Self { rounds }
    }

    /// The same, where a value may be missing; empty if one is.
    pub fn complete(rounds: impl IntoIterator<Item = (u32, u32, Option<T>)>) -> Self {
        let all: Option<Vec<(u32, u32, T)>> =
            rounds.into_iter().map(|(epoch, round, value)| Some((epoch, round, value?))).collect();
        Self::new(all.unwrap_or_default())
    }

    /// Whether it has no round.
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Without the first epochs of a run.
    pub fn since(&self, after: u32) -> Self {
        Self { rounds: self.rounds.iter().filter(|round| round.epoch > after).copied().collect() }
    }

    pub fn map<U: Copy>(&self, change: impl Fn(T) -> U) -> Series<U> {
        let changed =
            |round: &Round<T>| Round { epoch: round.epoch, round: round.round, value: change(round.value) };
        Series { rounds: self.rounds.iter().map(changed).collect() }
    }

    /// The values of two, joined in the rounds that both have.
    pub fn with<U: Copy, V: Copy>(&self, other: &Series<U>, join: impl Fn(T, U) -> V) -> Series<V> {
        let mut others = other.rounds.iter().peekable();
        let joined = self.rounds.iter().filter_map(|own| {
            while others.next_if(|their| their.place() < own.place()).is_some() {}
            let their = others.next_if(|their| their.place() == own.place())?;
            Some(Round { epoch: own.epoch, round: own.round, value: join(own.value, their.value) })
        });
        Series { rounds: joined.collect() }
    }

    /// The rounds for which `keep` has true.
    pub fn only(&self, keep: &Series<bool>) -> Self {
        let marked = self.with(keep, |value, keep| (value, keep));
        Self { rounds: marked.rounds.into_iter().filter(|round| round.value.1).map(unmarked).collect() }
    }
}

fn unmarked<T>(round: Round<(T, bool)>) -> Round<T> {
    Round { epoch: round.epoch, round: round.round, value: round.value.0 }
}

impl Series<f64> {
    /// The median over the rounds of each epoch, with the epoch; `None` if it is not finite.
    pub fn by_epoch(&self) -> Vec<(u32, Option<f64>)> {
        let epochs = self.rounds.chunk_by(|a, b| a.epoch == b.epoch);
        let of_epoch = |rounds: &[Round<f64>]| {
            let values: Vec<f64> = rounds.iter().map(|round| round.value).collect();
            (rounds[0].epoch, median(&values).filter(|median| median.is_finite()))
        };
        epochs.map(of_epoch).collect()
    }

    /// The median over the rounds of each epoch, epoch by epoch: what every interval is drawn from. Empty if one is not
    /// finite.
    pub fn medians(&self) -> Vec<f64> {
        self.by_epoch().into_iter().map(|(_, median)| median).collect::<Option<_>>().unwrap_or_default()
    }
}

impl<const N: usize> Series<[f64; N]> {
    /// The sum over the rounds of each epoch, epoch by epoch.
    pub fn sums(&self) -> Vec<[f64; N]> {
        let epochs = self.rounds.chunk_by(|a, b| a.epoch == b.epoch);
        let add = |mut sum: [f64; N], round: &Round<[f64; N]>| {
            sum.iter_mut().zip(round.value).for_each(|(sum, value)| *sum += value);
            sum
        };
        epochs.map(|rounds| rounds.iter().fold([0.0; N], add)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(rounds: &[(u32, u32, f64)]) -> Series {
        Series::new(rounds.iter().copied())
    }

    #[test]
    fn epochs_have_the_medians_of_their_rounds() {
        let known = series(&[(1, 1, 5.0), (1, 2, 1.0), (1, 3, 9.0), (4, 1, 2.0), (4, 2, 3.0)]);
        assert_eq!(known.medians(), [5.0, 2.5]);
        assert_eq!(known.by_epoch(), [(1, Some(5.0)), (4, Some(2.5))]);
        assert_eq!((known.since(0).medians(), known.since(1).medians()), (vec![5.0, 2.5], vec![2.5]));
        assert!(Series::default().medians().is_empty());
    }

    #[test]
    fn values_that_are_missing_or_not_finite_leave_no_medians() {
        let infinite = series(&[(1, 1, 1.0), (2, 1, f64::NEG_INFINITY)]);
        assert!(infinite.medians().is_empty());
        assert_eq!(infinite.by_epoch(), [(1, Some(1.0)), (2, None)]);
        assert!(series(&[(1, 1, f64::NAN)]).medians().is_empty());
        assert!(Series::complete([(1, 1, Some(1.0)), (1, 2, None)]).is_empty());
        assert_eq!(Series::complete([(1, 1, Some(1.0))]), series(&[(1, 1, 1.0)]));
    }

    #[test]
    fn two_are_joined_in_the_rounds_that_both_have() {
        let a = series(&[(1, 1, 100.0), (1, 2, 400.0), (1, 3, 900.0), (2, 1, 7.0), (3, 1, 8.0)]);
        let b = series(&[(1, 1, 50.0), (1, 2, 100.0), (1, 3, 300.0), (3, 1, 4.0), (4, 1, 1.0)]);
        // Ratios 2, 4, 3: their median is 3, while the ratio of the medians would be 4.
        assert_eq!(a.with(&b, |a, b| a / b).medians(), [3.0, 2.0]);
        assert_eq!(b.with(&a, |b, a| a / b), a.with(&b, |a, b| a / b));
    }

    #[test]
    fn epochs_have_the_sums_of_their_rounds() {
        let known = Series::new([(1, 1, [5.0, 1.0]), (1, 2, [1.0, 2.0]), (4, 1, [2.0, 3.0])]);
        assert_eq!(known.sums(), [[6.0, 3.0], [2.0, 3.0]]);
    }

    #[test]
    fn rounds_can_be_left_out() {
        let all = series(&[(1, 1, 1.0), (1, 2, 9.0), (2, 1, 5.0)]);
        let small = all.map(|value| value < 6.0);
        assert_eq!(all.only(&small), series(&[(1, 1, 1.0), (2, 1, 5.0)]));
    }

    #[test]
    fn rounds_are_put_in_order_and_the_last_of_one_counts() {
        assert_eq!(series(&[(2, 1, 1.0), (1, 1, 2.0), (1, 1, 3.0)]), series(&[(1, 1, 3.0), (2, 1, 1.0)]));
    }
}
