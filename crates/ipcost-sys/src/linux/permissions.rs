//! This user's permissions: tried out where a setting alone does not tell.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use ipcost_model::facts::PermissionFacts;
use serde_json::Value;

use super::counting::counting;
use crate::SysError;
use crate::facts::network::tracked_connections;
use crate::facts::text::number;

/// Tries everything; takes some tens of milliseconds and starts short-lived programs.
pub fn permissions() -> PermissionFacts {
    let root = rustix::process::geteuid().is_root();
    PermissionFacts {
        root,
        perf_event_paranoid: number("/proc/sys/kernel/perf_event_paranoid"),
        counting: Some(counting()),
        ptrace_scope: number("/proc/sys/kernel/yama/ptrace_scope"),
        tracing: tracing(),
        network_namespace: Some(network_namespace(root).map_err(|error| error.to_string())),
        io_uring_disabled: number("/proc/sys/kernel/io_uring_disabled"),
        packet_rules: Some(packet_rules(root).map_err(|error| error.to_string())),
        loopback_tracked: loopback_tracked(),
    }
}

/// Whether strace can trace a program that does nothing; `None` without strace.
fn tracing() -> Option<bool> {
    let output = run("strace", &["-qq", "-o", "/dev/null", "true"]);
    match output {
        Ok(output) => Some(output.status.success()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => Some(false),
    }
}

fn run(program: &str, arguments: &[&str]) -> io::Result<Output> {
    // Debian keeps some programs on root's PATH only.
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    Command::new(program).args(arguments).env("PATH", path).stdin(Stdio::null()).output()
}

/// Starts a program that does nothing in a private network namespace; an ordinary user needs a user namespace for that.
fn network_namespace(root: bool) -> io::Result<()> {
    let flags = if root { libc::CLONE_NEWNET } else { libc::CLONE_NEWUSER | libc::CLONE_NEWNET };
    let mut command = Command::new("true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let enter = move || {
        // SAFETY: unshare takes no pointers; only this single-threaded child changes its namespaces.
        let result = unsafe { libc::unshare(flags) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec the closure makes one system call and neither allocates nor locks.
    unsafe { command.pre_exec(enter) };
    command.status().map(drop)
}

/// How many rules the packet filter has.
fn packet_rules(root: bool) -> Result<u64, SysError> {
    if !root {
        return Err(SysError::Unsupported("only root may list them"));
    }
    match run("nft", &["--json", "list", "ruleset"]) {
        Ok(output) if output.status.success() => {
            rules(&output.stdout).ok_or(SysError::Unsupported("nft gave an unexpected answer"))
        }
        Ok(_) => Err(SysError::Unsupported("nft is not permitted to list them")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(SysError::Unsupported("nft is not installed"))
        }
        Err(source) => Err(SysError::Call { action: "nft cannot be started".to_owned(), source }),
    }
}

/// The rules in the output of `nft --json` (`libnftables-json(5)`).
fn rules(json: &[u8]) -> Option<u64> {
    if json.iter().all(u8::is_ascii_whitespace) {
        return Some(0);
    }
    let value: Value = serde_json::from_slice(json).ok()?;
    let objects = value.get("nftables")?.as_array()?;
    Some(objects.iter().filter(|object| object.get("rule").is_some()).count() as u64)
}

/// Parses bytes as nft's output.
pub(crate) fn read_bytes(bytes: &[u8]) {
    let _ = rules(bytes);
}

/// Opens a connection over loopback and looks for it among the tracked ones.
fn loopback_tracked() -> Option<bool> {
    /// Another program's connection may interfere; not each time.
    const ATTEMPTS: usize = 3;
    if tracked_connections().is_none() {
        return Some(false);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    let address = listener.local_addr().ok()?;
    for _ in 0..ATTEMPTS {
        let before = tracked_connections()?;
        let _client = TcpStream::connect(address).ok()?;
        if tracked_connections()? <= before {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rules_are_counted() {
        let json =
            br#"{"nftables": [{"metainfo": {}}, {"table": {}}, {"chain": {}}, {"rule": {}}, {"rule": {}}]}"#;
        assert_eq!(rules(json), Some(2));
        assert_eq!(
            (rules(b"\n"), rules(b"{}"), rules(b"table ip x"), rules(b"{\"nftables\": 3}")),
            (Some(0), None, None, None)
        );
    }

    #[test]
    fn everything_is_tried_and_nothing_fails() {
        let found = permissions();
        assert!(found.counting.is_some() && found.network_namespace.is_some());
        assert_eq!(found.root, rustix::process::geteuid().is_root());
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = rules(&bytes);
        }
    }
}
