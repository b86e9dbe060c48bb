//! The manifests for Kubernetes, against the published schemas, and how kubectl brings the documents back.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use crate::common::{Place, copy_of_the_program, missing, text};
use crate::deploy::{engines, has, python_programs};

/// It carries the schemas of these versions: the oldest in which the manifests mean what they say, and its newest.
const PACKAGE: &str = "kubernetes-validate==1.37.0";
const VERSIONS: [&str; 2] = ["1.33", "1.37"];

#[test]
fn manifests_are_valid_and_a_mistake_is_seen() {
    let Some(programs) = python_programs(PACKAGE) else { return };
    let validate = |version: &str, file: &str| -> Output {
        let mut command = Command::new(programs.join("kubernetes-validate"));
        command.args(["--strict", "--kubernetes-version", version, file]);
        command.output().unwrap()
    };
    let place = Place::new();
    for name in ["daemonset.yaml", "job.yaml"] {
        let file = engines().join("kubernetes").join(name);
        for version in VERSIONS {
            let output = validate(version, file.to_str().unwrap());
            assert!(output.status.success(), "{name}: {}{}", text(&output.stdout), text(&output.stderr));
        }
        let wrong = fs::read_to_string(&file).unwrap().replace("readOnlyRootFilesystem", "readOnlyRoot");
        let wrong = place.write(name, &wrong);
        let output = validate(VERSIONS[0], wrong.to_str().unwrap());
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(!output.status.success() && told.contains("readOnlyRoot"), "{told}");
    }
}

#[test]
fn an_image_is_named_by_its_registry_and_its_digest() {
    for name in ["daemonset.yaml", "job.yaml"] {
        let manifest = fs::read_to_string(engines().join("kubernetes").join(name)).unwrap();
        let images: Vec<&str> =
            manifest.lines().filter_map(|line| line.trim().strip_prefix("image:")).map(str::trim).collect();
        let (first, rest) = images.split_first().unwrap();
        assert!(
            first.starts_with("&image ") && first.contains('/') && first.contains("@sha256:"),
            "{name}: {first}"
        );
        assert!(!rest.is_empty() && rest.iter().all(|image| *image == "*image"), "{name}: {rest:?}");
    }
}

/// A script where kubectl says that a pod runs on a node of this name; what it printed, and what it left.
fn collected_from(node: &str) -> (String, Vec<String>) {
    let place = Place::new();
    let kubectl =
        format!("#!/bin/sh\ncase $1 in get) echo 'p ended:0 Succeeded {node}' ;; *) echo '{{}}' ;; esac\n");
    fs::create_dir(place.file("bin")).unwrap();
    place.write_program("bin/kubectl", &kubectl);
    fs::create_dir_all(place.file("a/results")).unwrap();
    let mut command = Command::new(engines().join("kubernetes/collect.sh"));
    command
        .arg(place.file("a/results"))
        .env("PATH", format!("{}:/usr/bin:/bin", place.file("bin").display()));
    let printed = text(&command.output().unwrap().stdout);
    let found = Command::new("find").arg(place.files.path()).args(["-name", "*json"]).output().unwrap();
    let root = format!("{}/", place.files.path().display());
    (printed, text(&found.stdout).lines().map(|line| line.replace(&root, "")).collect())
}

#[test]
fn a_nodes_name_that_is_a_path_writes_nowhere() {
    for node in ["../../evil", ".hidden", "a/b"] {
        let (printed, left) = collected_from(node);
        assert!(
            printed.contains("a name that is none of a file") && left.is_empty(),
            "{node}: {printed}{left:?}"
        );
    }
    let (_, mut left) = collected_from("n1.example-2_x");
    left.sort();
    assert_eq!(left, ["a/results/doctor/n1.example-2_x.json", "a/results/documents/n1.example-2_x.json"]);
}

/// What kubectl talks to, until it is dropped.
struct Api(Child);

