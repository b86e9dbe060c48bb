//! Think time and offered rates, over real processes.

use serde_json::Value;

use crate::common::{Place, argument, assert_refused, missing, text};

/// The cells of a document whose ids hold all of these texts.
fn cells<'a>(document: &'a Value, holding: &[&str]) -> Vec<&'a Value> {
    let all = document["cells"].as_array().unwrap().iter();
    let is_wanted = |cell: &&Value| holding.iter().all(|part| cell["id"].as_str().unwrap().contains(part));
    all.filter(is_wanted).collect()
}

#[test]
fn a_pause_is_no_part_of_an_operation() {
    const PAUSE_NS: f64 = 3e6;
    let place = Place::new();
    let args = [
        ["run", "--transports", "unix,tcp", "--patterns", "rr,connect,stream", "--sizes", "64"].as_slice(),
        &["--placement", "free", "--option", "think=0,3ms", "--epochs", "2"],
    ]
    .concat();
    let document = place.document(&args);
    // Streams over TCP have rows of their own.
    assert!(document["cells"].as_array().unwrap().len() >= 12, "{document:#}");
    for cell in cells(&document, &["think=3000000"]) {
        assert_eq!(cell["pace"]["open"], false, "{cell:#}");
        assert!(cell["pace"]["late_ns"]["count"].as_u64().unwrap() >= 8, "{cell:#}");
        assert!(cell["latency_ns"]["count"].as_u64().unwrap() >= 8, "{cell:#}");
        assert!(cell["ops_per_s"].as_f64().unwrap() <= 1e9 / PAUSE_NS, "{cell:#}");
        assert_eq!(cell["pace"]["send_ns"].is_object(), cell["pattern"] == "stream", "{cell:#}");
    }
    let mut seen = 0;
    for sample in document["samples"].as_array().unwrap() {
        let cell = &document["cells"][sample["cell"].as_u64().unwrap() as usize];
        let [ops, elapsed] = ["ops", "elapsed_ns"].map(|key| sample[key].as_f64().unwrap());
        if cell["id"].as_str().unwrap().contains("think=3000000") {
            assert!(elapsed >= ops * PAUSE_NS, "{sample}");
            seen += 1;
        }
        assert!(cell["pattern"] == "stream" || sample["wall_ns"].as_f64().unwrap() <= elapsed, "{sample}");
    }
    assert!(seen >= 12, "{seen}");
    // A table for each pace: another pause is no other way to do the same.
    let paces: Vec<&Value> = document["workloads"].as_array().unwrap().iter().map(|it| &it["pace"]).collect();
    assert_eq!(paces.len(), 6, "{paces:?}");
    assert!(paces.iter().any(|pace| pace["think"] == 3_000_000), "{paces:?}");
    let over_pace = document["over_pace"].as_array().unwrap();
    let paced = cells(&document, &["think=3000000"]).len();
    assert_eq!(over_pace.len(), paced, "{over_pace:?}");
    let is_to_none = |found: &Value| found["b"].as_str().unwrap().contains("think=0");
    assert!(over_pace.iter().all(is_to_none), "{over_pace:?}");
    let contrast = &document["contrasts"][0];
    assert_eq!(contrast["latency"][0]["percentile"], "p50", "{contrast:#}");
}

#[test]
fn what_a_pause_costs_is_told_once_for_each_transport() {
    let place = Place::new();
    let file = place.write(
        "job.toml",
        "[[cells]]\ntransport = [\"unix\", \"tcp\"]\nsize = 64\nplacement = \"free\"\noptions = { think = [0, \"1ms\"] }\n\
         [[cells]]\ntransport = [\"unix\", \"tcp\"]\nsize = 64\nplacement = \"free\"\noptions = { think = 0, pollute = \"4KiB\" }\n",
    );
    let document = place.document(&["run", argument(&file), "--epochs", "2"]);
    let of = |part: &Value| [&part["cell"], &part["cause"]].map(|it| it.as_str().unwrap().to_owned());
    let parts: Vec<[String; 2]> = document["pause_parts"].as_array().unwrap().iter().map(of).collect();
    assert!(parts.iter().all(|[cell, _]| cell.ends_with("think=1000000")), "{parts:?}");
    for transport in ["unix", "tcp"] {
        let own = parts.iter().filter(|[cell, _]| cell.contains(&format!("/{transport}/")));
        let causes: Vec<&str> = own.map(|[_, cause]| cause.as_str()).collect();
        assert_eq!(causes, ["whole", "caches"], "{parts:?}");
    }
}

