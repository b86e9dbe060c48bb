//! The claims of a ledger as small multiples of pictures and the page.

use ipcost_model::Document;
use ipcost_report::claims::{FigureClaim, FigureClaims, FigureCondition, FigureTest};
use ipcost_report::numbers::bounds;
use ipcost_report::page::FieldValue;

use super::{ReplicatedClaim, ReplicatedTest, ReplicationRecord, Software, words};
use ipcost_model::ClaimVerdict;

pub fn claims(record: &ReplicationRecord, document: &Document) -> FigureClaims {
    let source = record.source.iter().map(|source| format!("Source: {source}"));
    let published = [format!("Published on: {}", record.machine)];
    let differs = record.differs.iter().map(|differs| format!("What differs here: {differs}"));
    let missing = record.runs.iter().flat_map(|run| {
        let name = name(run.condition.as_deref(), run.software);
        run.missing.iter().map(move |missing| format!("Missing, {name}: {missing}"))
    });
    FigureClaims {
        question: record.question.clone(),
        notes: source
            .chain(words::congestion(record, document))
            .chain(published)
            .chain(differs)
            .chain(missing)
            .collect(),
        claims: (1..).zip(&record.claims).map(|(number, claim)| card(number, claim)).collect(),
    }
}

fn card(number: usize, claim: &ReplicatedClaim) -> FigureClaim {
    FigureClaim {
        number,
        text: claim.text.clone(),
        known: claim.word,
        said: words::word(claim),
        conditions: conditions(claim),
    }
}

/// The tests of a claim by the condition under which they were made, in the order of the ledger.
fn conditions(claim: &ReplicatedClaim) -> Vec<FigureCondition> {
    let mut groups: Vec<(&Option<String>, Software, Vec<&ReplicatedTest>)> = Vec::new();
    for test in &claim.tests {
        match groups
            .iter_mut()
            .find(|(condition, software, _)| (*condition, *software) == (&test.condition, test.software))
        {
            Some((_, _, tests)) => tests.push(test),
            None => groups.push((&test.condition, test.software, vec![test])),
        }
    }
    let condition = |(condition, software, tests): (&Option<String>, Software, Vec<&ReplicatedTest>)| {
        let mut all = claim.conditions.iter();
        let found = all.find(|it| (&it.condition, it.software) == (condition, software));
        FigureCondition {
            name: name(condition.as_deref(), software),
            known: found.map(|it| it.word),
            said: found.map_or_else(|| NOTHING.to_owned(), |it| under(it.word, it.size)),
            tests: tests.into_iter().map(test).collect(),
        }
    };
    groups.into_iter().map(condition).collect()
}

/// Said of figures that decide nothing.
const NOTHING: &str = "decides nothing";

/// `on one core`; with the native peer, if it was measured instead of the article's software or beside it.
fn name(condition: Option<&str>, software: Software) -> String {
    let condition = condition.unwrap_or("as published");
    match software {
        Software::Original => condition.to_owned(),
        Software::Native => format!("{condition}, native peer"),
    }
}

/// What is known under one condition, of the direction and of the factor.
fn under(word: ClaimVerdict, size: Option<ClaimVerdict>) -> String {
    match size.filter(|size| *size != word) {
        None => word.to_string(),
        Some(ClaimVerdict::Fails) if word == ClaimVerdict::Holds => {
            "holds in direction, not in factor".to_owned()
        }
        Some(size) => format!("direction {word}, factor {size}"),
    }
}

fn test(test: &ReplicatedTest) -> FigureTest {
    let said = match (test.decides, test.value, &test.detail) {
        (false, ..) => NOTHING.to_owned(),
        (true, None, None) => "not measured".to_owned(),
        (true, ..) => test.word.to_string(),
    };
    FigureTest {
        about: test.about.clone(),
        is_ratio: test.is_ratio,
        value: test.value,
        lo: test.lo,
        hi: test.hi,
        published: test.compared.as_ref().and_then(|compared| compared.published),
        above: test.above,
        below: test.below,
        decides: test.decides,
        known: test.word,
        here: test.value.map_or_else(String::new, |value| FieldValue::Ratio(value).text()),
        held: test.value.map_or_else(String::new, |value| bounds(value, (test.lo, test.hi), test.range)),
        claimed: test.claimed.clone(),
        said,
    }
}

#[cfg(test)]
mod tests;
