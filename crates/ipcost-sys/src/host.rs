//! Facts about the machine that bear on results.

use std::fs;

use ipcost_model::Host;
use serde_json::{Map, Value, json};

use crate::placement::Topology;

/// Reads them; what cannot be read is empty or absent.
pub fn read() -> Host {
    let topology = Topology::read();
    let uname = rustix::system::uname();
    let mut more = Map::new();
    let mut fact = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            more.insert(name.to_owned(), value);
        }
    };
    fact("name", Some(uname.nodename().to_string_lossy().into_owned().into()));
    fact("memory_bytes", memory_bytes().map(Value::from));
    fact("hypervisor", hypervisor().map(Value::from));
    fact("governor", line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").map(Value::from));
    fact("smt", line("/sys/devices/system/cpu/smt/control").map(Value::from));
    fact("clock_source", clock_source().map(Value::from));
    fact("mitigations", mitigations());
    Host {
        os: std::env::consts::OS.to_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu: cpu_model().unwrap_or_default(),
        cores: topology.processors() as u32,
        physical_cores: topology.cores.len() as u32,
        more,
    }
}

/// What the kernel's clock is driven by.
pub fn clock_source() -> Option<String> {
    line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().next().unwrap_or_default().trim().to_owned())
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

fn cpu_model() -> Option<String> {
    const CPUINFO: &str = "/proc/cpuinfo";
    field(CPUINFO, "model name").or_else(|| field(CPUINFO, "Model")).or_else(|| field(CPUINFO, "CPU part"))
}

fn memory_bytes() -> Option<u64> {
    let kibibytes = field("/proc/meminfo", "MemTotal")?;
    kibibytes.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

fn hypervisor() -> Option<String> {
    let flags = field("/proc/cpuinfo", "flags")?;
    let guest = flags.split_whitespace().any(|flag| flag == "hypervisor");
    guest.then(|| {
        line("/sys/class/dmi/id/sys_vendor").filter(|name| !name.is_empty()).unwrap_or_else(|| "yes".into())
    })
}

/// The processor's vulnerabilities that are mitigated, and how: they decide what a system call costs.
fn mitigations() -> Option<Value> {
    let mut found = Map::new();
    for entry in fs::read_dir("/sys/devices/system/cpu/vulnerabilities").ok()?.flatten() {
        if let Some(how) = line(&entry.path().to_string_lossy()).filter(|how| how.starts_with("Mitigation")) {
            found.insert(entry.file_name().to_string_lossy().into_owned(), json!(how));
        }
    }
    Some(Value::Object(found))
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_the_kernel() {
        let host = super::read();
        assert!(!host.kernel.is_empty() && host.cores >= 1 && host.physical_cores <= host.cores);
    }
}
