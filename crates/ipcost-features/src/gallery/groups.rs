//! Groups of hosts over all jobs.

use std::collections::{HashMap, HashSet};

use ipcost_model::units::counted;
use ipcost_report::html::matrix::Column;

use crate::fleet::{Fleet, HostGroup, HostKey};

/// The groups of all fleets, the largest first.
#[derive(Debug)]
pub struct Groups {
    pub all: Vec<Group>,
    /// How many hosts there are.
    pub hosts: usize,
}

/// A group of hosts.
#[derive(Debug)]
pub struct Group {
    /// With its hosts over all fleets, each once.
    pub group: HostGroup,
    /// Its index in each fleet.
    pub places: Vec<Option<u64>>,
}

/// The page of a group.
pub fn name(group: usize) -> String {
    format!("group-{}.html", group + 1)
}

impl Groups {
    pub fn of(fleets: &[Fleet]) -> Self {
        let mut all: Vec<Group> = Vec::new();
        let mut known: HashMap<HostGroup, usize> = HashMap::new();
        let mut hosts: HashSet<&HostKey> = HashSet::new();
        let mut of_group: Vec<HashSet<&HostKey>> = Vec::new();
        for (job, fleet) in fleets.iter().enumerate() {
            let mut places = Vec::new();
            for (index, group) in fleet.groups.iter().enumerate() {
                let key = HostGroup { hosts: 0, ..group.clone() };
                let place = *known.entry(key).or_insert_with(|| {
                    all.push(Group { group: group.clone(), places: vec![None; fleets.len()] });
                    of_group.push(HashSet::new());
                    all.len() - 1
                });
                all[place].places[job] = Some(index as u64);
                places.push(place);
            }
            for host in &fleet.hosts {
                of_group[places[host.group as usize]].insert(&host.key);
                hosts.insert(&host.key);
            }
        }
        for (group, hosts) in all.iter_mut().zip(of_group) {
            group.group.hosts = hosts.len() as u64;
        }
        all.sort_by_key(|group| std::cmp::Reverse(group.group.hosts));
        Self { all, hosts: hosts.len() }
    }

    /// The groups of a fleet, the largest first, by index.
    pub fn of_fleet(&self, job: usize) -> Vec<(usize, u64)> {
        let places = self.all.iter().enumerate();
        places.filter_map(|(index, group)| Some((index, group.places[job]?))).collect()
    }

    /// A group above a column of a table, with how many of its hosts are in the fleet.
    pub fn column(&self, index: usize, hosts: u64) -> Column {
        let group = &self.all[index].group;
        let lines = [processor(&group.cpu), group.virtualisation.clone(), counted(hosts, "host")];
        Column {
            name: kernel(group),
            lines: lines.into_iter().filter(|line| !line.is_empty()).collect(),
            link: Some(name(index)),
        }
    }
}

/// `6.8.0`; with the system, unless that is Linux.
pub fn kernel(group: &HostGroup) -> String {
    let name = match group.os.as_str() {
        "linux" => format!("Linux {}", group.kernel),
        os => format!("{os} {}", group.kernel),
    };
    match name.trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}

/// A processor's model without what says nothing: `AMD EPYC 7763` of `AMD EPYC 7763 64-Core Processor`.
pub fn processor(model: &str) -> String {
    let model =
        ["(R)", "(r)", "(TM)", "(tm)"].iter().fold(model.to_owned(), |model, mark| model.replace(mark, ""));
    let model = model.split('@').next().unwrap_or_default();
    let says = |word: &&str| !["CPU", "Processor"].contains(word) && !word.ends_with("-Core");
    let words: Vec<&str> = model.split_whitespace().filter(says).collect();
    words.join(" ")
}
