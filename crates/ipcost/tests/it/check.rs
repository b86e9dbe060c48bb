//! `ipcost check` as a user and a CI run it, with claims about planted times.

use std::process::Output;

use crate::common::{Place, assert_refused, scripted, text};
use serde_json::Value;

const CELLS: &str = "budget = \"10min\"\n[[cells]]\npattern = \"connect\"\ntransport = [\"unix\", \"tcp\"]\n";

/// The same of a peer over whose Unix sockets everything takes half as long; `times` as long over both.
fn cells(times: u32) -> String {
    let costs = [format!("connect/unix={}", 10_000 * times), format!("connect/tcp={}", 20_000 * times)];
    let peer = scripted::table("peers", "scripted", &costs.each_ref().map(String::as_str));
    let cells = CELLS.replace(
        "[[cells]]\n",
        "[[cells]]\nclient = \"scripted\"\nserver = \"scripted\"\nplacement = \"free\"\n",
    );
    cells.replacen("[[cells]]", &format!("batch = \"5ms\"\nseed = 11\n{peer}[[cells]]"), 1)
}
const HOLDS: &str =
    "[[claims]]\ntext = \"cheap, \\\"50 ×\\\" & less\"\ncell = \"unix\"\nagainst = \"tcp\"\nat_most = 50\n";
