//! Whether ipcost and a tool say the same.

use ipcost_stats::Interval;

/// Quotients within these say the same.
const SAME: (f64, f64) = (0.85, 1.15);

/// What a quotient says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The interval lies within the margin.
    Agrees,
    /// It lies below, and calls that only the tool makes are named as the reason.
    Explained,
    /// It lies outside for no named reason.
    Differs,
    /// It holds values within the margin and others.
    Open,
    /// There are no figures.
    Failed,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Explained => "explained",
            Self::Differs => "differs",
            Self::Open => "open",
            Self::Failed => "failed",
        }
    }

    /// Whether it makes a bench fail.
    pub fn is_wrong(self) -> bool {
        matches!(self, Self::Differs | Self::Failed)
    }
}

/// Judges a quotient ours / theirs, given as logarithms. `differs` names calls that the tool makes and ipcost does not,
/// so it explains only that ipcost is cheaper.
pub fn verdict(ratio: &Interval, differs: Option<&str>) -> Verdict {
    let Some((lo, hi)) = ratio.bounds.map(|(lo, hi)| (lo.exp(), hi.exp())) else { return Verdict::Open };
    let is_below = hi < SAME.0;
    if lo >= SAME.0 && hi <= SAME.1 {
        return Verdict::Agrees;
    }
    if !is_below && lo <= SAME.1 {
        return Verdict::Open;
    }
    if is_below && differs.is_some() { Verdict::Explained } else { Verdict::Differs }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REASON: Option<&str> = Some("it waits twice for each request");

    fn of(lo: f64, hi: f64, differs: Option<&str>) -> Verdict {
        verdict(&Interval { median: 0.0, bounds: Some((f64::ln(lo), f64::ln(hi))) }, differs)
    }

    #[test]
    fn only_an_interval_wholly_outside_the_margin_differs() {
        assert_eq!(of(0.90, 1.10, None), Verdict::Agrees);
        assert_eq!(of(0.80, 1.10, None), Verdict::Open);
        assert_eq!(of(0.50, 2.00, None), Verdict::Open);
        assert_eq!(of(0.70, 0.84, None), Verdict::Differs);
        assert_eq!(of(1.16, 1.30, None), Verdict::Differs);
        assert_eq!(verdict(&Interval { median: 1.0, bounds: None }, None), Verdict::Open);
    }

    #[test]
    fn calls_of_the_tool_do_not_explain_why_ipcost_is_dearer() {
        assert_eq!(of(0.70, 0.84, REASON), Verdict::Explained);
        assert_eq!(of(1.16, 1.30, REASON), Verdict::Differs);
        assert_eq!(of(0.90, 1.10, REASON), Verdict::Agrees);
    }
}
