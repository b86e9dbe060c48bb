//! `ipcost gallery`: a site that opens from disk, whose links all lead somewhere, and that replaces nothing but itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{Place, argument, assert_refused, text};
use crate::replicate::MINE;

const EVIL: &str = "<img src=x onerror=alert(1)>";
const KERNELS: [&str; 3] = ["6.8.0", "6.8.0", "4.4.0"];

/// A short run, as if three hosts had made it.
fn hosts(place: &Place, names: [&str; 3]) -> Value {
    let run = [
        "run", "--transports", "pipe,unix", "--placement", "free", "--patterns", "rr,stream", "--epochs",
        "7", "--quiet",
    ];
    let document = place.document(&run);
    fs::create_dir(place.file("results")).unwrap();
    fs::remove_file(place.file("document.json")).unwrap();
    for (number, name) in names.into_iter().enumerate() {
        let mut changed = document.clone();
        changed["host"]["name"] = json!(name);
        changed["host"]["machine"] = json!(format!("{number:012}"));
        changed["host"]["kernel"] = json!(KERNELS[number]);
        let file = format!("results/{number}.json");
        place.write(&file, &changed.to_string());
    }
    document
}

/// Another job and a replication, of the first host.
fn more(place: &Place, name: &str) {
    let mut other = place.document(&[
        "run", "--transports", "pipe,unix", "--placement", "free", "--sizes", "9", "--epochs", "7", "--quiet",
    ]);
    place.write("mine.toml", MINE);
    let output = place.run(&["replicate", "mine.toml", "--quiet"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = place.run(&["report", "last", "--json", "ledger.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut ledger: Value = serde_json::from_slice(&fs::read(place.file("ledger.json")).unwrap()).unwrap();
    for host in [&mut other["host"], &mut ledger["host"]] {
        host["name"] = json!(name);
        host["machine"] = json!("000000000000");
    }
    ledger["answer"]["claims"][0]["text"] = json!(format!("A mebibyte is dearer {EVIL}."));
    place.write("results/other.json", &other.to_string());
    place.write("results/ledger.json", &ledger.to_string());
}

fn made(place: &Place, more: &[&str]) {
    let output = place.run(&[&["gallery", "results", "--out", "site"], more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
}

/// Every file of a directory and those beneath, by its path from there.
fn files(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(inner, text)| (format!("{name}/{inner}"), text)));
        } else {
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// The values of an attribute.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(start.as_str()).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn every_link_leads_to_a_page_and_nothing_else_is_loaded() {
    let place = Place::new();
    hosts(&place, ["alpha", EVIL, "gamma"]);
    more(&place, "alpha");
    place.write("results/broken.json", "{");
    made(&place, &["--documents", "--title", "Where & what"]);
    let pages = files(&place.file("site"));
    let names: Vec<&str> =
        pages.keys().map(String::as_str).filter(|name| !name.starts_with("documents/")).collect();
    let groups = names.iter().filter(|name| name.starts_with("group-")).count();
    assert!(groups >= 2, "{names:?}");
    for name in
        ["index.html", "claims.html", "fleet.html", "fleet-2.html", "job-2.html", "documents/document-1.html"]
    {
        assert!(pages.contains_key(name), "{name} of {:?}", pages.keys());
    }
    let mut reached = BTreeSet::from(["index.html".to_owned()]);
    for (name, page) in &pages {
        assert!(!page.contains("<img") && !page.contains("<link") && !page.contains("@import"), "{name}");
        let ids = values(page, "id");
        assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "{name}: {ids:?}");
        if name.starts_with("documents/") {
            continue;
        }
        assert!(!page.contains("<script"), "{name}");
        for link in values(page, "href") {
            assert!(!link.contains(':') && !link.starts_with('/'), "{name}: {link}");
            let (to, id) = link.split_once('#').unwrap_or((link, ""));
            let to = if to.is_empty() { name } else { to };
            let target = pages.get(to).unwrap_or_else(|| panic!("{name} leads to {link}"));
            assert!(id.is_empty() || values(target, "id").contains(&id), "{name} leads to {link}");
            reached.insert(to.to_owned());
        }
    }
    assert_eq!(reached, pages.keys().cloned().collect());
    let front = &pages["index.html"];
    assert!(
        front.contains("<h1>Where &amp; what</h1>") && front.contains("table class=\"map matrix\""),
        "{front}"
    );
    assert!(front.contains("&lt;img src=x") && front.contains("Not counted: 1 of "), "{front}");
    let claims = &pages["claims.html"];
    for verdict in ["holds", "fails"] {
        let field = format!("<i class=\"of-{verdict} w12\"></i></span><b>{verdict}</b>");
        assert!(claims.contains(&field), "{claims}");
    }
    assert!(claims.contains("A mebibyte is dearer &lt;img src=x"), "{claims}");
    place.assert_clean();
}

#[test]
fn one_document_is_a_gallery_and_an_earlier_one_is_replaced() {
    let place = Place::new();
    hosts(&place, ["alpha", "beta", "gamma"]);
    more(&place, "alpha");
    made(&place, &["--documents"]);
    let before = files(&place.file("site"));
    assert!(before.contains_key("group-2.html") && before.contains_key("documents/document-3.html"));
    place.write("site/notes.txt", "mine");
    // A page of another maker, though it is called like one of these.
    place.write("site/group-9.html", "mine, too");
    let output = place.run(&["gallery", "results/0.json", "--out", "site", "--quiet"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let after: Vec<String> = files(&place.file("site")).into_keys().collect();
    assert_eq!(after, ["fleet.html", "group-1.html", "group-9.html", "index.html", "notes.txt"]);
    assert!(!place.file("site/documents").exists());
}

#[test]
fn other_files_are_never_replaced() {
    let place = Place::new();
    hosts(&place, ["alpha", "beta", "gamma"]);
    fs::create_dir(place.file("site")).unwrap();
    place.write("site/index.html", "<!doctype html><title>mine</title>");
    let output = place.run(&["gallery", "results", "--out", "site"]);
    assert_refused(&output, &["site has other files, such as index.html", "a new or empty directory"]);
    assert_eq!(files(&place.file("site")).len(), 1);
    let output = place.run(&["gallery", "results", "--out", "results"]);
    assert_refused(&output, &["results has other files"]);
    assert_eq!(files(&place.file("results")).len(), 3);
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let place = Place::new();
    fs::create_dir(place.file("empty")).unwrap();
    place.write("file", "text");
    place.write("broken.json", "{");
    for (arguments, parts) in [
        (&["gallery"][..], &["--out"][..]),
        (&["gallery", "empty"], &["--out"]),
        (&["gallery", "empty", "--out", "site"], &["there is no document", "ipcost run --json FILE"]),
        (&["gallery", "broken.json", "--out", "site"], &["no document counts: broken.json: "]),
        (&["gallery", "nowhere", "--out", "site"], &["nowhere"]),
        (&["gallery", "empty", "--out", "file"], &["file is not a directory", "--out"]),
        (&["gallery", "empty", "--out", "-"], &["a gallery is a directory"]),
    ] {
        assert_refused(&place.run(arguments), parts);
    }
    assert!(!place.file("site").exists());
}

#[test]
fn a_redacted_gallery_names_no_host_anywhere() {
    let place = Place::new();
    let names = ["quiet-falcon", "loud-heron", "grey-stork"];
    let document = hosts(&place, names);
    more(&place, names[0]);
    for name in names {
        fs::copy(place.file("results/0.json"), place.file(&format!("results/{name}.json"))).unwrap();
    }
    place.write("results/grey-stork-broken.json", "{");
    made(&place, &["--redact", "--documents"]);
    let own = document["host"]["name"].as_str().unwrap_or_default().to_owned();
    let own = Some(own.as_str()).filter(|name| name.len() > 3);
    for (file, page) in files(&place.file("site")) {
        for name in names.into_iter().chain(own).chain([argument(place.files.path())]) {
            assert!(!page.contains(name) && !file.contains(name), "{name} is in {file}");
        }
    }
}
