//! Reading a file of claims, with errors that name the line and the column.

use std::fmt;

use ipcost_model::job_file::{JobFileError, at, check_requests, located, place};
use ipcost_model::{Job, nearest};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::DeTable;

use super::amount::WrittenAmount;
use super::{ClaimMetric, ClaimsFile, Located, ProjectClaim, Reference, TextPosition, WrittenBound};
use crate::claims::CellName;

/// Reads a file of claims from its text.
pub fn parse_claims(text: &str) -> Result<ClaimsFile, JobFileError> {
    #[derive(Deserialize)]
    struct ClaimsText {
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
    check_requests(text, &job)?;
    let mut only = DeTable::new();
    only.insert(key, claims);
    let claims = toml::de::Deserializer::from(Spanned::new(span, only));
    let claims = ClaimsText::deserialize(claims).map_err(|error| located(text, &error))?.claims;
    if claims.is_empty() {
        return Err(at(text, 0, "the list of claims is empty; add a [[claims]] table".to_owned()));
    }
    let claims =
        claims.into_iter().map(|claim| ClaimsReading { text }.claim(claim)).collect::<Result<_, _>>()?;
    Ok(ClaimsFile { job, claims })
}

/// A claim as TOML has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    text: Option<String>,
    cell: Option<Spanned<CellName>>,
    against: Option<Spanned<CellName>>,
    baseline: Option<Spanned<OneOrMany>>,
    arms: Option<Spanned<bool>>,
    metric: Option<Spanned<ClaimMetric>>,
    at_most: Option<Spanned<WrittenAmount>>,
    at_least: Option<Spanned<WrittenAmount>>,
    slower_by_at_most: Option<Spanned<WrittenAmount>>,
    hosts: Option<Spanned<WrittenAmount>>,
}

/// From a claim as TOML has it to what it means.
struct ClaimsReading<'a> {
    text: &'a str,
}

