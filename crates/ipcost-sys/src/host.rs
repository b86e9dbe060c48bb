//! Facts about the machine that affect results.

use ipcost_model::Host;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::facts;
use crate::facts::text::{field, kibibytes};
use crate::placement::Topology;
use crate::system::machine;

/// The fact that Wine replaces Windows: its version. Results then say nothing about Windows.
pub const WINE: &str = "wine";

/// Reads them; anything unreadable is empty or absent.
pub fn read() -> Host {
    let topology = Topology::read();
    let machine = machine::read();
    let mut more = Map::new();
    more.insert("name".to_owned(), machine.name.into());
    let memory = field("/proc/meminfo", "MemTotal").as_deref().and_then(kibibytes);
    if let Some(bytes) = memory.or(machine.memory_bytes) {
        more.insert("memory_bytes".to_owned(), Value::from(bytes));
    }
    if let Some(version) = machine.wine {
        more.insert(WINE.to_owned(), version.into());
    }
    more.extend(by_name(&facts::processor(&topology)));
    more.extend(by_name(&facts::scheduler()));
    more.extend(by_name(&facts::limits()));
    more.extend(by_name(&facts::network()));
    Host {
        os: std::env::consts::OS.to_owned(),
        kernel: machine.kernel,
        arch: std::env::consts::ARCH.to_owned(),
        cpu: facts::cpu_model().or(machine.cpu).unwrap_or_default(),
        cores: topology.processors() as u32,
        physical_cores: topology.cores.len() as u32,
        more,
    }
}

/// The kernel's clock source.
pub fn clock_source() -> Option<String> {
    facts::clock_source()
}

/// Facts by field name.
fn by_name(facts: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(facts) {
        Ok(Value::Object(facts)) => facts,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_the_kernel_and_settings() {
        let host = super::read();
        assert!(!host.kernel.is_empty() && host.cores >= 1 && host.physical_cores <= host.cores);
        for name in ["memory_bytes", "ip_local_port_range", "somaxconn", "loopback_mtu", "load_average"] {
            assert!(host.more.contains_key(name), "{name}: {:?}", host.more);
        }
    }
}
