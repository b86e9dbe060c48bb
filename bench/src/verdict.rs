//! Whether ipcost and a tool say the same, and how it is shown.

use anyhow::{Result, ensure};
use ipcost_report::numbers::time;
use ipcost_stats::Interval;

use crate::table::{TextTable, print_wrapped, quotient};

/// Quotients within these say the same.
const SAME: (f64, f64) = (0.85, 1.15);

/// What a quotient says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchVerdict {
    /// The interval lies within the margin.
    Agrees,
    /// It lies outside, and what one side does and the other does not is named as the reason.
    Explained,
    /// It lies outside for no named reason.
    Differs,
    /// It holds values within the margin and others.
    Open,
    /// There are no figures.
    Failed,
}

impl BenchVerdict {
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

/// What one side does and the other does not: it explains quotients on one side of the margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Why ipcost's figure is below.
    Below(&'static str),
    /// Why it is above.
    Above(&'static str),
}

impl Reason {
    pub fn text(self) -> &'static str {
        match self {
            Self::Below(text) | Self::Above(text) => text,
        }
    }
}

/// The same work by ipcost and by a tool, when all turns are over.
pub struct ComparedRow<const N: usize> {
    pub name: String,
    /// Its lines of the table.
    pub lines: Vec<[String; N]>,
    /// What the tool does otherwise, and of what that is said.
    pub remark: Option<(String, String)>,
    pub verdict: BenchVerdict,
    pub failure: Option<String>,
}

/// Prints an aligned table, and below it what each tool does otherwise, what failed and what was not run.
pub fn print_compared<const N: usize, const M: usize>(
    table: &TextTable<N>,
    figures: &str,
    rows: &[ComparedRow<M>],
    not_run: &[String],
) {
    table.lines().iter().for_each(|line| println!("{line}"));
    println!("\n{figures}");
    let remarks = rows.iter().filter_map(|row| row.remark.as_ref());
    let mut said: Vec<String> = remarks.map(|(of, remark)| format!("{of}: {remark}")).collect();
    // Rows of one comparison follow one another.
    said.dedup();
    let failure = |row: &ComparedRow<M>| Some(format!("failed: {}: {}", row.name, row.failure.as_ref()?));
    said.extend(rows.iter().filter_map(failure));
    said.extend(not_run.iter().map(|reason| format!("not run: {reason}")));
    said.iter().for_each(|text| print_wrapped(text));
}

/// # Errors
/// If a row differs for no named reason, or has no figures.
pub fn ensure_none_wrong<const N: usize>(rows: &[ComparedRow<N>], what: &str) -> Result<()> {
    let wrong: Vec<&str> =
        rows.iter().filter(|row| row.verdict.is_wrong()).map(|row| row.name.as_str()).collect();
    ensure!(wrong.is_empty(), "{} of {} {what} failed: {}", wrong.len(), rows.len(), wrong.join("; "));
    Ok(())
}

pub fn time_or_none(time_ns: Option<f64>) -> String {
    time_ns.map_or_else(|| "–".to_owned(), time)
}

pub fn quotient_or_none(ratio: Option<&Interval>) -> String {
    ratio.map_or_else(|| "–".to_owned(), quotient)
}

/// Judges a quotient ours / theirs, given as logarithms.
pub fn verdict(ratio: &Interval, reason: Option<Reason>) -> BenchVerdict {
    let Some((lo, hi)) = ratio.bounds.map(|(lo, hi)| (lo.exp(), hi.exp())) else { return BenchVerdict::Open };
    if lo >= SAME.0 && hi <= SAME.1 {
        return BenchVerdict::Agrees;
    }
    match reason {
        _ if hi >= SAME.0 && lo <= SAME.1 => BenchVerdict::Open,
        Some(Reason::Below(_)) if hi < SAME.0 => BenchVerdict::Explained,
        Some(Reason::Above(_)) if lo > SAME.1 => BenchVerdict::Explained,
        _ => BenchVerdict::Differs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BELOW: Option<Reason> = Some(Reason::Below("the tool waits twice for each request"));
    const ABOVE: Option<Reason> = Some(Reason::Above("ipcost waits twice for each request"));

    fn of(lo: f64, hi: f64, differs: Option<Reason>) -> BenchVerdict {
        verdict(&Interval { median: 0.0, bounds: Some((f64::ln(lo), f64::ln(hi))) }, differs)
    }

    #[test]
    fn only_an_interval_wholly_outside_the_margin_differs() {
        assert_eq!(of(0.90, 1.10, None), BenchVerdict::Agrees);
        assert_eq!(of(0.80, 1.10, None), BenchVerdict::Open);
        assert_eq!(of(0.50, 2.00, None), BenchVerdict::Open);
        assert_eq!(of(0.70, 0.84, None), BenchVerdict::Differs);
        assert_eq!(of(1.16, 1.30, None), BenchVerdict::Differs);
        assert_eq!(verdict(&Interval { median: 1.0, bounds: None }, None), BenchVerdict::Open);
    }

    #[test]
    fn a_reason_explains_only_its_own_side_of_the_margin() {
        assert_eq!(of(0.70, 0.84, BELOW), BenchVerdict::Explained);
        assert_eq!(of(1.16, 1.30, BELOW), BenchVerdict::Differs);
        assert_eq!(of(0.70, 0.84, ABOVE), BenchVerdict::Differs);
        assert_eq!(of(1.16, 1.30, ABOVE), BenchVerdict::Explained);
        assert_eq!(of(0.90, 1.10, BELOW), BenchVerdict::Agrees);
        assert_eq!(of(1.10, 1.30, ABOVE), BenchVerdict::Open);
    }
}
