//! Ports, the loopback interface, and what stands between it and a socket.

use ipcost_lab::rules;
use ipcost_model::facts::MachineFacts;
use ipcost_model::units::counted;

use super::{CheckResult, DoctorCheck, check, known};

/// The loopback interface's packets, as every kernel has them, bytes.
const LOOPBACK_MTU: u64 = 65_536;
/// Below so many local ports a client with one source address runs out of them within a second.
const FEW_PORTS: u64 = 1_000;
/// Below so many, within some seconds.
const SOME_PORTS: u64 = 10_000;

pub const CHECKS: &[DoctorCheck] = &[
    check(&rules::LOOPBACK, |facts| {
        known(facts.network.loopback_up, |up| match up {
            true => CheckResult::good("up"),
            false => CheckResult::missing("the loopback interface is down, so TCP is unavailable")
                .command("ip link set lo up"),
        })
    }),
    check(&rules::LOOPBACK_MTU, |facts| {
        known(facts.network.loopback_mtu, |mtu| match mtu {
            LOOPBACK_MTU => CheckResult::good(mtu.to_string()),
            mtu => CheckResult::bends(format!("{mtu} bytes, where {LOOPBACK_MTU} are usual"))
                .command(format!("ip link set lo mtu {LOOPBACK_MTU}")),
        })
    }),
    check(&rules::LOOPBACK_QUEUE, |facts| {
        known(facts.network.loopback_queue.as_deref(), |queue| match queue {
            "noqueue" => CheckResult::good("none"),
            queue => CheckResult::bends(format!("{queue} on lo")).command("tc qdisc delete dev lo root"),
        })
    }),
    check(&rules::LOOPBACK_IPV6, |facts| {
        known(facts.network.loopback_ipv6_disabled, |off| match off {
            false => CheckResult::good("on"),
            true => CheckResult::missing("IPv6 is switched off on lo")
                .command("sysctl -w net.ipv6.conf.lo.disable_ipv6=0"),
        })
    }),
    check(&rules::PACKET_RULES, packet_rules),
    check(&rules::CONNECTION_TRACKING, |facts| {
        known(facts.permissions.loopback_tracked, |tracked| match tracked {
            false => CheckResult::good("not over loopback"),
            true => CheckResult::bends(format!(
                "connections over loopback are tracked, {} at the moment",
                facts.network.tracked_connections.unwrap_or(0)
            ))
            .command(alone(facts))
            .advice("in a network namespace of its own a run meets no rules and no tracking"),
        })
    }),
    check(&rules::CONGESTION_CONTROL, |facts| {
        known(facts.network.tcp_congestion_control.as_deref(), |algorithm| match algorithm {
            "cubic" => CheckResult::good(algorithm),
            algorithm => CheckResult::note(algorithm)
                .advice("results for TCP streams hold for this algorithm")
                .command("sysctl -w net.ipv4.tcp_congestion_control=cubic"),
        })
    }),
    check(&rules::LOCAL_PORTS, |facts| {
        known(facts.network.ip_local_port_range, |[first, last]| {
            let ports = last.saturating_add(1).saturating_sub(first);
            let found = format!("{} ({first} to {last})", counted(ports, "port"));
            let widen = "sysctl -w net.ipv4.ip_local_port_range='32768 60999'";
            let advice = "with the option spread_sources, on by default, each of many source addresses has as many; peers and programs that do not follow it run out";
            match ports {
                0..FEW_PORTS => CheckResult::bends(found).command(widen).advice(advice),
                FEW_PORTS..SOME_PORTS => CheckResult::note(found).command(widen).advice(advice),
                _ => CheckResult::good(found),
            }
        })
    }),
    check(&rules::TIME_WAIT, |facts| {
        let ports = facts
            .network
            .ip_local_port_range
            .map(|[first, last]| last.saturating_add(1).saturating_sub(first));
        known(facts.network.time_wait.zip(ports), |(waiting, ports)| {
            let found = format!(
                "{} in TIME_WAIT, with {}",
                counted(waiting, "connection"),
                counted(ports, "local port")
            );
            match () {
                () if waiting > ports / 2 => CheckResult::bends(found)
                    .advice("find out who opens them, or wait a minute, and measure again"),
                () if waiting > ports / 10 => CheckResult::note(found).advice("they go within a minute"),
                () => CheckResult::good(format!("{waiting} now")),
            }
        })
    }),
    check(&rules::PORT_REUSE, |facts| {
        known(facts.network.tcp_tw_reuse, |reuse| match reuse {
            0 => CheckResult::note("off").command("sysctl -w net.ipv4.tcp_tw_reuse=2"),
            2 => CheckResult::good("over loopback"),
            _ => CheckResult::good("on"),
        })
    }),
];

/// A run with a fresh loopback interface.
fn alone(facts: &MachineFacts) -> &'static str {
    match facts.permissions.root {
        true => "unshare --net sh -c 'ip link set lo up && ipcost'",
        false => "unshare --map-root-user --net sh -c 'ip link set lo up && ipcost'",
    }
}

fn packet_rules(facts: &MachineFacts) -> Vec<CheckResult> {
    let tables = facts.network.packet_tables.as_deref();
    let legacy = tables.filter(|tables| !tables.is_empty()).map(|tables| tables.join(", "));
    let in_its_own = "in a network namespace of its own a run meets no rules and no tracking";
    match (&facts.permissions.packet_rules, legacy) {
        (_, Some(tables)) => {
            let count = match &facts.permissions.packet_rules {
                Some(Ok(count)) if *count > 0 => format!(", and {} of nftables", counted(*count, "rule")),
                _ => String::new(),
            };
            CheckResult::bends(format!("tables of iptables are loaded: {tables}{count}"))
                .command(alone(facts))
                .advice(in_its_own)
                .into()
        }
        (Some(Ok(0)), None) => CheckResult::good("none").into(),
        (Some(Ok(count)), None) => {
            CheckResult::bends(format!("{} in the packet filter", counted(*count, "rule")))
                .command(alone(facts))
                .advice(in_its_own)
                .into()
        }
        (Some(Err(reason)), None) => {
            let way_out = match facts.permissions.root {
                true => "apt-get install nftables",
                false => "sudo ipcost doctor",
            };
            CheckResult::missing(format!("whether there are rules cannot be told: {reason}"))
                .command(way_out)
                .into()
        }
        (None, None) => Vec::new(),
    }
}
