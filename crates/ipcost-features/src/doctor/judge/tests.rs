//! Made-up facts in, findings out: every check speaks up when it should, and a clean machine is left alone.

use std::collections::BTreeMap;

use ipcost_lab::rules::RuleSource;
use ipcost_model::facts::{
    ActivitySample, BuiltInPeer, Counting, IdleState, LimitFacts, MachineFacts, NetworkFacts,
    PermissionFacts, ProcessorFacts, Reading, SchedulerFacts, ToolFacts, UnavailableTransport,
};
use proptest::prelude::*;

use super::{checks, examine};
use crate::doctor::{Finding, State};

/// A machine of which everything is known, and all of it is good.
fn clean() -> MachineFacts {
    MachineFacts {
        processor: ProcessorFacts {
            processors: 4,
            physical_cores: 4,
            governor: Some("performance".into()),
            frequency_driver: Some("intel_pstate".into()),
            boost: Some(false),
            smt: Some("off".into()),
            idle_driver: Some("intel_idle".into()),
            idle_states: vec![idle("POLL", 0, false), idle("C1", 2, false), idle("C6", 133, true)],
            clock_source: Some("tsc".into()),
            mitigations: Some(BTreeMap::from([
                (
                    "spectre_v1".into(),
                    "Mitigation: usercopy/swapgs barriers and __user pointer sanitization".into(),
                ),
                ("spectre_v2".into(), "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional".into()),
                ("retbleed".into(), "Mitigation: Enhanced IBRS".into()),
                (
                    "spec_store_bypass".into(),
                    "Mitigation: Speculative Store Bypass disabled via prctl".into(),
                ),
            ])),
            hypervisor: None,
            memory_nodes: Some(1),
            core_kinds: BTreeMap::new(),
        },
        scheduler: SchedulerFacts {
            preemption: Some("voluntary".into()),
            irq_time_accounting: Some(false),
            container: None,
            seccomp_filters: Some(0),
            processors_online: Some(4),
            cpu_quota: None,
            load_average: Some([0.01, 0.05, 0.0]),
            swap_used_bytes: Some(0),
            memory_pressure_percent: Some(0.0),
        },
        limits: LimitFacts {
            open_files_limit: Some(1_048_576),
            pipe_max_size: Some(1_048_576),
            pipe_user_pages_soft: Some(16_384),
            new_pipe_bytes: Some(65_536),
            pipe_holders: Vec::new(),
            rmem_max: Some(212_992),
            wmem_max: Some(212_992),
            tcp_rmem: Some([4_096, 131_072, 6_291_456]),
            tcp_wmem: Some([4_096, 16_384, 4_194_304]),
            somaxconn: Some(4_096),
            max_dgram_qlen: Some(512),
            tcp_max_syn_backlog: Some(512),
        },
        network: NetworkFacts {
            ip_local_port_range: Some([32_768, 60_999]),
            tcp_tw_reuse: Some(2),
            tcp_congestion_control: Some("cubic".into()),
            time_wait: Some(3),
            loopback_up: Some(true),
            loopback_mtu: Some(65_536),
            loopback_queue: Some("noqueue".into()),
            loopback_ipv6_disabled: Some(false),
            packet_tables: Some(Vec::new()),
            tracked_connections: None,
        },
        sample: Some(ActivitySample {
            quiet_s: 0.5,
            others: Some(0.01),
            busiest: Some(("sshd".into(), 7, 0.01)),
            busy_s: 0.5,
            stolen: Some(0.0),
            stolen_since_boot: Some(0.0),
            throttled: None,
        }),
        clock: Some(Reading { read_ns: 25, step_ns: 20 }),
        left_changed: None,
        permissions: PermissionFacts {
            root: true,
            perf_event_paranoid: Some(1),
            counting: Some(Counting::Kernel),
            ptrace_scope: Some(1),
            tracing: Some(true),
            network_namespace: Some(Ok(())),
            io_uring_disabled: Some(0),
            packet_rules: Some(Ok(0)),
            loopback_tracked: Some(false),
        },
        tools: ToolFacts {
            transports: 8,
            unavailable_transports: Vec::new(),
            peers: vec![peer("c", None), peer("go", None)],
            peer_cache: None,
            strace: Some(true),
            debug_build: false,
        },
    }
}

fn idle(name: &str, latency_us: u64, disabled: bool) -> IdleState {
    IdleState { name: name.into(), latency_us, disabled }
}

