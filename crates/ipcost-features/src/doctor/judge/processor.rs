//! Frequencies, threads, idle states, mitigations, the clock.

use std::collections::BTreeMap;

use ipcost_lab::rules::{self, COARSE_CLOCK_NS, SLOW_CLOCK_NS, slow_clock};
use ipcost_model::facts::{IdleState, MachineFacts};

use super::{CheckResult, DoctorCheck, check, known};

/// Idle states that take longer to leave stand out in a round trip, microseconds.
const LONG_WAKE_UP_US: u64 = 10;

pub const CHECKS: &[DoctorCheck] = &[
    check(&rules::VIRTUAL_MACHINE, |facts| match facts.processor.hypervisor.as_deref() {
        None if facts.processor.processors == 0 => Vec::new(),
        None => CheckResult::good("not a virtual machine").into(),
        Some("yes") => virtual_machine(String::new()).into(),
        Some(vendor) => virtual_machine(format!(" of {vendor}")).into(),
    }),
    check(&rules::PHYSICAL_CORES, |facts| {
        let cores = facts.processor.physical_cores;
        match cores {
            0 => Vec::new(),
            1 => CheckResult::note("one physical core")
                .advice(
                    "placement two-cores cannot be had here; results say nothing of machines with more cores",
                )
                .into(),
            _ => {
                CheckResult::good(format!("{cores} cores, {} processors", facts.processor.processors)).into()
            }
        }
    }),
    check(&rules::UNLIKE_CORES, |facts| match facts.processor.core_kinds.is_empty() {
        true if facts.processor.processors == 0 => Vec::new(),
        true => CheckResult::good("all alike").into(),
        false => unlike_cores(&facts.processor.core_kinds).into(),
    }),
    check(&rules::SMT, |facts| {
        let threads = facts.processor.processors > facts.processor.physical_cores;
        known(facts.processor.smt.as_deref(), |smt| match smt {
            "on" if threads => CheckResult::note("on")
                .command("echo off > /sys/devices/system/cpu/smt/control")
                .advice("or tell the two cases apart with --placement one-core,two-cores"),
            state => CheckResult::good(state),
        })
    }),
    check(&rules::FREQUENCY_GOVERNOR, |facts| {
        known(facts.processor.governor.as_deref(), |governor| match governor {
            "performance" | "userspace" => CheckResult::good(governor),
            other => CheckResult::bends(other)
                .command("cpupower frequency-set -g performance")
                .advice("on Debian cpupower is in the package linux-cpupower"),
        })
    }),
    check(&rules::BOOST, |facts| {
        known(facts.processor.boost, |boost| {
            match boost {
                false => CheckResult::good("off"),
                true => CheckResult::note("on").command(no_boost(facts.processor.frequency_driver.as_deref())).advice(
                    "ratios are taken within rounds and mostly hold; single costs are those of the frequency of the moment",
                ),
            }
        })
    }),
    check(&rules::IDLE_STATES, idle_states),
    check(&rules::MITIGATIONS, |facts| known(facts.processor.mitigations.as_ref(), mitigations)),
    check(&rules::SLOW_CLOCK, |facts| {
        let source = facts.processor.clock_source.as_deref();
        known(facts.clock, |clock| {
            if clock.read_ns > SLOW_CLOCK_NS || clock.step_ns > COARSE_CLOCK_NS {
                let cause = slow_clock(source, clock.read_ns, clock.step_ns);
                return CheckResult::bends(cause.found).advice(cause.remedy);
            }
            CheckResult::good(format!("{}, {} ns a reading", source.unwrap_or("no name"), clock.read_ns))
        })
    }),
    check(&rules::MEMORY_NODES, |facts| {
        known(facts.processor.memory_nodes, |nodes| match nodes {
            0 | 1 => CheckResult::good("1 NUMA node"),
            nodes => CheckResult::note(format!("{nodes} NUMA nodes"))
                .command("numactl --cpunodebind=0 --membind=0 ipcost")
                .advice(
                    "placement free may cross nodes; hold the run to one of them, or expect several modes",
                ),
        })
    }),
];

fn virtual_machine(whose: String) -> CheckResult {
    CheckResult::note(format!("a virtual machine{whose}"))
        .advice("results hold for this virtual machine; the same processor without a hypervisor gives others")
}

