//! From an interval for a ratio to a verdict.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The verdict on a contrast.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The interval lies wholly outside 1 ± margin.
    Different,
    /// The interval lies wholly inside 1 ± margin.
    Equivalent,
    /// The interval excludes 1 but crosses the margin.
    Direction,
    /// None of the above, so far.
    #[default]
    Undecided,
}

impl Verdict {
    /// Judges the interval of a ratio against the margin `delta` (0.02 is 2 %).
    ///
    /// The margin is symmetric in the ratio's logarithm, 1/(1 + δ) to 1 + δ, so that swapping the two cells
    /// never changes the verdict.
    pub fn of(bounds: Option<(f64, f64)>, delta: f64) -> Self {
        let Some((lo, hi)) = bounds else { return Self::Undecided };
        let (low, high) = Self::band(delta);
        if hi < low || lo > high {
            Self::Different
        } else if low <= lo && hi <= high {
            Self::Equivalent
        } else if hi < 1.0 || lo > 1.0 {
            Self::Direction
        } else {
            Self::Undecided
        }
    }

    /// The ratios that differ from 1 by the margin `delta` at most: symmetric in the logarithm.
    pub fn band(delta: f64) -> (f64, f64) {
        (1.0 / (1.0 + delta), 1.0 + delta)
    }

    /// Whether it answers what is asked of a contrast: a direction alone does not say whether the difference matters.
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Different | Self::Equivalent)
    }

    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Different => "different",
            Self::Equivalent => "equivalent",
            Self::Direction => "direction",
            Self::Undecided => "undecided",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_verdict() {
        assert_eq!(Verdict::of(None, 0.02), Verdict::Undecided);
        assert_eq!(Verdict::of(Some((0.5, 0.6)), 0.02), Verdict::Different);
        assert_eq!(Verdict::of(Some((1.3, 1.4)), 0.02), Verdict::Different);
        assert_eq!(Verdict::of(Some((0.99, 1.01)), 0.02), Verdict::Equivalent);
        assert_eq!(Verdict::of(Some((1.001, 1.5)), 0.02), Verdict::Direction);
        assert_eq!(Verdict::of(Some((0.9, 0.99)), 0.02), Verdict::Direction);
        assert_eq!(Verdict::of(Some((0.9, 1.1)), 0.02), Verdict::Undecided);
        // Known to be above 1 and known to be within the margin: the stronger word for a decision.
        assert_eq!(Verdict::of(Some((1.001, 1.01)), 0.02), Verdict::Equivalent);
    }

    proptest! {
        #[test]
        fn swapping_the_cells_keeps_the_verdict(lo in 0.2f64..5.0, width in 0.0f64..2.0, delta in 0.0f64..0.5) {
            let hi = lo + width;
            prop_assert_eq!(Verdict::of(Some((lo, hi)), delta), Verdict::of(Some((1.0 / hi, 1.0 / lo)), delta));
        }
    }
}
