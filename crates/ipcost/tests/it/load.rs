//! Load: ten thousand connections at once, ten thousand cells, and what the system has no room for.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::common::{Place, argument, assert_refused, text, wait};
use serde_json::Value;

const WANTED: u64 = 10_000;
/// Ten thousand threads on a busy machine take their time.
const TIMEOUT: &str = "300s";

/// Ten thousand, or as many workers as this machine has room for.
fn workers(place: &Place) -> u64 {
    let wanted = WANTED.to_string();
    let args = [
        "run", "--transports", "unix,tcp", "--placement", "free", "--patterns", "rr,connect",
        "--concurrency", &wanted, "--plan",
    ];
    let output = place.run(&args);
    if output.status.success() {
        return WANTED;
    }
    let error = text(&output.stderr);
    let allowed = error.split(" allows ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    let allowed: u64 = allowed.unwrap_or_else(|| panic!("it says how many fit: {error}"));
    eprintln!("this machine has no room for {WANTED} workers: {error}");
    // Others start and end processes meanwhile.
    allowed * 3 / 4
}

#[test]
#[ignore = "nightly: ten thousand connections"]
fn ten_thousand_connections_at_once_and_every_operation_accounted_for() {
    let place = Place::new();
    let workers = workers(&place);
    // Connections that stay open, and as many that come at once.
    let cells = [("rr", "unix"), ("connect", "tcp")];
    let cell = |(pattern, transport)| {
        format!(
            "[[cells]]\npattern = \"{pattern}\"\ntransport = \"{transport}\"\nconcurrency = {workers}\nplacement = \"free\"\n"
        )
    };
    let job = format!("epochs = 1\nlatency = \"off\"\ntimeout = \"{TIMEOUT}\"\n{}", cells.map(cell).concat());
    place.write("job.toml", &job);
    let run = format!("{} run job.toml --json document.json", env!("CARGO_BIN_EXE_ipcost"));
    // With a queue that holds all of them, where one may have a network of one's own.
    let alone = Command::new("unshare").args(["--net", "true"]).status();
    let mut command = if alone.is_ok_and(|status| status.success()) {
        let script = format!("ip link set lo up; echo 16384 > /proc/sys/net/core/somaxconn; exec {run}");
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", &script]);
        command
    } else {
        let mut command = Command::new("sh");
        command.args(["-c", &run]);
        command
    };
    for (name, value) in place.command(&[]).get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let began = Instant::now();
    let output = command.current_dir(place.files.path()).stdin(Stdio::null()).output().unwrap();
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    eprintln!("{workers} workers, two cells: {:?}\n{told}", began.elapsed());
    if workers >= 1_000 {
        assert!(told.contains("its concurrency is limited first by"), "{told}");
    }

    let document: Value =
        serde_json::from_slice(&std::fs::read(place.file("document.json")).unwrap()).unwrap();
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        let id = &cell["id"];
        assert_eq!((&cell["epochs"], &cell["concurrency"]), (&1.into(), &workers.into()), "{id}");
        let ops = cell["ops"].as_u64().unwrap();
        assert!(ops >= workers && ops.is_multiple_of(workers), "{id}: every worker its share of {ops}");
    }
    for sample in document["samples"].as_array().unwrap() {
        // Ten thousand threads that ran leave their mark on both sides.
        let used = |side: &str| {
            let usage = &sample[side];
            usage["user_ns"].as_u64().unwrap() + usage["sys_ns"].as_u64().unwrap()
        };
        assert!(used("client") > 0 && used("server") > 0, "{sample}");
    }
    place.assert_clean();
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    let place = Place::new();
    let args =
        ["run", "--transports", "tcp", "--placement", "free", "--patterns", "rr", "--concurrency", "100000"];
    let output = place.run(&args);
    // A hundred thousand connections need more ports than there are.
    assert_refused(&output, &["rr/tcp/64/c100000", "a concurrency of 100000 does not fit", "allows"]);
    place.assert_clean();
    let few = format!(
        "ulimit -n 200; exec {} {}",
        env!("CARGO_BIN_EXE_ipcost"),
        "run --transports unix --patterns rr --concurrency 500"
    );
    let output = Command::new("sh").args(["-c", &few]).env("TMPDIR", place.tmp.path()).output().unwrap();
    assert_refused(&output, &["the number of open descriptors (ulimit -n) allows 136 here", "ulimit -n 564"]);
}

#[test]
fn cells_that_do_not_fit_at_once_are_measured_in_groups() {
    let place = Place::new();
    let run = format!(
        "ulimit -n 116; exec {} run --transports null,unix --patterns rr --sizes 1,2,3,4,5,6,7 --placement free --epochs 2 --json document.json",
        env!("CARGO_BIN_EXE_ipcost")
    );
    let mut command = Command::new("sh");
    for (name, value) in place.command(&[]).get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let output = command.args(["-c", &run]).current_dir(place.files.path()).output().unwrap();
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("every epoch measures its cells in 3 groups"), "{told}");
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.file("document.json")).unwrap()).unwrap();
    let cells = document["cells"].as_array().unwrap();
    assert!(cells.len() == 14 && cells.iter().all(|cell| cell["epochs"] == 2), "{cells:?}");
    // Both cells of a size are compared, and so in one group: between their places lie fewer than a group has.
    let samples = document["samples"].as_array().unwrap();
    for sample in samples.iter().filter(|sample| sample["cell"] == 0 || sample["round"] == 1) {
        let size = |sample: &Value| cells[sample["cell"].as_u64().unwrap() as usize]["size"].clone();
        let place_of = |sample: &Value| sample["position"].as_i64().unwrap();
        let same = |other: &&Value| {
            other["epoch"] == sample["epoch"]
                && other["round"] == sample["round"]
                && size(other) == size(sample)
        };
        let pair: Vec<i64> = samples.iter().filter(same).map(place_of).collect();
        assert!(pair.len() == 2 && (pair[0] - pair[1]).abs() < 6, "{sample}: {pair:?}");
    }
    place.assert_clean();
}

#[test]
fn ten_thousand_cells_are_planned_in_a_moment() {
    let place = Place::new();
    let sizes: Vec<String> = (1..=2_500).map(|size| size.to_string()).collect();
    let job = place.write(
        "job.toml",
        &format!(
            "epochs = 1\n[[cells]]\npattern = [\"rr\", \"stream\"]\ntransport = [\"null\", \"unix\"]\nsize = [{}]\nplacement = \"free\"\n",
            sizes.join(", ")
        ),
    );
    let began = Instant::now();
    // Given up on after minutes; a plan that took the square of its cells would take hours.
    let output = wait(place.start(&["run", argument(&job), "--plan"]));
    eprintln!("10 000 cells are planned in {:?}", began.elapsed());
    let shown = text(&output.stdout);
    assert!(
        shown.starts_with("10000 cells, ") && shown.contains(" comparisons, exactly 1 epoch\n"),
        "{}",
        text(&output.stderr)
    );
    place.assert_clean();
}
