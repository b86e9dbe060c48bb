//! Which documents count: those of a job, and of each host the newest.

use std::collections::{BTreeMap, HashMap, HashSet};

use ipcost_model::Tool;

use super::gather::{FleetGathered, FleetQuestion, Gatherer};
use super::host_key::HostKey;
use super::record::Fleet;

impl Gatherer {
    /// The fleet of the job that most hosts ran; nothing more is added.
    pub fn finish(mut self, tool: Tool) -> Fleet {
        let mut jobs = self.by_job().into_iter();
        let runs = jobs.next().unwrap_or_default();
        for run in jobs.flatten() {
            self.files.skip(&run.file, "its job is not the one that most hosts ran".to_owned());
        }
        self.fleet(tool, runs)
    }

    /// The documents by job, that of most hosts first, the first of equals before the others; replications are with the first.
    fn by_job(&mut self) -> Vec<Vec<FleetGathered>> {
        let runs = std::mem::take(&mut self.runs);
        let mut hosts_of_job: Vec<HashSet<&HostKey>> = vec![HashSet::new(); self.jobs.len()];
        for run in &runs {
            if let FleetQuestion::Run { job, .. } = &run.asked {
                hosts_of_job[*job as usize].insert(&run.host);
            }
        }
        let mut order: Vec<usize> = (0..hosts_of_job.len()).collect();
        order.sort_by_key(|job| std::cmp::Reverse(hosts_of_job[*job].len()));
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, job)| places[*job] = place);
        let mut by_job: Vec<Vec<FleetGathered>> = Vec::new();
        by_job.resize_with(places.len().max(1), Vec::new);
        for run in runs {
            let place = match &run.asked {
                FleetQuestion::Run { job, .. } => places[*job as usize],
                FleetQuestion::Ledger { .. } => 0,
            };
            by_job[place].push(run);
        }
        by_job
    }

    /// Of each host the newest document, and the newest of each replication.
    pub(super) fn newest(&mut self, runs: Vec<FleetGathered>) -> Vec<FleetGathered> {
        let mut newest: BTreeMap<(HostKey, Option<String>), FleetGathered> = BTreeMap::new();
        for run in runs {
            let asked = match &run.asked {
                FleetQuestion::Run { .. } => None,
                FleetQuestion::Ledger { id, .. } => Some(id.clone()),
            };
            let key = (run.host.clone(), asked);
            self.files.keep_newest(&mut newest, key, run, |run| (&run.file, &run.started));
        }
        newest.into_values().collect()
    }
}

/// What runs say of things that have a number, in the order in which the runs name them.
pub(super) struct ByNumber<T> {
    places: HashMap<u32, usize>,
    pub found: Vec<(u32, Vec<T>)>,
}

impl<T> Default for ByNumber<T> {
    fn default() -> Self {
        Self { places: HashMap::new(), found: Vec::new() }
    }
}

impl<T> ByNumber<T> {
    pub fn add(&mut self, number: u32, one: T) {
        let place = *self.places.entry(number).or_insert_with(|| {
            self.found.push((number, Vec::new()));
            self.found.len() - 1
        });
        self.found[place].1.push(one);
    }
}