#[test]
fn a_sweep_over_pauses_is_a_table_a_sentence_and_a_picture() {
    let place = Place::new();
    let picture = place.file("pace.svg");
    let args = ["sweep", "pace", "--think", "0,2ms", "--placement", "free", "--epochs", "2", "--no-save"];
    let output = place.run(&[args.as_slice(), &["--svg", argument(&picture)]].concat());
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(shown.contains("64 B round trip: cost over pace") && shown.contains("2 ms"), "{shown}");
    assert!(shown.contains("With a pause of 2 ms, a 64 B round trip over unix costs"), "{shown}");
    let drawn = std::fs::read_to_string(picture).unwrap();
    assert!(drawn.contains("pause before each operation") && drawn.contains("none"), "{drawn}");
    for (args, says) in
        [(["--think", "5ms"], "give --think at least two"), (["--think", "0,2min"], "is not a time")]
    {
        let output = place.run(&[["sweep", "pace"].as_slice(), &args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    }
}

#[test]
fn an_offered_rate_is_kept_and_what_is_late_counts_as_late() {
    let place = Place::new();
    let args = [
        ["run", "--transports", "unix,tcp", "--patterns", "rr,stream", "--sizes", "64", "--placement"]
            .as_slice(),
        &["free", "--concurrency", "2", "--option", "rate=400", "--epochs", "2"],
    ]
    .concat();
    let document = place.document(&args);
    for cell in cells(&document, &["rate=400"]) {
        let pace = &cell["pace"];
        assert_eq!(
            (&pace["open"], &pace["offered_per_s"]),
            (&Value::Bool(true), &Value::from(400.0)),
            "{cell:#}"
        );
        assert!(pace["queued"].is_number() && pace["unsent"].is_number(), "{cell:#}");
        // 128 operations a batch, of which each worker leaves out its first tenth.
        let (timed, late) = (cell["latency_ns"]["count"].as_u64(), pace["late_ns"]["count"].as_u64());
        assert!(timed.unwrap() >= 200 && late > timed, "{cell:#}");
        // Random arrivals of a third of a second may come in half or in twice the time.
        let achieved = pace["achieved_per_s"].as_f64().unwrap();
        assert!(achieved < 1_000.0, "{cell:#}");
    }
}

#[test]
fn a_slow_reader_shows_in_the_sends_of_its_stream() {
    let place = Place::new();
    let at = |work: &'static str, rate: &'static str| {
        let stream =
            ["run", "--transports", "unix", "--patterns", "stream", "--sizes", "4096", "--placement", "free"];
        let slow = ["--option", work, "--option", "so_sndbuf=4096", "--epochs", "1", "--option", rate];
        [stream.as_slice(), &slow].concat()
    };
    // The server takes 1 ms a message, twice as long as there is: the sender must wait for it.
    let output = place.run(&at("server_work=1ms", "rate=2000"));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("beyond what 1 connection carries here") && told.contains("give a rate of at most"),
        "{told}"
    );
    // Six times as long as it takes, for a machine whose processors have much else to do.
    let document = place.document(&at("server_work=5ms", "rate=33"));
    let cell = &document["cells"][0];
    assert!(cell["pace"]["send_ns"]["max"].as_u64() > Some(0), "{cell:#}");
    // Some arrive while the reader still works on the one before.
    assert!(cell["latency_ns"]["p99"].as_u64() > cell["latency_ns"]["p50"].as_u64(), "{cell:#}");
}

#[test]
fn a_row_that_does_not_carry_its_rate_is_named() {
    let place = Place::new();
    // One of two rows takes 5 ms where there is 1 ms: the other shows that the rate is none too high for the table.
    let args = [
        ["run", "--transports", "unix", "--patterns", "rr", "--sizes", "64", "--placement", "free"]
            .as_slice(),
        &["--option", "server_work=default,5ms", "--option", "rate=1000", "--epochs", "1"],
    ]
    .concat();
    let document = place.document(&args);
    let warnings = document["warnings"].as_array().unwrap().iter();
    let overloaded: Vec<&str> = warnings
        .filter(|warning| warning["code"] == "overloaded")
        .map(|warning| warning["message"].as_str().unwrap())
        .collect();
    let slow = "rr/unix/64/c1/rate=1000,server_work=5000000";
    assert!(overloaded.iter().any(|message| message.starts_with(slow)), "{overloaded:?}");
    let [slow] = cells(&document, &["server_work=5000000"])[..] else { panic!("{document:#}") };
    assert!(slow["pace"]["unsent"].as_f64() > Some(0.5), "{slow:#}");
}

#[test]
fn peers_in_other_languages_keep_the_same_pace() {
    let place = Place::new();
    for peer in ["c", "go", "python"] {
        let both = format!("native,{peer}");
        let args = [
            ["run", "--transports", "unix", "--patterns", "rr,connect,stream", "--sizes", "64"].as_slice(),
            &["--placement", "free", "--option", "rate=500", "--epochs", "1", "--batch", "50ms"],
            &["--client", &both, "--server", &both],
        ]
        .concat();
        let document = place.document(&args);
        if let Some(lacking) = cells(&document, &[]).into_iter().find(|cell| cell["available"] == false) {
            missing(&format!("peer-{peer}"), lacking["reason"].as_str().unwrap());
            continue;
        }
        assert_eq!(document["cells"].as_array().unwrap().len(), 12, "{peer}");
        for cell in cells(&document, &["rate=500"]) {
            assert_eq!(cell["available"], true, "{cell:#}");
            assert!(cell["latency_ns"]["count"].as_u64().unwrap() >= 20, "{cell:#}");
            assert!(cell["pace"]["late_ns"]["count"].as_u64().unwrap() >= 20, "{cell:#}");
        }
    }
}

#[test]
fn what_cannot_be_paced_is_refused_with_what_would_do() {
    let place = Place::new();
    let stream = ["--patterns", "stream", "--sizes", "4"].as_slice();
    for (args, says) in [
        (["--option", "rate=0"].as_slice(), "takes operations a second from 1, such as 5000 or 5k/s"),
        (&["--option", "think=2min"], "takes a time from 0 to 60s"),
        (&["--option", "rate=5", "--option", "think=1ms"], "exclude each other"),
        (&["--option", "pacer=spin"], "acts only together with rate"),
        (&["--option", "rate=5", "--option", "pollute=1KiB"], "acts only together with think"),
        (&["--option", "think=1ms", "--option", "arrivals=posson"], "did you mean \"poisson\""),
        (&["--option", "think=30s", "--budget", "1min"], "give --budget"),
        (&["--option", "rate=900M/s", "--budget", "20s"], "or more connections (--concurrency)"),
        (
            &["--option", "rate=50", "--option", "pacer=spin", "--placement", "together"],
            "keep the server off the one core",
        ),
        (&[&["--option", "think=1ms"], stream].concat(), "give a size of at least 8"),
    ] {
        let output = place.run(&[&["run", "--transports", "unix", "--no-save"], args].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
        assert!(told.contains(says), "{args:?}: {told}");
        assert_eq!(told.trim_end().lines().count(), 1, "{told}");
    }
    let peer = place.write_program(
        "peer",
        "#!/bin/sh\necho '{\"type\":\"hello\",\"protocol\":1,\"peer\":\"x\",\"version\":\"1\",\"runtime\":\"sh\",\"roles\":[\"server\",\"client\"],\"transports\":[\"unix\"],\"patterns\":[\"rr\"]}'\ncat >/dev/null\n",
    );
    let peer = format!("mine={}", argument(&peer));
    let output = place
        .run(&["run", "--transports", "unix", "--option", "think=1ms", "--peer", &peer, "--client", "mine"]);
    assert!(text(&output.stderr).contains("does not keep a pace: its hello does not list the option think"));
    place.assert_clean();
}

/// What is known of the limit depends on the machine; what was measured, and that the answer fits it, does not.
#[test]
fn a_load_is_measured_from_little_to_more_than_is_carried() {
    let place = Place::new();
    let picture = place.file("load.svg");
    let file = place.file("load.json");
    let run = |budget: &str| {
        let of_load = ["load", "--transports", "unix", "--limit", "2ms", "--resolution", "99%"];
        let outputs = ["--budget", budget, "--svg", argument(&picture), "--json", argument(&file)];
        place.run(&[&of_load[..], &outputs].concat())
    };
    let mut output = run("2min");
    if text(&output.stderr).contains("is too short") {
        // A busy machine needs more, and says so before it measures.
        output = run("5min");
    }
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let load = &document["answer"];
    assert_eq!(load["schema"], "ipcost-load/1", "{load:#}");
    let connections: Vec<&Value> =
        load["capacities"].as_array().unwrap().iter().map(|known| &known["concurrency"]).collect();
    assert_eq!(connections, [1, 2, 4], "{load:#}");
    let points = load["points"].as_array().unwrap();
    let share = |point: &Value| point["utilisation"].as_f64().unwrap();
    assert!(points.len() >= 5 && share(&points[0]) < 0.06 && share(points.last().unwrap()) > 0.9, "{load:#}");
    let rates: Vec<u64> = points.iter().map(|point| point["per_s"].as_u64().unwrap()).collect();
    assert!(rates.is_sorted(), "{rates:?}");
    let median = |point: &Value, key: &str| point[key]["median"].as_f64();
    // A busy machine has time for shorter batches, of which more or fewer rates have a 99th percentile; a 90th takes a tenth of that.
    let known = |[lower, higher]: [&str; 2]| -> Vec<(f64, f64)> {
        points.iter().filter_map(|point| median(point, lower).zip(median(point, higher))).collect()
    };
    let [p90, p99] = [known(["p50_ns", "p90_ns"]), known(["p90_ns", "p99_ns"])];
    assert!(p90.len() >= 2, "{load:#}");
    assert!(p90.iter().chain(&p99).all(|(lower, higher)| lower <= higher), "{load:#}");
    let knee = &load["knees"][0];
    for end in ["lo", "hi"] {
        assert!(knee[end].is_null() || rates.contains(&knee[end].as_u64().unwrap()), "{knee:#}");
    }
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.contains("Latency against load") && svg.contains("unix, p99"), "{svg}");
    let page = text(&place.run(&["show", "last"]).stdout);
    assert!(page.contains("Back to back") && page.contains("at p99"), "{page}");
}

#[test]
fn a_load_that_makes_no_sense_is_refused_in_one_line() {
    let place = Place::new();
    for (args, reason) in [
        (&["--limit", "0"][..], "is not a time"),
        (&["--pattern", "stream"], "rr or connect"),
        (&["--budget", "1s"], "give --budget"),
        (&["--transports", "unix,tcp,unix"], "unix twice"),
        (&["--unix", "/nowhere"], "ipcost load app redis"),
        (&["nosuch"], "unknown server"),
        (&["app", "nosuch"], "unknown server"),
        (&["--option", "rate=5"], "rate"),
    ] {
        assert_refused(&place.run(&[&["load"], args].concat()), &[reason]);
    }
}
