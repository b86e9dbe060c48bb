//! What many hosts say of a claim: how many know what, and whether enough of them do.

use serde::Serialize;

use ipcost_model::ClaimVerdict;

/// How many hosts say what of a claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimCounts {
    /// It holds.
    pub holds: u64,
    /// It fails.
    pub fails: u64,
    /// It depends on a condition.
    pub depends: u64,
    /// What it is about differs by less than matters.
    pub no_difference: u64,
    /// It is open.
    pub open: u64,
    /// It could not be tested.
    pub not_tested: u64,
}

impl ClaimCounts {
    pub fn of(verdicts: impl Iterator<Item = ClaimVerdict>) -> Self {
        let mut counts = Self::default();
        verdicts.for_each(|verdict| counts.add(verdict));
        counts
    }

    pub fn add(&mut self, verdict: ClaimVerdict) {
        *match verdict {
            ClaimVerdict::Holds => &mut self.holds,
            ClaimVerdict::Fails => &mut self.fails,
            ClaimVerdict::Depends => &mut self.depends,
            ClaimVerdict::NoDifference => &mut self.no_difference,
            ClaimVerdict::Open => &mut self.open,
            ClaimVerdict::NotTested => &mut self.not_tested,
        } += 1;
    }

    /// How many say that.
    pub fn count(&self, verdict: ClaimVerdict) -> u64 {
        match verdict {
            ClaimVerdict::Holds => self.holds,
            ClaimVerdict::Fails => self.fails,
            ClaimVerdict::Depends => self.depends,
            ClaimVerdict::NoDifference => self.no_difference,
            ClaimVerdict::Open => self.open,
            ClaimVerdict::NotTested => self.not_tested,
        }
    }

    pub fn all(&self) -> u64 {
        self.holds + self.fails + self.depends + self.no_difference + self.open + self.not_tested
    }

    /// What more than half of the hosts know.
    pub fn majority(&self) -> Option<ClaimVerdict> {
        let known =
            [ClaimVerdict::Holds, ClaimVerdict::Fails, ClaimVerdict::Depends, ClaimVerdict::NoDifference];
        known.into_iter().find(|verdict| self.count(*verdict) * 2 > self.all())
    }
}

/// How many of all hosts a share is.
pub(crate) fn needed(share: f64, all: u64) -> u64 {
    ((share * all as f64 - 1e-9).ceil() as u64).clamp(1, all.max(1))
}

/// Whether a claim holds on enough hosts, or fails on too many.
pub(crate) fn over_hosts(counts: ClaimCounts, all: u64, share: f64) -> ClaimVerdict {
    let needed = needed(share, all);
    if counts.holds >= needed {
        ClaimVerdict::Holds
    } else if counts.fails + counts.depends > all - needed {
        ClaimVerdict::Fails
    } else if counts.holds + counts.no_difference >= needed {
        ClaimVerdict::NoDifference
    } else {
        ClaimVerdict::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_hosts_decides() {
        let counts = |holds, fails, open| ClaimCounts { holds, fails, open, ..ClaimCounts::default() };
        let word =
            |holds, fails, open, share| over_hosts(counts(holds, fails, open), holds + fails + open, share);
        assert_eq!(word(10, 0, 0, 1.0), ClaimVerdict::Holds);
        assert_eq!(word(9, 1, 0, 1.0), ClaimVerdict::Fails);
        assert_eq!(word(9, 0, 1, 1.0), ClaimVerdict::Open);
        assert_eq!(word(9, 1, 0, 0.9), ClaimVerdict::Holds);
        assert_eq!(word(8, 1, 1, 0.9), ClaimVerdict::Open);
        assert_eq!(word(8, 2, 0, 0.9), ClaimVerdict::Fails);
        assert_eq!(word(2, 1, 0, 0.5), ClaimVerdict::Holds);
        let same = ClaimCounts { holds: 8, no_difference: 2, ..ClaimCounts::default() };
        assert_eq!(over_hosts(same, 10, 1.0), ClaimVerdict::NoDifference);
    }
}
