//! Nothing is offered to, or asked of, anything beyond loopback.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Place, argument, text};

/// How often to look who listens: far shorter than a listener stays.
const LOOK: Duration = Duration::from_millis(10);

/// Cells in which each peer has something to do, and whether its listener stays for the whole epoch.
const RUNS: [(&str, &[&str], bool); 14] = [
    ("native", &PLAIN, true),
    ("c", &PLAIN, true),
    ("go", &PLAIN, true),
    ("python", &PLAIN, true),
    ("ruby", &PLAIN, true),
    ("ruby-celluloid", &PLAIN, true),
    ("redis", &REDIS, true),
    ("redis-resolve", &REDIS, true),
    ("socat", &STREAM, false),
    ("socat-started", &STREAM, false),
    ("zeromq", &LIBRARY, true),
    ("nng", &LIBRARY, true),
    ("hyper", &HTTP, true),
    ("tonic", &HTTP, true),
];
const PLAIN: [&str; 4] = ["--patterns", "connect,rr", "--transports", "tcp,unix,unix-abstract"];
const REDIS: [&str; 8] =
    ["--patterns", "connect,rr", "--transports", "tcp,unix", "--sizes", "64", "--replies", "13"];
const HTTP: [&str; 4] = ["--patterns", "rr", "--transports", "tcp,unix"];
const LIBRARY: [&str; 4] = ["--patterns", "rr,stream", "--transports", "tcp,unix"];
const STREAM: [&str; 4] = ["--patterns", "stream", "--transports", "tcp,unix"];

fn arguments(peer: &str, epochs: &str, cells: &[&str]) -> Vec<String> {
    let mut args = vec!["run", "--epochs", epochs, "--no-save", "--timeout", "60s", "--server", peer];
    args.extend(cells);
    args.into_iter().map(str::to_owned).collect()
}

/// Why a peer cannot be used here, if so; said, so that it is not forgotten.
fn is_missing(peer: &str, error: &str) -> bool {
    let missing =
        error.contains(&format!("peer {peer}: ")) || error.contains(&format!("{peer} is unavailable"));
    if missing {
        let _ = writeln!(std::io::stderr(), "skipped: {peer}: {error}");
    }
    missing
}

#[test]
fn every_peer_is_examined() {
    for peer in ipcost_foreign::all() {
        assert!(RUNS.iter().any(|(name, ..)| *name == peer.name), "{}", peer.name);
    }
}

/// Addresses that processes of this network listen on with TCP.
fn listening(processes: &[u32]) -> Vec<IpAddr> {
    const LISTENING: &str = "0A";
    let sockets_of =
        |process: &u32| fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let inode = |entry: fs::DirEntry| {
        let to = fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
        Some(to.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
    };
    let sockets: BTreeSet<String> = processes.iter().flat_map(sockets_of).filter_map(inode).collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().take(10).collect();
            let [_, local, _, state, _, _, _, _, _, inode] = words[..] else { continue };
            if state == LISTENING && sockets.contains(inode) {
                found.push(address(local.split(':').next().unwrap()));
            }
        }
    }
    found
}

/// Words of four bytes in hexadecimal digits, each in the machine's own order (`proc_net_tcp(5)`).
fn address(digits: &str) -> IpAddr {
    let words = digits.as_bytes().chunks(8).map(|word| std::str::from_utf8(word).unwrap());
    let bytes: Vec<u8> =
        words.flat_map(|word| u32::from_str_radix(word, 16).unwrap().to_ne_bytes()).collect();
    match <[u8; 4]>::try_from(bytes.clone()) {
        Ok(four) => Ipv4Addr::from(four).into(),
        Err(_) => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()).to_canonical(),
    }
}

/// A process and all below it; redis-server overwrites its environment, so that only its parents tell.
fn descendants(of: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        children.entry(parent.unwrap_or(0)).or_default().push(process);
    }
    let mut found = vec![of];
    let mut at = 0;
    while let Some(process) = found.get(at) {
        found.extend(children.get(process).into_iter().flatten());
        at += 1;
    }
    found
}

#[test]
fn addresses_are_read_as_the_kernel_writes_them() {
    let written = |words: &[[u8; 4]]| -> String {
        words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect()
    };
    assert_eq!(address(&written(&[[127, 0, 0, 1]])), IpAddr::from(Ipv4Addr::LOCALHOST));
    let mut last = [[0; 4]; 4];
    last[3][3] = 1;
    assert_eq!(address(&written(&last)), IpAddr::from(Ipv6Addr::LOCALHOST));
    assert!(!address(&written(&[[0; 4]])).is_loopback());
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
    let mut child = place
        .command(&[])
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .fold(&mut Command::new("strace"), |command, (name, value)| command.env(name, value))
        .args(["--follow-forks", "--seccomp-bpf", "-qq", "-e", "trace=connect,bind,sendto,sendmsg,sendmmsg"])
        .args(["-o", argument(&log), env!("CARGO_BIN_EXE_ipcost")])
        .args(args)
        .current_dir(place.files.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(place.file("said")).unwrap())
        .spawn()
        .unwrap();
    let mut listeners = BTreeSet::new();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        listeners.extend(listening(&descendants(child.id())));
        std::thread::sleep(LOOK);
    };
    let calls = fs::read_to_string(&log).unwrap_or_default();
    Seen {
        status: status.code(),
        error: fs::read_to_string(place.file("said")).unwrap(),
        used: calls.lines().filter(|line| line.contains("sa_family=")).map(str::to_owned).collect(),
        listening: listeners,
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
    for (peer, cells, stays) in RUNS {
        let place = Place::new();
        let seen = seen(&place, &arguments(peer, "1", cells));
        if !is_missing(peer, &seen.error) {
            assert_eq!(seen.status, Some(0), "{peer}: {}", seen.error);
            assert_local(peer, &seen);
            assert!(!stays || !seen.listening.is_empty(), "{peer}: a listener is seen");
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
        let _ = writeln!(std::io::stderr(), "skipped: this user may not have a network namespace");
        return;
    };
    let output = alone(user, &script);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("tcp"), "{}", text(&output.stdout));
}