impl Drop for Api {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts what answers as a cluster does; the configuration by which kubectl finds it.
fn api(place: &Place, document: &str) -> (Api, String) {
    const ANSWERS: &str = include_str!("deploy/api.py");
    let mut command = Command::new("python3");
    command.args(["-c", ANSWERS, document]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut api = Api(command.spawn().unwrap());
    let mut port = String::new();
    BufReader::new(api.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let configuration = format!(
        r#"apiVersion: v1
kind: Config
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{}"}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
users: [{{name: test, user: {{}}}}]
current-context: test
"#,
        port.trim()
    );
    let file = place.write("kubeconfig", &configuration);
    (api, file.to_str().unwrap().to_owned())
}

#[test]
fn documents_are_collected_by_node_and_pods_without_one_are_named() {
    if !has(&["kubectl", "python3"]) {
        return;
    }
    let place = Place::new();
    let document = place.write("document.json", "{\"schema\":\"ipcost/1\"}\n");
    let (_api, configuration) = api(&place, document.to_str().unwrap());
    // Of an earlier run.
    fs::create_dir_all(place.file("results/documents")).unwrap();
    place.write("results/documents/n2.json", "{}");

    let mut command = Command::new(engines().join("kubernetes/collect.sh"));
    command.arg(place.file("results")).env("KUBECONFIG", configuration).env("HOME", place.files.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}{}", text(&output.stderr));

    let missing =
        "n2: ipcost-b is Pending\nn3: ipcost-c ended with status 137\nno node: ipcost-d is Pending\n";
    assert_eq!(printed, format!("2 of 5 pods gave a complete document\n{missing}"));
    assert_eq!(fs::read_to_string(place.file("results/missing.txt")).unwrap(), missing);
    let names = |dir: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(place.file(dir)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert_eq!(names("results/documents"), ["n1.json", "n4.json"].map(str::to_owned).into());
    assert_eq!(names("results/doctor").len(), 4, "the pod without a node has said nothing");
    let kept = fs::read(place.file("results/documents/n1.json")).unwrap();
    assert_eq!(kept, fs::read(document).unwrap());
}

/// What a manifest sets in the environment of its containers.
fn environment(manifest: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(engines().join("kubernetes").join(manifest)).unwrap();
    let of = |line: &str, key: &str| Some(line.trim().strip_prefix(key)?.trim().to_owned());
    let lines: Vec<&str> = text.lines().collect();
    lines.windows(2).filter_map(|pair| Some((of(pair[0], "- name:")?, of(pair[1], "value:")?))).collect()
}

#[test]
fn a_volume_that_all_users_can_write_to_holds_no_sockets() {
    // As the kubelet makes it: in memory, of root, for all users, and not sticky. /dev/shm is what every container has.
    let volume =
        "mount -t tmpfs -o mode=0777 tmpfs /tmp && mount -t tmpfs -o mode=1777 tmpfs /dev/shm && exec \"$@\"";
    // Below /tmp it would be out of sight.
    let kept = tempfile::Builder::new().prefix("ipcost-test").tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(kept.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program_there = kept.path().join("ipcost");
    copy_of_the_program(&program_there);
    let users = [&["env"][..], &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]];
    for user in users {
        let run = |environment: &[(String, String)]| {
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-c", volume, "sh"]).args(user).arg(&program_there);
            command.args(["run", "--transports", "unix,fifo", "--patterns", "rr", "--placement", "free"]);
            command.args(["--epochs", "1", "--quiet", "--no-save"]).env_remove("TMPDIR").current_dir("/");
            command.env("IPCOST_IGNORE_OTHERS", "1");
            command.envs(environment.iter().map(|(name, value)| (name, value)));
            command.stdin(Stdio::null()).output().unwrap()
        };
        let refused = run(&[]);
        let said = text(&refused.stderr);
        if said.starts_with("unshare: ") {
            missing("mount-namespaces", &said);
            return;
        }
        assert!(!refused.status.success());
        // Once, with what to do.
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(
            said.matches("TMPDIR").count() == 1 && said.contains("/tmp can be written to by others"),
            "{said}"
        );
        for manifest in ["daemonset.yaml", "job.yaml"] {
            let set = environment(manifest);
            assert!(set.iter().any(|(name, _)| name == "TMPDIR"), "{set:?}");
            let output = run(&set);
            assert!(output.status.success(), "{user:?}: {}", text(&output.stderr));
        }
    }
}
