//! What is known of a claim.

use crate::named;
use crate::units::counted;

named! {
    /// What is known of a claim.
    #[derive(Default)]
    ClaimVerdict, "verdict" {
        /// It holds, as published and under every condition.
        Holds = "holds",
        /// It does not, under no condition.
        Fails = "fails",
        /// It holds under some conditions and not under others.
        Depends = "depends",
        /// Of a claim that one costs less than the other: they differ by less than the margin, which neither confirms nor
        /// refutes it.
        NoDifference = "no difference that matters",
        /// That is not known yet: intervals straddle a bound.
        #[default]
        Open = "open",
        /// Nothing that it is about can be measured here.
        NotTested = "not tested",
    }
}

impl ClaimVerdict {
    /// A mark where colours are not seen.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Holds => "✓",
            Self::Fails => "✗",
            Self::Depends | Self::NoDifference => "·",
            Self::Open | Self::NotTested => "?",
        }
    }

    /// `1 holds`, `2 hold`.
    pub fn counted(self, count: usize) -> String {
        let verb = match self {
            Self::Holds | Self::Fails | Self::Depends if count != 1 => self.name().trim_end_matches('s'),
            Self::NoDifference => return format!("{count} with {self}"),
            _ => self.name(),
        };
        format!("{count} {verb}")
    }

    /// What is known of several claims: `3 claims: 1 holds, 2 fail`, `1 claim fails`.
    pub fn summary(claims: impl Iterator<Item = Self> + Clone) -> String {
        let of = |verdict: &Self| claims.clone().filter(|claim| claim == verdict).count();
        let counts: Vec<(Self, usize)> =
            Self::ALL.iter().map(|verdict| (*verdict, of(verdict))).filter(|(_, count)| *count > 0).collect();
        let all = counted(claims.clone().count() as u64, "claim");
        let parts: Vec<String> = counts.iter().map(|(verdict, count)| verdict.counted(*count)).collect();
        match counts.as_slice() {
            [(Self::Open | Self::NotTested, 1)] => format!("{all} is {}", counts[0].0),
            [(Self::Open | Self::NotTested, _)] => format!("{all} are {}", counts[0].0),
            [(_, count)] => parts[0].replacen(&count.to_string(), &all, 1),
            _ => format!("{all}: {}", parts.join(", ")),
        }
    }

    /// Whether more epochs may change it.
    pub fn is_open(self) -> bool {
        self == Self::Open
    }

    /// The class of elements of a page that show it.
    pub fn class(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Depends => "depends",
            Self::NoDifference => "same",
            Self::Open => "open",
            Self::NotTested => "untested",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ClaimVerdict::{self, Fails, Holds, NoDifference, NotTested, Open};

    #[test]
    fn claims_are_summed_up_without_saying_one_thing_twice() {
        let of = |claims: &[ClaimVerdict]| ClaimVerdict::summary(claims.iter().copied());
        assert_eq!(of(&[Fails]), "1 claim fails");
        assert_eq!(of(&[Holds, Holds]), "2 claims hold");
        assert_eq!(of(&[Open]), "1 claim is open");
        assert_eq!(of(&[NotTested, NotTested]), "2 claims are not tested");
        assert_eq!(of(&[NoDifference]), "1 claim with no difference that matters");
        assert_eq!(of(&[Holds, Fails, Fails]), "3 claims: 1 holds, 2 fail");
    }
}
