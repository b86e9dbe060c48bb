//! Published figures next to those of a run, as pictures, as data and on the page.

use serde_json::Value;

use crate::common::{Place, answer, assert_refused, assert_schema, text};
use crate::replicate::MINE;

/// A source and a figure for the experiment of the other tests, which needs nothing installed.
const FIGURE: &str = r#"
[source]
author = "A. Author"
title = "Sizes"
site = "a blog"
year = 1998
url = "https://example.org/sizes"
[results]
small = 12.5
large = [900.0, 700.0, 800.0]
[figure]
title = "A round trip by size"
kind = "bars"
unit = "µs"
logarithmic = true
across = "size"
[[figure.panels]]
[[figure.panels.series]]
label = "64 B"
published = ["/small"]
cell = { label = "small" }
[[figure.panels.series]]
label = "1 MiB"
published = ["/large"]
cell = { label = "large" }
"#;

fn mine() -> String {
    MINE.replace("machine = \"this one\"", "machine = \"a machine of 1998\"")
        .replace("software = \"native\"", "software = \"original\"")
        .replacen("[[runs]]\n", &format!("{FIGURE}[[runs]]\n"), 1)
}

#[test]
fn figures_are_drawn_saved_and_on_the_page() {
    let place = Place::new();
    place.write("mine.toml", &mine());
    let output = place.run(&[
        "replicate", "mine.toml", "--quiet", "--json", "ledger.json", "--svg", "mine.svg", "--png",
        "mine.png",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let record = answer(&std::fs::read(place.file("ledger.json")).unwrap());
    assert_schema("replication", &record);
    let figure = &record["figure"];
    assert_eq!(figure["source"], "A. Author, \"Sizes\", a blog, 1998");
    let values: Vec<&Value> =
        figure["panels"][0]["series"].as_array().unwrap().iter().map(|series| &series["values"][0]).collect();
    assert_eq!((values[0]["published"].as_f64(), values[1]["published"].as_f64()), (Some(12.5), Some(800.0)));
    let measured = |index: usize| values[index]["measured"]["median"].as_f64().unwrap();
    assert!(measured(0) > 0.1 && measured(1) > 5.0 * measured(0), "microseconds: {figure}");

    let svg = std::fs::read_to_string(place.file("mine.svg")).unwrap();
    for part in [
        "A round trip by size",
        "A. Author, \"Sizes\", a blog, 1998, https://example.org/sizes",
        "a machine of 1998",
    ] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    assert!(std::fs::read(place.file("mine.png")).unwrap().starts_with(b"\x89PNG"));

    let output = place.run(&["report", "last", "--svg", "again.svg", "--html", "page.html"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(
        std::fs::read_to_string(place.file("again.svg")).unwrap(),
        svg,
        "a saved run has the same picture"
    );
    let page = std::fs::read_to_string(place.file("page.html")).unwrap();
    assert!(
        page.contains("Published and measured") && page.contains("<td class=\"number\">12.5</td>"),
        "{page}"
    );
    assert!(
        page.contains("What was claimed, and what holds")
            && page.contains("id=\"claim-1\"")
            && page.contains("<g class=\"test\""),
        "{page}"
    );
    let output = place.run(&["report", "last", "--svg", "-", "--chart", "claims"]);
    assert!(text(&output.stdout).contains("<g class=\"panel\""), "{}", text(&output.stderr));
    let output = place.run(&["report", "last", "--svg", "-", "--chart", "cost"]);
    assert!(!text(&output.stdout).contains("as published"), "another chart is the document's own");
    place.assert_clean();
}

#[test]
fn mistakes_about_figures_are_one_clear_line() {
    let place = Place::new();
    let mine = mine();
    place.write("mine.toml", &mine);
    place.write("nowhere.toml", &mine.replace("\"/small\"", "\"/smal\""));
    place.write("key.toml", &mine.replace("across =", "acros ="));
    place.write(
        "both.toml",
        &mine.replace("cell = { label = \"small\" }", "cell = { transport = \"socketpair\" }"),
    );
    for (args, parts) in [
        (&["replicate", "--all", "--svg", "x.svg"][..], &["one experiment at a time", "name one"][..]),
        (&["replicate", "mine.toml", "mine.toml", "--png", "x.png"], &["one experiment at a time"]),
        (&["replicate", "mine.toml", "--svg", "-", "--json", "-"], &["only one output"]),
        (&["replicate", "mine.toml", "--as-published", "--svg", "x.svg"], &["--as-published", "--full"]),
        (&["replicate", "nowhere.toml"], &["64 B", "nothing at /smal"]),
        (&["replicate", "key.toml"], &["key.toml:", "acros"]),
        (&["replicate", "both.toml"], &["64 B", "say more"]),
    ] {
        assert_refused(&place.run(args), parts);
    }
    place.assert_clean();
}

#[test]
fn what_is_missing_is_listed_before_the_run_with_one_command() {
    let place = Place::new();
    let mut command =
        place.command(&["replicate", "celluloid-connect", "socat-bulk", "--budget", "1s", "--no-save"]);
    let output =
        command.env("PATH", "/nonexistent").env("XDG_CACHE_HOME", place.files.path()).output().unwrap();
    let told = text(&output.stderr);
    let place_of = |part: &str| told.find(part).unwrap_or_else(|| panic!("{part}: {told}"));
    assert!(place_of("missing for these experiments") < place_of("celluloid-connect: original"), "{told}");
    place_of("ruby is not installed (celluloid-connect)");
    place_of("celluloid-connect: 4 of 4 claims can be decided, by the native peer alone");
    // Without apt-get in the path, this is no Debian.
    place_of("to install, as Debian calls them: ruby-celluloid-io, ruby-parallel, socat");
    place.assert_clean();
}
