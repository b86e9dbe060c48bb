//! Fleets of planted hosts: what was planted is found, and nothing else.

use ipcost_features::fleet::{Fleet, FleetContrast, Gatherer, Otherwise, Standing, page, words};
use ipcost_features::replicate::REPLICATION_SCHEMA;
use ipcost_model::{Document, Metric, Sample, Tool, Verdict};
use ipcost_report::fixture;
use ipcost_stats::{Random, median, sign_interval};
use serde_json::{Value, json};

const EPOCHS: u32 = 20;
/// What unix costs over tcp on a usual host.
const USUAL: f64 = 0.55;

/// A host's run: the ratio of unix to tcp, and how much it differs from epoch to epoch.
fn run(random: &mut Random, name: &str, ratio: f64, facts: Value) -> Document {
    let mut document = fixture::document();
    let (unix, tcp) = (1, 3);
    document.samples.clear();
    let mut logs = Vec::new();
    for epoch in 1..=EPOCHS {
        let log = ratio.ln() + 0.02 * random.normal();
        logs.push(log);
        for (cell, cost) in [(unix, 10_000.0 * log.exp()), (tcp, 10_000.0)] {
            document.samples.push(Sample {
                cell,
                epoch,
                round: 1,
                ops: 1_000,
                wall_ns: (cost * 1_000.0) as u64,
                ..Sample::default()
            });
        }
    }
    let bounds =
        sign_interval(&logs, 0.05).and_then(|interval| interval.bounds).map(|(lo, hi)| (lo.exp(), hi.exp()));
    document.contrasts.retain(|contrast| contrast.a == "rr/unix/64/c1");
    let contrast = &mut document.contrasts[0];
    contrast.ratio = median(&logs).unwrap().exp();
    (contrast.lo, contrast.hi) = (bounds.map(|bounds| bounds.0), bounds.map(|bounds| bounds.1));
    contrast.verdict = Verdict::of(bounds, 0.02);
    let host = &mut document.host;
    host.more.insert("name".to_owned(), name.into());
    host.more.insert("machine".to_owned(), format!("id of {name}").into());
    for (fact, value) in facts.as_object().unwrap() {
        match fact.as_str() {
            "kernel" => host.kernel = value.as_str().unwrap().to_owned(),
            _ => drop(host.more.insert(fact.clone(), value.clone())),
        }
    }
    document
}

fn fleet(documents: &[Document]) -> Fleet {
    let mut gatherer = Gatherer::new(Metric::Wall);
    for (place, document) in documents.iter().enumerate() {
        gatherer.add(&format!("{place}.json"), document);
    }
    gatherer.finish(Tool::of_version("0"))
}

fn only(fleet: &Fleet) -> &FleetContrast {
    assert_eq!(fleet.contrasts.len(), 1);
    &fleet.contrasts[0]
}

/// Forty hosts, of which the last two run in gVisor. A third of them has another governor, which does nothing.
fn forty(random: &mut Random) -> Vec<Document> {
    let host = |place: usize| {
        let governor = if place.is_multiple_of(3) { "powersave" } else { "performance" };
        let facts = match place {
            38.. => json!({"governor": governor, "container": "gVisor", "kernel": "4.4.0"}),
            _ => json!({"governor": governor}),
        };
        let ratio = if place >= 38 { 1.9 } else { USUAL * (0.06 * random.normal()).exp() };
        run(random, &format!("web{}", place + 1), ratio, facts)
    };
    (0..40).map(host).collect()
}

