//! Claims that a project keeps about its own machine: the file that holds them.
//!
//! The file is a job with one key more, `[[claims]]`. Each claim bounds one of three things: the ratio of two cells
//! of the run, what one cell costs by itself, or the ratio of cells to what they cost in a document of before.

use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use std::fmt;
use toml::Spanned;
use toml::de::DeTable;

use crate::job::Job;
use crate::job_file::{JobFileError, at, located, place};
use crate::named::named;
use crate::replication::Selector;
use crate::suggest::nearest;
use crate::units::{parse_rate, parse_throughput, parse_time_ns};

pub use crate::checked::{CHECK_SCHEMA, Check, CheckedClaim, CheckedTest};

named! {
    /// What of a cell a claim is about.
    ClaimMetric, "metric" {
        /// Elapsed time for one operation.
        Wall = "wall",
        /// User and system time of both processes for one operation.
        Cpu = "cpu",
        /// The median latency of an epoch.
        P50 = "p50",
        /// The 90th percentile of latency of an epoch.
        P90 = "p90",
        /// The 99th percentile of latency of an epoch.
        P99 = "p99",
        /// Operations a second.
        OpsPerS = "ops_per_s",
        /// Payload bytes a second, both directions.
        BytesPerS = "bytes_per_s",
    }
}

impl ClaimMetric {
    /// The percentile of latency that it is, as a share; `None` where it is none.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::P50 => Some(0.5),
            Self::P90 => Some(0.9),
            Self::P99 => Some(0.99),
            Self::Wall | Self::Cpu | Self::OpsPerS | Self::BytesPerS => None,
        }
    }

    fn parse(self, text: &str) -> Result<f64, String> {
        match self {
            Self::OpsPerS => parse_rate(text),
            Self::BytesPerS => parse_throughput(text),
            Self::Wall | Self::Cpu | Self::P50 | Self::P90 | Self::P99 => parse_time_ns(text),
        }
    }
}

/// A file of claims.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimsFile {
    /// What is measured for them.
    pub job: Job,
    /// What is claimed; at least one.
    pub claims: Vec<ProjectClaim>,
}

/// A claim of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectClaim {
    /// In words, where the file has some.
    pub text: Option<String>,
    /// Where it stands in the file.
    pub place: Place,
    /// What of the cells it is about.
    pub metric: ClaimMetric,
    /// Which cell; with a baseline, `None` is every cell that both have.
    pub cell: Option<Located<CellName>>,
    /// What the cell is compared with.
    pub reference: Reference,
    /// The value is at most this.
    pub at_most: Option<Bound>,
    /// The value is at least this.
    pub at_least: Option<Bound>,
}

/// What a cell is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// Nothing: it is judged by itself.
    Nothing,
    /// Another cell of the run.
    Cell(Located<CellName>),
    /// The same cell in a document of before: a file, or what else names one.
    Baseline(Located<String>),
}

/// How a claim names a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum CellName {
    /// By its id, its label, or its transport.
    Name(String),
    /// By what distinguishes it.
    Like(Selector),
}

/// A bound in the metric's own unit, or of a ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// Nanoseconds, operations or bytes a second, or a ratio.
    pub value: f64,
    /// As the file has it.
    pub written: String,
}

/// A line and a column, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column in characters.
    pub column: usize,
}

impl Place {
    /// An error here.
    pub fn error(self, message: impl Into<String>) -> JobFileError {
        JobFileError { line: self.line, column: self.column, message: message.into() }
    }
}

/// Something with its place in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// What stands there.
    pub value: T,
    /// Where.
    pub place: Place,
}

/// Reads a file of claims from its text.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse_claims(text: &str) -> Result<ClaimsFile, JobFileError> {
    #[derive(Deserialize)]
    struct Claims {
        claims: Vec<Spanned<RawClaim>>,
    }
    let mut table = DeTable::parse(text).map_err(|error| located(text, &error))?;
    let span = table.span();
    let keys = table.get_mut();
    for key in keys.keys() {
        if key.get_ref().as_ref() != "claims" && nearest(key.get_ref(), ["claims"]).is_some() {
            let message = format!("unknown key \"{}\"; did you mean \"claims\"?", key.get_ref());
            return Err(at(text, key.span().start, message));
        }
    }
    let Some((key, claims)) = keys.remove_entry("claims") else {
        let message = "the file has no claims; add a [[claims]] table, or see ipcost check --init".to_owned();
        return Err(at(text, 0, message));
    };
    let job = toml::de::Deserializer::from(table);
    let job = Job::deserialize(job).map_err(|error| located(text, &error))?;
    let mut only = DeTable::new();
    only.insert(key, claims);
    let claims = toml::de::Deserializer::from(Spanned::new(span, only));
    let claims = Claims::deserialize(claims).map_err(|error| located(text, &error))?.claims;
    if claims.is_empty() {
        return Err(at(text, 0, "the list of claims is empty; add a [[claims]] table".to_owned()));
    }
    let claims = claims.into_iter().map(|claim| Reading { text }.claim(claim)).collect::<Result<_, _>>()?;
    Ok(ClaimsFile { job, claims })
}

