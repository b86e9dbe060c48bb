use ipcost_model::Document;
use ipcost_report::fixture;
use serde_json::{Value, json};

use super::*;
use crate::fleet::Gatherer;

const EVIL: &str = "<script>alert(\"1\")</script>";

/// The fixture on a host, changed.
fn on(name: &str, kernel: &str, change: impl FnOnce(&mut Value)) -> Document {
    let mut document = serde_json::to_value(fixture::document()).unwrap();
    document["host"]["name"] = json!(name);
    document["host"]["machine"] = json!(format!("machine of {name}"));
    document["host"]["kernel"] = json!(kernel);
    change(&mut document);
    serde_json::from_value(document).unwrap()
}

fn gallery(documents: &[Document]) -> Gallery {
    let mut gatherer = Gatherer::new(ipcost_model::Metric::Wall);
    let mut pages = HashMap::new();
    for (number, document) in documents.iter().enumerate() {
        let file = format!("{number}.json");
        gatherer.add(&file, document);
        pages.insert(file, format!("documents/document-{}.html", number + 1));
    }
    let tool = fixture::document().tool;
    Gallery::new(None, gatherer.finish_jobs(&tool), pages)
}

fn pages(gallery: &Gallery) -> HashMap<String, String> {
    gallery.pages().collect()
}

/// The rows of the first coloured table, each as its texts.
fn rows(page: &str) -> Vec<Vec<String>> {
    let table = page.split("<table class=\"map").nth(1).unwrap().split("</table>").next().unwrap();
    let texts = |row: &str| -> Vec<String> {
        let fields = row.split("</td>").flat_map(|part| part.split("</th>"));
        fields
            .map(|field| without_tags(&field.replace("</b>", "|")))
            .filter(|text| !text.is_empty())
            .collect()
    };
    table.split("</tr>").map(texts).filter(|row| !row.is_empty()).collect()
}

fn without_tags(html: &str) -> String {
    let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<String>().trim().to_owned()
}

fn open(document: &mut Value) {
    let fastest = &mut document["workloads"][0]["fastest"];
    fastest["claimed"] = json!(false);
    fastest["open"] = json!(["rr/unix/64/c1", "rr/tcp/64/c1"]);
}

fn shared(document: &mut Value) {
    let fastest = &mut document["workloads"][0]["fastest"];
    fastest["claimed"] = json!(false);
    fastest["equals"] = json!(["rr/unix/64/c1"]);
}

#[test]
fn fields_say_what_is_cheapest_by_group_and_how_many_hosts_say_so() {
    let documents = [
        on("a", "6.1", |_| ()),
        on("b", "6.1", |_| ()),
        on("c", "6.1", open),
        on("d", "5.4", |_| ()),
        on("e", "5.4", |_| ()),
        on("f", "4.4", open),
        on("g", "4.9", shared),
    ];
    let pages = pages(&gallery(&documents));
    let front = &pages["index.html"];
    let rows = rows(front);
    let first = rows[0].join("; ");
    assert!(
        first.contains("Linux 6.1|A processor3 hosts") && first.contains("Linux 5.4|A processor2 hosts"),
        "{first}"
    );
    assert_eq!(
        rows[1..3].concat(),
        [
            "64 B round trip", "any core", "pipe|on 2 of 3; open on 1", "pipe|0.72 × unix",
            "pipe, unix or tcp|open", "pipe = unix|same cost",
        ]
    );
    // Pipe's colour for two thirds of the hosts, and the rest hatched; two colours for two that cost the same.
    assert!(front.contains("<i class=\"t0 w8\"></i><i class=\"hatched w4\"></i>"), "{front}");
    assert!(front.contains("<i class=\"t0 w6\"></i><i class=\"t2 w6\"></i>"), "{front}");
    // A second table is open on every host.
    assert!(rows[4].iter().skip(1).all(|field| field.ends_with("|open")), "{rows:?}");
}

