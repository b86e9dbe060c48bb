//! Every mistake gets one line that names the thing and the way out, status 2, and nothing is measured.

use crate::common::{NEVER, Place, argument, assert_refused, text};

#[track_caller]
fn refused(args: &[&str], parts: &[&str]) {
    let place = Place::new();
    let output = place.run(&[&["run"], args].concat());
    assert_refused(&output, parts);
    place.assert_clean();
}

#[test]
fn unknown_names_come_with_the_nearest_known_one() {
    refused(&["--transports", "unx"], &["unknown transport \"unx\"", "did you mean \"unix\""]);
    refused(&["--patterns", "strem"], &["unknown pattern \"strem\"", "did you mean \"stream\""]);
    refused(&["--placement", "two-core"], &["did you mean \"two-cores\""]);
    refused(&["--option", "tcp_nodlay=true"], &["did you mean \"tcp_nodelay\""]);
    refused(
        &["--transports", "unix", "--client", "nativ"],
        &["unknown peer \"nativ\"", "did you mean \"native\""],
    );
    refused(&["--baseline", "tpc"], &["unknown baseline \"tpc\"", "did you mean \"tcp\""]);
    refused(&["--transprts", "unix"], &["--transports"]);
}

#[test]
fn sizes_that_cannot_be() {
    refused(&["--transports", "unix", "--sizes", "0"], &["a size of 0 bytes"]);
    refused(&["--transports", "unix", "--sizes", "2GiB"], &["does not fit", "1 GiB"]);
    refused(&["--transports", "unix", "--sizes", "64Q"], &["\"64Q\" is not a size"]);
    refused(&["--transports", "unix", "--concurrency", "0", "--patterns", "rr"], &["a concurrency of 0"]);
}

#[test]
fn combinations_that_cannot_be() {
    refused(
        &["--transports", "pipe", "--patterns", "connect"],
        &["pipe does not connect", "unix, unix-abstract, unix-seqpacket, tcp"],
    );
    refused(&["--transports", "pipe", "--patterns", "rr", "--option", "tcp_nodelay=true"], &["acts on none"]);
    refused(&["--option", "tcp_nodelay=perhaps"], &["true or false"]);
    refused(&["--option", "tcp_nodelay"], &["write it as KEY=VALUE"]);
    refused(&["job.toml", "--transports", "unix"], &["cannot be used with"]);
    let absent = ["--patterns", "rr", "--sizes", "1", "--option", "client_cpu=999"];
    refused(&absent, &["client_cpu=999: this program may use the processors"]);
    refused(&["--timeout", "0s"], &["--timeout 0 kills every peer", "at least 1s"]);
}

#[test]
fn budgets_that_cannot_reach_an_interval() {
    refused(&["--budget", "2s"], &["cannot reach an interval", "give --budget"]);
    refused(&["--budget", "soon"], &["\"soon\" is not a duration"]);
    refused(&["--margin", "200%"], &["is not a proportion"]);
    refused(&["--epochs", "0"], &["measures nothing"]);
    refused(&["--batch", "0s"], &["a batch of less than 1 ms", "--batch"]);
    refused(&["--batch", "15s"], &["does not end within the timeout of 10 s", "--timeout 30s"]);
}

#[test]
fn job_files_are_refused_by_line_and_column() {
    let place = Place::new();
    for (text, parts) in [
        ("[[cells]]\ntransport = 5\n", ["job.toml:2:13: ", "invalid type"]),
        ("[[cells]]\ntransprt = \"unix\"\n", ["job.toml:2:1: ", "did you mean \"transport\""]),
        (
            "[[cells]]\ntransport = \"unix\"\noptions = { pipe_sise = 1 }\n",
            ["job.toml:3:13: ", "\"pipe_size\""],
        ),
        ("[[cells]\n", ["job.toml:1:", "expected"]),
    ] {
        let path = place.write("job.toml", text);
        assert_refused(&place.run(&["run", "job.toml"]), &parts);
        std::fs::remove_file(path).unwrap();
    }
    let ten = |value: &str| [value; 10].join(", ");
    let (sizes, names) = (ten("64"), ten("\"unix\""));
    let many = format!(
        "[[cells]]\ntransport = [{names}]\nsize = [{sizes}]\nreply = [{sizes}]\nplacement = \"free\"\nconcurrency = [{}]\nclient = [{}]\nserver = [{}]\n",
        ten("1"),
        ten("\"native\""),
        ten("\"native\"")
    );
    place.write("many.toml", &many);
    assert_refused(
        &place.run(&["run", "many.toml"]),
        &["multiply to 1000000 cells", "at most 20000", "several jobs"],
    );
    for endless in ["/dev/zero", "/dev/urandom"] {
        assert_refused(&place.run(&["run", endless]), &[endless]);
    }
    assert_refused(&place.run(&["run", "none.toml"]), &["cannot read the job file none.toml"]);
    assert_refused(&place.run(&["run", "."]), &["cannot read the job file ."]);
}

#[test]
fn a_job_file_says_what_flags_say() {
    let place = Place::new();
    place.write(
        "job.toml",
        "seed = 4\n[[cells]]\npattern = \"rr\"\ntransport = [\"unix\", \"tcp\"]\nplacement = \"free\"\nsize = [64, \"4KiB\"]\n[cells.options]\nso_sndbuf = 65536\n",
    );
    let flags = [
        "--transports", "unix,tcp", "--placement", "free", "--patterns", "rr", "--sizes", "64,4KiB",
        "--option", "so_sndbuf=65536", "--seed", "4",
    ];
    let from_file = place.run(&["run", "job.toml", "--plan"]);
    let from_flags = place.run(&[&["run", "--plan"], flags.as_slice()].concat());
    assert!(from_file.status.success(), "{}", text(&from_file.stderr));
    assert_eq!(text(&from_file.stdout), text(&from_flags.stdout));
}