#[test]
fn two_hosts_in_a_sandbox_are_named_with_what_sets_them_apart() {
    let fleet = fleet(&forty(&mut Random::new(1)));
    let contrast = only(&fleet);
    assert_eq!((contrast.counts.cheaper, contrast.counts.costs_more), (38, 2));
    let [found] = &contrast.disagreements[..] else { panic!("{:?}", contrast.disagreements) };
    assert_eq!(found.how, Otherwise::CostsMore);
    let first = &found.differences[0];
    assert!(first.is_known && first.what == "container" && first.value == "gVisor", "{first:?}");
    assert!(found.differences.iter().all(|difference| difference.what != "governor"), "{found:?}");
    let names: Vec<&str> = found.hosts.iter().map(|host| fleet.hosts[*host as usize].name.as_str()).collect();
    assert_eq!(names, ["web39", "web40"]);
    let sentence = words::sentence(&fleet, contrast);
    let (before, after) = sentence.split_once(", at ").unwrap();
    assert_eq!(before, "64 B round trip: on 38 of 40 hosts unix is cheaper than tcp");
    assert!(
        after.ends_with(" of its cost; the two others (web39, web40) run in gVisor and have kernel 4.4.0 (the rest 6.1.0): there it costs more."),
        "{sentence}"
    );
    // Hosts that a fact sets apart are in the one figure, and not in the other.
    let all = contrast.together.unwrap();
    assert!((all.hosts, all.apart) == (40, 0) && all.hi > 0.62, "{all:?}");
    let together = contrast.usual.unwrap();
    assert_eq!((together.hosts, together.apart), (38, 2));
    for text in [page(&fleet).terminal(false, 120), page(&fleet).markdown(), page(&fleet).html()] {
        assert!(text.contains("without 2 hosts") && text.contains(&words::spread(&together)), "{text}");
    }
    assert!(page(&fleet).csv().lines().nth(1).unwrap().contains(",38,"));
    assert!(together.lo < USUAL && USUAL < together.hi, "{together:?}");
    assert!(together.spread_lo < 0.06 && 0.06 < together.spread_hi, "{together:?}");
    assert!(together.another_hi.unwrap() < 0.75, "{together:?}");
    assert_eq!(fleet.groups.iter().map(|group| group.hosts).collect::<Vec<_>>(), [38, 2]);
    assert!(words::group(&fleet.groups[1]).ends_with("gVisor"), "{:?}", fleet.groups);
    let (whole, brief) = (page(&fleet).terminal(true, usize::MAX), page(&fleet).terminal(false, 120));
    let by_group = whole.split("Cheapest, by group of hosts").nth(1).unwrap().split("\n\n").next().unwrap();
    for group in &fleet.groups {
        assert!(by_group.contains(&words::group(group)), "{by_group}");
    }
    assert!(!brief.contains("by group of hosts"), "{brief}");
}

#[test]
fn hosts_of_one_kind_seldom_disagree() {
    let mut random = Random::new(5);
    let alarms = (0..600).filter(|_| {
        let host = |place| {
            let ratio = USUAL * (0.06 * random.normal()).exp();
            run(
                &mut random,
                &format!("h{place}"),
                ratio,
                json!({"governor": if place % 2 == 0 { "a" } else { "b" }}),
            )
        };
        let documents: Vec<Document> = (0..12).map(host).collect();
        !only(&fleet(&documents)).disagreements.is_empty()
    });
    let alarms = alarms.count();
    assert!(alarms <= 50, "{alarms} of 600 fleets");
}

#[test]
fn so_few_hosts_leave_their_spread_unknown() {
    let mut random = Random::new(6);
    let mut host = |place: usize| run(&mut random, &format!("h{place}"), 0.6, json!({}));
    let documents: Vec<Document> = (0..3).map(&mut host).collect();
    let two = fleet(&documents[..2]);
    assert_eq!(words::spread(&only(&two).together.unwrap()), "unknown");
    let three = fleet(&documents);
    let together = only(&three).together.unwrap();
    assert!(words::spread(&together).contains(" % ("), "{}", words::spread(&together));
    for text in [page(&three).terminal(false, 120), page(&three).markdown(), page(&three).html()] {
        assert!(text.contains(&words::spread(&together)), "{text}");
    }
}

