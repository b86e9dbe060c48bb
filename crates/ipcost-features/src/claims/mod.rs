//! What every claim has in common: the cells it names, and the word that follows from an interval.

mod selector;
mod verdict;
pub mod words;

use ipcost_model::{PlannedCell, Verdict, unknown};
use ipcost_stats::{EpochInterval, epoch_interval};

use crate::check::CellName;
pub use selector::Selector;
pub use verdict::ClaimVerdict;

/// The one cell that a claim names: by its id, else its label, else its transport; or by what distinguishes it.
///
/// # Errors
/// Where there is none or there are several, in one line.
pub(crate) fn find_named(cells: &[PlannedCell], name: &CellName) -> Result<usize, String> {
    let name = match name {
        CellName::Like(selector) => return selector.find(cells),
        CellName::Name(name) => name,
    };
    let ways: [fn(&PlannedCell) -> &str; 3] =
        [|cell| &cell.id, |cell| &cell.label, |cell| &cell.cell.transport];
    for way in ways {
        let found: Vec<usize> = (0..cells.len()).filter(|index| way(&cells[*index]) == name).collect();
        match found[..] {
            [] => {}
            [only] => return Ok(only),
            _ => {
                let ids: Vec<&str> = found.iter().map(|index| cells[*index].id.as_str()).collect();
                return Err(format!(
                    "\"{name}\" is {} cells; name one by its id: {}",
                    ids.len(),
                    ids.join(", ")
                ));
            }
        }
    }
    Err(unknown("cell", name, cells.iter().map(|cell| cell.id.as_str())))
}

/// What epochs say of the value that a claim is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Found {
    /// The median.
    pub value: f64,
    /// Its interval; `None` while that is unbounded.
    pub interval: Option<(f64, f64)>,
    /// The range of the epochs, where they are too dependent for an interval.
    pub range: Option<(f64, f64)>,
}

impl Found {
    /// What epochs say at 1 − `level`, `shown` as people read it; `None` of no epochs.
    pub(crate) fn of(epochs: &[f64], level: f64, shown: impl Fn(f64) -> f64) -> Option<Self> {
        let EpochInterval { interval, range, .. } = epoch_interval(epochs, level)?;
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
pub(crate) struct Bounds {
    /// Above, or at least.
    pub above: Option<Bounded>,
    /// Below, or at most.
    pub below: Option<Bounded>,
}

impl Bounds {
    /// The word that follows from the interval of the value: all of it must lie within, or all of it beyond one end.
    pub(crate) fn word(&self, interval: Option<(f64, f64)>) -> ClaimVerdict {
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

    /// Whether the range is all ratios on one side of 1: a claim of a direction, which a difference smaller than `margin` neither
    /// confirms nor refutes.
    pub(crate) fn is_undermined(&self, interval: Option<(f64, f64)>, margin: f64) -> bool {
        let (Bounded::Including(end) | Bounded::Strictly(end)) = match (self.above, self.below) {
            (Some(end), None) | (None, Some(end)) => end,
            _ => return false,
        };
        end == 1.0 && Verdict::of(interval, margin) == Verdict::Equivalent
    }
}

/// The verdict of a claim all of whose tests must hold: some that hold beside some that do not mean that it depends. One that
/// fails is enough if none holds.
pub(crate) fn all_hold(verdicts: impl IntoIterator<Item = ClaimVerdict>) -> ClaimVerdict {
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
            Bounds { below: below.map(Bounded::Strictly), above: above.map(Bounded::Strictly) }
                .word(Some(interval))
        };
        assert_eq!(of(Some(1.0), None, (0.5, 0.9)), ClaimVerdict::Holds);
        assert_eq!(of(Some(1.0), None, (1.1, 1.9)), ClaimVerdict::Fails);
        assert_eq!(of(Some(1.0), None, (0.9, 1.1)), ClaimVerdict::Open);
        assert_eq!(of(None, Some(2.0), (2.1, 3.0)), ClaimVerdict::Holds);
        assert_eq!(of(Some(1.0), Some(0.9), (0.93, 0.99)), ClaimVerdict::Holds);
        assert_eq!(of(Some(1.0), Some(0.9), (0.5, 0.8)), ClaimVerdict::Fails);
        assert_eq!(of(Some(1.0), Some(0.9), (0.8, 0.95)), ClaimVerdict::Open);
        assert_eq!(Bounds::default().word(Some((0.0, 1.0))), ClaimVerdict::Open);
    }

    #[test]
    fn an_end_belongs_to_the_range_where_it_is_said_so() {
        let at_most = Bounds { below: Some(Bounded::Including(1.0)), above: None };
        let below = Bounds { below: Some(Bounded::Strictly(1.0)), above: None };
        assert_eq!(
            (at_most.word(Some((0.5, 1.0))), below.word(Some((0.5, 1.0)))),
            (ClaimVerdict::Holds, ClaimVerdict::Open)
        );
        assert_eq!(
            (at_most.word(Some((1.0, 2.0))), below.word(Some((1.0, 2.0)))),
            (ClaimVerdict::Open, ClaimVerdict::Fails)
        );
        assert_eq!(at_most.word(None), ClaimVerdict::Open);
    }

    #[test]
    fn a_small_difference_undermines_a_direction_alone() {
        let of = |above: Option<f64>, below: Option<f64>, interval| {
            let [above, below] = [above, below].map(|end| end.map(Bounded::Strictly));
            Bounds { above, below }.is_undermined(Some(interval), 0.05)
        };
        assert!(of(Some(1.0), None, (0.98, 1.01)) && of(None, Some(1.0), (0.96, 0.99)));
        assert!(!of(None, Some(1.0), (0.94, 0.99)), "it may matter");
        assert!(!of(None, Some(0.98), (0.98, 1.01)), "a factor is bounded, however small");
        assert!(!of(Some(0.95), Some(1.05), (0.98, 1.01)), "that is what is claimed");
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