impl ClaimsReading<'_> {
    fn place(&self, offset: usize) -> TextPosition {
        let (line, column) = place(self.text, offset);
        TextPosition { line, column }
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
        let reference = self.reference(raw.against, raw.baseline, raw.arms)?;
        let is_baseline = matches!(reference, Reference::Baseline(_));
        // The same cell before and after.
        let of_baseline = is_baseline || matches!(reference, Reference::Arms(_));
        if raw.cell.is_none() && !of_baseline {
            return Err(
                place.error("the claim names no cell; add cell = \"…\" with an id, a label or a transport")
            );
        }
        if is_baseline && matches!(metric, ClaimMetric::OpsPerS | ClaimMetric::BytesPerS) {
            let message =
                format!("against a baseline the metric is a time, and {metric} is a rate; use wall");
            return Err(metric_place.error(message));
        }
        let is_ratio = !matches!(reference, Reference::Nothing);
        let bound = |amount| self.bound(amount, metric, is_ratio);
        let at_most = raw.at_most.map(bound).transpose()?;
        let at_least = raw.at_least.map(bound).transpose()?;
        let slower = raw.slower_by_at_most.map(|slower| self.slower(slower, of_baseline, at_most.is_some()));
        let at_most = slower.transpose()?.or(at_most);
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
        let hosts = raw.hosts.map(|hosts| self.share_of_hosts(hosts)).transpose()?;
        Ok(ProjectClaim { text: raw.text, place, metric, cell, reference, at_most, at_least, hosts })
    }

    /// What a claim compares with.
    fn reference(
        &self,
        against: Option<Spanned<CellName>>,
        baseline: Option<Spanned<OneOrMany>>,
        arms: Option<Spanned<bool>>,
    ) -> Result<Reference, JobFileError> {
        let reference = match (against, baseline) {
            (Some(_), Some(baseline)) => {
                let message = "a claim compares with a cell (against) or with a document (baseline), not with both; make it two claims";
                return Err(self.located(baseline).place.error(message));
            }
            (Some(other), None) => Reference::Cell(self.located(other)),
            (None, Some(baseline)) => {
                let Located { value, place } = self.located(baseline);
                if value.0.is_empty() {
                    return Err(place.error("the list of baselines is empty; name a document at least"));
                }
                Reference::Baseline(Located { value: value.0, place })
            }
            (None, None) => Reference::Nothing,
        };
        let Some(arms) = arms.filter(|arms| *arms.get_ref()) else { return Ok(reference) };
        let place = self.located(arms).place;
        match reference {
            Reference::Nothing => Ok(Reference::Arms(place)),
            _ => Err(place
                .error("a claim compares the two arms, or with a cell or a document; make it two claims")),
        }
    }

    fn bound(
        &self,
        amount: Spanned<WrittenAmount>,
        metric: ClaimMetric,
        is_ratio: bool,
    ) -> Result<WrittenBound, JobFileError> {
        let Located { value: amount, place } = self.located(amount);
        let value = if is_ratio { amount.ratio() } else { amount.of(metric) };
        let value = value.map_err(|error| place.error(error))?;
        Ok(WrittenBound { value, written: amount.to_string() })
    }

    /// `slower_by_at_most` as the ratio that it means.
    fn slower(
        &self,
        amount: Spanned<WrittenAmount>,
        of_baseline: bool,
        is_bounded: bool,
    ) -> Result<WrittenBound, JobFileError> {
        let Located { value: amount, place } = self.located(amount);
        if !of_baseline {
            return Err(place.error("slower_by_at_most compares with a baseline or with arm A; add baseline = \"FILE\" or arms = true, or use at_most"));
        }
        if is_bounded {
            return Err(place.error("slower_by_at_most and at_most bound the same; give one of them"));
        }
        let value = 1.0 + amount.proportion().map_err(|error| place.error(error))?;
        Ok(WrittenBound { value, written: format!("{}", (value * 1e6).round() / 1e6) })
    }

    fn share_of_hosts(&self, hosts: Spanned<WrittenAmount>) -> Result<f64, JobFileError> {
        let Located { value, place } = self.located(hosts);
        match value.proportion().map_err(|error| place.error(error))? {
            share if share > 0.0 && share <= 1.0 => Ok(share),
            _ => Err(place.error("hosts is a share of them, over 0 % and up to 100 %")),
        }
    }
}

/// One name or a list of them.
struct OneOrMany(Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a document, or a list of names")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                Ok(OneOrMany(names))
            }
        }
        deserializer.deserialize_any(NamesVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        assert_eq!((first.place, first.text.as_deref()), (TextPosition { line: 4, column: 1 }, Some("a")));
        assert!(matches!(&first.reference, Reference::Cell(other) if other.place.line == 7));
        assert_eq!(first.at_most.as_ref().unwrap().value, 0.9);
        assert_eq!(second.place.line, 10);
        assert_eq!((second.metric, second.at_most.as_ref().unwrap().value), (ClaimMetric::P99, 200_000.0));
        let CellName::Like(selector) = &second.cell.as_ref().unwrap().value else { panic!("{second:?}") };
        assert!(selector.columns.contains(&("size", "1024".to_owned())), "{selector}");
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
            "baseline = \"b\"\nmetric = \"ops_per_s\"\nat_most = 1",
            "6:10: against a baseline the metric is a time, and ops_per_s is a rate; use wall",
        );
        refused(
            "cell = { sise = 1 }\nat_most = \"1us\"",
            "5:10: unknown key \"sise\"; did you mean \"size\"?",
        );
        refused(
            "cell = { measure = \"cpu\" }\nat_most = \"1us\"",
            "5:8: a claim says what it measures as metric",
        );
        refused("baseline = []\nat_most = 1", "5:12: the list of baselines is empty");
        refused(
            "baseline = 5\nat_most = 1",
            "5:12: invalid type: integer `5`, expected the name of a document",
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