#[test]
fn every_example_can_be_planned() {
    let place = Place::new();
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<_> = std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        let output = place.run(&["run", file.to_str().unwrap(), "--plan"]);
        assert!(output.status.success(), "{}: {}", file.display(), text(&output.stderr));
        let shown = text(&output.stdout);
        assert!(shown.contains(" cells, ") && !shown.contains("acts on none"), "{}: {shown}", file.display());
    }
}

#[test]
fn peers_that_are_none() {
    let place = Place::new();
    let run_for = |timeout: &str, peer: &str| {
        let peer = format!("mine={peer}");
        place.run(&[
            "run", "--transports", "unix,pipe", "--placement", "free", "--patterns", "rr", "--server",
            "mine", "--timeout", timeout, "--peer", &peer,
        ])
    };
    let run = |peer: &str| run_for(NEVER, peer);
    let hello = |protocol: u32, transports: &str, then: &str| {
        let hello = format!(
            r#"{{"type":"hello","protocol":{protocol},"peer":"x","version":"1","runtime":"sh","roles":["server","client"],"transports":[{transports}],"patterns":["rr"]}}"#
        );
        place.write("peer.sh", &format!("echo '{hello}'\n{then}\n"));
        run("sh peer.sh")
    };
    assert_refused(
        &run("/does/not/exist --fast"),
        &["peer \"mine\" cannot be started: /does/not/exist --fast"],
    );
    assert_refused(
        &run("echo hello there"),
        &["peer \"mine\" printed a line that is not a message", "hello there"],
    );
    assert_refused(&run("true"), &["peer \"mine\" ended on its own"]);
    assert_refused(&run_for("1s", "sleep 1000"), &["peer \"mine\" did not answer in time", "--timeout"]);
    assert_refused(
        &run("sh -c 'echo no such file >&2; exit 4'"),
        &["exit status: 4", "its standard error: no such file"],
    );
    assert_refused(&hello(2, "\"unix\"", "cat"), &["peer \"mine\" speaks version 2", "speaks 1"]);
    assert_refused(
        &hello(1, "\"unix\",\"tcp\"", "cat"),
        &["peer \"mine\" lacks transport pipe; it has unix, tcp"],
    );
    place.assert_clean();
}

#[test]
fn a_peer_that_fails_later_is_named_with_what_it_wrote() {
    let place = Place::new();
    // A good peer until the third line from the engine, which is the first batch of the calibration.
    place.write("peer.sh", "exec 3>&1\n{ for i in 1 2 3; do read -r line && printf '%s\\n' \"$line\"; done; echo out of cheese >&2; } | \"$1\" peer >&3\n");
    let peer = format!("mine=sh peer.sh {}", env!("CARGO_BIN_EXE_ipcost"));
    let output = place.run(&[
        "run", "--transports", "unix", "--placement", "free", "--patterns", "rr", "--client", "mine",
        "--peer", &peer, "--timeout", NEVER,
    ]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("client mine of rr/unix/64/c1/mine→native in epoch"), "{error}");
    assert!(error.contains("its standard error: out of cheese"), "{error}");
    place.assert_clean();
}

#[test]
fn a_socket_path_that_is_too_long() {
    let place = Place::new();
    let deep = place.files.path().join("x".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let output = place
        .command(&["run", "--transports", "unix", "--patterns", "rr"])
        .env("TMPDIR", argument(&deep))
        .output()
        .unwrap();
    assert_refused(&output, &["at most 107", "set TMPDIR to a shorter directory"]);
    assert!(std::fs::read_dir(&deep).unwrap().next().is_none());
}

#[test]
fn too_few_descriptors() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_ipcost");
    let script = format!("ulimit -n 60; exec {program} run --quiet");
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .env("TMPDIR", place.tmp.path())
        .output()
        .unwrap();
    assert_refused(&output, &["open descriptors", "ulimit -n"]);
}

#[test]
fn files_that_are_none_of_its_own_and_directories_that_are_not_there() {
    let place = Place::new();
    let page = place.file("README.md");
    std::fs::write(&page, "# A page\n\nSome words.\n").unwrap();
    for command in ["run", "check"] {
        assert_refused(&place.run(&[command, argument(&page)]), &["README.md:3:", "it must be a TOML file"]);
    }
    let nowhere = place.file("nowhere/x.json");
    let output = place.run(&[
        "run",
        "--transports",
        "pipe",
        "--epochs",
        "1",
        "--no-save",
        "--json",
        argument(&nowhere),
    ]);
    assert_refused(&output, &["there is no directory", "create it first"]);
    for command in ["doctor", "list"] {
        assert_refused(&place.run(&[command, "--json", argument(&nowhere)]), &["create it first"]);
    }
    let run = ["run", "--transports", "pipe", "--epochs", "1", "--no-save", "--json"];
    let outputs = |more: &[&str]| place.run(&[&run[..], more].concat());
    assert_refused(&outputs(&[argument(place.files.path())]), &["it is a directory"]);
    assert_refused(&outputs(&["x", "--csv", "x"]), &["two outputs would go to x"]);
    assert!(outputs(&["/dev/null", "--csv", "/dev/null"]).status.success(), "a device takes any number");
}