#[test]
fn one_of_three_is_named_but_so_few_hosts_prove_nothing() {
    let mut random = Random::new(2);
    let facts = |place| if place == 2 { json!({"kernel": "5.4.0"}) } else { json!({}) };
    let documents: Vec<Document> = (0..3)
        .map(|place| run(&mut random, &format!("h{place}"), if place == 2 { 1.4 } else { 0.6 }, facts(place)))
        .collect();
    let fleet = fleet(&documents);
    let [found] = &only(&fleet).disagreements[..] else { panic!("{fleet:?}") };
    assert!(found.differences.iter().all(|difference| !difference.is_known), "{found:?}");
    let sentence = words::sentence(&fleet, only(&fleet));
    assert!(
        sentence.ends_with("the other, h2, has kernel 5.4.0 (the rest 6.1.0): there it costs more, though so few hosts cannot show that it matters."),
        "{sentence}"
    );
    // A host that differs in nothing.
    let alike: Vec<Document> = (0..3)
        .map(|place| run(&mut random, &format!("h{place}"), if place == 2 { 1.4 } else { 0.6 }, json!({})))
        .collect();
    let fleet = self::fleet(&alike);
    let sentence = words::sentence(&fleet, only(&fleet));
    assert!(
        sentence.contains("on the other, h2 it costs more, and nothing recorded tells it from the rest"),
        "{sentence}"
    );
}

#[test]
fn a_ratio_far_from_the_others_is_noticed_though_it_has_the_same_direction() {
    let mut random = Random::new(8);
    let host = |place: usize| {
        let (ratio, kernel) =
            if place >= 10 { (0.2, "4.4.0") } else { (USUAL * (0.03 * random.normal()).exp(), "6.1.0") };
        run(&mut random, &format!("h{place:02}"), ratio, json!({"kernel": kernel}))
    };
    let documents: Vec<Document> = (0..12).map(host).collect();
    let fleet = fleet(&documents);
    let [found] = &only(&fleet).disagreements[..] else { panic!("{fleet:?}") };
    assert_eq!((found.how, found.hosts.clone()), (Otherwise::Size, vec![10, 11]));
    assert!(found.differences[0].is_known && found.differences[0].what == "kernel");
}

#[test]
fn one_host_twice_other_jobs_and_other_documents_are_named_and_not_counted() {
    let mut random = Random::new(3);
    let mut documents: Vec<Document> =
        ["a", "b", "c"].map(|name| run(&mut random, name, 0.6, json!({}))).to_vec();
    let mut again = run(&mut random, "a", 0.9, json!({}));
    again.started = "2026-02-02T00:00:00Z".to_owned();
    documents.push(again);
    let mut other = run(&mut random, "d", 0.6, json!({}));
    other.job = serde_json::from_value(json!({"cells": [{"pattern": "rr", "transport": "unix", "size": 7}]}))
        .unwrap();
    documents.push(other);
    let mut empty = run(&mut random, "e", 0.6, json!({}));
    empty.contrasts.clear();
    documents.push(empty);
    let mut unknown = run(&mut random, "f", 0.6, json!({}));
    unknown.answer = Some(json!({"schema": "ipcost-oracle/1"}));
    documents.push(unknown);
    // Of one name, but another machine; and two that do not tell.
    let mut twin = run(&mut random, "b", 0.6, json!({}));
    twin.host.more.insert("machine".to_owned(), "another".into());
    documents.push(twin);
    for _ in 0..2 {
        let mut nameless = run(&mut random, "", 0.6, json!({}));
        nameless.host.more.remove("machine");
        documents.push(nameless);
    }
    documents[1].tool.version = "0.0.9".to_owned();
    let fleet = fleet(&documents);
    let names: Vec<&str> = fleet.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["a", "b (anothe)", "b (id of )", "c", "unnamed host 1", "unnamed host 2"]);
    assert_eq!(fleet.hosts[0].started, "2026-02-02T00:00:00Z", "the newest counts");
    assert_eq!((fleet.files, fleet.skipped_files), (10, 4));
    let reason =
        |file: &str| fleet.skipped.iter().find(|skipped| skipped.file == file).unwrap().reason.clone();
    assert!(reason("0.json").contains("another document of the same host is newer"));
    assert!(reason("4.json").contains("its job is not the one"));
    assert!(reason("5.json").contains("no contrasts"));
    assert!(reason("6.json").contains("ipcost-oracle/1"));
    assert!(
        fleet.notes.iter().any(|note| note.contains("2 documents do not tell the host's name")),
        "{:?}",
        fleet.notes
    );
    assert!(fleet.notes.iter().any(|note| note.contains("different versions of ipcost: 0.0.9, 0.1.0")));
}