/// A claim as TOML has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    text: Option<String>,
    cell: Option<Spanned<CellName>>,
    against: Option<Spanned<CellName>>,
    baseline: Option<Spanned<String>>,
    metric: Option<Spanned<ClaimMetric>>,
    at_most: Option<Spanned<Amount>>,
    at_least: Option<Spanned<Amount>>,
    slower_by_at_most: Option<Spanned<Amount>>,
}

/// From a claim as TOML has it to what it means.
struct Reading<'a> {
    text: &'a str,
}

impl Reading<'_> {
    fn place(&self, offset: usize) -> Place {
        let (line, column) = place(self.text, offset);
        Place { line, column }
    }

    fn located<T>(&self, found: Spanned<T>) -> Located<T> {
        let place = self.place(found.span().start);
        Located { value: found.into_inner(), place }
    }

    fn claim(&self, raw: Spanned<RawClaim>) -> Result<ProjectClaim, JobFileError> {
        let place = self.place(raw.span().start);
        let raw = raw.into_inner();
        let metric_place = raw.metric.as_ref().map_or(place, |metric| self.place(metric.span().start));
        let metric = raw.metric.map_or(ClaimMetric::Wall, Spanned::into_inner);
        let reference = match (raw.against, raw.baseline) {
            (Some(_), Some(baseline)) => {
                let message = "a claim compares with a cell (against) or with a document (baseline), not with both; make it two claims";
                return Err(self.located(baseline).place.error(message));
            }
            (Some(other), None) => Reference::Cell(self.located(other)),
            (None, Some(baseline)) => Reference::Baseline(self.located(baseline)),
            (None, None) => Reference::Nothing,
        };
        let of_baseline = matches!(reference, Reference::Baseline(_));
        if raw.cell.is_none() && !of_baseline {
            return Err(
                place.error("the claim names no cell; add cell = \"…\" with an id, a label or a transport")
            );
        }
        if of_baseline && !matches!(metric, ClaimMetric::Wall | ClaimMetric::Cpu) {
            let message = format!(
                "against a baseline the metric is wall or cpu: a document does not keep {metric} by epoch"
            );
            return Err(metric_place.error(message));
        }
        let bound = |amount: Option<Spanned<Amount>>| -> Result<Option<Bound>, JobFileError> {
            let Some(amount) = amount.map(|amount| self.located(amount)) else { return Ok(None) };
            let ratio = !matches!(reference, Reference::Nothing);
            let value = if ratio { amount.value.ratio() } else { amount.value.of(metric) };
            let value = value.map_err(|message| amount.place.error(message))?;
            Ok(Some(Bound { value, written: amount.value.to_string() }))
        };
        let mut at_most = bound(raw.at_most)?;
        let at_least = bound(raw.at_least)?;
        if let Some(slower) = raw.slower_by_at_most.map(|slower| self.located(slower)) {
            if !of_baseline {
                let message =
                    "slower_by_at_most compares with a baseline; add baseline = \"FILE\", or use at_most";
                return Err(slower.place.error(message));
            }
            if at_most.is_some() {
                return Err(slower
                    .place
                    .error("slower_by_at_most and at_most bound the same; give one of them"));
            }
            let value = 1.0 + slower.value.proportion().map_err(|message| slower.place.error(message))?;
            at_most = Some(Bound { value, written: format!("{}", (value * 1e6).round() / 1e6) });
        }
        if at_most.is_none() && at_least.is_none() {
            let one =
                if of_baseline { "slower_by_at_most, at_most or at_least" } else { "at_most or at_least" };
            return Err(place.error(format!("the claim bounds nothing; add {one}")));
        }
        if let (Some(most), Some(least)) = (&at_most, &at_least)
            && least.value > most.value
        {
            let (most, least) = (&most.written, &least.written);
            let message =
                format!("nothing is at least {least} and at most {most}; swap them, or make it two claims");
            return Err(place.error(message));
        }
        let cell = raw.cell.map(|cell| self.located(cell));
        Ok(ProjectClaim { text: raw.text, place, metric, cell, reference, at_most, at_least })
    }
}

