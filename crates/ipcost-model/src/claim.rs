//! What is known of a claim.

use crate::named;

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
