use ipcost_report::fixture;
use ipcost_report::picture::{Background, draw_claims};
use serde_json::{Value, json};

use super::*;

fn test(about: &str, condition: Option<&str>, word: &str, decides: bool) -> Value {
    json!({
        "about": about, "software": "original", "stratum": condition, "measure": "wall", "value": 0.8, "lo": 0.7, "hi": 0.9,
        "claimed": "< 1", "below": 1.0, "word": word, "decides": decides, "detail": null
    })
}

/// A claim with two conditions and with the native peer beside them.
fn record() -> Value {
    let mut native = test("unix over tcp, 1 B", None, "fails", true);
    native["software"] = json!("native");
    let condition = |condition: Option<&str>, word: &str, size: Value| json!({"stratum": condition, "software": "original", "word": word, "size": size, "figures": ""});
    json!({
        "schema": "ipcost-replication/1",
        "id": "mine", "question": "Which is faster?", "machine": "a laptop", "differs": "Ruby is newer.",
        "runs": [{"software": "native", "about": "", "stratum": "on one core", "elapsed_s": 0.0, "epochs": 0, "missing": ["one core only"]}],
        "claims": [{
            "text": "A Unix socket is faster.", "published": "a factor of 4", "word": "holds", "size": "fails", "sentence": "as published: 0.80",
            "behind": null, "limit": "on Linux",
            "conditions": [condition(None, "holds", json!("fails")), condition(Some("on one core"), "open", Value::Null)],
            "tests": [
                test("unix over tcp, 1 B", None, "holds", true),
                test("unix over tcp, 1 KiB", None, "open", false),
                native,
                test("unix over tcp, 1 B", Some("on one core"), "open", true),
            ]
        }]
    })
}

fn read(record: Value) -> ReplicationRecord {
    serde_json::from_value(record).unwrap()
}

#[test]
fn tests_are_grouped_by_condition_and_software() {
    let claims = claims(&read(record()), &fixture::document());
    let claim = &claims.claims[0];
    let groups: Vec<(&str, Option<ClaimVerdict>, &str, usize)> = claim
        .conditions
        .iter()
        .map(|it| (it.name.as_str(), it.known, it.said.as_str(), it.tests.len()))
        .collect();
    assert_eq!(
        groups,
        [
            ("as published", Some(ClaimVerdict::Holds), "holds in direction, not in factor", 2),
            ("as published, native peer", None, "decides nothing", 1),
            ("on one core", Some(ClaimVerdict::Open), "open", 1),
        ]
    );
    assert_eq!((claim.known, claim.said.as_str()), (ClaimVerdict::Holds, "holds in direction on Linux"));
    let [decides, beside] = [0, 1].map(|index| &claim.conditions[0].tests[index]);
    assert_eq!((decides.here.as_str(), decides.held.as_str()), ("0.80", "(0.70–0.90)"));
    assert_eq!((decides.said.as_str(), beside.said.as_str()), ("holds", "decides nothing"));
    let all = claims.notes.join("; ");
    for part in
        ["Published on: a laptop", "differs here: Ruby is newer", "on one core, native peer: one core only"]
    {
        assert!(all.contains(part), "{part}: {all}");
    }
}

/// The places of all values, as JSON pointers.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in inner {
        let at = format!("{at}/{key}");
        out.push(at.clone());
        places(value, &at, out);
    }
}

#[test]
fn every_place_with_every_absurd_value_is_refused_or_drawn() {
    const HOSTILE: &str = "</svg><script>alert(1)</script>\u{1b}[41m\u{202e}\\\"'";
    let (whole, document) = (record(), fixture::document());
    let mut all = Vec::new();
    places(&whole, "", &mut all);
    let mut drawn = 0;
    for place in &all {
        for new in [
            json!(null),
            json!(0),
            json!(-1),
            json!(f64::MAX),
            json!(f64::MIN_POSITIVE),
            json!(HOSTILE),
            json!([]),
        ] {
            let mut value = whole.clone();
            *value.pointer_mut(place).unwrap() = new;
            let Ok(record) = serde_json::from_value::<ReplicationRecord>(value) else { continue };
            let claims = claims(&record, &document);
            let page = crate::replicate::page(&record, &document).html();
            assert!(!page.contains("<script>alert") && !page.contains('\u{1b}'), "{place}");
            if let Ok(picture) = draw_claims(&claims, &document, Background::White) {
                let svg = picture.svg();
                assert!(!svg.contains("<script") && !svg.contains("NaN"), "{place}: {svg}");
                drawn += 1;
            }
        }
    }
    assert!(drawn > 100, "many of these are ledgers: {drawn}");
}
