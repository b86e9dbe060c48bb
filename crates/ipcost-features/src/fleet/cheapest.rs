//! Which cells of each table are the cheapest, on how many hosts.

use std::collections::{BTreeMap, HashMap};

use ipcost_stats::median;

use super::gather::{CheapestHere, FleetGathered, FleetQuestion, Gatherer, TableOfCells};
use super::host_key::HostKey;
use super::jobs::ByNumber;
use super::judge::{Hosts, by_group};
use super::record::{CheapestOn, FleetCheapest, GroupCheapest};

impl Gatherer {
    /// Each table of the runs.
    pub(super) fn cheapest_of(
        &self,
        runs: &[FleetGathered],
        hosts: &Hosts,
        index: &HashMap<HostKey, usize>,
    ) -> Vec<FleetCheapest> {
        let mut of_table = ByNumber::default();
        for run in runs {
            let FleetQuestion::Run { cheapest, .. } = &run.asked else { continue };
            cheapest.iter().for_each(|here| of_table.add(here.table, (index[&run.host], *here)));
        }
        let of = |(table, found): (u32, Vec<(usize, CheapestHere)>)| {
            let table = &self.works.all[table as usize];
            let counted = |found: &[(usize, CheapestHere)]| {
                let here = || found.iter().map(|(_, here)| here);
                let mut on: BTreeMap<u32, Vec<&CheapestHere>> = BTreeMap::new();
                here()
                    .filter(|here| !here.is_open)
                    .for_each(|here| on.entry(here.set).or_default().push(here));
                let mut cheapest: Vec<CheapestOn> =
                    on.into_iter().map(|(set, here)| cheapest_on(table, set, &here)).collect();
                cheapest.sort_by_key(|on| std::cmp::Reverse(on.hosts));
                let open: Vec<&CheapestHere> = here().filter(|here| here.is_open).collect();
                (cheapest, open.len() as u64, among(table, &open))
            };
            let (cheapest, open, open_among) = counted(&found);
            let by_group = by_group(&found, hosts, |(host, _)| *host);
            let groups = by_group.into_iter().map(|(group, found)| {
                let (cheapest, open, open_among) = counted(&found);
                GroupCheapest { group, cheapest, open, open_among }
            });
            FleetCheapest {
                work: table.work.clone(),
                placement: table.placement,
                cheapest,
                open,
                open_among,
                groups: groups.collect(),
            }
        };
        of_table.found.into_iter().map(of).collect()
    }
}

/// Cells that are the cheapest on some hosts.
fn cheapest_on(table: &TableOfCells, set: u32, here: &[&CheapestHere]) -> CheapestOn {
    let (labels, transports) = table.sets.all[set as usize].clone();
    let logs: Vec<f64> = here.iter().map(|here| here.log).collect();
    let is_one = labels.len() == 1;
    let next = here.first().filter(|first| is_one && here.iter().all(|here| here.next == first.next));
    CheapestOn {
        labels,
        transports,
        hosts: here.len() as u64,
        relative: median(&logs).map(f64::exp).filter(|relative| is_one && relative.is_finite()),
        next: next.map(|here| table.sets.all[here.next as usize].0.concat()),
    }
}

/// Which cells may be the cheapest on most of some hosts; on any, if none may be so on most.
fn among(table: &TableOfCells, open: &[&CheapestHere]) -> Vec<String> {
    let mut counts: Vec<(&String, u64)> = Vec::new();
    for label in open.iter().flat_map(|here| &table.sets.all[here.set as usize].0) {
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => counts.push((label, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let on_most = |(_, count): &(&String, u64)| count * 2 > open.len() as u64;
    if counts.iter().any(on_most) {
        counts.retain(on_most);
    }
    counts.into_iter().map(|(label, _)| label.clone()).collect()
}
