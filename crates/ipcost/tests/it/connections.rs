//! Connections at speed: ports, full queues, dropped SYNs.

mod common;

use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{Place, text};

/// The kernel's counters belong to all: one test at a time makes trouble or looks for it.
fn counters() -> MutexGuard<'static, ()> {
    static COUNTERS: Mutex<()> = Mutex::new(());
    COUNTERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the program in a network namespace of its own with a hundred local ports; `None` where that may not be done.
fn with_few_ports(place: &Place, options: &str) -> Option<Output> {
    let alone = Command::new("unshare").args(["--net", "true"]).status();
    if !alone.is_ok_and(|status| status.success()) {
        eprintln!("network namespaces are not permitted here: not tested");
        return None;
    }
    let script = format!(
        "ip link set lo up && echo '50000 50100' > /proc/sys/net/ipv4/ip_local_port_range && \
         echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse && exec {} run --transports tcp --patterns connect --epochs 1 \
         --quiet --option closes_first=client {options}",
        env!("CARGO_BIN_EXE_ipcost")
    );
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", &script]).env("TMPDIR", place.tmp.path());
    command.env("IPCOST_DATA_DIR", place.data.path());
    Some(command.output().unwrap())
}

#[test]
fn ports_that_run_out_are_an_error_that_names_the_settings() {
    let place = Place::new();
    let Some(output) = with_few_ports(&place, "--option spread_sources=false") else { return };
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in [
        "no local port is left",
        "closes_first=server",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_tw_reuse",
    ] {
        assert!(error.contains(part), "{error}");
    }
    place.assert_clean();
}

#[test]
fn sources_all_over_loopback_keep_ports_from_running_out() {
    let place = Place::new();
    let Some(output) = with_few_ports(&place, "") else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn dropped_connection_requests_are_noticed() {
    let _alone = counters();
    let place = Place::new();
    // Eight clients for a queue of one: some requests are dropped, and each costs its client a second. Which of them meet
    // is the scheduler's affair, so that a run in which none do is no failure; many such runs are.
    let args = [
        "run",
        "--transports",
        "tcp",
        "--patterns",
        "connect",
        "--concurrency",
        "8",
        "--option",
        "backlog=1",
    ];
    let told = (0..6).find_map(|_| {
        let document =
            place.document(&[&args[..], &["--epochs", "1", "--timeout", "60s", "--quiet"]].concat());
        let warnings = document["warnings"].as_array().unwrap();
        let trouble = warnings.iter().find(|warning| warning["code"] == "connection-trouble")?;
        Some(trouble["message"].as_str().unwrap().to_owned())
    });
    let message = told.expect("a warning in one of six runs");
    assert!(
        message.contains("connect/tcp/64/c8/backlog=1") && message.contains("ListenOverflows"),
        "{message}"
    );
}

#[test]
fn an_ordinary_run_has_no_trouble() {
    let _alone = counters();
    let place = Place::new();
    let document = place.document(&[
        "run",
        "--transports",
        "unix,tcp",
        "--patterns",
        "connect",
        "--epochs",
        "2",
        "--quiet",
    ]);
    let codes: Vec<&str> = document["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["code"].as_str().unwrap())
        .collect();
    assert!(!codes.contains(&"connection-trouble") && !codes.contains(&"backlog-full"), "{codes:?}");
}
