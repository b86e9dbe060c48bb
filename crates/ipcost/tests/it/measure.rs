//! Real measurements over every transport: what is in the document, and that it adds up.

use std::collections::BTreeSet;
use std::process::Stdio;

use crate::common::{Place, argument, in_own_network, missing, scripted, text};
use serde_json::Value;

fn strings<'a>(values: &'a Value, key: &str) -> Vec<&'a str> {
    values.as_array().unwrap().iter().map(|value| value[key].as_str().unwrap()).collect()
}

#[test]
fn every_transport_does_every_pattern_it_can() {
    let place = Place::new();
    let all = "pipe,fifo,unix,unix-abstract,socketpair,tcp,tcp6,null";
    for (patterns, transports) in [("rr,stream", all), ("connect", "unix,unix-abstract,tcp,tcp6")] {
        let document = place.document(&[
            "run", "--transports", transports, "--placement", "free", "--patterns", patterns, "--sizes",
            "1,5000", "--epochs", "2", "--quiet",
        ]);
        for cell in document["cells"].as_array().unwrap() {
            let id = &cell["id"];
            if !cell["available"].as_bool().unwrap() {
                assert_eq!(cell["transport"], "tcp6", "only IPv6 may be missing: {id}");
                assert!(cell["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
                continue;
            }
            assert_eq!((&cell["epochs"], cell["batches"].as_u64()), (&2.into(), Some(2)), "{id}");
            assert!(cell["wall_ns_per_op"]["median"].as_f64().unwrap() > 0.0, "{id}");
            assert!(cell["ops"].as_u64().unwrap() > 0, "{id}");
            let latency = cell["pattern"] != "stream";
            assert_eq!(cell["latency_ns"].is_object(), latency, "{id}");
        }
    }
    place.assert_clean();
}

#[test]
fn a_matrix_without_a_placement_is_measured_on_one_core_and_on_two() {
    let place = Place::new();
    let args = ["run", "--transports", "null,pipe", "--patterns", "rr", "--epochs", "1", "--quiet"];
    let document = place.document(&args);
    let mut ids = strings(&document["cells"], "id");
    ids.sort_unstable();
    let expected =
        ["rr/null/64/c1/apart", "rr/null/64/c1/together", "rr/pipe/64/c1/apart", "rr/pipe/64/c1/together"];
    assert_eq!(ids, expected);
    let has_two = document["host"]["physical_cores"].as_u64() > Some(1);
    for cell in document["cells"].as_array().unwrap() {
        assert_eq!(cell["available"], cell["placement"] == "together" || has_two, "{cell}");
    }
    place.assert_clean();
}

#[test]
fn a_document_adds_up() {
    let place = Place::new();
    let document = place.document(&[
        "run", "--transports", "unix,tcp", "--placement", "free", "--patterns", "rr,stream,connect",
        "--epochs", "3", "--seed", "42", "--baseline", "tcp", "--quiet",
    ]);
    assert_eq!(document["schema"], "ipcost/1");
    assert_eq!(document["seed"], 42);
    assert_eq!(document["job"]["seed"], 42);
    assert_eq!(document["stopped"], "budget");
    let cells = document["cells"].as_array().unwrap();
    let ids = strings(&document["cells"], "id");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "ids are unique");
    assert!(ids.contains(&"rr/unix/64/c1"));
    let rounds = document["schedule"]["rounds"].as_u64().unwrap();
    let samples = document["samples"].as_array().unwrap();
    // Streams over TCP are measured with Nagle's algorithm and without.
    let labels = strings(&document["cells"], "label");
    let usual = ["unix", "tcp", "unix", "tcp", "unix", "tcp", "tcp nodelay"];
    // Where the machine uses another congestion control than cubic, under that, too.
    let own = document["host"]["tcp_congestion_control"].as_str();
    let expected = match own {
        Some("cubic") => usual.to_vec(),
        // One that paces is measured in long transfers, too.
        Some("bbr") => [&usual[..], &["tcp cubic", "tcp steady"]].concat(),
        _ => [&usual[..], &["tcp cubic"]].concat(),
    };
    assert!(labels == expected || labels == usual, "{labels:?}");
    assert!(cells.iter().all(|cell| (cell["transport"] == "tcp") == cell["congestion"].is_string()));
    assert_eq!(samples.len(), labels.len() * 3 * rounds as usize);
    for (index, cell) in cells.iter().enumerate() {
        let own: Vec<&Value> = samples.iter().filter(|sample| sample["cell"] == index).collect();
        let ops: u64 = own.iter().map(|sample| sample["ops"].as_u64().unwrap()).sum();
        assert_eq!(cell["ops"].as_u64().unwrap(), ops);
        let streams = cell["pattern"] == "stream";
        assert!(own.iter().all(|sample| sample["sent_ns"].is_u64() == streams));
        assert_eq!(cell["sent_ns_per_op"].is_object(), streams);
        assert_eq!(cell.get("closes_first").is_some(), cell["pattern"] == "connect");
        // Both processes worked, and what a cell costs lies among what its batches took.
        let per_op = |sample: &Value, keys: &[&str]| {
            let sum: u64 = keys.iter().map(|key| sample.pointer(key).unwrap().as_u64().unwrap()).sum();
            sum as f64 / sample["ops"].as_u64().unwrap() as f64
        };
        for side in ["client", "server"] {
            let keys = ["user_ns", "sys_ns"].map(|key| format!("/{side}/{key}"));
            let keys = keys.each_ref().map(String::as_str);
            assert!(own.iter().any(|sample| per_op(sample, &keys) > 0.0), "{}: {side}", cell["id"]);
        }
        let both = ["/client/user_ns", "/client/sys_ns", "/server/user_ns", "/server/sys_ns"];
        for (cost, keys) in [("wall_ns_per_op", &["/wall_ns"][..]), ("cpu_ns_per_op", &both)] {
            let median = cell[cost]["median"].as_f64().unwrap();
            let costs = || own.iter().map(|sample| per_op(sample, keys));
            let (least, most) = (costs().fold(f64::MAX, f64::min), costs().fold(0.0, f64::max));
            let among = least * (1.0 - 1e-9)..=most * (1.0 + 1e-9);
            assert!(among.contains(&median), "{}: {median} of {cost} is not in {among:?}", cell["id"]);
        }
    }
    for contrast in document["contrasts"].as_array().unwrap() {
        assert!(contrast["b"].as_str().unwrap().contains("/tcp/"));
        assert!(contrast["lo"].is_null(), "three epochs are too few");
        assert_eq!(contrast["verdict"], "undecided");
    }
    let timing = &document["schedule"]["timing"];
    let parts: f64 = timing.as_object().unwrap().values().map(|part| part.as_f64().unwrap()).sum();
    // Nothing else takes time, but for moments without the processor in between.
    assert!((0.5..1.5).contains(&(parts / document["elapsed_s"].as_f64().unwrap())), "{timing}");
}

#[test]
fn an_answer_is_given_in_tables_sentences_and_one_line_of_how() {
    let place = Place::new();
    let output = place.run(&[
        "run", "--transports", "null,tcp", "--placement", "free", "--patterns", "rr", "--budget", "10min",
        "--margin", "0",
    ]);
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // The answer comes first.
    assert!(shown.starts_with("Cheapest\n") && shown.contains("\n\n64 B round trip\ntransport "), "{shown}");
    let footer = shown.replace('\n', " ");
    // Handing nothing to no one costs less than a hundredth of TCP on every machine; the run ends once it is known.
    assert!(shown.contains("\n64 B round trip  any core  null 0.00"), "{shown}");
    assert!(shown.contains(" × tcp ("), "{shown}");
    assert!(footer.contains("every question answered") && footer.contains("TCP under "), "{shown}");
    assert!(!shown.contains('\u{1b}'), "no colour where it is not wanted: {shown}");
    place.assert_clean();
}

#[test]
fn concurrency_by_threads_and_by_processes_does_every_operation() {
    let place = Place::new();
    for workers in ["threads", "processes"] {
        let option = format!("workers={workers}");
        let document = place.document(&[
            "run", "--transports", "pipe,fifo,unix,tcp", "--placement", "free", "--patterns", "rr,stream",
            "--concurrency", "1,7", "--epochs", "1", "--option", &option, "--quiet",
        ]);
        for sample in document["samples"].as_array().unwrap() {
            let cell = &document["cells"][sample["cell"].as_u64().unwrap() as usize];
            let workers = cell["concurrency"].as_u64().unwrap();
            assert_eq!(sample["ops"].as_u64().unwrap() % workers, 0);
            let used = |kind: &str| sample["client"][kind].as_u64().unwrap();
            assert!(used("user_ns") + used("sys_ns") > 0, "workers' own use is counted");
        }
        place.document(&[
            "run", "--transports", "unix,tcp", "--placement", "free", "--patterns", "connect",
            "--concurrency", "7", "--epochs", "1", "--option", &option, "--quiet",
        ]);
    }
    place.assert_clean();
}

#[test]
fn every_way_of_calling_is_measured_where_the_kernel_has_it() {
    let place = Place::new();
    let command = |ways: &'static str| {
        let patterns = "rr,stream";
        let args = [
            "run", "--transports", "unix,tcp", "--placement", "free", "--patterns", patterns,
            "--concurrency", "2",
        ];
        // Four polling threads of the kernel on few cores: an operation takes 2 µs, or milliseconds once each waits for
        // the others' slices, and a batch may be sized in one state and measured in the other.
        let patient = ["--timeout", "5min"];
        [&args[..], &patient, &["--epochs", "1", "--option", ways, "--quiet", "--no-save"]].concat()
    };
    let rings = "io=uring,uring-sqpoll";
    let refused = place.run(&command(rings));
    let lists = if refused.status.success() {
        vec!["io=blocking,send,spin,poll,epoll", rings]
    } else {
        vec!["io=send,spin,poll,epoll"]
    };
    if !refused.status.success() {
        assert!(text(&refused.stderr).contains("kernel.io_uring_disabled=0"), "{}", text(&refused.stderr));
    }
    for list in lists {
        let document = place.document(&command(list));
        for cell in document["cells"].as_array().unwrap() {
            assert!(cell["wall_ns_per_op"]["median"].as_f64().unwrap() > 0.0, "{}", cell["id"]);
            let way = cell["options"]["io"].as_str().unwrap();
            assert_eq!(cell["wait"] == "spin", ["spin", "uring-sqpoll"].contains(&way), "{}", cell["id"]);
        }
    }
    place.assert_clean();
}

