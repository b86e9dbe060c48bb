//! The scripts of the page "Did it change?": a bisection of a toy repository, and kernels by turns.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{Place, scripted, text};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/did-it-change").join(name)
}

/// A command in the test's directory that finds this program as `ipcost`.
fn command(place: &Place, words: &[&str]) -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_ipcost"));
    let bin = place.file("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let link = bin.join("ipcost");
    if !link.exists() {
        std::os::unix::fs::symlink(own, link).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(place.files.path());
    command.env("PATH", format!("{}:{path}", bin.display())).env("TMPDIR", place.tmp.path());
    command.env("IPCOST_DATA_DIR", place.data.path()).env("NO_COLOR", "1");
    // No configuration of the machine's user.
    command.env("HOME", place.data.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

fn run(place: &Place, words: &[&str]) -> Output {
    command(place, words).output().unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn git(place: &Place, words: &[&str]) -> String {
    let identity =
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    let output = run(place, &[&identity[..], words].concat());
    assert!(output.status.success(), "{words:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_bisection_finds_the_commit_that_made_a_peer_slow() {
    let place = Place::new();
    // The peer of the toy repository; from the sixth commit on it takes ten times as long. Its times are planted, so that the answer
    // does not depend on what else the machine does.
    let peer = |slow: bool| {
        let words = scripted::command(&[if slow { "10000" } else { "1000" }]);
        format!("#!/bin/sh\nexec '{}'\n", words.join("' '"))
    };
    let cell = |peer: &str| {
        format!(
            "[[cells]]\ntransport = \"unix\"\nclient = \"{peer}\"\nserver = \"{peer}\"\nplacement = \"free\"\n"
        )
    };
    let usual = scripted::table("peers", "usual", &["1000"]);
    place.write(
        "claims.toml",
        &format!(
            "budget = \"5min\"\nbatch = \"5ms\"\nseed = 3\n{usual}[peers.mine]\ncommand = [\"sh\", \"./peer.sh\"]\n{}{}\
             [[claims]]\ncell = \"rr/unix/64/c1/mine→mine\"\nagainst = \"rr/unix/64/c1/usual→usual\"\nat_most = 3\n",
            cell("usual"),
            cell("mine")
        ),
    );
    git(&place, &["init", "-q"]);
    for commit in 1..=8 {
        place.write("peer.sh", &peer(commit >= 6));
        place.write("readme", &format!("version {commit}\n"));
        git(&place, &["add", "peer.sh", "readme"]);
        git(&place, &["commit", "-qm", &format!("commit {commit}")]);
    }
    git(&place, &["bisect", "start", "HEAD", "HEAD~7"]);
    let bisect = script("bisect.sh");
    let found = git(&place, &["bisect", "run", bisect.to_str().unwrap(), "claims.toml"]);
    assert!(found.contains("is the first bad commit") && found.contains("    commit 6"), "{found}");
    git(&place, &["bisect", "reset"]);

    // A mistake in the file is no bad commit.
    place.write("wrong.toml", "[[claims]]\ncell = 7\n");
    let output = run(&place, &[bisect.to_str().unwrap(), "wrong.toml"]);
    assert_eq!(output.status.code(), Some(255), "{}", text(&output.stderr));
    // Nor is a build that fails.
    let failed =
        command(&place, &[bisect.to_str().unwrap(), "claims.toml"]).env("BISECT_BUILD", "false").status();
    assert_eq!(failed.unwrap().code(), Some(125));
}

#[test]
fn kernels_take_turns_over_boots() {
    let place = Place::new();
    place.write("job.toml", "epochs = 2\n[[cells]]\ntransport = \"unix\"\nplacement = \"free\"\nsize = 64\n");
    let boots = place.file("boots");
    place.write_program("next", "#!/bin/sh\necho \"$1\" >> boots\n");
    let sh = script("by-turns.sh");
    let boot = |kernel: &str| {
        let words = ["sh", sh.to_str().unwrap(), "job.toml", "old kernel", "new kernel", "2"];
        let mut command = command(&place, &words);
        command.env("BY_TURNS_STATE", place.file("state")).env("BY_TURNS_SETTLE", "0");
        command.env("BY_TURNS_NEXT", "./next").env("BY_TURNS_REBOOT", "true").env("BY_TURNS_KERNEL", kernel);
        command.output().unwrap()
    };
    let next = || std::fs::read_to_string(&boots).unwrap().lines().last().unwrap().to_owned();
    // Whatever runs first only says what is booted next.
    let mut last = boot("6.1");
    for _ in 0..4 {
        assert!(last.status.success(), "{}", text(&last.stderr));
        last = boot(if next() == "old kernel" { "6.1" } else { "6.18" });
    }
    assert!(last.status.success(), "{}", text(&last.stderr));
    let order = std::fs::read_to_string(&boots).unwrap();
    assert_eq!(order, "old kernel\nnew kernel\nnew kernel\nold kernel\n");
    let words = text(&last.stdout);
    let compare: Vec<&str> = words.trim().split(' ').collect();
    assert_eq!(compare[..2], ["ipcost", "compare"], "{words}");
    let json = run(&place, &["sh", "-c", &words.trim().replace("compare", "compare --json -")]);
    let comparison: Value = serde_json::from_slice(&json.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&json.stderr)));
    assert_eq!(
        (comparison["a"].as_array().unwrap().len(), comparison["b"].as_array().unwrap().len()),
        (2, 2)
    );
}
