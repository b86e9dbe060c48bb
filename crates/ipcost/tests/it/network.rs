//! Nothing is offered to, or asked of, anything beyond loopback.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

use crate::common::{Place, argument, missing, text};

/// Cells in which each peer has something to do.
const RUNS: [(&str, &[&str]); 14] = [
    ("native", &PLAIN),
    ("c", &PLAIN),
    ("go", &PLAIN),
    ("python", &PLAIN),
    ("ruby", &PLAIN),
    ("ruby-celluloid", &PLAIN),
    ("redis", &REDIS),
    ("redis-resolve", &REDIS),
    ("socat", &STREAM),
    ("socat-started", &STREAM),
    ("zeromq", &LIBRARY),
    ("nng", &LIBRARY),
    ("hyper", &HTTP),
    ("tonic", &HTTP),
];
const PLAIN: [&str; 4] = ["--patterns", "connect,rr", "--transports", "tcp,unix,unix-abstract"];
const REDIS: [&str; 8] =
    ["--patterns", "connect,rr", "--transports", "tcp,unix", "--sizes", "64", "--replies", "13"];
const HTTP: [&str; 4] = ["--patterns", "rr", "--transports", "tcp,unix"];
const LIBRARY: [&str; 4] = ["--patterns", "rr,stream", "--transports", "tcp,unix"];
const STREAM: [&str; 4] = ["--patterns", "stream", "--transports", "tcp,unix"];

fn arguments(peer: &str, epochs: &str, cells: &[&str]) -> Vec<String> {
    // Where it runs and for how long changes nothing about whom it talks to.
    let mut args = vec!["run", "--epochs", epochs, "--no-save", "--timeout", "60s", "--server", peer];
    args.extend(["--placement", "together", "--batch", "5ms"]);
    args.extend(cells);
    args.into_iter().map(str::to_owned).collect()
}

/// Whether a peer cannot be used here, which fails the test unless it is allowed.
fn is_missing(peer: &str, error: &str) -> bool {
    let is_missing =
        error.contains(&format!("peer {peer}: ")) || error.contains(&format!("{peer} is unavailable"));
    if is_missing {
        missing(&format!("peer-{peer}"), error);
    }
    is_missing
}

#[test]
fn every_peer_is_examined() {
    for peer in ipcost_foreign::all() {
        assert!(RUNS.iter().any(|(name, ..)| *name == peer.name), "{}", peer.name);
    }
}

/// The address that a call listens on, as `strace -yy` shows it: `listen(3<TCP:[127.0.0.1:42677]>, 128)`. One that was not bound has
/// none, and is open to all.
fn listener(line: &str) -> Option<IpAddr> {
    let socket = line.split_once("listen(")?.1.split_once("<TCP")?.1;
    let address = socket.split_once(":[")?.1.split_once("]>")?.0;
    let host = address.rsplit_once(':').map_or("", |(host, _)| host);
    Some(host.trim_matches(['[', ']']).parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)))
}

#[test]
fn listeners_are_read_as_strace_writes_them() {
    let of = |line: &str| listener(line).map(|address| address.to_string());
    assert_eq!(of("7 listen(3<TCP:[127.0.0.1:42677]>, 128) = 0").as_deref(), Some("127.0.0.1"));
    assert_eq!(of("7 listen(5<TCPv6:[[::1]:43521]>, 128) = 0").as_deref(), Some("::1"));
    assert_eq!(of("7 listen(5<TCP:[192.0.2.7:80]>, 128) = 0").as_deref(), Some("192.0.2.7"));
    assert_eq!(of("7 listen(4<TCP:[51104028]>, 128) = 0").as_deref(), Some("0.0.0.0"), "not bound");
    assert_eq!(of("7 listen(4<UNIX-STREAM:[51104028]>, 128) = 0"), None);
    assert_eq!(of("7 connect(4<TCP:[51104028]>, {sa_family=AF_INET}) = 0"), None);
}

/// What a run and everything it starts asked and offered.
struct Seen {
    status: Option<i32>,
    error: String,
    /// Socket addresses in system calls.
    used: Vec<String>,
    /// Addresses that something listened on.
    listening: BTreeSet<IpAddr>,
}

fn seen(place: &Place, args: &[String]) -> Seen {
    let log = place.file("calls");
    let status = place
        .command(&[])
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .fold(&mut Command::new("strace"), |command, (name, value)| command.env(name, value))
        .args([
            "--follow-forks",
            "--seccomp-bpf",
            "-qq",
            "-e",
            "trace=connect,bind,listen,sendto,sendmsg,sendmmsg",
        ])
        .arg("--decode-fds=socket")
        .args(["-o", argument(&log), env!("CARGO_BIN_EXE_ipcost")])
        .args(args)
        .current_dir(place.files.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(place.file("said")).unwrap())
        .status()
        .unwrap();
    let calls = fs::read_to_string(&log).unwrap_or_default();
    Seen {
        status: status.code(),
        error: fs::read_to_string(place.file("said")).unwrap(),
        used: calls.lines().filter(|line| line.contains("sa_family=")).map(str::to_owned).collect(),
        listening: calls.lines().filter_map(listener).collect(),
    }
}

#[track_caller]
fn assert_local(peer: &str, seen: &Seen) {
    for line in &seen.used {
        // The kernel itself is asked about the loopback interface over netlink.
        let local = line.contains("sa_family=AF_UNIX")
            || line.contains("sa_family=AF_NETLINK")
            || line.contains("svm_cid=VMADDR_CID_LOCAL")
            || line.contains("inet_addr(\"127.")
            || line.contains("inet_pton(AF_INET6, \"::1\"");
        assert!(local, "{peer}: {line}");
    }
    assert!(seen.listening.iter().all(IpAddr::is_loopback), "{peer} listens on {:?}", seen.listening);
    let uses = |family: &str| seen.used.iter().any(|line| line.contains(family));
    assert!(uses("AF_UNIX") && uses("AF_INET"), "{peer}: what is looked for is seen");
}

#[test]
fn a_default_run_reaches_nothing_but_this_machine() {
    let place = Place::new();
    let args = ["run", "--epochs", "1", "--no-save"].map(str::to_owned);
    let seen = seen(&place, &args);
    assert_eq!(seen.status, Some(0), "{}", seen.error);
    assert_local("the default suite", &seen);
    place.assert_clean();
}

#[test]
fn no_peer_reaches_or_listens_on_anything_but_this_machine() {
    for (peer, cells) in RUNS {
        let place = Place::new();
        let seen = seen(&place, &arguments(peer, "1", cells));
        if !is_missing(peer, &seen.error) {
            assert_eq!(seen.status, Some(0), "{peer}: {}", seen.error);
            assert_local(peer, &seen);
            assert!(!seen.listening.is_empty(), "{peer}: a listener is seen");
            place.assert_clean();
        }
    }
}

#[test]
fn a_machine_without_any_other_network_is_enough() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_ipcost");
    let script =
        format!("ip link set lo up && exec {program} run --epochs 1 --no-save --transports unix,tcp");
    let alone = |user: &[&str], script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net"]).args(user).args(["sh", "-c", script]);
        for (name, value) in place.command(&[]).get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::null()).output().unwrap()
    };
    let ways: [&[&str]; 2] = [&[], &["--map-root-user"]];
    let Some(user) = ways.into_iter().find(|user| alone(user, "ip link set lo up").status.success()) else {
        missing("network-namespaces", "unshare --net fails, with --map-root-user too");
        return;
    };
    let output = alone(user, &script);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("tcp"), "{}", text(&output.stdout));
}
