//! Pictures of a run, as a user asks for them.

use serde_json::{Value, json};

use crate::common::{Place, assert_refused, text};

const RUN: [&str; 11] = [
    "run", "--transports", "pipe,unix", "--patterns", "stream", "--sizes", "64,4096", "--epochs", "1",
    "--placement", "free",
];
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

#[test]
fn every_chart_of_a_run_as_svg_and_png() {
    let place = Place::new();
    place.document(&RUN);
    for chart in ["cost", "size", "forest", "throughput", "cheapest"] {
        let output =
            place.run(&["report", "document.json", "--chart", chart, "--svg", "a.svg", "--png", "a.png"]);
        assert!(output.status.success(), "{chart}: {}", text(&output.stderr));
        assert_eq!((text(&output.stdout), text(&output.stderr)), (String::new(), String::new()));
        let svg = std::fs::read_to_string(place.file("a.svg")).unwrap();
        // After one epoch it is open which of the two is cheaper.
        let either = ["\npipe or unix\n", "\nunix or pipe\n"].iter().any(|names| svg.contains(names));
        let each = svg.contains("\npipe\n") && svg.contains("\nunix\n") && svg.contains("no interval yet");
        assert!(svg.starts_with("<svg") && if chart == "cheapest" { either } else { each }, "{chart}: {svg}");
        assert!(std::fs::read(place.file("a.png")).unwrap().starts_with(PNG), "{chart}");
    }
    let output = place.run(&["report", "document.json", "--svg", "-"]);
    assert!(text(&output.stdout).starts_with("<svg") && text(&output.stdout).ends_with("</svg>\n"));
    assert!(text(&output.stdout).contains("#ffffff"));
    let output = place.run(&["report", "document.json", "--png", "-", "--background", "transparent"]);
    assert!(output.stdout.starts_with(PNG));
}

/// The answer of `ipcost app` where its least request has a verdict.
fn of_app(document: &Value) -> Value {
    let request =
        |request: &str, least: bool| json!({"request": request, "sent": 6, "replied": 7, "least": least});
    json!({
        "schema": "ipcost-app/1", "tool": document["tool"], "host": document["host"], "started": document["started"],
        "server": "redis", "title": "Redis", "version": "7.0.15", "private": null, "unix": null, "tcp": null, "same_work": [],
        "requests": [request("PING", true)], "margin": 0.05, "savings": [],
        "curves": [{
            "placement": "free", "saved_ns": 20_000.0, "least_ns": 50_000.0, "points": [[0.0, 0.4]], "until_ns": 350_000.0
        }]
    })
}

#[test]
fn a_saved_app_is_drawn_as_what_a_unix_socket_saves_unless_asked_otherwise() {
    let place = Place::new();
    let mut document = place.document(&RUN);
    let draw = |args: &[&str]| place.run(&[&["report", "app.json", "--svg", "-"], args].concat());
    document["answer"] = of_app(&document);
    place.write("app.json", &document.to_string());
    for args in [&[][..], &["--chart", "saving"]] {
        let svg = text(&draw(args).stdout).to_owned();
        assert!(
            svg.contains("Redis 7.0.15: the share of a request") && svg.contains("from 350 µs on"),
            "{svg}"
        );
    }
    let cost = text(&draw(&["--chart", "cost"]).stdout).to_owned();
    assert!(cost.contains("\npipe\n") && !cost.contains("Redis"), "that of any document: {cost}");
    let page = text(&place.run(&["report", "app.json", "--html", "-"]).stdout).to_owned();
    for part in ["Redis 7.0.15: your server, as it runs</h1>", "before the socket stops mattering?</h2>"] {
        assert_eq!(page.matches(part).count(), 1, "{part}");
    }

    // Where all is open, its cells are still drawn.
    document["answer"]["curves"] = json!([]);
    place.write("app.json", &document.to_string());
    assert!(text(&draw(&[]).stdout).starts_with("<svg"));
    assert_refused(&draw(&["--chart", "saving"]), &["app.json", "ipcost app NAME", "--budget"]);
}

#[test]
fn a_run_writes_every_output_itself() {
    let place = Place::new();
    let outputs = [
        ("--svg", "a.svg"),
        ("--png", "a.png"),
        ("--csv", "a.csv"),
        ("--markdown", "a.md"),
        ("--benchfmt", "a.txt"),
        ("--html", "a.html"),
    ];
    let flags: Vec<&str> = outputs.iter().flat_map(|(flag, file)| [*flag, *file]).collect();
    // Without the word run, too.
    place.document(&[&RUN[1..], &flags[..], &["--chart", "size", "--background", "transparent"]].concat());
    for (flag, file) in outputs {
        let written = std::fs::read(place.file(file)).unwrap();
        let args = ["report", "document.json", flag, "-", "--chart", "size", "--background", "transparent"];
        let of_picture = matches!(flag, "--svg" | "--png");
        let output = place.run(if of_picture { &args[..] } else { &args[..4] });
        assert!(output.status.success(), "{flag}: {}", text(&output.stderr));
        assert!(!written.is_empty() && written == output.stdout, "{flag}: run and report write the same");
    }
    let csv = place.run(&[&RUN[..], &["--csv", "-", "--samples", "--quiet"]].concat());
    assert!(text(&csv.stdout).lines().count() > 4, "{}", text(&csv.stdout));
    assert!(!text(&csv.stdout).contains("Cheapest"), "standard output holds the table alone");

    for (args, says) in [
        (&["--chart", "forest"][..], "--svg FILE"),
        (&["--csv", "-", "--svg", "-"], "only one output"),
        (&["--plan", "--markdown", "a.md"], "--plan"),
    ] {
        assert_refused(&place.run(&[&RUN[..], args].concat()), &[says]);
    }
}

#[test]
fn what_was_measured_is_written_though_a_picture_cannot_be_drawn() {
    let place = Place::new();
    let args = ["--transports", "pipe", "--patterns", "rr", "--sizes", "64", "--epochs", "1", "--no-save"];
    let more = ["--svg", "a.svg", "--chart", "throughput", "--csv", "a.csv", "--json", "a.json"];
    let output = place.run(&[&args[..], &more].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--patterns stream"), "{}", text(&output.stderr));
    assert!(place.file("a.csv").exists() && place.file("a.json").exists() && !place.file("a.svg").exists());
}

#[test]
fn what_cannot_be_drawn_is_refused_and_nothing_is_written() {
    let place = Place::new();
    let mut run = RUN;
    run[4..7].copy_from_slice(&["rr", "--sizes", "64"]);
    place.document(&run);
    for (args, says) in [
        (&["--svg", "a.svg", "--chart", "pie"][..], &["unknown chart", "throughput"][..]),
        (&["--svg", "a.svg", "--background", "black"], &["unknown background", "transparent"]),
        (&["--chart", "forest"], &["--svg FILE"]),
        (&["--svg", "-", "--png", "-"], &["only one output"]),
        (&["--svg", "a.svg", "--chart", "size"], &["document.json", "--sizes"]),
        (&["--png", "a.png", "--chart", "throughput"], &["document.json", "--patterns stream"]),
    ] {
        assert_refused(&place.run(&[&["report", "document.json"][..], args].concat()), says);
    }
    assert!(!place.file("a.svg").exists() && !place.file("a.png").exists());
    let output = place.run(&["report", "document.json", "--svg", "no/such/directory.svg"]);
    assert_refused(&output, &["cannot write no/such/directory.svg"]);
}