/// A replication's document: one claim, which holds as published and, with Nagle, not.
fn record(name: &str, holds: bool, kernel: &str) -> Document {
    let mut document = fixture::document();
    document.host.more.insert("name".to_owned(), name.into());
    document.host.kernel = kernel.to_owned();
    let word = |holds| if holds { "holds" } else { "fails" };
    let condition = |condition: Option<&str>, holds| json!({"stratum": condition, "software": "original", "word": word(holds), "figures": "0.5"});
    document.answer = Some(json!({
        "schema": REPLICATION_SCHEMA, "tool": document.tool, "host": document.host, "started": document.started,
        "id": "an-article", "question": "Which is cheaper?", "machine": "a laptop", "differs": null, "seed": 7,
        "runs": [{"software": "original", "about": "x", "elapsed_s": 1.0, "epochs": 20, "missing": []}],
        "claims": [{
            "text": "unix is 3 times faster", "published": "3", "word": word(holds), "size": "fails",
            "sentence": "it holds as published", "conditions": [condition(None, holds), condition(Some("with Nagle"), false)],
            "behind": null, "tests": [],
        }],
    }));
    document
}

#[test]
fn a_claim_says_on_how_many_hosts_it_holds_and_under_which_condition() {
    let documents: Vec<Document> = (0..30)
        .map(|place| record(&format!("h{place:02}"), place < 28, if place < 28 { "6.1.0" } else { "5.4.0" }))
        .collect();
    let fleet = fleet(&documents);
    let [claim] = &fleet.claims[..] else { panic!("{:?}", fleet.claims) };
    assert_eq!((claim.of.as_str(), claim.counts.holds, claim.counts.fails), ("an-article", 28, 2));
    assert_eq!(claim.size.unwrap().fails, 30);
    assert_eq!(
        words::claim_conditions(claim),
        ["as published: holds on 28 of 30 hosts, fails on 2", "with Nagle: fails on all 30 hosts"]
    );
    let shown = page(&fleet).terminal(true, usize::MAX);
    let by_group = shown.split("By group of hosts").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(
        by_group.contains("holds on all 28 hosts") && by_group.contains("fails on all 2 hosts"),
        "{by_group}"
    );
    assert_eq!(
        words::claim_sentence(&fleet, claim),
        "“unix is 3 times faster” holds on 28 of 30 hosts, fails on 2; the two others (h28, h29) have kernel 5.4.0 (the rest 6.1.0): there it fails."
    );
}

#[test]
fn whatever_stands_in_documents_every_output_can_be_written() {
    let mut random = Random::new(4);
    let evil = "<script>\u{1b}[31m=1+1|`*\n";
    let mut documents: Vec<Document> = (0..3)
        .map(|place| run(&mut random, &format!("{evil}{place}"), 0.6, json!({"governor": evil})))
        .collect();
    for document in &mut documents {
        document.cells[1].label = evil.to_owned();
        document.host.cpu = evil.to_owned();
        document.contrasts[0].lo = None;
    }
    documents[2].contrasts[0].ratio = 1e308;
    documents[2].samples.clear();
    documents.push(record(evil, true, evil));
    let mut fleet = fleet(&documents);
    fleet.skipped.push(ipcost_features::fleet::Skipped { file: evil.to_owned(), reason: evil.to_owned() });
    fleet.skipped_files = 1;
    for text in
        [page(&fleet).terminal(true, 80), page(&fleet).csv(), page(&fleet).markdown(), page(&fleet).html()]
    {
        assert!(!text.contains("\u{1b}[31m=") && !text.contains("<script>\u{1b}"), "{text}");
    }
    assert!(!page(&fleet).html().contains("<script"));
    let standing = &only(&fleet).hosts[0].standing;
    assert!(Standing::ALL.contains(standing));
    assert!(self::fleet(&[]).hosts.is_empty());
}
