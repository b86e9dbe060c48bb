//! Connections at speed: ports, full queues, dropped SYNs.

use std::process::{Output, Stdio};

use serde_json::Value;

use crate::common::{Place, in_own_network, text};

/// Runs the program in a network namespace of its own, whose counters and ports no one else has; `None` where that may
/// not be done.
fn in_namespace(place: &Place, setup: &str, args: &str) -> Option<Output> {
    in_namespace_with(place, setup, "--patterns connect", args)
}

fn in_namespace_with(place: &Place, setup: &str, patterns: &str, args: &str) -> Option<Output> {
    let words = shlex::split(&format!("run {patterns} --quiet {args}")).unwrap();
    let program = place.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
    Some(in_own_network(setup, &program)?.stdin(Stdio::null()).output().unwrap())
}

fn with_few_ports(place: &Place, options: &str) -> Option<Output> {
    let setup = "echo '50000 50100' > /proc/sys/net/ipv4/ip_local_port_range; \
                 echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse";
    in_namespace(place, setup, &format!("--transports tcp --epochs 1 --option closes_first=client {options}"))
}

/// The warnings of a run in such a namespace. A queue that overflows is not answered with SYN cookies, as those end some
/// connections with a reset.
fn warnings(place: &Place, args: &str) -> Option<Vec<Value>> {
    let setup = "echo 0 > /proc/sys/net/ipv4/tcp_syncookies";
    let output = in_namespace(place, setup, &format!("{args} --json document.json"))?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document = std::fs::read(place.file("document.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    Some(document["warnings"].as_array().unwrap().clone())
}

#[test]
fn ports_that_run_out_are_an_error_that_names_the_settings() {
    let place = Place::new();
    let Some(output) = with_few_ports(&place, "--option spread_sources=false") else { return };
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in [
        "no local port is left", "closes_first=server", "net.ipv4.ip_local_port_range",
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
    let place = Place::new();
    // Every accept begins a twentieth of a second late, so that many clients meet a full queue of one: some requests are
    // dropped, and each costs its client a second.
    let slow =
        "strace -f -qq -o /dev/null -e trace=accept,accept4 -e inject=accept,accept4:delay_enter=50000";
    let program = env!("CARGO_BIN_EXE_ipcost");
    let args = format!(
        "--transports tcp --concurrency 6 --option backlog=1 --placement free --epochs 1 --timeout 5min --latency off --server slow --peer 'slow={slow} {program} peer'"
    );
    let Some(warnings) = warnings(&place, &args) else { return };
    let trouble = warnings.iter().find(|warning| warning["code"] == "connection-trouble");
    let message = trouble.expect("a warning")["message"].as_str().unwrap();
    assert!(
        message.contains("connect/tcp/64/c6/native→slow/backlog=1") && message.contains("ListenOverflows"),
        "{message}"
    );
}

#[test]
fn a_lost_datagram_ends_the_cell_and_is_named() {
    let place = Place::new();
    let setup = "nft add table ip t; nft add chain ip t c '{ type filter hook input priority 0; }'; nft add rule ip t c meta l4proto udp limit rate over 1/second burst 500 packets drop";
    let args = "--transports udp --epochs 1 --timeout 2s";
    let Some(output) = in_namespace_with(&place, setup, "--patterns rr", args) else { return };
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("rr/udp/64/c1") && error.contains("A datagram may have been lost"), "{error}");
    assert!(error.contains("so_rcvbuf"), "{error}");
    place.assert_clean();
}

#[test]
fn an_ordinary_run_has_no_trouble() {
    let Some(warnings) = warnings(&Place::new(), "--transports unix,tcp --epochs 2") else { return };
    let codes: Vec<&str> = warnings.iter().map(|warning| warning["code"].as_str().unwrap()).collect();
    assert!(!codes.contains(&"connection-trouble") && !codes.contains(&"backlog-full"), "{codes:?}");
}
