//! One level for all fields of an experiment: what lets a field leave is what the ledger judges it by.
//!
//! A field is a test that decides, under a condition. Of m fields R are decided if each stands at α·R/m, with the largest such R
//! ([`answered_together`]): of those that are decided, at most α are expected to be wrong, however fields depend on each other and whenever
//! each was looked at. A field leaves with the epochs that decided it. Later ones change nothing of it, so R only grows, and with it the
//! level: what was decided stays so.

use ipcost_lab::planning::ALPHA;
use ipcost_stats::{Start, answered_together, median, nested_intervals};

use crate::claims::{ClaimBounds, ClaimedValue};

/// The level that plans leave time for: that at which half of the fields are decided.
pub(super) const PLANNED: f64 = ALPHA / 2.0;

#[derive(Debug, Clone)]
pub(super) struct ClaimField {
    /// What was measured: after which epoch, and the value, a logarithm if it is a ratio.
    pub(super) epochs: Vec<(u32, f64)>,
    pub(super) start: Start,
    /// Whether the value is a ratio.
    pub(super) is_ratio: bool,
    /// Whether it is a count, which may be the same in every epoch.
    pub(super) is_count: bool,
    pub(super) claimed: ClaimBounds,
    /// What is claimed of the direction alone, if a factor is.
    pub(super) direction: Option<ClaimBounds>,
}

/// What is known of fields.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DecidedFields {
    /// The level at which each of them stands.
    pub(super) level: f64,
    /// How many epochs of each count: those that decided it, or all.
    pub(super) epochs: Vec<usize>,
    /// Which are decided, and need no more epochs.
    pub(super) decided: Vec<bool>,
}

impl ClaimField {
    /// Every interval of its first epochs, with the strictest level at which they give it, from the widest to the narrowest.
    fn intervals(&self, epochs: usize) -> Vec<(f64, (f64, f64))> {
        let values: Vec<f64> = self.epochs[..epochs].iter().map(|(_, value)| *value).collect();
        let shown = |(level, (lo, hi)): (f64, (f64, f64))| (level, (self.shown(lo), self.shown(hi)));
        // Were the median another, a series of n would be the same from its begin on with a probability of 2^(1−n) at most.
        match values.first() {
            Some(first) if self.is_count && values.iter().all(|value| value == first) => {
                vec![shown((0.5f64.powi(values.len() as i32 - 1), (*first, *first)))]
            }
            _ => nested_intervals(&values, &self.start).into_iter().map(shown).collect(),
        }
    }

    fn shown(&self, value: f64) -> f64 {
        if self.is_ratio { value.exp() } else { value }
    }

    /// The strictest level at which its first epochs decide one of these claims.
    fn decides<'a>(&self, epochs: usize, claims: impl IntoIterator<Item = &'a ClaimBounds>) -> f64 {
        let claims: Vec<&ClaimBounds> = claims.into_iter().collect();
        let is_known = |interval: (f64, f64)| claims.iter().any(|it| !it.decide(Some(interval)).is_open());
        let found = self.intervals(epochs).into_iter().find(|(_, interval)| is_known(*interval));
        found.map_or(f64::INFINITY, |(level, _)| level)
    }

    /// What its first epochs say at a level; `None` of no epochs.
    pub(super) fn at(&self, level: f64, epochs: usize) -> Option<ClaimedValue> {
        let values: Vec<f64> = self.epochs[..epochs].iter().map(|(_, value)| *value).collect();
        let value = self.shown(median(&values)?);
        let narrowest = self.intervals(epochs).into_iter().rfind(|(needed, _)| *needed <= level);
        let (interval, range) = match narrowest {
            Some((_, interval)) => (Some(interval), None),
            None => (None, ClaimedValue::of(&values, level, &self.start, |value| self.shown(value))?.range),
        };
        Some(ClaimedValue { value, interval, range })
    }
}

/// What is known of fields that are some or all of `family` ones, by looking after every epoch.
pub(super) fn known(fields: &[ClaimField], family: usize) -> DecidedFields {
    let family = family.max(fields.len());
    let share = |many: usize| ALPHA * many as f64 / family.max(1) as f64;
    let together = |needed: &[f64]| {
        answered_together(family, |many| needed.iter().filter(|level| **level <= share(many)).count())
    };
    let mut all: Vec<u32> =
        fields.iter().flat_map(|field| field.epochs.iter().map(|(epoch, _)| *epoch)).collect();
    all.sort_unstable();
    all.dedup();
    let mut left: Vec<Option<(usize, f64)>> = vec![None; fields.len()];
    for epoch in all {
        let so_far = |(field, left): (&ClaimField, &Option<(usize, f64)>)| {
            left.unwrap_or_else(|| {
                let epochs = field.epochs.partition_point(|(of, _)| *of <= epoch);
                (epochs, field.decides(epochs, [&field.claimed]))
            })
        };
        let found: Vec<(usize, f64)> = fields.iter().zip(&left).map(so_far).collect();
        let level = share(together(&found.iter().map(|(_, needed)| *needed).collect::<Vec<_>>()));
        for (left, found) in left.iter_mut().zip(found) {
            if left.is_none() && found.1 <= level {
                *left = Some(found);
            }
        }
    }
    let epochs: Vec<usize> = fields
        .iter()
        .zip(&left)
        .map(|(field, left)| left.map_or(field.epochs.len(), |(epochs, _)| epochs))
        .collect();
    // A direction that is known counts as well.
    let needed = fields.iter().zip(&epochs).zip(&left).map(|((field, epochs), left)| {
        let own = left.map_or(f64::INFINITY, |(_, needed)| needed);
        own.min(field.decides(*epochs, std::iter::once(&field.claimed).chain(&field.direction)))
    });
    let told = together(&needed.collect::<Vec<_>>());
    DecidedFields { level: share(told.max(1)), epochs, decided: left.iter().map(Option::is_some).collect() }
}

