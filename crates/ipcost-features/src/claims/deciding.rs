//! Deciding claims, for every command that asks: a value with its interval against bounds, tests together, conditions and cells together.

use ipcost_model::Verdict;
use ipcost_stats::{EpochInterval, Start, planned_interval};

use ipcost_model::ClaimVerdict;

/// What epochs say of the value that a claim is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClaimedValue {
    pub value: f64,
    /// Its interval; `None` while that is unbounded.
    pub interval: Option<(f64, f64)>,
    /// The range of the epochs, where they are too dependent for an interval.
    pub range: Option<(f64, f64)>,
}

impl ClaimedValue {
    /// What epochs say at 1 − `level`, with these looks, `shown` as people read it; `None` of no epochs.
    pub(crate) fn of(epochs: &[f64], level: f64, start: &Start, shown: impl Fn(f64) -> f64) -> Option<Self> {
        let EpochInterval { interval, range, .. } = planned_interval(epochs, level, start)?;
        let both = |(lo, hi)| (shown(lo), shown(hi));
        Some(Self {
            value: shown(interval.median),
            interval: interval.bounds.map(both),
            range: range.map(both),
        })
    }
}

/// The end of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bounded {
    /// The end belongs to it.
    Including(f64),
    /// The end does not belong to it.
    Strictly(f64),
}

/// The range in which a value is claimed to lie.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ClaimBounds {
    /// Of a ratio, the relative difference that matters.
    pub margin: Option<f64>,
    /// Above, or at least.
    pub above: Option<Bounded>,
    /// Below, or at most.
    pub below: Option<Bounded>,
}

impl ClaimBounds {
    /// What is known of the claim by the interval of the value. A difference smaller than the margin neither confirms nor refutes that a ratio
    /// lies on one side of 1; where 1 itself belongs to that side, only what the interval leaves open is no difference.
    pub(crate) fn decide(&self, interval: Option<(f64, f64)>) -> ClaimVerdict {
        let word = self.word(interval);
        match self.direction() {
            Some(end) if self.is_small(interval) => match end {
                Bounded::Including(_) if word != ClaimVerdict::Open => word,
                Bounded::Including(_) | Bounded::Strictly(_) => ClaimVerdict::NoDifference,
            },
            _ => word,
        }
    }

    /// The word that follows from the interval of the value: all of it must lie within, or all of it beyond one end.
    fn word(&self, interval: Option<(f64, f64)>) -> ClaimVerdict {
        let Some((lo, hi)) = interval else { return ClaimVerdict::Open };
        // Whether an end of the interval lies below the bound.
        let under = |value: f64, bound: Bounded| match bound {
            Bounded::Including(bound) => value <= bound,
            Bounded::Strictly(bound) => value < bound,
        };
        let over = |value: f64, bound: Bounded| match bound {
            Bounded::Including(bound) => value >= bound,
            Bounded::Strictly(bound) => value > bound,
        };
        let below = self.below.map(|bound| (under(hi, bound), !under(lo, bound)));
        let above = self.above.map(|bound| (over(lo, bound), !over(hi, bound)));
        let sides: Vec<(bool, bool)> = below.into_iter().chain(above).collect();
        match () {
            () if sides.iter().any(|(_, refuted)| *refuted) => ClaimVerdict::Fails,
            () if !sides.is_empty() && sides.iter().all(|(holds, _)| *holds) => ClaimVerdict::Holds,
            () => ClaimVerdict::Open,
        }
    }

    /// The end of a range that is all ratios on one side of 1.
    fn direction(&self) -> Option<Bounded> {
        let end = match (self.above, self.below) {
            (Some(end), None) | (None, Some(end)) => end,
            _ => return None,
        };
        let (Bounded::Including(at) | Bounded::Strictly(at)) = end;
        (at == 1.0).then_some(end)
    }

    /// Whether the interval lies within the margin.
    fn is_small(&self, interval: Option<(f64, f64)>) -> bool {
        self.margin.is_some_and(|margin| Verdict::of(interval, margin) == Verdict::Equivalent)
    }
}

/// The verdict on a promise for several cells: broken for one it is broken, whatever holds for others; one that is neither kept nor broken
/// for one cell is so for all.
pub(crate) fn all_keep(verdicts: &[ClaimVerdict]) -> ClaimVerdict {
    let has = |verdict: ClaimVerdict| verdicts.contains(&verdict);
    match all_hold(verdicts.iter().copied()) {
        ClaimVerdict::Depends if has(ClaimVerdict::Fails) || has(ClaimVerdict::Depends) => {
            ClaimVerdict::Fails
        }
        ClaimVerdict::Depends if has(ClaimVerdict::Open) => ClaimVerdict::Open,
        ClaimVerdict::Depends => ClaimVerdict::NoDifference,
        verdict => verdict,
    }
}