/// A number, or a text with a unit.
#[derive(Debug, Clone, PartialEq)]
enum Amount {
    Number(f64),
    Text(String),
}

impl Amount {
    fn ratio(&self) -> Result<f64, String> {
        let value = match self {
            Self::Number(value) => Some(*value),
            Self::Text(text) => text.trim().trim_end_matches('×').trim_end().parse().ok(),
        };
        let wrong = || format!("{self} is not a ratio; write it as a number above 0, such as 0.9");
        value.filter(|value: &f64| value.is_finite() && *value > 0.0).ok_or_else(wrong)
    }

    fn of(&self, metric: ClaimMetric) -> Result<f64, String> {
        match (self, metric) {
            (Self::Text(text), _) => metric.parse(text),
            (Self::Number(_), ClaimMetric::OpsPerS | ClaimMetric::BytesPerS) => {
                metric.parse(&self.to_string())
            }
            (Self::Number(value), _) => Err(format!(
                "{value} has no unit; write a time as \"{value}us\", or name the cell it is a ratio to: against = \"…\""
            )),
        }
    }

    fn proportion(&self) -> Result<f64, String> {
        let wrong = || format!("{self} is not a share; write it as \"5%\" or 0.05");
        let value = match self {
            Self::Number(value) => Some(*value).filter(|value| *value < 1.0),
            Self::Text(text) => match text.trim().strip_suffix('%') {
                Some(percent) => percent.trim_end().parse::<f64>().ok().map(|percent| percent / 100.0),
                None => text.trim().parse().ok().filter(|value| *value < 1.0),
            },
        };
        value.filter(|value| value.is_finite() && *value >= 0.0).ok_or_else(wrong)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountVisitor;
        impl Visitor<'_> for AmountVisitor {
            type Value = Amount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or text such as \"200us\"")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Amount, E> {
                Ok(Amount::Number(value as f64))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Amount, E> {
                Ok(Amount::Number(value as f64))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Amount, E> {
                Ok(Amount::Number(value))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount, E> {
                Ok(Amount::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(AmountVisitor)
    }
}

impl<'de> Deserialize<'de> for CellName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = CellName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a cell's id, label or transport, or a table such as { transport = \"unix\", size = 64 }",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CellName, E> {
                Ok(CellName::Name(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CellName, A::Error> {
                let selector = Selector::deserialize(MapAccessDeserializer::new(map))?;
                match &selector.measure {
                    Some(measure) => Err(de::Error::custom(format!(
                        "a claim says what it measures as metric = \"{measure}\", beside the cell"
                    ))),
                    None => Ok(CellName::Like(selector)),
                }
            }
        }
        deserializer.deserialize_any(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CELLS: &str = "budget = \"9s\"\n[[cells]]\ntransport = [\"unix\", \"tcp\"]\n";

    fn claim(body: &str) -> Result<ProjectClaim, JobFileError> {
        parse_claims(&format!("{CELLS}[[claims]]\n{body}\n")).map(|file| file.claims[0].clone())
    }

    #[test]
    fn a_file_is_a_job_with_claims() {
        let file = parse_claims(&format!(
            "{CELLS}[[claims]]\ntext = \"a\"\ncell = \"unix\"\nagainst = \"tcp\"\nat_most = 0.9\n\n[[claims]]\ncell = {{ transport = \"tcp\", size = \"1KiB\" }}\nmetric = \"p99\"\nat_most = \"200us\"\n"
        ))
        .unwrap();
        assert_eq!(file.job.budget, Some(std::time::Duration::from_secs(9)));
        let [first, second] = &file.claims[..] else { panic!("{file:?}") };
        assert_eq!((first.place, first.text.as_deref()), (Place { line: 4, column: 1 }, Some("a")));
        assert!(matches!(&first.reference, Reference::Cell(other) if other.place.line == 7));
        assert_eq!(first.at_most.as_ref().unwrap().value, 0.9);
        assert_eq!(second.place.line, 10);
        assert_eq!((second.metric, second.at_most.as_ref().unwrap().value), (ClaimMetric::P99, 200_000.0));
        let CellName::Like(selector) = &second.cell.as_ref().unwrap().value else { panic!("{second:?}") };
        assert_eq!(selector.size, Some(crate::job::Size(1024)));
    }

    #[test]
    fn a_share_by_which_it_may_be_slower_is_a_ratio() {
        let most = |amount: &str| {
            claim(&format!("baseline = \"b.json\"\nslower_by_at_most = {amount}"))
                .map(|claim| claim.at_most.unwrap().value)
        };
        assert_eq!(most("\"5%\""), Ok(1.05));
        assert_eq!(most("0.05"), Ok(1.05));
        assert_eq!(most("0"), Ok(1.0));
        assert_eq!(most("\"150 %\""), Ok(2.5));
        for wrong in ["5", "\"-5%\"", "\"much\"", "nan", "\"inf%\""] {
            assert!(most(wrong).unwrap_err().message.contains("write it as \"5%\""), "{wrong}");
        }
    }

    #[track_caller]
    fn refused(body: &str, expected: &str) {
        let error = claim(body).unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains('\n'), "{error}");
    }

    #[test]
    fn mistakes_are_told_at_their_place() {
        refused("at_most = 1", "4:1: the claim names no cell");
        refused("cell = \"unix\"", "4:1: the claim bounds nothing; add at_most or at_least");
        refused("cell = \"unix\"\nat_mots = 1", "6:1: unknown key \"at_mots\"; did you mean \"at_most\"?");
        refused("cell = \"unix\"\nat_most = 200", "6:11: 200 has no unit; write a time as \"200us\"");
        refused("cell = \"unix\"\nat_most = \"200\"", "6:11: \"200\" is not a time");
        refused("cell = \"unix\"\nat_most = true", "6:11: invalid type: boolean `true`, expected a number");
        refused(
            "cell = \"unix\"\nmetric = \"p98\"\nat_most = \"1us\"",
            "6:10: unknown metric \"p98\"; did you mean",
        );
        refused("cell = \"unix\"\nagainst = \"tcp\"\nat_most = \"2us\"", "7:11: 2us is not a ratio");
        refused("cell = \"unix\"\nagainst = \"tcp\"\nat_most = 0", "7:11: 0 is not a ratio");
        refused(
            "cell = \"unix\"\nagainst = \"tcp\"\nat_most = 1\nat_least = 2",
            "4:1: nothing is at least 2 and at most 1",
        );
        refused(
            "cell = \"unix\"\nagainst = \"tcp\"\nbaseline = \"b\"\nat_most = 1",
            "7:12: a claim compares with a cell",
        );
        refused(
            "cell = \"unix\"\nslower_by_at_most = \"5%\"",
            "6:21: slower_by_at_most compares with a baseline",
        );
        refused(
            "baseline = \"b\"\nslower_by_at_most = 0.1\nat_most = 1",
            "6:21: slower_by_at_most and at_most bound the same",
        );
        refused(
            "baseline = \"b\"\nmetric = \"p99\"\nat_most = 1",
            "6:10: against a baseline the metric is wall or cpu",
        );
        refused(
            "cell = { sise = 1 }\nat_most = \"1us\"",
            "5:10: unknown key \"sise\"; did you mean \"size\"?",
        );
        refused(
            "cell = { measure = \"cpu\" }\nat_most = \"1us\"",
            "5:8: a claim says what it measures as metric",
        );
        refused("cell = 5\nat_most = \"1us\"", "5:8: invalid type: integer `5`, expected a cell's id");
    }

    #[test]
    fn mistakes_outside_claims_are_told_as_in_a_job() {
        let error = |text: &str| parse_claims(text).unwrap_err().to_string();
        assert_eq!(
            error("[[cells]]\ntransprt = \"unix\"\n[[claims]]\n"),
            "2:1: unknown key \"transprt\"; did you mean \"transport\"?"
        );
        assert_eq!(error("[[claim]]\ncell = 1\n"), "1:3: unknown key \"claim\"; did you mean \"claims\"?");
        assert!(error(CELLS).starts_with("1:1: the file has no claims"), "{}", error(CELLS));
        assert!(error(&format!("claims = []\n{CELLS}")).starts_with("1:1: the list of claims is empty"));
        assert!(error(&format!("claims = 5\n{CELLS}")).starts_with("1:10: invalid type"));
        assert!(error("[[claims]\n").starts_with("1:"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}", amount in ".{0,20}") {
            let _ = parse_claims(&text);
            let _ = claim(&format!("cell = \"unix\"\nat_most = \"{amount}\""));
        }
    }
}