#[test]
fn one_host_is_a_gallery_and_many_groups_are_folded() {
    let pages_of_one = pages(&gallery(&[on("a", "6.1", |_| ())]));
    let names = |pages: &HashMap<String, String>| {
        let mut names: Vec<String> = pages.keys().cloned().collect();
        names.sort();
        names
    };
    assert_eq!(names(&pages_of_one), ["fleet.html", "group-1.html", "index.html"]);
    assert!(pages_of_one["index.html"].contains("What local IPC costs on 1 host<"));

    let many: Vec<Document> =
        (0..11).map(|host| on(&format!("host {host}"), &format!("6.{host}"), |_| ())).collect();
    let pages = pages(&gallery(&many));
    let front = &pages["index.html"];
    assert_eq!(rows(front)[0].len(), 1 + 8);
    assert!(front.contains("<details><summary>3 smaller groups</summary>"), "{front}");
    assert!((1..=11).all(|group| front.contains(&format!("href=\"group-{group}.html\""))));
}

#[test]
fn each_job_has_a_page_and_a_group_has_all_of_its_jobs() {
    let other = |document: &mut Value| {
        document["job"] = json!({"cells": [{"pattern": ["rr"], "transport": ["unix"], "size": [64]}]});
        document["workloads"].as_array_mut().unwrap().remove(1);
    };
    let documents = [on("a", "6.1", other), on("a", "6.1", |_| ()), on("b", "6.1", |_| ())];
    let gallery = gallery(&documents);
    assert_eq!(gallery.groups.hosts, 2);
    assert_eq!(gallery.fleets.iter().map(|fleet| fleet.files).collect::<Vec<_>>(), [2, 1]);
    let pages = pages(&gallery);
    assert!(
        pages["index.html"].contains("href=\"job-2.html\"")
            && pages["job-2.html"].contains("href=\"index.html\"")
    );
    assert!(pages["job-2.html"].contains("<h1>Job 2: 64 B round trip"), "{}", pages["job-2.html"]);
    let group = &pages["group-1.html"];
    assert!(group.contains("id=\"contrasts-1\"") && group.contains("id=\"contrasts-2\""), "{group}");
    for number in 1..=3 {
        assert_eq!(group.matches(&format!("documents/document-{number}.html")).count(), 1, "{group}");
    }
    assert!(pages.contains_key("fleet.html") && pages.contains_key("fleet-2.html"));
}

#[test]
fn what_comes_from_documents_is_text_on_every_page() {
    let evil = |document: &mut Value| {
        for cell in document["cells"].as_array_mut().unwrap() {
            cell["label"] = json!(EVIL);
        }
        document["host"]["cpu"] = json!(EVIL);
        document["host"]["container"] = json!(EVIL);
        document["tool"]["version"] = json!(EVIL);
    };
    let documents = [on(EVIL, EVIL, evil), on("../../etc/passwd\u{1b}[31m", EVIL, evil)];
    for (name, html) in pages(&gallery(&documents)) {
        assert!(is_page_name(&name), "{name}");
        assert!(html[..1500].contains(MARKER), "{name}");
        assert!(!html.contains("<script") && !html.contains('\u{1b}'), "{name}: {html}");
        assert!(html.contains("&lt;script&gt;"), "{name}");
    }
}

#[test]
fn names_of_pages_are_known_again() {
    for name in ["index.html", "claims.html", "fleet.html", "fleet-2.html", "job-10.html", "group-7.html"] {
        assert!(is_page_name(name), "{name}");
    }
    for name in
        ["group.html", "group-.html", "group-1a.html", "index.htm", "report.html", "group-1.html.bak", ""]
    {
        assert!(!is_page_name(name), "{name}");
    }
}

#[test]
fn processors_are_called_by_what_tells_them_apart() {
    for (model, short) in [
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", "Intel Xeon E5-2686 v4"),
        ("Neoverse-N1", "Neoverse-N1"),
        ("", ""),
    ] {
        assert_eq!(groups::processor(model), short);
    }
}
