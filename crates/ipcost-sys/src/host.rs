//! Facts about the machine that affect results.

use std::fs;
use std::sync::OnceLock;

use ipcost_model::Host;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::facts;
use crate::facts::text::{field, kibibytes};
use crate::placement::Topology;
use crate::system::{kernel_files, machine};

/// The fact that Wine replaces Windows: its version. Results then say nothing about Windows.
pub const WINE: &str = "wine";

/// The length of [`tag`].
pub const TAG_DIGITS: usize = 8;

/// Where Linux keeps what tells an installation from others: `machine-id(5)`, which also says not to pass it on.
const MACHINE_ID: &str = "/etc/machine-id";

/// Reads them; anything unreadable is empty or absent.
pub fn read() -> Host {
    let topology = Topology::read();
    let machine = machine::read();
    let mut more = Map::new();
    more.insert("name".to_owned(), machine.name.into());
    if let Some(id) = fs::read_to_string(MACHINE_ID).ok().as_deref().and_then(pseudonym) {
        more.insert("machine".to_owned(), id.into());
    }
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

/// Tells this machine from others that share a file system with it: a part of a hash of its id and its name. Copies of an image
/// may have one id. A machine without an id is known by its boot.
pub fn tag() -> &'static str {
    static TAG: OnceLock<String> = OnceLock::new();
    TAG.get_or_init(|| {
        let id = fs::read_to_string(MACHINE_ID).ok().as_deref().and_then(pseudonym).or_else(boot);
        let hash = Sha256::new()
            .chain_update(id.unwrap_or_default())
            .chain_update(" ")
            .chain_update(machine::read().name)
            .finalize();
        hash[..TAG_DIGITS / 2].iter().map(|byte| format!("{byte:02x}")).collect()
    })
}

/// What stands for this boot of the machine; `None` if the system gives boots no id.
pub fn boot() -> Option<String> {
    kernel_files::read_to_string("/proc/sys/kernel/random/boot_id").ok().as_deref().and_then(pseudonym)
}

/// The network namespace of this process, which has settings of its own; `None` if the system has no such thing.
pub fn network() -> Option<String> {
    fs::read_link("/proc/self/ns/net").ok().map(|name| name.to_string_lossy().into_owned())
}

/// The kernel's clock source.
pub fn clock_source() -> Option<String> {
    facts::clock_source()
}

/// What stands for a machine id: a part of its hash, from which it cannot be found. `None` if an image was not yet given an id.
fn pseudonym(id: &str) -> Option<String> {
    let id = id.trim();
    if id.is_empty() || id == "uninitialized" {
        return None;
    }
    let hash = Sha256::new().chain_update("ipcost machine ").chain_update(id).finalize();
    Some(hash[..6].iter().map(|byte| format!("{byte:02x}")).collect())
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

    #[test]
    fn a_machine_has_a_pseudonym_of_its_own() {
        let id = "5f1d6f6f0c9f4b6cb1b1e2e0d9a7c3aa";
        let own = super::pseudonym(&format!("{id}\n")).unwrap();
        assert!(own.len() == 12 && !id.contains(&own), "{own}");
        assert_ne!(super::pseudonym("5f1d6f6f0c9f4b6cb1b1e2e0d9a7c3ab"), Some(own));
        assert!(super::pseudonym("uninitialized\n").is_none() && super::pseudonym("").is_none());
    }
}
