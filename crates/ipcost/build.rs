//! Records the build: commit, target and profile. The same sources give the same record on any machine and at any time.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The digits of an abbreviated commit.
const DIGITS: usize = 10;
/// A packager names the commit in this variable, alone or with its day.
const GIVEN: &str = "IPCOST_COMMIT";
/// What `cargo package` writes next to the manifest.
const PACKAGED: &str = ".cargo_vcs_info.json";

fn main() {
    let set = |name| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={GIVEN}");
    let source = source(env::var(GIVEN).ok().as_deref(), &set("CARGO_MANIFEST_DIR"));
    for path in &source.watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rustc-env=IPCOST_BUILD_COMMIT={}", source.commit);
    println!("cargo::rustc-env=IPCOST_BUILD_COMMIT_DATE={}", source.date);
    println!("cargo::rustc-env=IPCOST_BUILD_TARGET={}", set("TARGET").display());
    println!("cargo::rustc-env=IPCOST_BUILD_PROFILE={}", profile(&set("OUT_DIR")));
}

/// Where the sources come from; texts are empty if it is not known.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Source {
    pub commit: String,
    pub date: String,
    /// The files whose change means another commit. All exist: Cargo runs the script at each build if one is missing.
    pub watched: Vec<PathBuf>,
}

/// The commit that was given, else that of the package, else that of the checkout.
pub fn source(given: Option<&str>, manifest: &Path) -> Source {
    let packaged = manifest.join(PACKAGED);
    match (given.map(str::trim).filter(|text| !text.is_empty()), fs::read_to_string(&packaged)) {
        (Some(text), _) => Source::of(text, Vec::new()),
        (None, Ok(text)) => Source::of(packaged_commit(&text).unwrap_or_default(), vec![packaged]),
        (None, Err(_)) => checked_out(manifest).unwrap_or_default(),
    }
}

impl Source {
    /// Of a commit, and its day after a blank.
    fn of(text: &str, watched: Vec<PathBuf>) -> Self {
        let mut words = text.split_whitespace();
        let commit = words.next().unwrap_or_default();
        let is_whole = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let commit = if is_whole { &commit[..DIGITS] } else { commit };
        Self { commit: commit.to_owned(), date: words.collect::<Vec<_>>().join(" "), watched }
    }
}

fn packaged_commit(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("\"sha1\"")?;
    after.split('"').nth(1)
}

/// The commit of this workspace's own repository. A package that was unpacked inside another repository has none.
fn checked_out(manifest: &Path) -> Option<Source> {
    let root = manifest.parent()?.parent()?;
    let is_workspace =
        manifest.ends_with("crates/ipcost") && root.join("crates/ipcost-sys/Cargo.toml").exists();
    let toplevel = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if !is_workspace || fs::canonicalize(toplevel).ok()? != fs::canonicalize(root).ok()? {
        return None;
    }
    let [own, common] = ["--git-dir", "--git-common-dir"].map(|what| git(root, &["rev-parse", what]));
    let watched = watched(root, &root.join(own?), &root.join(common?));
    // The length of git's own abbreviation depends on the other objects of a clone.
    let commit = git(root, &["log", "-1", "--no-show-signature", "--format=%H %cs"]);
    Some(Source::of(&commit.unwrap_or_default(), watched))
}

/// What changes with the commit: the file that a worktree has for `.git`, HEAD, and the branch that HEAD names.
fn watched(root: &Path, own: &Path, common: &Path) -> Vec<PathBuf> {
    let head = own.join("HEAD");
    let mut paths = vec![root.join(".git")];
    paths.retain(|path| path.is_file());
    let named = fs::read_to_string(&head).unwrap_or_default();
    paths.push(head);
    if let Some(name) = named.strip_prefix("ref: ") {
        let branch = common.join(name.trim());
        if !branch.is_file() {
            // The next commit makes the branch's own file, so its directory changes.
            paths.extend(branch.ancestors().skip(1).find(|path| path.is_dir()).map(Path::to_owned));
            paths.extend(["packed-refs", "reftable/tables.list"].map(|name| common.join(name)));
        } else {
            paths.push(branch);
        }
    }
    paths.retain(|path| path.exists());
    paths
}

/// What git prints, whatever repository the environment names.
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_NAMESPACE"] {
        command.env_remove(name);
    }
    let output = command.arg("-C").arg(root).args(words).output().ok().filter(|it| it.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// The directory above `build`: `PROFILE` tells release from debug only.
pub fn profile(out: &Path) -> String {
    let above = out.ancestors().find(|path| path.file_name() == Some(OsStr::new("build")));
    let name = above.and_then(Path::parent).and_then(Path::file_name).unwrap_or_default();
    name.to_string_lossy().into_owned()
}