const LATENCY: &str = "[[claims]]\ncell = \"tcp\"\nmetric = \"p50\"\nat_most = \"10s\"\n";
const DOES_NOT: &str = "[[claims]]\ntext = \"dear\"\ncell = \"unix\"\nagainst = \"tcp\"\nat_least = 50\n";
const GONE: &str = "[[claims]]\ntext = \"gone\"\ncell = \"gone\"\nat_most = \"1s\"\n";

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn claims_that_hold_are_confirmed_and_the_run_ends_early() {
    let place = Place::new();
    place.write("claims.toml", &format!("{}{HOLDS}{LATENCY}", cells(1)));
    let output = place.run(&["check", "claims.toml", "--json", "check.json"]);
    assert_eq!(status(&output), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let document: Value = serde_json::from_slice(&std::fs::read(place.file("check.json")).unwrap()).unwrap();
    assert_eq!(document["stopped"], "resolved");
    let check = &document["answer"];
    assert_eq!((&check["schema"], &check["word"]), (&"ipcost-check/1".into(), &"holds".into()));
    let test = &check["claims"][0]["tests"][0];
    assert_eq!(
        (&test["cell"], &test["against"]),
        (&"connect/unix/64/c1/scripted→scripted".into(), &"connect/tcp/64/c1/scripted→scripted".into())
    );
    let (lo, value, hi) = (test["lo"].as_f64(), test["value"].as_f64(), test["hi"].as_f64());
    assert!(lo <= value && value <= hi && lo > Some(0.48) && hi < Some(0.52), "{test}");
    let shown = text(&output.stdout);
    assert!(shown.contains("2 claims hold") && shown.contains("at most 50"), "{shown}");
    assert!(shown.contains("p50 of connect/tcp/64/c1/scripted→scripted: at most 10s"), "{shown}");
    // It is among the saved runs, with its answer.
    assert!(text(&place.run(&["list"]).stdout).contains("check, connect"));
    let again = place.run(&["show", "last", "--quiet"]);
    assert_eq!(text(&again.stdout), shown, "{}", text(&again.stderr));
    place.assert_clean();
}

/// Two transports at two rates, of which batches have a 90th percentile; claims about a percentile of them with these bounds.
fn at_rates([low, high]: [u32; 2], metric: &str, most: &str, ratio: f64) -> String {
    format!(
        r#"budget = "2min"
batch = "150ms"
seed = 11
[[cells]]
transport = ["unix", "tcp"]
placement = "free"
options = {{ rate = [{low}, {high}] }}
[[claims]]
cell = {{ transport = "unix", options = {{ rate = {high} }} }}
metric = "{metric}"
at_most = "{most}"
[[claims]]
cell = {{ transport = "unix", options = {{ rate = {low} }} }}
against = {{ transport = "tcp", options = {{ rate = {low} }} }}
metric = "{metric}"
at_most = {ratio}
"#
    )
}

#[test]
fn percentiles_at_an_offered_rate_are_claimed() {
    let place = Place::new();
    place.write("claims.toml", &at_rates([5_000, 20_000], "p99", "200us", 0.8));
    let output = place.run(&["check", "claims.toml", "--list"]);
    let listed = text(&output.stdout);
    assert!(listed.contains("p99 of rr/unix/64/c1 at 20k/s: at most 200us"), "{listed}");
    let against = "p99 of rr/unix/64/c1 at 5000/s: at most 0.8 × rr/tcp/64/c1 at 5000/s";
    assert!(listed.contains(against), "{listed}");

    // Rates and bounds that any machine keeps.
    place.write("claims.toml", &at_rates([1_000, 2_000], "p90", "10s", 1e6));
    let output = place.run(&["check", "claims.toml", "--json", "check.json"]);
    assert_eq!(status(&output), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let document: Value = serde_json::from_slice(&std::fs::read(place.file("check.json")).unwrap()).unwrap();
    let [alone, against] = [0, 1].map(|claim| &document["answer"]["claims"][claim]["tests"][0]);
    assert_eq!((&alone["cell"], &alone["metric"]), (&"rr/unix/64/c1/rate=2000".into(), &"p90".into()));
    assert_eq!(against["against"], "rr/tcp/64/c1/rate=1000");
    for cell in document["cells"].as_array().unwrap() {
        let epochs = cell["latency_by_epoch"].as_array().unwrap();
        assert_eq!(epochs.len() as u64, cell["epochs"].as_u64().unwrap(), "{cell:#}");
        assert!(epochs.iter().all(|epoch| epoch["count"].as_u64() >= Some(100)), "{cell:#}");
    }
    // The document decides the same claims as a fleet of one.
    std::fs::create_dir(place.file("fleet")).unwrap();
    std::fs::copy(place.file("check.json"), place.file("fleet/one.json")).unwrap();
    let output = place.run(&["check", "claims.toml", "--fleet", "fleet"]);
    assert_eq!(status(&output), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    place.assert_clean();
}

#[test]
fn a_claim_that_does_not_hold_fails_and_says_where_and_what_to_do() {
    let place = Place::new();
    place.write("claims.toml", &format!("{}{HOLDS}{DOES_NOT}", cells(1)));
    let output = place
        .command(&["check", "claims.toml", "--junit", "junit.xml", "--quiet"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_WORKSPACE", place.files.path().parent().unwrap())
        .env("GITHUB_STEP_SUMMARY", place.file("summary.md"))
        .output()
        .unwrap();
    assert_eq!(status(&output), Some(1), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(
        shown.contains(
            "fails: cost of connect/unix/64/c1/scripted→scripted over connect/tcp/64/c1/scripted→scripted is"
        ),
        "{shown}"
    );
    for part in ["fails (claims.toml:17): ", "the tightest bound that holds is at least"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    let directory = place.files.path().file_name().unwrap().to_str().unwrap();
    let annotations: Vec<&str> = shown.lines().filter(|line| line.starts_with("::")).collect();
    let expected = format!("::error file={directory}/claims.toml,line=17,title=claim fails::dear%0Afails: ");
    assert!(annotations.len() == 1 && annotations[0].starts_with(&expected), "{annotations:?}");
    let summary = std::fs::read_to_string(place.file("summary.md")).unwrap();
    assert!(summary.contains("\n**2 claims: 1 holds, 1 fails**\n"), "{summary}");
    assert!(summary.contains("- dear: fails (claims.toml:17): "), "{summary}");

    let junit = std::fs::read_to_string(place.file("junit.xml")).unwrap();
    assert!(
        junit.contains("<testsuite name=\"claims.toml\" tests=\"2\" failures=\"1\" errors=\"0\""),
        "{junit}"
    );
    assert!(junit.contains("<testcase name=\"cheap, &quot;50 ×&quot; &amp; less\""), "{junit}");
    assert!(junit.contains("<failure type=\"fails\""), "{junit}");
    place.assert_clean();
}

#[test]
fn what_cannot_be_decided_is_undecided() {
    let place = Place::new();
    // A built-in peer whose program is not to be found makes its cells unavailable.
    let gone = "[[cells]]\nlabel = \"gone\"\npattern = \"connect\"\ntransport = \"unix-abstract\"\nserver = \"ruby\"\n";
    place.write("claims.toml", &format!("{}{gone}{HOLDS}{GONE}", cells(1)));
    let mut command =
        place.command(&["check", "claims.toml", "--json", "-", "--junit", "junit.xml", "--github"]);
    command.env("PATH", "/nonexistent").env("XDG_CACHE_HOME", place.files.path());
    let output = command.output().unwrap();
    assert_eq!(status(&output), Some(3), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["stopped"], "resolved", "nothing was left to wait for");
    let check = &document["answer"];
    assert_eq!((&check["claims"][0]["word"], &check["claims"][1]["word"]), (&"holds".into(), &"open".into()));
    assert!(check["claims"][1]["tests"][0]["reason"].as_str().unwrap().contains("ruby"), "{check}");
    assert!(text(&output.stderr).contains("::warning file=claims.toml,line="), "{}", text(&output.stderr));
    let junit = std::fs::read_to_string(place.file("junit.xml")).unwrap();
    assert!(junit.contains("<skipped type=\"open\"") && junit.contains("skipped=\"1\""), "{junit}");
    place.assert_clean();
}

#[test]
fn a_baseline_is_recorded_and_compared_with() {
    let place = Place::new();
    // So many that epochs which depend on one another by chance still have an interval.
    let claim = |most: &str| {
        format!(
            "epochs = 24\n{}[[claims]]\nbaseline = \"before.json\"\nslower_by_at_most = \"{most}\"\n",
            cells(1)
        )
    };
    std::fs::create_dir(place.file("bench")).unwrap();
    place.write("bench/claims.toml", &claim("4900%"));
    let output = place.run(&["check", "bench/claims.toml"]);
    assert_refused(&output, &["bench/claims.toml:14:12: ", "cannot read before.json", "--record"]);
    let output = place.run(&["check", "bench/claims.toml", "--record", "bench/before.json"]);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).starts_with("bench/before.json: 24 epochs of 2 cells"),
        "{}",
        text(&output.stdout)
    );
    // Found beside the file of claims, wherever the command is run.
    let output = place.run(&["check", "bench/claims.toml"]);
    assert_eq!(status(&output), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(!text(&output.stderr).contains("another machine"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(" of 2 cells; shown: connect/"), "{}", text(&output.stdout));

    // What runs differ by is assumed with one baseline, which leaves so small a bound open; three tell it.
    place.write("bench/claims.toml", &claim("5%"));
    let output = place.run(&["check", "bench/claims.toml", "--plan"]);
    let said = text(&output.stderr);
    assert!(said.contains("assumed to differ by 5 %") && said.contains("three baselines"), "{said}");
    // Two more, whose times differ a little: 0.2 % and 0.1 %.
    let recorded: Value =
        serde_json::from_slice(&std::fs::read(place.file("bench/before.json")).unwrap()).unwrap();
    for (name, year, factor) in [("second", "2019", 1.002), ("third", "2018", 0.999)] {
        let mut document = recorded.clone();
        for sample in document["samples"].as_array_mut().unwrap() {
            sample["wall_ns"] = ((sample["wall_ns"].as_f64().unwrap() * factor) as u64).into();
        }
        let started = document["started"].as_str().unwrap();
        document["started"] = format!("{year}{}", &started[4..]).into();
        place.write(&format!("bench/{name}.json"), &document.to_string());
    }
    let three = ["check", "bench/claims.toml", "--before", "before.json", "second.json", "third.json"];
    let output = place.run(&three);
    assert_eq!(status(&output), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("from the baselines"), "{}", text(&output.stdout));
    place.write("bench/claims.toml", &claim("5%").replace("=10000", "=15000"));
    assert_eq!(status(&place.run(&three)), Some(1), "half as slow again over one of two");

    let mut document = recorded;
    document["host"]["kernel"] = "1.2.3-elsewhere".into();
    place.write("bench/before.json", &document.to_string());
    let output = place.run(&["check", "bench/claims.toml", "--plan"]);
    assert!(text(&output.stderr).contains("kernel 1.2.3-elsewhere there"), "{}", text(&output.stderr));
    place.assert_clean();
}

#[test]
fn the_example_runs() {
    let place = Place::new();
    let example = place.run(&["check", "--init"]);
    assert_eq!(status(&example), Some(0));
    place.write("claims.toml", &text(&example.stdout));
    let output = place.run(&["check", "claims.toml", "--list"]);
    let listed = text(&output.stdout);
    assert_eq!((status(&output), listed.lines().count()), (Some(0), 3), "{listed}{}", text(&output.stderr));
    assert!(listed.contains("operations a second of rr/tcp/64/c1: at least 1k/s"), "{listed}");
    let output = place.run(&["check", "claims.toml", "--plan", "--seed", "4"]);
    let planned = text(&output.stdout);
    assert!(
        planned.contains("3 tests decide the claims, in epoch ") && planned.contains("seed 4"),
        "{planned}"
    );
    let output = place.run(&["check", "claims.toml", "--quiet", "--budget", "8s", "--json", "check.json"]);
    assert!(text(&output.stdout).contains("3 claims: "), "{}", text(&output.stdout));
    // What it exits with follows from what each claim is found to be.
    let document: Value = serde_json::from_slice(&std::fs::read(place.file("check.json")).unwrap()).unwrap();
    let claims = document["answer"]["claims"].as_array().unwrap();
    let is_any = |word: &str| claims.iter().any(|claim| claim["word"] == word);
    let expected = if is_any("fails") {
        1
    } else if is_any("open") {
        3
    } else {
        0
    };
    assert_eq!((status(&output), claims.len()), (Some(expected), 3), "{claims:#?}{}", text(&output.stderr));
    // With what it says in comments, too.
    let all = text(&example.stdout).replace("# [[claims]]", "[[claims]]").replace("# text", "text");
    let all = all.replace("# baseline", "baseline").replace("# slower", "slower");
    place.write("claims.toml", &all);
    assert_refused(&place.run(&["check", "claims.toml"]), &["cannot read baseline.json"]);
}

#[test]
fn mistakes_are_one_line_with_the_place() {
    let place = Place::new();
    let refused = |claims: &str, args: &[&str], parts: &[&str]| {
        place.write("claims.toml", &format!("{CELLS}{claims}"));
        assert_refused(&place.run(&[&["check", "claims.toml"], args].concat()), parts);
    };
    refused("", &[], &["claims.toml:1:1: the file has no claims", "--init"]);
    refused(
        "[[claims]]\ncell = \"unx\"\nat_most = \"1s\"\n",
        &[],
        &["claims.toml:6:8: unknown cell \"unx\""],
    );
    refused(&HOLDS.replace("at_most", "at_mots"), &[], &["claims.toml:9:1: ", "did you mean \"at_most\""]);
    refused(&LATENCY.replace("10s", "10"), &[], &["claims.toml:8:11: ", "is not a time"]);
    refused(
        HOLDS,
        &["--budget", "100ms"],
        &["claims.toml: the budget cannot decide anything", "give --budget"],
    );
    refused(HOLDS, &["--budget", "soon"], &["\"soon\" is not a duration"]);
    refused(HOLDS, &["--seed", "x"], &["--seed"]);
    refused(HOLDS, &["--list", "--plan"], &["cannot be used with"]);
    refused(HOLDS, &["--init"], &["cannot be used with"]);
    refused(HOLDS, &["--baseline", "a.json"], &["no claim compares with a baseline"]);
    refused(HOLDS, &["--record", "x.json", "--json", "y.json"], &["cannot be used with"]);
    refused(
        "[[cells]]\ntransport = \"tpc\"\n[[claims]]\ncell = \"unix\"\nat_most = \"1s\"\n",
        &[],
        &["claims.toml: unknown transport \"tpc\""],
    );
    place.write("none.json", "{}");
    let foreign = "[[claims]]\nbaseline = \"none.json\"\nslower_by_at_most = \"5%\"\n";
    refused(foreign, &[], &["claims.toml:6:12: ", "none.json", "not an ipcost document"]);
    assert_refused(&place.run(&["check"]), &["CLAIMS.toml"]);
    assert_refused(&place.run(&["check", "gone.toml"]), &["cannot read gone.toml"]);
    assert_refused(&place.run(&["check", "."]), &["cannot read ."]);
    place.assert_clean();
}