fn unlike_cores(kinds: &BTreeMap<String, String>) -> CheckResult {
    let list: Vec<String> = kinds.iter().map(|(kind, cpus)| format!("{kind}: {cpus}")).collect();
    let capacity = |kind: &str| kind.rsplit(' ').next().and_then(|number| number.parse::<u64>().ok());
    let best = kinds.get("cpu_core").or_else(|| {
        let fastest = kinds.iter().max_by_key(|(kind, _)| capacity(kind));
        fastest.map(|(_, cpus)| cpus)
    });
    let answer = CheckResult::bends(format!("cores differ in kind ({})", list.join("; ")));
    match best {
        Some(cpus) => answer.command(format!("taskset --cpu-list {cpus} ipcost")),
        None => answer,
    }
}

fn no_boost(driver: Option<&str>) -> &'static str {
    match driver {
        Some(driver) if driver.starts_with("intel_") => {
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
        }
        _ => "echo 0 > /sys/devices/system/cpu/cpufreq/boost",
    }
}

fn idle_states(facts: &MachineFacts) -> Vec<CheckResult> {
    let states = &facts.processor.idle_states;
    let enabled = states.iter().filter(|state| !state.disabled);
    match enabled.max_by_key(|state| state.latency_us) {
        Some(IdleState { name, latency_us, .. }) if *latency_us > LONG_WAKE_UP_US => {
            CheckResult::bends(format!("{name} takes {latency_us} µs to leave"))
                .command(format!("cpupower idle-set --disable-by-latency {}", LONG_WAKE_UP_US + 1))
                .advice("cpupower idle-set --enable-all undoes it; without it, compare with --placement one-core")
                .into()
        }
        Some(deepest) => CheckResult::good(format!("{} µs at most to leave", deepest.latency_us)).into(),
        None => match (facts.processor.idle_driver.as_deref(), &facts.processor.hypervisor) {
            (Some("none"), Some(_)) => CheckResult::note("an idle processor halts, and the hypervisor has to wake it up")
                .advice("compare with --placement one-core, where neither side sleeps; booted with cpuidle_haltpoll.force=1, the guest waits a while before it halts")
                .into(),
            (Some("none"), None) => CheckResult::good("none are used").into(),
            _ => Vec::new(),
        },
    }
}

/// Vulnerability, what the kernel says where its mitigation is costly, and that in plain words. Most are described in
/// the kernel's documentation of hardware vulnerabilities.
const DEAR: &[(&str, &str, &str)] = &[
    ("meltdown", "PTI", "page tables are switched at every system call"),
    ("spectre_v2", "Retpolines", "indirect jumps in the kernel are kept from being predicted"),
    ("spectre_v2", "Mitigation: IBRS", "branch prediction is restricted at every system call"),
    ("spectre_v2", "IBPB: always-on", "branch prediction is flushed at every switch between processes"),
    ("spectre_v2", "BHI: SW loop", "branch history is cleared at every system call"),
    ("retbleed", "Mitigation: IBRS", "branch prediction is restricted at every system call"),
    ("retbleed", "untrained return thunk", "returns in the kernel are kept from being predicted"),
    ("retbleed", "Mitigation: IBPB", "branch prediction is flushed at every system call"),
    ("mds", "Clear CPU buffers", "buffers of the processor are cleared at every return from the kernel"),
    (
        "tsx_async_abort",
        "Clear CPU buffers",
        "buffers of the processor are cleared at every return from the kernel",
    ),
    (
        "mmio_stale_data",
        "Clear CPU buffers",
        "buffers of the processor are cleared at every return from the kernel",
    ),
    (
        "reg_file_data_sampling",
        "Clear",
        "buffers of the processor are cleared at every return from the kernel",
    ),
    ("tsa", "Clear CPU buffers", "buffers of the processor are cleared at every return from the kernel"),
    ("spec_rstack_overflow", "Safe RET", "returns in the kernel are kept from being predicted"),
    ("spec_rstack_overflow", "Mitigation: IBPB", "branch prediction is flushed at every system call"),
    ("indirect_target_selection", "thunks", "indirect jumps in the kernel go through detours"),
];

fn mitigations(active: &BTreeMap<String, String>) -> CheckResult {
    let is_active = |name: &str, mark: &str| active.get(name).is_some_and(|how| how.contains(mark));
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, _, reason) in DEAR.iter().filter(|(name, mark, _)| is_active(name, mark)) {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    if reasons.is_empty() {
        return CheckResult::good("none that adds much to a system call or a switch");
    }
    let list: Vec<String> =
        reasons.iter().map(|(reason, names)| format!("{reason} ({})", names.join(", "))).collect();
    CheckResult::note(list.join("; ")).advice("boot with mitigations=off to see by how much (unsafe)")
}
