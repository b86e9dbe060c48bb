//! What the tests of engines share: machines in namespaces of this one, and what they read of their documents.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Place, assert_schema, missing, one_by_one, text};

/// How long a fleet may take before it is given up, in seconds.
const PATIENCE: &str = "300";
/// The namespaces that all of its machines are below.
const NAMESPACES: [&str; 8] =
    ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"];
const FLEET: &str = include_str!("deploy/fleet.sh");
/// A cluster with Slurm, as the first part of a script.
pub const CLUSTER: &str = include_str!("deploy/cluster.sh");
pub const CLUSTER_PROGRAMS: [&str; 8] = [
    "unshare", "nsenter", "ip", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "sbatch", "/usr/sbin/munged",
    "strip",
];

/// The files of the engines.
pub fn engines() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").canonicalize().unwrap()
}

/// Whether a test can run here; what is missing fails it unless that is allowed.
pub fn can_run(programs: &[&str]) -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    if text(&id.stdout).trim() != "0" {
        missing("root", "machines in namespaces take root");
        return false;
    }
    if !has(programs) {
        return false;
    }
    let bridge = "mount -t tmpfs tmpfs /run && ip link add fleet type bridge";
    let output = Command::new("unshare").args(NAMESPACES).args(["sh", "-c", bridge]).output().unwrap();
    if !output.status.success() {
        missing("network-namespaces", &text(&output.stderr));
    }
    output.status.success()
}

/// The packages of programs that are not named like them.
const PACKAGES: [(&str, &str); 13] = [
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("ip", "iproute2"),
    ("strip", "binutils"),
    ("ssh", "openssh-client"),
    ("/usr/sbin/sshd", "openssh-server"),
    ("pgrep", "procps"),
    ("ansible-playbook", "ansible-core"),
    ("/usr/sbin/slurmctld", "slurm-wlm"),
    ("/usr/sbin/slurmd", "slurm-wlm"),
    ("sbatch", "slurm-wlm"),
    ("/usr/sbin/munged", "munge"),
    ("kubectl", "kubernetes-client"),
];

/// Whether programs are installed; one that is missing fails the test unless that is allowed.
pub fn has(programs: &[&str]) -> bool {
    let is_there = |name: &str| {
        let found = Command::new("sh").args(["-c", "command -v \"$0\"", name]).stdout(Stdio::null()).status();
        found.unwrap().success()
    };
    let lacking: Vec<&str> = programs.iter().copied().filter(|name| !is_there(name)).collect();
    for program in &lacking {
        let package =
            PACKAGES.iter().find(|(name, _)| name == program).map_or(*program, |(_, package)| package);
        missing(package, &format!("{program} is not installed"));
    }
    lacking.is_empty()
}

/// The program without its symbols, which would only be copied from machine to machine.
pub fn small_program(place: &Place) -> PathBuf {
    let small = place.file("ipcost");
    let status =
        Command::new("strip").arg("-o").args([&small, Path::new(env!("CARGO_BIN_EXE_ipcost"))]).status();
    assert!(status.unwrap().success());
    small
}

/// Runs the parts of a script with a fleet: as root of namespaces that end with it, in the directory of the test. What it prints.
pub fn with_fleet(place: &Place, environment: &[(&str, &Path)], parts: &[&str]) -> String {
    let script = format!("{FLEET}\ncd \"$PLACE\"\n{}", parts.join("\n"));
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", PATIENCE, "unshare"]).args(NAMESPACES).args(["sh", "-ec", &script]);
    command.env("PLACE", place.files.path()).env("HOME", place.file("controller"));
    command.env("ENGINES", engines()).env("PROGRAM", small_program(place)).env_remove("SSH_AUTH_SOCK");
    command.envs(environment.iter().copied());
    let output = command.current_dir(place.files.path()).stdin(Stdio::null()).output().unwrap();
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{}: {printed}", output.status);
    printed
}

/// The documents of a directory: of these machines, measured by themselves with this seed.
#[track_caller]
pub fn assert_documents(dir: &Path, machines: &[&str], seed: u64) {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let expected = machines.iter().map(|name| format!("{name}.json"));
    assert_eq!(names.collect::<BTreeSet<_>>(), expected.collect());
    for machine in machines {
        let document = fs::read(dir.join(format!("{machine}.json"))).unwrap();
        let document: Value = serde_json::from_slice(&document).unwrap();
        assert_schema("document", &document);
        assert_eq!((&document["host"]["name"], &document["seed"]), (&(*machine).into(), &seed.into()));
        assert_eq!(document["stopped"], "budget");
        assert!(document["cells"].as_array().unwrap().iter().all(|cell| cell["epochs"] == 2));
    }
}

/// The programs of a Python package in an environment of its own, installed once; `None` if that fails and may.
pub fn python_programs(package: &str) -> Option<PathBuf> {
    let _installing = one_by_one(&format!("python-{package}"));
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{package}"));
    if !dir.join("complete").exists() {
        let _ = fs::remove_dir_all(&dir);
        let script = "python3 -m venv \"$0\" && \"$0/bin/pip\" install --quiet --no-compile --disable-pip-version-check \"$1\"";
        let output = Command::new("sh").args(["-c", script]).arg(&dir).arg(package).output().unwrap();
        if !output.status.success() {
            let name = package.split('=').next().unwrap().to_lowercase();
            missing(&name, &(text(&output.stdout) + &text(&output.stderr)));
            return None;
        }
        fs::write(dir.join("complete"), "").unwrap();
    }
    Some(dir.join("bin"))
}
