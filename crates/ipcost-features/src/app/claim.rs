//! What is claimed of a row: one decision, which its words, its saving and its colour follow.
//!
//! The costs are medians of each side, the ratio and the saving medians over rounds of what two batches next to each other say. Where
//! what either side costs varies more than the sides differ, these may point different ways; the ratio decides, as its interval is the
//! verdict's.

use ipcost_model::{Estimate, Verdict};

use super::Saving;

/// A relative difference below this has no direction that a reader would see.
const VISIBLE: f64 = 0.02;

/// What is known of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowVerdict {
    /// A Unix socket costs less.
    Less,
    More,
    /// Both cost the same within the margin.
    Same,
    /// The same in the median; the mean is open.
    SameInMedian,
    Open,
    /// Too few epochs for an interval.
    Estimate,
    /// Not known, and the medians of the sides point the other way than the rounds.
    Varies,
}

impl Saving {
    pub(super) fn claim(&self) -> RowVerdict {
        match self.verdict {
            Verdict::Different | Verdict::Direction if self.ratio.median < 1.0 => RowVerdict::Less,
            Verdict::Different | Verdict::Direction => RowVerdict::More,
            Verdict::Equivalent if self.is_same() => RowVerdict::Same,
            Verdict::Equivalent => RowVerdict::SameInMedian,
            Verdict::Undecided if self.sides_disagree() => RowVerdict::Varies,
            Verdict::Undecided if self.ratio.lo.is_none() => RowVerdict::Estimate,
            Verdict::Undecided => RowVerdict::Open,
        }
    }

    /// Whether the medians of the sides point the other way than the ratio of the rounds.
    pub(super) fn sides_disagree(&self) -> bool {
        let [sides, rounds] = [self.unix_ns / self.tcp_ns, self.ratio.median].map(f64::ln);
        sides * rounds < 0.0 && sides.abs().max(rounds.abs()) > VISIBLE
    }

    /// Whether the quotient of the sides' medians differs visibly from the ratio of the rounds.
    pub(super) fn is_no_quotient(&self, margin: f64) -> bool {
        (self.unix_ns / self.tcp_ns / self.ratio.median).ln().abs() > margin.max(VISIBLE)
    }

    /// Whether it is known which side costs less and not by how much: the saving may be next to nothing.
    pub(super) fn is_amount_open(&self) -> bool {
        let touches_zero = |saved: &Estimate| saved.lo == Some(0.0) || saved.hi == Some(0.0);
        matches!(self.claim(), RowVerdict::Less | RowVerdict::More)
            && self.saved_ns.as_ref().is_none_or(touches_zero)
    }

    /// The saving as far as the claim allows it; `None` if both exclude each other.
    ///
    /// A decided sign bounds the saving, too: the ratio of a round is below 1 where its difference is above 0. While the sign is open, an
    /// interval that excludes 0 is stretched to it, which leaves it valid.
    pub(super) fn agreed(&self, margin: f64) -> Option<Estimate> {
        let saved = self.saved_ns?;
        let Estimate { median, lo, hi } = saved;
        let same_way = median * (1.0 - self.ratio.median) >= 0.0;
        match self.claim() {
            RowVerdict::Less => (median > 0.0).then(|| Estimate { lo: lo.map(|lo| lo.max(0.0)), ..saved }),
            RowVerdict::More => (median < 0.0).then(|| Estimate { hi: hi.map(|hi| hi.min(0.0)), ..saved }),
            RowVerdict::Same | RowVerdict::SameInMedian => {
                let most = margin * self.unix_ns.max(self.tcp_ns);
                let is_within = |end: Option<f64>| end.is_none_or(|end| end.abs() <= most);
                let held = is_within(lo) && is_within(hi);
                let alone = Estimate { lo: None, hi: None, ..saved };
                is_within(Some(median)).then_some(if held { saved } else { alone })
            }
            RowVerdict::Open => same_way.then(|| Estimate {
                lo: lo.map(|lo| lo.min(0.0)),
                hi: hi.map(|hi| hi.max(0.0)),
                ..saved
            }),
            RowVerdict::Estimate => same_way.then_some(Estimate { lo: None, hi: None, ..saved }),
            RowVerdict::Varies => None,
        }
    }

    /// Whether a row of one observed placement says something: what is open in a few rounds, and points both ways, does not.
    pub(super) fn is_worth_a_row(&self) -> bool {
        self.ran.is_none() || self.claim() != RowVerdict::Varies
    }
}

#[cfg(test)]
mod tests {
    use ipcost_model::Ran;
    use proptest::prelude::*;

    use super::*;

    const MARGIN: f64 = 0.05;