#[test]
fn a_concurrency_of_a_thousand_works() {
    let place = Place::new();
    let document = place.document(&[
        "run", "--transports", "pipe,unix,tcp", "--placement", "free", "--patterns", "rr", "--concurrency",
        "1000", "--epochs", "1", "--timeout", "5min", "--quiet",
    ]);
    for sample in document["samples"].as_array().unwrap() {
        assert_eq!(sample["ops"].as_u64().unwrap() % 1000, 0);
    }
    place.assert_clean();
}

#[test]
fn options_reach_the_kernel_and_what_it_changes_is_told() {
    let place = Place::new();
    let document = place.document(&[
        "run", "--transports", "unix,pipe,tcp", "--placement", "free", "--patterns", "stream", "--epochs",
        "1", "--option", "so_sndbuf=1GiB", "--option", "pipe_size=4096,16384", "--option",
        "tcp_nodelay=false", "--option", "tcp_congestion=cubic", "--option", "recv_buffer=1000", "--quiet",
    ]);
    let clamped: Vec<&str> = document["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|warning| warning["code"] == "clamped-option")
        .map(|warning| warning["message"].as_str().unwrap())
        .collect();
    assert_eq!(clamped.len(), 2, "unix and tcp: {clamped:?}");
    let pipe = document["cells"]
        .as_array()
        .unwrap()
        .iter()
        .find(|cell| cell["id"].as_str().unwrap().contains("16384"));
    assert_eq!(pipe.unwrap()["effective"]["engine"]["pipe_size"], 16384);
}

#[test]
fn framing_and_turns_are_followed() {
    let place = Place::new();
    place.document(&[
        "run", "--transports", "unix,tcp,pipe", "--placement", "free", "--patterns", "rr", "--sizes",
        "1,300,70000", "--replies", "2", "--option", "framing=newline", "--option",
        "server_buffer=512,65537", "--epochs", "1", "--quiet",
    ]);
    let document = place.document(&[
        "run", "--transports", "unix,tcp", "--placement", "free", "--patterns", "connect", "--speaks-first",
        "client,server", "--option", "closes_first=client,server,any", "--option", "backlog=3", "--epochs",
        "1", "--quiet",
    ]);
    let ids = strings(&document["cells"], "id");
    assert_eq!(ids.len(), 12);
    assert!(ids.contains(&"connect/tcp/64/c1/speaks_first=server,backlog=3,closes_first=client"), "{ids:?}");
    place.assert_clean();
}

#[test]
fn placements_put_the_processes_where_they_say() {
    let place = Place::new();
    let file = place.file("plan.json");
    place.run(&[
        "run",
        "--epochs",
        "1",
        "--placement",
        "together,apart,free",
        "--plan",
        "--json",
        crate::common::argument(&file),
    ]);
    let plan: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let apart_exists = plan["cells"]
        .as_array()
        .unwrap()
        .iter()
        .any(|cell| cell["placement"] == "apart" && cell["unavailable"].is_null());
    // The peer writes down where it may run, then becomes the real one.
    let script = place.write(
        "placed.sh",
        "#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status >> placed.txt\nexec \"$1\" peer\n",
    );
    let peer = format!("placed=sh {} {}", script.display(), env!("CARGO_BIN_EXE_ipcost"));
    let processors = |placement: &str| {
        let _ = std::fs::remove_file(place.file("placed.txt"));
        place.document(&[
            "run", "--transports", "unix", "--patterns", "rr", "--placement", placement, "--epochs", "1",
            "--peer", &peer, "--client", "placed", "--server", "placed", "--quiet",
        ]);
        let written = std::fs::read_to_string(place.file("placed.txt")).unwrap();
        // The first line is of the peer's introduction, which is not placed.
        written.lines().skip(1).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert_eq!(processors("together").len(), 1);
    if apart_exists {
        let apart = processors("apart");
        assert_eq!(apart.len(), 2, "{apart:?}");
        assert!(apart.iter().all(|line| !line.contains([',', '-'])), "{apart:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn where_the_scheduler_put_a_batch_is_observed() {
    let place = Place::new();
    let args = ["run", "--transports", "unix,tcp", "--patterns", "rr", "--epochs", "3", "--quiet"];
    let ran = |placement: &str| -> Vec<Value> {
        let document = place.document(&[&args[..], &["--placement", placement]].concat());
        let samples = document["samples"].as_array().unwrap();
        for cell in document["cells"].as_array().unwrap() {
            let seen = cell["ran"].as_array().map_or(&[][..], Vec::as_slice);
            let batches: u64 = seen.iter().map(|record| record["batches"].as_u64().unwrap()).sum();
            assert_eq!(batches, if placement == "free" { cell["batches"].as_u64().unwrap() } else { 0 });
        }
        samples.iter().map(|sample| sample["whereabouts"]["ran"].clone()).collect()
    };
    // A kernel without scheduler statistics does not tell.
    if !std::path::Path::new("/proc/self/sched").exists() {
        missing("scheduler-statistics", "there is no /proc/self/sched");
        return;
    }
    let known = ["together", "apart", "mixed"];
    assert!(ran("free").iter().all(|ran| ran.as_str().is_some_and(|ran| known.contains(&ran))));
    assert!(ran("together").iter().all(Value::is_null), "what was asked for needs no watching");
}

#[test]
fn another_baseline_and_a_small_budget_do_not_stop_a_trial_of_long_transfers() {
    let place = Place::new();
    let document = place.document(&[
        "run", "--transports", "unix,tcp", "--patterns", "stream", "--sizes", "64KiB", "--placement", "free",
        "--baseline", "unix", "--budget", "6s", "--quiet",
    ]);
    let labels = strings(&document["cells"], "label");
    assert!(labels.starts_with(&["unix", "tcp", "tcp nodelay"]), "{labels:?}");
    assert_eq!(document["workloads"][0]["baseline"], document["cells"][0]["id"]);
    place.assert_clean();
}

#[test]
fn what_paces_is_measured_in_bursts_and_in_long_transfers() {
    let place = Place::new();
    let may =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    if !may.contains("bbr") {
        return missing("bbr", "the kernel has no congestion control that paces");
    }
    let asked = [
        "run", "--transports", "unix,tcp", "--patterns", "stream", "--sizes", "64KiB", "--placement", "free",
    ];
    let both = [&asked[..], &["--option", "tcp_congestion=bbr,cubic", "--plan"]].concat();
    let planned = text(&place.run(&both).stdout);
    let has = |name: &str| {
        planned.lines().any(|line| line.trim_end().contains(&format!("stream/tcp/65536/c1/{name}")))
    };
    assert!(has("steady=true,tcp_congestion=bbr") && !has("steady=true,tcp_congestion=cubic"), "{planned}");
    // Bursts are what a stream is without the option.
    let document = place.document(
        &[&asked[..], &["--option", "steady=true,false", "--option", "tcp_congestion=bbr", "--epochs", "2"]]
            .concat(),
    );
    let labels = strings(&document["cells"], "label");
    assert!(labels.contains(&"tcp bbr") && labels.contains(&"tcp steady bbr"), "{labels:?}");
    assert!(!labels.iter().any(|label| label.contains("false")), "{labels:?}");
    let table = &document["workloads"][0];
    assert!(table["baseline"].as_str().unwrap().contains("steady=true"), "{table:#}");
    let bursts = &table["bursts"];
    assert!(strings(&bursts["contrasts"], "b").iter().all(|id| !id.contains("steady")), "{bursts:#}");
    // A file is measured as it is, and what it lacks is said.
    let file = place.write("job.toml", "[[cells]]\ntransport = [\"tcp\"]\npattern = \"stream\"\nsize = 65536\nplacement = \"free\"\noptions = { tcp_congestion = \"bbr\" }\n");
    let output = place.run(&["run", argument(&file), "--epochs", "1"]);
    assert!(text(&output.stderr).contains("are measured in bursts"), "{}", text(&output.stderr));
}

#[test]
fn the_same_command_without_optimisation_says_so() {
    let place = Place::new();
    let document = place.document(&[
        "run", "--transports", "null", "--placement", "free", "--patterns", "rr", "--epochs", "1", "--quiet",
    ]);
    let warned =
        document["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "debug-build");
    assert_eq!(warned, cfg!(debug_assertions));
}

#[test]
fn a_plan_measures_nothing() {
    let place = Place::new();
    let output = place.run(&["run", "--plan", "--seed", "5"]);
    let shown = text(&output.stdout);
    // On one core and on two, where there are two.
    let begins = |usual: u32, more: u32| {
        let counts = [usual, usual + more, usual + 2 * more];
        counts.iter().any(|cells| shown.starts_with(&format!("{cells} cells, ")))
    };
    let both = begins(48, 4) && shown.contains("rr/tcp/64/c1/apart  baseline");
    let one = begins(24, 2) && shown.contains("rr/tcp/64/c1  baseline");
    assert!(both || one, "{shown}");
    assert!(std::fs::read_dir(place.tmp.path()).unwrap().next().is_none());
}

#[test]
fn json_goes_to_standard_output_alone_when_asked() {
    let place = Place::new();
    let output =
        place.run(&["run", "--transports", "null", "--patterns", "rr", "--epochs", "1", "--json", "-"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schedule"]["epochs"], 1);
}

#[test]
fn a_stream_that_costs_otherwise_in_one_long_transfer_gets_a_row_of_its_own() {
    for (cost, is_split) in [("10000/15000", true), ("10000", false)] {
        let place = Place::new();
        let peer = format!("planted={}", scripted::command(&[cost]).join(" "));
        let planted = ["run", "--peer", &peer, "--client", "planted", "--server", "planted"];
        let stream =
            ["--patterns", "stream", "--sizes", "65536", "--transports", "unix,tcp", "--budget", "16s"];
        let rest = ["--placement", "free", "--quiet", "--json", "document.json"];
        let program = place.command(&[&planted[..], &stream, &rest].concat());
        // Under a congestion control that paces there is no trial.
        let usual = "echo reno > /proc/sys/net/ipv4/tcp_congestion_control";
        let Some(mut command) = in_own_network(usual, &program) else { return };
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let document: Value =
            serde_json::from_slice(&std::fs::read(place.file("document.json")).unwrap()).unwrap();
        let labels = strings(&document["cells"], "label");
        assert_eq!(labels.contains(&"tcp planted→planted steady"), is_split, "{labels:?}");
        let table = &document["workloads"][0];
        let baseline = table["baseline"].as_str().unwrap();
        assert_eq!(
            baseline.contains("steady"),
            is_split,
            "the long transfer is what others are compared with: {table}"
        );
        if is_split {
            let bursts = document["contrasts"].as_array().unwrap().iter();
            let burst = bursts
                .clone()
                .find(|contrast| contrast["a"].as_str().unwrap().starts_with("stream/tcp"))
                .unwrap();
            assert!((burst["ratio"].as_f64().unwrap() - 2.0 / 3.0).abs() < 0.03, "{burst}");
        }
    }
}
