//! From an interval for a ratio to a verdict.

/// What an interval for a ratio says, given the margin that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// Wholly outside 1 ± margin.
    Different,
    /// Wholly inside 1 ± margin.
    Equivalent,
    /// Excludes 1 but crosses the margin.
    Direction,
    /// None of the above.
    Undecided,
}

/// Judges the interval of a ratio against the margin `delta` (0.02 is 2 %).
///
/// The margin is symmetric in the ratio's logarithm, 1/(1 + δ) to 1 + δ, so that swapping the two cells
/// never changes the verdict.
pub fn judge(bounds: Option<(f64, f64)>, delta: f64) -> Judgement {
    let Some((lo, hi)) = bounds else { return Judgement::Undecided };
    let (low, high) = (1.0 / (1.0 + delta), 1.0 + delta);
    if hi < low || lo > high {
        Judgement::Different
    } else if low <= lo && hi <= high {
        Judgement::Equivalent
    } else if hi < 1.0 || lo > 1.0 {
        Judgement::Direction
    } else {
        Judgement::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_verdict() {
        assert_eq!(judge(None, 0.02), Judgement::Undecided);
        assert_eq!(judge(Some((0.5, 0.6)), 0.02), Judgement::Different);
        assert_eq!(judge(Some((1.3, 1.4)), 0.02), Judgement::Different);
        assert_eq!(judge(Some((0.99, 1.01)), 0.02), Judgement::Equivalent);
        assert_eq!(judge(Some((1.001, 1.5)), 0.02), Judgement::Direction);
        assert_eq!(judge(Some((0.9, 0.99)), 0.02), Judgement::Direction);
        assert_eq!(judge(Some((0.9, 1.1)), 0.02), Judgement::Undecided);
        // Known to be above 1 and known to be within the margin: the stronger word for a decision.
        assert_eq!(judge(Some((1.001, 1.01)), 0.02), Judgement::Equivalent);
    }

    proptest! {
        #[test]
        fn swapping_the_cells_keeps_the_verdict(lo in 0.2f64..5.0, width in 0.0f64..2.0, delta in 0.0f64..0.5) {
            let hi = lo + width;
            prop_assert_eq!(judge(Some((lo, hi)), delta), judge(Some((1.0 / hi, 1.0 / lo)), delta));
        }
    }
}