#[cfg(test)]
mod tests {
    use ipcost_model::ClaimVerdict;
    use ipcost_stats::Random;

    use super::*;
    use crate::claims::Bounded;

    fn below(bound: f64) -> ClaimBounds {
        ClaimBounds { below: Some(Bounded::Strictly(bound)), margin: Some(0.05), above: None }
    }

    fn field(values: impl IntoIterator<Item = f64>) -> ClaimField {
        ClaimField {
            epochs: (1..).zip(values).collect(),
            start: Start::ALWAYS,
            is_ratio: true,
            is_count: false,
            claimed: below(1.0),
            direction: None,
        }
    }

    fn series(truth: f64, noise: f64, phi: f64, epochs: usize, random: &mut Random) -> Vec<f64> {
        let mut state = random.normal();
        let step = |_| {
            state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
            truth.ln() + noise * state
        };
        (0..epochs).map(step).collect()
    }

    fn words(fields: &[ClaimField]) -> Vec<ClaimVerdict> {
        let DecidedFields { level, epochs, .. } = known(fields, fields.len());
        let at = |(field, epochs): (&ClaimField, &usize)| {
            field.claimed.decide(field.at(level, *epochs).and_then(|found| found.interval))
        };
        fields.iter().zip(&epochs).map(at).collect()
    }

    #[test]
    fn what_left_as_decided_stays_decided_and_company_helps() {
        let mut random = Random::new(5);
        for _ in 0..40 {
            let fields: Vec<ClaimField> = (0..30)
                .map(|_| field(series(0.7 + 0.6 * random.unit(), 0.03, 0.0, 30, &mut random)))
                .collect();
            let found = known(&fields, 30);
            for (word, decided) in words(&fields).iter().zip(&found.decided) {
                assert!(!decided || !word.is_open());
            }
            assert!(found.decided.iter().filter(|decided| **decided).count() > 20, "{found:?}");
        }
        let clear = |count: usize| (0..count).map(|_| field([0.5f64.ln(); 9])).collect::<Vec<_>>();
        assert_eq!(known(&clear(1), 60).decided, [false], "one of sixty stands at a sixtieth of the level");
        assert!(known(&clear(60), 60).decided.iter().all(|decided| *decided));
    }

    #[test]
    fn epochs_after_the_answer_change_nothing_of_it() {
        let values = [0.5f64.ln(); 9].into_iter().chain([2f64.ln(); 30]);
        let found = known(&[field(values)], 1);
        assert_eq!(found.epochs, [8]);
        let found = known(&[field([0.0, 0.01, -0.01, 0.0, 0.01, -0.01])], 1);
        assert_eq!((found.decided, found.epochs), (vec![false], vec![6]));
    }

    #[test]
    fn a_count_that_never_changes_is_known() {
        let zero = ClaimField { is_ratio: false, is_count: true, claimed: below(0.5), ..field([0.0; 9]) };
        let found = known(std::slice::from_ref(&zero), 1);
        assert_eq!((found.decided[0], found.epochs[0]), (true, 6));
        assert_eq!(zero.at(found.level, 6).unwrap().interval, Some((0.0, 0.0)));
    }

    /// Of what is decided, a twentieth at most is wrong, however much neighbours resemble each other.
    #[test]
    fn of_the_decided_fields_few_are_wrong() {
        let mut random = Random::new(17);
        for phi in [0.0, 0.3, 0.6] {
            let mut share = 0.0;
            let campaigns = 60;
            for _ in 0..campaigns {
                // Half of the claims are true, half are not, and most of them by little.
                let truths: Vec<f64> = (0..40).map(|_| 0.85 + 0.3 * random.unit()).collect();
                let fields: Vec<ClaimField> =
                    truths.iter().map(|truth| field(series(*truth, 0.05, phi, 40, &mut random))).collect();
                let wrong = |(word, truth): (&ClaimVerdict, &f64)| match word {
                    ClaimVerdict::Holds => *truth >= 1.0,
                    ClaimVerdict::Fails => *truth <= 1.0,
                    ClaimVerdict::NoDifference => !(0.95..=1.0 / 0.95).contains(truth),
                    _ => false,
                };
                let words = words(&fields);
                let decided = words.iter().filter(|word| !word.is_open()).count().max(1);
                let wrong = words.iter().zip(&truths).filter(|pair| wrong(*pair)).count();
                share += wrong as f64 / decided as f64 / f64::from(campaigns);
            }
            assert!(share <= ALPHA, "{phi}: {share}");
        }
    }
}