fn peer(name: &str, lacks: Option<&str>) -> BuiltInPeer {
    BuiltInPeer { name: name.into(), lacks: lacks.map(str::to_owned), packages: "gcc".into() }
}

fn mitigated(name: &str, how: &str) -> Option<BTreeMap<String, String>> {
    Some(BTreeMap::from([(name.to_owned(), how.to_owned())]))
}

fn watched(facts: &mut MachineFacts) -> &mut ActivitySample {
    facts.sample.as_mut().expect("a clean machine was watched")
}

/// A code, what is changed on a clean machine, what that comes to, and what must be said.
type Row = (&'static str, fn(&mut MachineFacts), State, &'static [&'static str]);

const ROWS: &[Row] = &[
    ("virtual-machine", |f| f.processor.hypervisor = Some("QEMU".into()), State::Note, &["QEMU"]),
    ("physical-cores", |f| f.processor.physical_cores = 1, State::Note, &["one", "two-cores"]),
    (
        "unlike-cores",
        |f| {
            f.processor.core_kinds =
                [("cpu_atom", "8-15"), ("cpu_core", "0-7")].map(|(a, b)| (a.into(), b.into())).into()
        },
        State::Bends,
        &["cpu_atom: 8-15", "taskset --cpu-list 0-7 "],
    ),
    (
        "unlike-cores",
        |f| {
            f.processor.core_kinds =
                [("capacity 446", "0,1"), ("capacity 1024", "2,3")].map(|(a, b)| (a.into(), b.into())).into()
        },
        State::Bends,
        &["taskset --cpu-list 2,3 "],
    ),
    (
        "smt",
        |f| (f.processor.smt, f.processor.physical_cores) = (Some("on".into()), 2),
        State::Note,
        &["/smt/control", "--placement one-core,two-cores"],
    ),
    ("smt", |f| f.processor.smt = Some("on".into()), State::Good, &["on"]),
    (
        "frequency-governor",
        |f| f.processor.governor = Some("performance, powersave".into()),
        State::Bends,
        &["powersave", "cpupower frequency-set -g performance"],
    ),
    ("boost", |f| f.processor.boost = Some(true), State::Note, &["intel_pstate/no_turbo"]),
    (
        "boost",
        |f| (f.processor.boost, f.processor.frequency_driver) = (Some(true), Some("acpi-cpufreq".into())),
        State::Note,
        &["echo 0 > /sys/devices/system/cpu/cpufreq/boost"],
    ),
    (
        "idle-states",
        |f| f.processor.idle_states[2].disabled = false,
        State::Bends,
        &["C6 takes 133 µs", "cpupower idle-set"],
    ),
    (
        "idle-states",
        |f| {
            f.processor.idle_states.clear();
            (f.processor.idle_driver, f.processor.hypervisor) = (Some("none".into()), Some("yes".into()));
        },
        State::Note,
        &["halts", "--placement one-core"],
    ),
    (
        "mitigations",
        |f| f.processor.mitigations = mitigated("meltdown", "Mitigation: PTI"),
        State::Note,
        &["page tables", "meltdown"],
    ),
    (
        "mitigations",
        |f| f.processor.mitigations = mitigated("spectre_v2", "Mitigation: Retpolines; IBPB: conditional"),
        State::Note,
        &["indirect jumps"],
    ),
    (
        "mitigations",
        |f| f.processor.mitigations = mitigated("mds", "Mitigation: Clear CPU buffers; SMT vulnerable"),
        State::Note,
        &["buffers of the processor are cleared"],
    ),
    (
        "slow-clock",
        |f| f.clock = Some(Reading { read_ns: 900, step_ns: 30 }),
        State::Bends,
        &["(tsc)", "900 ns"],
    ),
    (
        "slow-clock",
        |f| f.clock = Some(Reading { read_ns: 30, step_ns: 4_000_000 }),
        State::Bends,
        &["4000000 ns"],
    ),
    ("memory-nodes", |f| f.processor.memory_nodes = Some(2), State::Note, &["2 NUMA nodes", "numactl"]),
    (
        "steal",
        |f| watched(f).stolen = Some(0.034),
        State::Bends,
        &["3.4 %", "the hypervisor took", "host is quieter"],
    ),
    (
        "steal",
        |f| watched(f).stolen_since_boot = Some(0.034),
        State::Note,
        &["3.4 %", "since the machine was started"],
    ),
    ("busy-neighbour", |f| watched(f).others = Some(0.4), State::Bends, &["other work took 40 %", "stop it"]),
    (
        "cpu-quota",
        |f| f.scheduler.cpu_quota = Some(0.5),
        State::Bends,
        &["0.50 processors", "raise the control group's quota"],
    ),
    ("cpu-quota", |f| f.scheduler.cpu_quota = Some(3.0), State::Note, &["3.00 processors"]),
    (
        "cpu-quota",
        |f| {
            f.scheduler.cpu_quota = Some(3.0);
            watched(f).throttled = Some((4, 0.5));
        },
        State::Bends,
        &["3.00 processors", "throttled this program 4 times", "0.5 s"],
    ),
    ("processors-allowed", |f| f.scheduler.processors_online = Some(8), State::Note, &["4 of 8", "cpuset"]),
    ("preemption", |f| f.scheduler.preemption = Some("rt".into()), State::Note, &["real-time"]),
    (
        "irq-time-accounting",
        |f| f.scheduler.irq_time_accounting = Some(true),
        State::Bends,
        &[
            "processor time of TCP is too low",
            "CONFIG_IRQ_TIME_ACCOUNTING",
            "softirq_ns_per_op",
            "tsc=noirqtime",
        ],
    ),
    ("irq-time-accounting", |_| (), State::Good, &["charged to the process"]),
    ("container", |f| f.scheduler.container = Some("docker".into()), State::Note, &["docker"]),
    (
        "seccomp",
        |f| f.scheduler.seccomp_filters = Some(2),
        State::Bends,
        &["2 seccomp filters", "seccomp=unconfined"],
    ),
    ("memory-pressure", |f| f.scheduler.memory_pressure_percent = Some(12.5), State::Bends, &["12.5 %"]),
    ("swap", |f| f.scheduler.swap_used_bytes = Some(3_000_000), State::Note, &["3 MiB", "swapoff"]),
    ("open-files", |f| f.limits.open_files_limit = Some(256), State::Missing, &["256", "ulimit -n"]),
    ("open-files", |f| f.limits.open_files_limit = Some(4_096), State::Note, &["4096", "ulimit -n"]),
    (
        "pipe-size",
        |f| f.limits.pipe_max_size = Some(65_536),
        State::Note,
        &["64 KiB", "sysctl -w fs.pipe-max-size=1048576"],
    ),
    (
        "pipe-pages",
        |f| f.limits.pipe_user_pages_soft = Some(1_024),
        State::Note,
        &["64 pipes", "sysctl -w fs.pipe-user-pages-soft=16384"],
    ),
    (
        "pipe-pages",
        |f| {
            f.limits.new_pipe_bytes = Some(8_192);
            f.limits.pipe_holders = vec![("python3 (7)".to_owned(), 16_000), ("sh (8)".to_owned(), 400)];
        },
        State::Bends,
        &["a new pipe holds 8 KiB", "16400 pages", "16000 of them python3 (7)"],
    ),
    ("pipe-pages", |f| f.limits.pipe_user_pages_soft = Some(0), State::Good, &["no limit"]),
    (
        "socket-buffers",
        |f| f.limits.rmem_max = Some(65_536),
        State::Note,
        &["64 KiB to receive", "net.core.rmem_max"],
    ),
    (
        "tcp-buffers",
        |f| f.limits.tcp_wmem = Some([4_096, 16_384, 65_536]),
        State::Bends,
        &["64 KiB to send", "net.ipv4.tcp_wmem"],
    ),
    (
        "left-changed",
        |f| f.left_changed = Some("a run that was killed has changed this machine".to_owned()),
        State::Bends,
        &["killed", "undoes"],
    ),
    ("listen-queue", |f| f.limits.somaxconn = Some(16), State::Bends, &["16", "net.core.somaxconn=4096"]),
    ("listen-queue", |f| f.limits.somaxconn = Some(128), State::Note, &["128", "net.core.somaxconn=4096"]),
    ("syn-queue", |f| f.limits.tcp_max_syn_backlog = Some(8), State::Bends, &["8", "tcp_max_syn_backlog"]),
    ("loopback", |f| f.network.loopback_up = Some(false), State::Missing, &["down", "ip link set lo up"]),
    (
        "loopback-mtu",
        |f| f.network.loopback_mtu = Some(1_500),
        State::Bends,
        &["1500", "ip link set lo mtu 65536"],
    ),
    (
        "loopback-queue",
        |f| f.network.loopback_queue = Some("netem".into()),
        State::Bends,
        &["netem", "tc qdisc delete dev lo root"],
    ),
    ("loopback-ipv6", |f| f.network.loopback_ipv6_disabled = Some(true), State::Missing, &["disable_ipv6=0"]),
    (
        "packet-rules",
        |f| f.permissions.packet_rules = Some(Ok(12)),
        State::Bends,
        &["12 rules", "unshare --net "],
    ),
    (
        "packet-rules",
        |f| f.network.packet_tables = Some(vec!["nat".into()]),
        State::Bends,
        &["iptables", "nat"],
    ),
    (
        "packet-rules",
        |f| {
            (f.permissions.packet_rules, f.permissions.root) =
                (Some(Err("only root may list them".into())), false)
        },
        State::Missing,
        &["only root", "sudo ipcost doctor"],
    ),
    (
        "packet-rules",
        |f| f.permissions.packet_rules = Some(Err("nft is not installed".into())),
        State::Missing,
        &["apt-get install nftables"],
    ),
    (
        "connection-tracking",
        |f| (f.permissions.loopback_tracked, f.permissions.root) = (Some(true), false),
        State::Bends,
        &["tracked", "unshare --map-root-user --net "],
    ),
    (
        "local-ports",
        |f| f.network.ip_local_port_range = Some([50_000, 50_100]),
        State::Bends,
        &["101 ports", "ip_local_port_range='32768 60999'"],
    ),
    ("local-ports", |f| f.network.ip_local_port_range = Some([50_000, 55_000]), State::Note, &["5001 ports"]),
    (
        "time-wait",
        |f| f.network.time_wait = Some(5_000),
        State::Note,
        &["5000 connections", "28232 local ports"],
    ),
    ("time-wait", |f| f.network.time_wait = Some(20_000), State::Bends, &["20000 connections"]),
    (
        "congestion-control",
        |f| f.network.tcp_congestion_control = Some("bbr".into()),
        State::Note,
        &["bbr", "tcp_congestion_control=cubic"],
    ),
    ("port-reuse", |f| f.network.tcp_tw_reuse = Some(0), State::Note, &["sysctl -w net.ipv4.tcp_tw_reuse=2"]),
    (
        "performance-counters",
        |f| f.permissions.counting = Some(Counting::Absent),
        State::Missing,
        &["no counters"],
    ),
    (
        "performance-counters",
        |f| {
            (f.permissions.counting, f.permissions.perf_event_paranoid) = (Some(Counting::Forbidden), Some(3))
        },
        State::Missing,
        &["perf_event_paranoid is 3", "sysctl -w kernel.perf_event_paranoid=1"],
    ),
    (
        "performance-counters",
        |f| f.permissions.counting = Some(Counting::User),
        State::Note,
        &["sysctl -w kernel.perf_event_paranoid=1"],
    ),
    ("system-call-tracing", |f| f.permissions.tracing = Some(false), State::Missing, &["SYS_PTRACE"]),
    (
        "system-call-tracing",
        |f| (f.permissions.tracing, f.permissions.ptrace_scope) = (Some(false), Some(2)),
        State::Missing,
        &["ptrace_scope is 2", "sysctl -w kernel.yama.ptrace_scope=1"],
    ),
    (
        "system-call-tracing",
        |f| (f.permissions.tracing, f.permissions.ptrace_scope) = (Some(false), Some(3)),
        State::Missing,
        &["next boot"],
    ),
    (
        "network-namespace",
        |f| f.permissions.network_namespace = Some(Err("Operation not permitted".into())),
        State::Missing,
        &["Operation not permitted"],
    ),
    (
        "io-uring",
        |f| f.permissions.io_uring_disabled = Some(2),
        State::Note,
        &["forbidden", "kernel.io_uring_disabled=0"],
    ),
    (
        "transports",
        |f| {
            f.tools.unavailable_transports =
                vec![UnavailableTransport { name: "tcp6".into(), reason: "no IPv6".into() }]
        },
        State::Missing,
        &["tcp6: no IPv6"],
    ),
    (
        "peers",
        |f| {
            let reason = "redis-server is not installed; on Debian: apt-get install redis-server";
            f.tools.peers = vec![peer("redis", Some(reason)), peer("redis-resolve", Some(reason))];
        },
        State::Missing,
        &["redis, redis-resolve: redis-server is not installed", "apt-get install redis-server"],
    ),
    (
        "peers",
        |f| f.tools.peers = vec![peer("c", Some("cc cannot be started"))],
        State::Missing,
        &["apt-get install gcc"],
    ),
    (
        "peer-cache",
        |f| f.tools.peer_cache = Some("cannot make /nowhere".into()),
        State::Missing,
        &["/nowhere"],
    ),
    ("strace", |f| f.tools.strace = Some(false), State::Missing, &["apt-get install strace"]),
    ("debug-build", |f| f.tools.debug_build = true, State::Bends, &["without optimisation", "--release"]),
];

fn of(code: &str, facts: &MachineFacts) -> Vec<Finding> {
    examine(facts).0.into_iter().filter(|finding| finding.code == code).collect()
}

fn said(finding: &Finding) -> String {
    [Some(&finding.found), finding.command.as_ref(), finding.advice.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect::<Vec<_>>()
        .join(" | ")
}

#[test]
fn a_clean_machine_is_good_in_every_respect() {
    let (findings, unknown) = examine(&clean());
    let doubtful: Vec<String> =
        findings.iter().filter(|finding| finding.state != State::Good).map(said).collect();
    assert_eq!((doubtful, unknown), (Vec::new(), Vec::new()));
    assert_eq!(findings.len(), checks().count());
}

#[test]
fn what_is_wrong_is_found_with_its_value_and_its_remedy_and_nothing_else_is() {
    for (code, spoil, state, parts) in ROWS {
        let mut facts = clean();
        spoil(&mut facts);
        let found = of(code, &facts);
        assert_eq!(found.len(), 1, "{code}");
        let said = said(&found[0]);
        assert_eq!(found[0].state, *state, "{code}: {said}");
        parts.iter().for_each(|part| assert!(said.contains(part), "{code}: {part:?} is not in {said}"));
        assert!(!said.contains('\n'), "{code}");
        let remedied = *state == State::Good || found[0].command.is_some() || found[0].advice.is_some();
        assert!(remedied || matches!(*code, "transports" | "peer-cache"), "{code}: what to do is not said");
        let others = examine(&facts)
            .0
            .into_iter()
            .filter(|finding| finding.code != *code && finding.state == State::Bends);
        assert_eq!(others.count(), 0, "{code} makes something else bend");
    }
}

#[test]
fn every_check_has_a_row_in_which_it_speaks_up() {
    for (_, check) in checks() {
        assert!(check.rule.places.contains(&RuleSource::Doctor), "{}", check.rule.code);
        let speaks = |row: &&Row| row.0 == check.rule.code && row.2 != State::Good;
        assert!(ROWS.iter().any(|row| speaks(&row)), "{}", check.rule.code);
        assert_eq!(
            checks().filter(|(_, other)| other.rule.code == check.rule.code).count(),
            1,
            "{}",
            check.rule.code
        );
    }
}

#[test]
fn a_peer_that_no_package_brings_has_no_command() {
    let mut facts = clean();
    facts.tools.peers = vec![BuiltInPeer { packages: String::new(), ..peer("hyper", Some("build extra/")) }];
    let found = &of("peers", &facts)[0];
    assert_eq!((found.found.as_str(), &found.command), ("hyper: build extra/", &None));
}

#[test]
fn what_is_not_known_is_not_judged() {
    let (findings, unknown) = examine(&MachineFacts::default());
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(
        codes,
        ["left-changed", "debug-build"],
        "the program knows what it left, and how it was built"
    );
    assert_eq!(unknown.len(), checks().count() - 2);
}

#[test]
fn a_process_is_blamed_only_for_much_of_the_work_and_never_in_the_finding_itself() {
    let mut facts = clean();
    watched(&mut facts).others = Some(0.4);
    watched(&mut facts).busiest = Some(("secret".into(), 7, 0.05));
    assert_eq!(of("busy-neighbour", &facts)[0].aside, None);
    watched(&mut facts).busiest = Some(("secret".into(), 7, 0.3));
    let found = &of("busy-neighbour", &facts)[0];
    assert_eq!(found.aside.as_deref(), Some("most of it secret (process 7)"));
    assert!(!serde_json::to_string(found).unwrap().contains("secret"));
}

proptest! {
    #[test]
    fn no_number_is_too_large_to_be_judged(number in any::<u64>(), other in any::<u64>(), share in any::<f64>()) {
        let mut facts = clean();
        facts.network.ip_local_port_range = Some([number, other]);
        facts.network.time_wait = Some(other);
        facts.scheduler.swap_used_bytes = Some(number);
        facts.scheduler.cpu_quota = Some(share);
        facts.limits.tcp_wmem = Some([number; 3]);
        facts.limits.pipe_max_size = Some(number);
        watched(&mut facts).throttled = Some((number, share));
        watched(&mut facts).others = Some(share);
        prop_assert!(examine(&facts).0.len() == checks().count());
    }
}
