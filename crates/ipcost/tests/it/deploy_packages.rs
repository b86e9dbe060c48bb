//! The image for Kubernetes, of the static binary that `cargo xtask dist` packs, run as the manifests run it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::{Place, assert_schema, missing, text, wait};
use crate::deploy::{can_run, engines};
use crate::packages;

const IMAGE: &str = "localhost/ipcost";
/// What the manifests give a container: no user, no capability, a file system that it cannot write, an empty directory for
/// temporary files. No network, and limits that any machine may set.
const RESTRICTED: [&str; 16] = [
    "--rm",
    "--user=65534",
    "--read-only",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    // As the kubelet makes a volume: for all users, and not sticky.
    "--tmpfs=/tmp:mode=0777",
    "--env=TMPDIR=/dev/shm",
    "--env=IPCOST_DATA_DIR=/tmp/data",
    "--env=XDG_CACHE_HOME=/tmp/cache",
    "--network=none",
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=1000:1000",
    "--pull=never",
    "--log-driver=none",
    "--interactive",
    "--volume",
];

/// Podman with images and containers of its own.
fn podman(place: &Place, runtime: Option<&str>) -> Command {
    let mut command = Command::new("podman");
    command.arg("--root").arg(place.file("images")).arg("--runroot").arg(place.file("containers"));
    command.args(["--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--events-backend=none"]);
    command.args(runtime.map(|name| format!("--runtime={name}")));
    command
}

/// A command in a new container.
fn container(place: &Place, runtime: Option<&str>, words: &[String]) -> Command {
    let mut command = podman(place, runtime);
    let job = format!("{}:/job:ro", place.file("job").display());
    command.arg("run").args(RESTRICTED).arg(job).arg(IMAGE).args(words).stdin(Stdio::null());
    command
}

/// The commands of a manifest, in the order of its containers.
fn commands(manifest: &str) -> Vec<Vec<String>> {
    let manifest = fs::read_to_string(engines().join("kubernetes").join(manifest)).unwrap();
    let lists = manifest.lines().filter_map(|line| line.trim().strip_prefix("command: [")?.strip_suffix(']'));
    lists.map(|list| list.split(", ").map(|word| word.trim_matches('"').to_owned()).collect()).collect()
}

#[test]
fn the_image_runs_as_the_manifests_run_it() {
    if !can_run(&["podman", "unshare", "ip"]) {
        return;
    }
    let place = Place::new();
    let (_unpacked, folder) = packages::unpacked(packages::LINUX);
    fs::create_dir(place.file("job")).unwrap();
    let job = "epochs = 2\n[[cells]]\ntransport = [\"unix\", \"tcp\"]\nplacement = \"free\"\n";
    fs::write(place.file("job/job.toml"), job).unwrap();

    let mut build = podman(&place, None);
    build.args(["build", "--quiet", "--isolation=chroot", "--tag", IMAGE, "--file"]);
    let output = build.arg(engines().join("kubernetes/Containerfile")).arg(&folder).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));

    // Podman's own failures have the status 125; which of its runtimes works depends on the control groups of this machine.
    let version = ["/ipcost".to_owned(), "--version".to_owned()];
    let mut refusals = String::new();
    let runtime = [None, Some("runc"), Some("crun")].into_iter().find(|runtime| {
        let output = container(&place, *runtime, &version).output().unwrap();
        refusals += &text(&output.stderr);
        ![Some(125), Some(126)].contains(&output.status.code())
    });
    let Some(runtime) = runtime else {
        missing("containers", &refusals);
        return;
    };

    let daemon_set = commands("daemonset.yaml");
    let [doctor, measure, waits] = daemon_set.as_slice() else { panic!("{daemon_set:?}") };
    assert_eq!(commands("job.yaml"), [doctor.clone(), measure.clone()]);
    for (words, schema) in [(doctor, "doctor"), (measure, "document")] {
        let output = container(&place, runtime, words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        // Standard output is one document and nothing else, for kubectl logs.
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        if schema == "document" {
            assert_schema(schema, &document);
            assert_eq!((&document["seed"], &document["stopped"]), (&1.into(), &"budget".into()));
            assert!(document["cells"].as_array().unwrap().iter().all(|cell| cell["epochs"] == 2));
        } else {
            assert_eq!(document["schema"], "ipcost-doctor/1");
        }
    }

    // The third keeps the pod until its input ends.
    let mut child =
        container(&place, runtime, waits).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut hello = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut hello).unwrap();
    assert!(hello.contains("\"hello\""), "{hello}");
    assert!(child.try_wait().unwrap().is_none());
    drop(child.stdin.take());
    assert!(wait(child).status.success());
    let left = podman(&place, runtime).args(["ps", "--all", "--quiet"]).output().unwrap();
    assert_eq!(text(&left.stdout), "", "containers are left");
}
