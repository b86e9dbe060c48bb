//! A gallery in a real browser, on a desktop and on a phone.

use std::fs;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::common::{Place, text};
use crate::replicate::MINE;

/// A site of as many groups of hosts as are shown at once, and one more.
fn site(place: &Place) {
    let run = [
        "run", "--transports", "pipe,unix,tcp", "--placement", "free", "--patterns", "rr,stream", "--epochs",
        "7", "--quiet",
    ];
    let document = place.document(&run);
    fs::create_dir(place.file("results")).unwrap();
    place.write("mine.toml", MINE);
    assert!(place.run(&["replicate", "mine.toml", "--quiet"]).status.success());
    assert!(place.run(&["report", "last", "--json", "ledger.json"]).status.success());
    let ledger: Value = serde_json::from_slice(&fs::read(place.file("ledger.json")).unwrap()).unwrap();
    for number in 0..9 {
        for (kind, document) in [("run", &document), ("ledger", &ledger)] {
            let mut changed = document.clone();
            changed["host"]["name"] = json!(format!("a-host-with-a-rather-long-name-{number}.example.org"));
            changed["host"]["machine"] = json!(format!("{number:012}"));
            changed["host"]["kernel"] = json!(format!("6.{number}.0-113-generic-and-more"));
            place.write(&format!("results/{kind}-{number}.json"), &changed.to_string());
        }
    }
    let output = place.run(&["gallery", "results", "--out", "site", "--documents"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn no_page_is_wider_than_its_screen_and_the_names_of_rows_stay() {
    let place = Place::new();
    site(&place);
    let mut browser = Browser::start();
    for (width, height) in [(1280, 900), (360, 740)] {
        let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        browser.call("Emulation.setDeviceMetricsOverride", screen);
        for page in ["index.html", "claims.html", "fleet.html", "group-1.html"] {
            browser.open(&place.file("site").join(page));
            browser
                .run("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
            let fits = "[document.documentElement.scrollWidth, innerWidth]";
            let found = browser.run(fits);
            assert!(found[0].as_u64() <= found[1].as_u64(), "{page} at {width}: {found}");
            assert_eq!(found[1], width, "{page}");
            assert_eq!(browser.complaints(), Vec::<String>::new(), "{page}");
            assert_eq!(browser.requests().len(), 1, "{page}: {:?}", browser.requests());
        }
        browser.open(&place.file("site/index.html"));
        let shown = browser.run(
            "(() => {
                const table = document.querySelector('#cheapest table.matrix');
                const box = table.closest('.scroll');
                box.scrollLeft = 1e6;
                const name = table.querySelector('tbody th[scope=row]').getBoundingClientRect();
                const title = table.querySelector('tbody th[scope=rowgroup] span').getBoundingClientRect();
                const edge = box.getBoundingClientRect();
                return {
                    columns: table.querySelectorAll('thead th').length,
                    fields: [...table.querySelectorAll('td')].filter((field) => field.textContent).length,
                    scrolled: box.scrollLeft > 0,
                    stays: Math.abs(name.left - edge.left) < 4 && title.left >= edge.left && title.right <= edge.right + 1,
                };
            })()",
        );
        assert_eq!(shown["columns"], 9, "{shown}");
        assert!(shown["fields"].as_u64() >= Some(2 * 8), "{shown}");
        assert_eq!(shown["scrolled"], width < 500, "{shown}");
        assert_eq!(shown["stays"], true, "{shown}");
    }
}

#[test]
fn links_open_from_disk() {
    let place = Place::new();
    site(&place);
    let mut browser = Browser::start();
    browser.open(&place.file("site/index.html"));
    for (link, title) in
        [("#cheapest thead a", "Linux 6.0.0"), ("tbody a[href^=documents]", "What local IPC costs")]
    {
        let address = browser.run(&format!("document.querySelector('{link}').href"));
        let file = address.as_str().unwrap().strip_prefix("file://").unwrap().to_owned();
        browser.open(file.as_ref());
        let found = browser.run("document.querySelector('h1').textContent");
        assert!(found.as_str().unwrap().starts_with(title), "{found}");
    }
}
