//! How two logical processors of this machine are related: what they share.

use crate::placement::Topology;
use crate::system::kernel_files;

/// What two logical processors share, the closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// They are the same one.
    Same,
    /// Hardware threads of one core.
    Siblings,
    /// A cache of this level, and none below.
    SharedCache(u32),
    /// A package (socket), but no cache.
    SamePackage,
    /// Only the machine's memory, or nothing known.
    OtherPackage,
}

impl Relation {
    /// The label of a table row.
    pub fn words(self) -> String {
        match self {
            Self::Same => "one processor".to_owned(),
            Self::Siblings => "two threads of a core".to_owned(),
            Self::SharedCache(level) => format!("two cores that share an L{level} cache"),
            Self::SamePackage => "two cores of a package, no shared cache".to_owned(),
            Self::OtherPackage => "two packages".to_owned(),
        }
    }
}

/// For each relation among the processors available to this program, one pair; the closest relation first.
pub fn distinct() -> Vec<(Relation, (usize, usize))> {
    let topology = Topology::read();
    // The last processors first: interrupts and system services tend to use the first.
    let mut cpus: Vec<usize> = topology.cores.iter().flatten().copied().collect();
    cpus.sort_unstable_by(|one, other| other.cmp(one));
    let facts: Vec<ProcessorTopology> = cpus.iter().map(|cpu| ProcessorTopology::read(*cpu)).collect();
    let mut found: Vec<(Relation, (usize, usize))> = Vec::new();
    for (first, client) in cpus.iter().enumerate() {
        for (second, server) in cpus.iter().enumerate().skip(first) {
            let same_core = topology.cores.iter().any(|core| core.contains(client) && core.contains(server));
            let relation = relation(*client, *server, same_core, &facts[first], &facts[second]);
            if !found.iter().any(|(known, _)| *known == relation) {
                found.push((relation, (*client, *server)));
            }
        }
    }
    found.sort_unstable();
    found
}

fn relation(
    a: usize,
    b: usize,
    same_core: bool,
    of_a: &ProcessorTopology,
    of_b: &ProcessorTopology,
) -> Relation {
    if a == b {
        return Relation::Same;
    }
    if same_core {
        return Relation::Siblings;
    }
    let shared =
        of_a.caches.iter().filter(|cache| of_b.caches.contains(cache)).map(|cache| cache.level).min();
    match shared {
        Some(level) => Relation::SharedCache(level),
        None if of_a.package.is_some() && of_a.package == of_b.package => Relation::SamePackage,
        None => Relation::OtherPackage,
    }
}

/// Data from `/sys` about a logical processor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ProcessorTopology {
    caches: Vec<ProcessorCache>,
    package: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessorCache {
    level: u32,
    /// The processors that share it, as the kernel writes them.
    shared_by: String,
}

impl ProcessorTopology {
    fn read(cpu: usize) -> Self {
        let dir = format!("/sys/devices/system/cpu/cpu{cpu}");
        let line = |path: String| kernel_files::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let cache = |index: usize| {
            let of = |what: &str| line(format!("{dir}/cache/index{index}/{what}"));
            // Hand-overs move data, not instructions.
            let holds_data = of("type")? != "Instruction";
            holds_data.then_some(ProcessorCache {
                level: of("level")?.parse().ok()?,
                shared_by: of("shared_cpu_list")?,
            })
        };
        let package = line(format!("{dir}/topology/physical_package_id"));
        Self { caches: (0..10).filter_map(cache).collect(), package }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(l2: &str, l3: &str, package: &str) -> ProcessorTopology {
        let cache = |level, shared_by: &str| ProcessorCache { level, shared_by: shared_by.to_owned() };
        ProcessorTopology { caches: vec![cache(2, l2), cache(3, l3)], package: Some(package.to_owned()) }
    }

    #[test]
    fn what_is_shared_decides() {
        let near = [facts("0-1", "0-7", "0"), facts("0-1", "0-7", "0")];
        let far = [facts("2-3", "0-7", "0"), facts("8-9", "8-15", "0"), facts("16-17", "16-23", "1")];
        assert_eq!(relation(0, 0, true, &near[0], &near[0]), Relation::Same);
        assert_eq!(relation(0, 1, true, &near[0], &near[1]), Relation::Siblings);
        assert_eq!(relation(0, 1, false, &near[0], &near[1]), Relation::SharedCache(2));
        assert_eq!(relation(0, 2, false, &near[0], &far[0]), Relation::SharedCache(3));
        assert_eq!(relation(0, 8, false, &near[0], &far[1]), Relation::SamePackage);
        assert_eq!(relation(0, 16, false, &near[0], &far[2]), Relation::OtherPackage);
        assert_eq!(
            relation(0, 1, false, &ProcessorTopology::default(), &ProcessorTopology::default()),
            Relation::OtherPackage
        );
    }

    #[test]
    fn this_machine_has_one_processor_at_least() {
        let found = distinct();
        assert_eq!(found[0].0, Relation::Same);
        assert!(found.iter().skip(1).all(|(_, (a, b))| a != b));
    }
}
