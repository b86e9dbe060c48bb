//! Frequencies, threads, idle states, mitigations, the clock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ipcost_model::facts::{IdleState, ProcessorFacts};

use super::text::{field, line, listed, number};
use crate::placement::Topology;
use crate::system::kernel_files;

const CPUINFO: &str = "/proc/cpuinfo";
const CPU: &str = "/sys/devices/system/cpu";

/// Facts about the processors.
pub fn processor(topology: &Topology) -> ProcessorFacts {
    let first = topology.cores.first().map_or(0, |core| core[0]);
    ProcessorFacts {
        processors: topology.processors() as u32,
        physical_cores: topology.cores.len() as u32,
        governor: governor(topology),
        frequency_driver: line(&format!("{CPU}/cpu{first}/cpufreq/scaling_driver")),
        boost: boost(),
        smt: line(&format!("{CPU}/smt/control")),
        idle_driver: line(&format!("{CPU}/cpuidle/current_driver")),
        idle_states: idle_states(Path::new(&format!("{CPU}/cpu{first}/cpuidle"))),
        clock_source: clock_source(),
        mitigations: mitigations(Path::new(&format!("{CPU}/vulnerabilities"))),
        hypervisor: hypervisor(),
        memory_nodes: line("/sys/devices/system/node/online").as_deref().and_then(listed),
        core_kinds: core_kinds(topology),
    }
}

/// The kernel's clock source.
pub fn clock_source() -> Option<String> {
    line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// The processor's model name.
pub fn cpu_model() -> Option<String> {
    field(CPUINFO, "model name").or_else(|| field(CPUINFO, "Model")).or_else(|| field(CPUINFO, "CPU part"))
}

/// The governors of all processors available to this program.
fn governor(topology: &Topology) -> Option<String> {
    let of = |cpu: &usize| line(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor"));
    let all: BTreeSet<String> = topology.cores.iter().flatten().filter_map(of).collect();
    (!all.is_empty()).then(|| all.into_iter().collect::<Vec<_>>().join(", "))
}

/// Intel's driver has its own switch, with inverted meaning.
fn boost() -> Option<bool> {
    let allowed = number::<u8>(&format!("{CPU}/cpufreq/boost")).map(|on| on != 0);
    let forbidden = number::<u8>(&format!("{CPU}/intel_pstate/no_turbo")).map(|off| off == 0);
    forbidden.or(allowed)
}

/// The directories `state0`, `state1`, … of a processor (the kernel's documentation of cpuidle).
fn idle_states(dir: &Path) -> Vec<IdleState> {
    const MOST: usize = 32;
    let state = |index: usize| {
        let file = |name: &str| line(&dir.join(format!("state{index}")).join(name).to_string_lossy());
        Some(IdleState {
            name: file("name")?,
            latency_us: file("latency")?.parse().ok()?,
            disabled: file("disable").is_some_and(|disabled| disabled != "0"),
        })
    };
    (0..MOST).map_while(state).collect()
}

/// The processor's vulnerabilities and their mitigations, which decide what a system call costs.
fn mitigations(dir: &Path) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for entry in kernel_files::read_dir(dir).ok()?.flatten() {
        if let Some(how) = line(&entry.path().to_string_lossy()).filter(|how| how.starts_with("Mitigation")) {
            found.insert(entry.file_name().to_string_lossy().into_owned(), how);
        }
    }
    Some(found)
}

fn hypervisor() -> Option<String> {
    let flags = field(CPUINFO, "flags")?;
    let guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
    guest.then(|| line("/sys/class/dmi/id/sys_vendor").unwrap_or_else(|| "yes".into()))
}

/// Performance and efficiency cores: Intel lists them separately, others differ in capacity.
fn core_kinds(topology: &Topology) -> BTreeMap<String, String> {
    let of_intel = |name: &str| Some((name.to_owned(), line(&format!("/sys/devices/{name}/cpus"))?));
    let kinds: BTreeMap<String, String> = ["cpu_core", "cpu_atom"].into_iter().filter_map(of_intel).collect();
    if kinds.len() > 1 {
        return kinds;
    }
    let capacity = |cpu: &usize| Some((number::<u64>(&format!("{CPU}/cpu{cpu}/cpu_capacity"))?, *cpu));
    by_capacity(topology.cores.iter().flatten().filter_map(capacity))
}

/// Processors by capacity; empty if all have the same.
fn by_capacity(processors: impl Iterator<Item = (u64, usize)>) -> BTreeMap<String, String> {
    let mut kinds: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (capacity, cpu) in processors {
        kinds.entry(capacity).or_default().push(cpu.to_string());
    }
    if kinds.len() < 2 {
        return BTreeMap::new();
    }
    kinds.into_iter().map(|(capacity, list)| (format!("capacity {capacity}"), list.join(","))).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn idle_states_are_read_until_there_are_no_more() {
        let dir = tempfile::tempdir().unwrap();
        for (state, name, latency, disabled) in
            [(0, "POLL", "0", "0"), (1, "C6", "133", "1"), (3, "C8", "9", "0")]
        {
            let place = dir.path().join(format!("state{state}"));
            fs::create_dir(&place).unwrap();
            for (file, value) in [("name", name), ("latency", latency), ("disable", disabled)] {
                fs::write(place.join(file), format!("{value}\n")).unwrap();
            }
        }
        let deep = IdleState { name: "C6".into(), latency_us: 133, disabled: true };
        assert_eq!(
            idle_states(dir.path()),
            [IdleState { name: "POLL".into(), ..IdleState::default() }, deep]
        );
        assert_eq!(idle_states(Path::new("/nowhere")), []);
    }

    #[test]
    fn only_what_is_mitigated_counts() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("meltdown"), "Mitigation: PTI\n").unwrap();
        fs::write(dir.path().join("l1tf"), "Not affected\n").unwrap();
        fs::write(dir.path().join("broken"), [0xff, 0xfe]).unwrap();
        let found = mitigations(dir.path()).unwrap();
        assert_eq!(found, BTreeMap::from([("meltdown".to_owned(), "Mitigation: PTI".to_owned())]));
        assert_eq!(mitigations(Path::new("/nowhere")), None);
    }

    #[test]
    fn kinds_of_cores_are_told_apart() {
        let unlike = by_capacity([(1024, 0), (446, 2), (1024, 1)].into_iter());
        assert_eq!(
            unlike,
            BTreeMap::from([("capacity 446".into(), "2".into()), ("capacity 1024".into(), "0,1".into())])
        );
        assert!(by_capacity([(1024, 0), (1024, 1)].into_iter()).is_empty());
    }
}