/// The verdict of a claim all of whose tests must hold: some that hold beside some that do not mean that it depends. One that
/// fails is enough if none holds.
fn all_hold(verdicts: impl IntoIterator<Item = ClaimVerdict>) -> ClaimVerdict {
    let all: Vec<ClaimVerdict> = verdicts.into_iter().collect();
    let has = |verdict: ClaimVerdict| all.contains(&verdict);
    match () {
        () if has(ClaimVerdict::Depends) => ClaimVerdict::Depends,
        () if has(ClaimVerdict::Holds) && (has(ClaimVerdict::Fails) || has(ClaimVerdict::NoDifference)) => {
            ClaimVerdict::Depends
        }
        () if has(ClaimVerdict::Fails) => ClaimVerdict::Fails,
        () if has(ClaimVerdict::Open) || all.is_empty() => ClaimVerdict::Open,
        () if has(ClaimVerdict::NoDifference) => ClaimVerdict::NoDifference,
        () if has(ClaimVerdict::Holds) => ClaimVerdict::Holds,
        () => ClaimVerdict::NotTested,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_from_the_whole_interval() {
        let of = |below: Option<f64>, above: Option<f64>, interval| {
            let [below, above] = [below, above].map(|end| end.map(Bounded::Strictly));
            ClaimBounds { below, above, margin: None }.decide(Some(interval))
        };
        assert_eq!(of(Some(1.0), None, (0.5, 0.9)), ClaimVerdict::Holds);
        assert_eq!(of(Some(1.0), None, (1.1, 1.9)), ClaimVerdict::Fails);
        assert_eq!(of(Some(1.0), None, (0.9, 1.1)), ClaimVerdict::Open);
        assert_eq!(of(None, Some(2.0), (2.1, 3.0)), ClaimVerdict::Holds);
        assert_eq!(of(Some(1.0), Some(0.9), (0.93, 0.99)), ClaimVerdict::Holds);
        assert_eq!(of(Some(1.0), Some(0.9), (0.5, 0.8)), ClaimVerdict::Fails);
        assert_eq!(of(Some(1.0), Some(0.9), (0.8, 0.95)), ClaimVerdict::Open);
        assert_eq!(ClaimBounds::default().decide(Some((0.0, 1.0))), ClaimVerdict::Open);
    }

    #[test]
    fn an_end_belongs_to_the_range_where_it_is_said_so() {
        let at_most = ClaimBounds { below: Some(Bounded::Including(1.0)), ..ClaimBounds::default() };
        let below = ClaimBounds { below: Some(Bounded::Strictly(1.0)), ..ClaimBounds::default() };
        assert_eq!(
            (at_most.decide(Some((0.5, 1.0))), below.decide(Some((0.5, 1.0)))),
            (ClaimVerdict::Holds, ClaimVerdict::Open)
        );
        assert_eq!(
            (at_most.decide(Some((1.0, 2.0))), below.decide(Some((1.0, 2.0)))),
            (ClaimVerdict::Open, ClaimVerdict::Fails)
        );
        assert_eq!(at_most.decide(None), ClaimVerdict::Open);
    }

    #[test]
    fn a_small_difference_decides_nothing_of_a_direction_alone() {
        let of = |above: Option<Bounded>, below: Option<Bounded>, interval| {
            ClaimBounds { above, below, margin: Some(0.05) }.decide(Some(interval))
        };
        let (strictly, including) = (Bounded::Strictly, Bounded::Including);
        let same = ClaimVerdict::NoDifference;
        assert_eq!(of(Some(strictly(1.0)), None, (0.98, 1.01)), same);
        assert_eq!(of(None, Some(strictly(1.0)), (0.96, 0.99)), same, "though all of it lies below");
        assert_eq!(of(None, Some(including(1.0)), (0.98, 1.01)), same);
        assert_eq!(of(None, Some(including(1.0)), (0.96, 0.99)), ClaimVerdict::Holds, "as it stands");
        assert_eq!(of(None, Some(strictly(1.0)), (0.94, 0.99)), ClaimVerdict::Holds, "it may matter");
        assert_eq!(
            of(None, Some(strictly(0.98)), (0.98, 1.01)),
            ClaimVerdict::Fails,
            "a factor is bounded, however small"
        );
        assert_eq!(
            of(Some(strictly(0.95)), Some(strictly(1.05)), (0.98, 1.01)),
            ClaimVerdict::Holds,
            "that is what is claimed"
        );
    }

    #[test]
    fn tests_that_disagree_mean_that_it_depends() {
        let (yes, no, open) = (ClaimVerdict::Holds, ClaimVerdict::Fails, ClaimVerdict::Open);
        assert_eq!(all_hold([yes, yes]), yes);
        assert_eq!(all_hold([yes, open]), open);
        assert_eq!(all_hold([open, no]), no);
        assert_eq!(all_hold([open, no, yes]), ClaimVerdict::Depends);
        let same = ClaimVerdict::NoDifference;
        assert_eq!(all_hold([same, same]), same);
        assert_eq!(all_hold([same, open]), open);
        assert_eq!(all_hold([same, no]), no);
        assert_eq!(all_hold([same, yes]), ClaimVerdict::Depends);
        assert_eq!(all_hold([]), open);
    }
}
