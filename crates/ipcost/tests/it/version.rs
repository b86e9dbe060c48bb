//! The build that the program names, and how its build script finds it.

#[path = "../../build.rs"]
#[allow(dead_code)]
mod build_script;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use build_script::{Source, profile, source};
use tempfile::TempDir;

use crate::common::{Place, missing, text};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn printed(args: &[&str]) -> String {
    let output = Place::new().run(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn both_flags_print_one_line_with_the_build_and_documents_name_the_same() {
    let line = printed(&["--version"]);
    assert_eq!(printed(&["-V"]), line);
    let start = format!("ipcost {} (", env!("CARGO_PKG_VERSION"));
    let parts = line.strip_prefix(&start).and_then(|rest| rest.strip_suffix(")\n"));
    let parts: Vec<&str> = parts.unwrap_or_else(|| panic!("{line:?}")).split(", ").collect();
    // A checkout without git names no commit.
    let [commit @ .., target, profile] = parts.as_slice() else { panic!("{line:?}") };
    assert!(commit.len() <= 1 && target.contains(std::env::consts::ARCH), "{line:?}");

    let document =
        Place::new().document(&["run", "--transports", "null", "--patterns", "rr", "--epochs", "1"]);
    let tool = &document["tool"];
    assert_eq!((tool["target"].as_str(), tool["profile"].as_str()), (Some(*target), Some(*profile)));
    let words = ["commit", "commit_date"].iter().filter_map(|key| tool[key].as_str());
    assert_eq!(words.collect::<Vec<_>>().join(" "), commit.join(""), "{tool}");
    assert_eq!(tool["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn help_manual_and_completions_do_not_change_with_each_commit() {
    let line = printed(&["--version"]);
    let build = line.split_once('(').unwrap().1.trim_end_matches(")\n");
    for args in
        [&["--help"][..], &["man"], &["man", "run"], &["completions", "bash"], &["completions", "zsh"]]
    {
        let shown = printed(args);
        build
            .split(", ")
            .filter(|part| part.len() > 8)
            .for_each(|part| assert!(!shown.contains(part), "{args:?}: {part}"));
    }
    assert!(printed(&["man"]).contains(&format!("\"ipcost {}\"", env!("CARGO_PKG_VERSION"))));
}

/// A workspace like this one, with nothing in it.
fn workspace(place: &Path) -> PathBuf {
    let manifest = place.join("crates/ipcost");
    fs::create_dir_all(&manifest).unwrap();
    fs::create_dir_all(place.join("crates/ipcost-sys")).unwrap();
    fs::write(place.join("crates/ipcost-sys/Cargo.toml"), "").unwrap();
    manifest
}

fn git_is_here() -> bool {
    let is_here = Command::new("git").arg("--version").output().is_ok();
    if !is_here {
        missing("git", "it cannot be started");
    }
    is_here
}

/// Runs git, with a commit's author and time if it makes one.
fn git(place: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(place).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(words);
    command.env("GIT_COMMITTER_DATE", "2026-11-25T23:30:00+0200").env_remove("GIT_DIR");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

fn commit(place: &Path) -> String {
    git(place, &["commit", "--quiet", "--allow-empty", "--message", "one"]);
    git(place, &["rev-parse", "HEAD"])
}

fn assert_found(source: &Source, commit: &str) {
    assert_eq!((source.commit.as_str(), source.date.as_str()), (&commit[..10], "2026-11-25"));
    for path in &source.watched {
        assert!(path.is_absolute() && path.exists(), "missing: {}", path.display());
    }
}

fn names(source: &Source) -> Vec<String> {
    source.watched.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_given_commit_comes_before_that_of_the_package() {
    let place = TempDir::new().unwrap();
    let named = |given: Option<&str>| {
        let Source { commit, date, watched } = source(given, place.path());
        (commit, date, watched.len())
    };
    assert_eq!(named(None), (String::new(), String::new(), 0), "nothing is known");
    let info = format!(
        "{{\n  \"git\": {{\n    \"sha1\": \"{COMMIT}\"\n  }},\n  \"path_in_vcs\": \"crates/ipcost\"\n}}"
    );
    fs::write(place.path().join(".cargo_vcs_info.json"), info).unwrap();
    assert_eq!(named(None), ("0123456789".into(), String::new(), 1));
    assert_eq!(named(Some(" ")), named(None), "set to nothing is not set");
    assert_eq!(named(Some("7654321 2026-01-02\n")), ("7654321".into(), "2026-01-02".into(), 0));
    assert_eq!(named(Some(COMMIT)), ("0123456789".into(), String::new(), 0));
    fs::write(place.path().join(".cargo_vcs_info.json"), "{}").unwrap();
    assert_eq!(named(None), (String::new(), String::new(), 1));
}

#[test]
fn a_checkout_names_its_commit_and_what_changes_with_it_is_watched() {
    if !git_is_here() {
        return;
    }
    let place = TempDir::new().unwrap();
    let root = place.path().canonicalize().unwrap().join("ours");
    let manifest = workspace(&root);
    git(&root, &["init", "--quiet", "--initial-branch", "main"]);
    assert_eq!(source(None, &manifest).commit, "", "no commit yet");

    let first = commit(&root);
    let found = source(None, &manifest);
    assert_found(&found, &first);
    assert_eq!(names(&found), ["HEAD", "main"]);

    // A branch without a file of its own: the next commit makes one in a directory that is watched.
    git(&root, &["pack-refs", "--all"]);
    let packed = source(None, &manifest);
    assert_found(&packed, &first);
    assert_eq!(names(&packed), ["HEAD", "heads", "packed-refs"]);

    git(&root, &["checkout", "--quiet", "--detach"]);
    assert_eq!(names(&source(None, &manifest)), ["HEAD"]);

    let worktree = place.path().canonicalize().unwrap().join("worktree");
    git(&root, &["worktree", "add", "--quiet", "-b", "side", worktree.to_str().unwrap()]);
    let manifest = workspace(&worktree);
    let second = commit(&worktree);
    let found = source(None, &manifest);
    assert_ne!(second, first);
    assert_found(&found, &second);
    assert_eq!(names(&found), [".git", "HEAD", "side"]);
}

#[test]
fn another_repository_around_the_sources_is_not_taken_for_theirs() {
    if !git_is_here() {
        return;
    }
    let place = TempDir::new().unwrap();
    git(place.path(), &["init", "--quiet"]);
    commit(place.path());
    // An unpacked package, in places where its parent's parent is that repository or below it.
    for at in ["vendor/ipcost", "crates/ipcost", "a/b/ipcost"] {
        let manifest = place.path().join(at);
        fs::create_dir_all(&manifest).unwrap();
        assert_eq!(source(None, &manifest), Source::default(), "{at}");
    }
    // A whole copy of the workspace, below it.
    let copy = workspace(&place.path().join("copy"));
    assert_eq!(source(None, &copy), Source::default());
}

#[test]
fn the_profile_is_the_directory_above_build() {
    for (out, name) in [
        ("/w/target/debug/build/ipcost-0a1b/out", "debug"),
        ("/w/target/x86_64-unknown-linux-musl/dist/build/ipcost-0a1b/out", "dist"),
        ("/home/build/target/release/build/ipcost-0a1b/out", "release"),
        ("/w/target/release/build/ipcost/0a1b/out", "release"),
        ("/w/out", ""),
    ] {
        assert_eq!(profile(Path::new(out)), name, "{out}");
    }
}