    fn row(sides: (f64, f64), ratio: (f64, Option<(f64, f64)>), saved: (f64, f64, f64)) -> Saving {
        let (median, bounds) = ratio;
        Saving {
            request: "PING".to_owned(),
            concurrency: 1,
            pipeline: 1,
            unix: "a".to_owned(),
            tcp: "b".to_owned(),
            unix_ns: sides.0,
            tcp_ns: sides.1,
            ratio: Estimate { median, lo: bounds.map(|it| it.0), hi: bounds.map(|it| it.1) },
            verdict: Verdict::of(bounds, MARGIN),
            saved_ns: Some(Estimate { median: saved.0, lo: Some(saved.1), hi: Some(saved.2) }),
            ..Saving::default()
        }
    }

    #[test]
    fn a_saving_that_may_be_negative_is_not_next_to_less() {
        let row = row((60e3, 101e3), (0.6, Some((0.4, 0.9))), (40.9e3, -15.6e3, 222e3));
        assert_eq!(row.claim(), RowVerdict::Less);
        let saved = row.agreed(MARGIN).unwrap();
        assert_eq!((saved.lo, saved.hi), (Some(0.0), Some(222e3)));
        assert!(Saving { saved_ns: Some(saved), ..row }.is_amount_open());
    }

    #[test]
    fn medians_that_point_the_other_way_than_the_rounds_are_named() {
        // 49.1 µs, 37.8 µs, 0.89, saves 3.90 µs
        let whole = row((49.1e3, 37.8e3), (0.89, Some((0.7, 1.2))), (3.9e3, -9e3, 12e3));
        assert_eq!((whole.claim(), whole.agreed(MARGIN)), (RowVerdict::Varies, None));
        assert!(whole.is_worth_a_row());
        // 8.99 µs, 11.7 µs, 1.40, an estimate, −5.58 µs
        let few = row((8.99e3, 11.7e3), (1.4, None), (-5.58e3, -6e3, -5e3));
        let few = Saving { ran: Some(Ran::Together), ..few };
        assert!(!few.is_worth_a_row());
        // What is known stays known.
        let known = row((49.1e3, 37.8e3), (0.89, Some((0.85, 0.93))), (3.9e3, 1e3, 5e3));
        assert_eq!(known.claim(), RowVerdict::Less);
        assert!(known.sides_disagree() && known.agreed(MARGIN).is_some());
        // A difference that no one sees is none.
        assert!(!row((50.1e3, 50e3), (0.999, None), (50.0, 0.0, 0.0)).sides_disagree());
    }

    #[test]
    fn what_is_open_has_no_saving_that_is_known() {
        let open = row((45e3, 50e3), (0.9, Some((0.7, 1.1))), (5e3, 1e3, 9e3));
        assert_eq!(open.claim(), RowVerdict::Open);
        assert_eq!(open.agreed(MARGIN).map(|it| (it.lo, it.hi)), Some((Some(0.0), Some(9e3))));
        let few = row((45e3, 50e3), (0.9, None), (5e3, 1e3, 9e3));
        assert_eq!(few.agreed(MARGIN).map(|it| (it.median, it.lo)), Some((5e3, None)));
        let same = row((49e3, 50e3), (0.98, Some((0.97, 1.0))), (1e3, -20e3, 30e3));
        assert_eq!(same.agreed(MARGIN).map(|it| (it.median, it.lo)), Some((1e3, None)));
    }

    proptest! {
        #[test]
        fn no_row_contradicts_itself(
            unix_ns in 1e3f64..1e5, tcp_ns in 1e3f64..1e5, lo in 0.3f64..2.0, width in 0.0f64..1.0,
            known in any::<bool>(), ends in (-1e5f64..1e5, 0.0f64..1e5),
        ) {
            let saved = (ends.0 + ends.1 / 2.0, ends.0, ends.0 + ends.1);
            let bounds = known.then_some((lo, lo + width));
            let row = row((unix_ns, tcp_ns), (lo + width / 2.0, bounds), saved);
            let Some(saved) = row.agreed(MARGIN) else { return Ok(()) };
            let least = saved.lo.unwrap_or(saved.median).min(saved.median);
            let most = saved.hi.unwrap_or(saved.median).max(saved.median);
            match row.claim() {
                RowVerdict::Less => prop_assert!(least >= 0.0),
                RowVerdict::More => prop_assert!(most <= 0.0),
                RowVerdict::Same | RowVerdict::SameInMedian => {
                    prop_assert!(least.abs().max(most.abs()) <= MARGIN * unix_ns.max(tcp_ns));
                }
                RowVerdict::Open => prop_assert!(least <= 0.0 && most >= 0.0),
                RowVerdict::Estimate => prop_assert!(saved.lo.is_none() && saved.hi.is_none()),
                RowVerdict::Varies => prop_assert!(false, "a saving of what points both ways"),
            }
        }
    }
}
