//! From what was gathered of each document to what all hosts say together.

use std::collections::{BTreeMap, HashMap, HashSet};

use ipcost_lab::planning::ALPHA;
use ipcost_model::Tool;
use ipcost_stats::{UnitValue, median, outliers, random_effects, student_quantile};

use super::disagreement::Split;
use super::facts::HostFacts;
use super::gather::{
    Asked, CheapestHere, ClaimOnHost, Gathered, Gatherer, HostKey, NAMELESS, Ratio, TableOfCells,
};
use super::record::{
    CheapestOn, ClaimCounts, Counts, Disagreement, FLEET_SCHEMA, Fleet, FleetCheapest, FleetClaim,
    FleetContrast, FleetHost, GroupCheapest, GroupClaim, GroupRatio, HostClaim, HostGroup, HostRatio,
    Otherwise, Standing, Together, UNNAMED,
};
use crate::claims::ClaimVerdict;

/// So many hosts at most are called unusual in size, and no more than a quarter.
const MOST_UNUSUAL: usize = 100;
/// So much of a machine's pseudonym tells hosts of one name apart.
const SHORT: usize = 6;

/// What is known of the hosts, by index.
pub(super) struct Hosts {
    pub all: Vec<FleetHost>,
    pub facts: Vec<HostFacts>,
    pub groups: Vec<HostGroup>,
}

impl Gatherer {
    /// The fleet of the job that most hosts ran; nothing more is added.
    pub fn finish(mut self, tool: Tool) -> Fleet {
        let mut jobs = self.by_job().into_iter();
        let runs = jobs.next().unwrap_or_default();
        for run in jobs.flatten() {
            self.skip(&run.file, "its job is not the one that most hosts ran".to_owned());
        }
        self.fleet(tool, runs)
    }

    /// A fleet of each job, that of most hosts first; nothing more is added. Replications, which belong to no job, and files that
    /// cannot be read are with the first. There is always a first.
    pub fn finish_jobs(mut self, tool: &Tool) -> Vec<Fleet> {
        let jobs = self.by_job();
        let of_others: usize = jobs.iter().skip(1).map(Vec::len).sum();
        self.files -= of_others as u64;
        let mut fleets = Vec::new();
        for (place, runs) in jobs.into_iter().enumerate() {
            if place > 0 {
                self.files = runs.len() as u64;
            }
            fleets.push(self.fleet(tool.clone(), runs));
        }
        fleets
    }

    fn fleet(&mut self, tool: Tool, runs: Vec<Gathered>) -> Fleet {
        let runs = self.newest(runs);
        let (hosts, index) = hosts(&runs);
        let margin =
            runs.iter().find(|run| matches!(run.asked, Asked::Run { .. })).map_or(0.05, |run| run.margin);
        let contrasts = self.contrasts(&runs, &hosts, &index, margin);
        let cheapest = self.cheapest_of(&runs, &hosts, &index);
        let claims = self.claims_of(&runs, &hosts, &index);
        let notes = notes(&runs, &hosts, &index);
        Fleet {
            schema: FLEET_SCHEMA.to_owned(),
            tool,
            files: self.files,
            skipped: std::mem::take(&mut self.skipped),
            skipped_files: std::mem::take(&mut self.skipped_files),
            metric: self.metric,
            margin,
            alpha: ALPHA,
            hosts: hosts.all,
            groups: hosts.groups,
            contrasts,
            cheapest,
            claims,
            notes,
        }
    }

    /// The documents by job, that of most hosts first, the first of equals before the others; replications are with the first.
    fn by_job(&mut self) -> Vec<Vec<Gathered>> {
        let runs = std::mem::take(&mut self.runs);
        let mut hosts_of_job: Vec<HashSet<&HostKey>> = vec![HashSet::new(); self.jobs.len()];
        for run in &runs {
            if let Asked::Run { job, .. } = &run.asked {
                hosts_of_job[*job as usize].insert(&run.host);
            }
        }
        let mut order: Vec<usize> = (0..hosts_of_job.len()).collect();
        order.sort_by_key(|job| std::cmp::Reverse(hosts_of_job[*job].len()));
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, job)| places[*job] = place);
        let mut by_job: Vec<Vec<Gathered>> = Vec::new();
        by_job.resize_with(places.len().max(1), Vec::new);
        for run in runs {
            let place = match &run.asked {
                Asked::Run { job, .. } => places[*job as usize],
                Asked::Ledger { .. } => 0,
            };
            by_job[place].push(run);
        }
        by_job
    }

    /// Of each host the newest document, and the newest of each replication.
    fn newest(&mut self, runs: Vec<Gathered>) -> Vec<Gathered> {
        let mut newest: BTreeMap<(HostKey, Option<String>), Gathered> = BTreeMap::new();
        for run in runs {
            let asked = match &run.asked {
                Asked::Run { .. } => None,
                Asked::Ledger { id, .. } => Some(id.clone()),
            };
            let key = (run.host.clone(), asked);
            let older = match newest.remove(&key) {
                Some(known) if known.started > run.started => {
                    newest.insert(key, known);
                    Some(run)
                }
                known => {
                    newest.insert(key, run);
                    known
                }
            };
            if let Some(older) = older {
                self.skip(&older.file, "another document of the same host is newer".to_owned());
            }
        }
        newest.into_values().collect()
    }

    fn contrasts(
        &self,
        runs: &[Gathered],
        hosts: &Hosts,
        index: &HashMap<HostKey, usize>,
        margin: f64,
    ) -> Vec<FleetContrast> {
        let mut of_pair: Vec<Vec<(usize, &Ratio)>> = vec![Vec::new(); self.pairs.all.len()];
        for run in runs {
            let Asked::Run { ratios, .. } = &run.asked else { continue };
            for ratio in ratios {
                of_pair[ratio.pair as usize].push((index[&run.host], ratio));
            }
        }
        let pairs = self.pairs.all.iter().zip(of_pair).filter(|(_, ratios)| !ratios.is_empty());
        let contrast = |(pair, mut ratios): (&super::gather::Pair, Vec<(usize, &Ratio)>)| {
            ratios.sort_by_key(|(host, _)| *host);
            let mut counts = Counts::default();
            ratios.iter().for_each(|(_, ratio)| counts.add(ratio.standing));
            let disagreements = self.disagreements(&ratios, counts, hosts, margin);
            FleetContrast {
                work: pair.work.clone(),
                placement: pair.placement,
                a: pair.a.clone(),
                a_label: pair.a_label.clone(),
                b: pair.b.clone(),
                b_label: pair.b_label.clone(),
                counts,
                together: together(&ratios, &apart(&disagreements)),
                hosts: ratios.iter().map(|(host, ratio)| host_ratio(*host, ratio)).collect(),
                groups: group_ratios(&ratios, hosts),
                disagreements,
            }
        };
        pairs.map(contrast).collect()
    }

    /// Hosts that do not stand where most do, then those where the same is of another size.
    fn disagreements(
        &self,
        ratios: &[(usize, &Ratio)],
        counts: Counts,
        hosts: &Hosts,
        margin: f64,
    ) -> Vec<Disagreement> {
        let Some(majority) = counts.majority() else { return Vec::new() };
        let standing = |wanted: Standing| -> Vec<usize> {
            let there = ratios.iter().filter(|(_, ratio)| ratio.standing == wanted);
            there.map(|(host, _)| *host).collect()
        };
        let agreeing = standing(majority);
        let split = Split { facts: &self.facts, hosts: &hosts.facts };
        let ran: HashMap<usize, &'static str> = ratios
            .iter()
            .filter_map(|(host, ratio)| Some((*host, ipcost_report::words::ran(ratio.ran?))))
            .collect();
        let mut found = Vec::new();
        for (other, how) in [
            (Standing::Cheaper, Otherwise::Cheaper),
            (Standing::Same, Otherwise::Same),
            (Standing::CostsMore, Otherwise::CostsMore),
        ] {
            let there = standing(other);
            if other == majority || there.is_empty() {
                continue;
            }
            let sure = other != Standing::Same && majority != Standing::Same;
            let sure = sure && there.iter().all(|host| is_sure(ratios, *host));
            found.push(split.disagreement(how, there, &agreeing, Some(&ran), sure));
        }
        let sizes = unusual(ratios, majority, margin, self.pairs.all.len());
        if !sizes.is_empty() {
            let rest: Vec<usize> = agreeing.iter().copied().filter(|host| !sizes.contains(host)).collect();
            found.push(split.disagreement(Otherwise::Size, sizes, &rest, Some(&ran), true));
        }
        found
    }

    fn cheapest_of(
        &self,
        runs: &[Gathered],
        hosts: &Hosts,
        index: &HashMap<HostKey, usize>,
    ) -> Vec<FleetCheapest> {
        let mut of_table: Vec<Vec<(usize, CheapestHere)>> = vec![Vec::new(); self.works.all.len()];
        for run in runs {
            let Asked::Run { cheapest, .. } = &run.asked else { continue };
            for here in cheapest {
                of_table[here.table as usize].push((index[&run.host], *here));
            }
        }
        let tables = self.works.all.iter().zip(of_table).filter(|(_, found)| !found.is_empty());
        let of = |(table, found): (&TableOfCells, Vec<(usize, CheapestHere)>)| {
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
        tables.map(of).collect()
    }

    fn claims_of(
        &self,
        runs: &[Gathered],
        hosts: &Hosts,
        index: &HashMap<HostKey, usize>,
    ) -> Vec<FleetClaim> {
        let mut of_claim: Vec<Vec<(usize, &ClaimOnHost)>> = vec![Vec::new(); self.claims.all.len()];
        for run in runs {
            let (Asked::Run { claims, .. } | Asked::Ledger { claims, .. }) = &run.asked;
            for claim in claims {
                of_claim[claim.claim as usize].push((index[&run.host], claim));
            }
        }
        let claims = self.claims.all.iter().zip(of_claim).filter(|(_, found)| !found.is_empty());
        let of = |(text, mut found): (&super::gather::ClaimText, Vec<(usize, &ClaimOnHost)>)| {
            found.sort_by_key(|(host, _)| *host);
            let counts = ClaimCounts::of(found.iter().map(|(_, claim)| claim.word));
            let size =
                text.names_size.then(|| ClaimCounts::of(found.iter().filter_map(|(_, claim)| claim.size)));
            let mut conditions = Vec::new();
            found.iter().for_each(|(_, claim)| claim.counted(&mut conditions));
            let groups = by_group(&found, hosts, |(host, _)| *host).into_iter().map(|(group, found)| {
                GroupClaim { group, counts: ClaimCounts::of(found.iter().map(|(_, claim)| claim.word)) }
            });
            let host = |(host, claim): &(usize, &ClaimOnHost)| HostClaim {
                host: *host as u64,
                word: claim.word,
                sentence: claim.sentence.clone(),
            };
            FleetClaim {
                of: text.of.clone(),
                text: text.text.clone(),
                published: text.published.clone(),
                counts,
                size,
                conditions,
                hosts: found.iter().map(host).collect(),
                groups: groups.collect(),
                disagreements: self.claim_disagreements(&found, counts, hosts),
            }
        };
        claims.map(of).collect()
    }

    fn claim_disagreements(
        &self,
        found: &[(usize, &ClaimOnHost)],
        counts: ClaimCounts,
        hosts: &Hosts,
    ) -> Vec<Disagreement> {
        let Some(majority) = counts.majority() else { return Vec::new() };
        let saying = |wanted: ClaimVerdict| -> Vec<usize> {
            found.iter().filter(|(_, claim)| claim.word == wanted).map(|(host, _)| *host).collect()
        };
        let agreeing = saying(majority);
        let split = Split { facts: &self.facts, hosts: &hosts.facts };
        let others = [
            (ClaimVerdict::Holds, Otherwise::Holds),
            (ClaimVerdict::Fails, Otherwise::Fails),
            (ClaimVerdict::Depends, Otherwise::Depends),
        ];
        let others = others.into_iter().filter(|(other, _)| *other != majority);
        let others = others.map(|(other, how)| (saying(other), how)).filter(|(there, _)| !there.is_empty());
        others.map(|(there, how)| split.disagreement(how, there, &agreeing, None, false)).collect()
    }
}

/// The hosts of documents, by name, and the index of each.
fn hosts(runs: &[Gathered]) -> (Hosts, HashMap<HostKey, usize>) {
    let mut newest: BTreeMap<&HostKey, &Gathered> = BTreeMap::new();
    for run in runs {
        let known = newest.entry(&run.host).or_insert(run);
        if run.started > known.started {
            *known = run;
        }
    }
    let mut of_name: HashMap<&str, usize> = HashMap::new();
    for key in newest.keys() {
        if let HostKey::Known(name, _) = key {
            *of_name.entry(name).or_default() += 1;
        }
    }
    let mut groups: Vec<HostGroup> = Vec::new();
    let mut places: HashMap<HostGroup, usize> = HashMap::new();
    for run in newest.values() {
        let place = *places.entry(run.group.clone()).or_insert_with(|| {
            groups.push(run.group.clone());
            groups.len() - 1
        });
        groups[place].hosts += 1;
    }
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(groups[*place].hosts));
    let rank = |place: usize| order.iter().position(|other| *other == place).unwrap_or(place);
    let mut unknown = 0;
    let mut name = |key: &HostKey| match key {
        HostKey::Unknown(_) => {
            unknown += 1;
            format!("{UNNAMED} {unknown}")
        }
        HostKey::Known(name, machine) => {
            let short = machine.as_deref().map(|id| id.chars().take(SHORT).collect::<String>());
            match short {
                Some(short) if NAMELESS.contains(&name.as_str()) => format!("host {short}"),
                Some(short) if of_name[name.as_str()] > 1 => format!("{name} ({short})"),
                _ => name.clone(),
            }
        }
    };
    let mut files: HashMap<&HostKey, Vec<String>> = HashMap::new();
    runs.iter().for_each(|run| files.entry(&run.host).or_default().push(run.file.clone()));
    let host = |(key, run): (&&HostKey, &&Gathered)| FleetHost {
        name: name(key),
        machine: match key {
            HostKey::Known(_, machine) => machine.clone(),
            HostKey::Unknown(_) => None,
        },
        group: rank(places[&run.group]) as u64,
        cores: run.cores,
        started: run.started.clone(),
        version: run.version.clone(),
        epochs: run.epochs,
        files: files.remove(*key).unwrap_or_default(),
    };
    let all = newest.iter().map(host).collect();
    let facts = newest.values().map(|run| run.facts.clone()).collect();
    let index = newest.keys().enumerate().map(|(place, key)| ((*key).clone(), place)).collect();
    let groups = order.iter().map(|place| groups[*place].clone()).collect();
    (Hosts { all, facts, groups }, index)
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
        relative: median(&logs).filter(|_| is_one).map(f64::exp),
        next: next.map(|here| table.sets.all[here.next as usize].0.concat()),
    }
}

/// Which cells may be the cheapest on some hosts, those of most hosts first.
fn among(table: &TableOfCells, open: &[&CheapestHere]) -> Vec<String> {
    let mut counts: Vec<(&String, u64)> = Vec::new();
    for label in open.iter().flat_map(|here| &table.sets.all[here.set as usize].0) {
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => counts.push((label, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().map(|(label, _)| label.clone()).collect()
}

fn host_ratio(host: usize, ratio: &Ratio) -> HostRatio {
    HostRatio {
        host: host as u64,
        ratio: ratio.log.exp(),
        lo: ratio.lo,
        hi: ratio.hi,
        error: ratio.error,
        standing: ratio.standing,
    }
}

/// Hosts that a recorded fact sets apart: they are another kind of host, and not a part of the spread of the usual ones.
fn apart(disagreements: &[Disagreement]) -> HashSet<u64> {
    let is_known = |found: &&Disagreement| found.differences.iter().any(|difference| difference.is_known);
    disagreements.iter().filter(is_known).flat_map(|found| found.hosts.iter().copied()).collect()
}

fn together(ratios: &[(usize, &Ratio)], apart: &HashSet<u64>) -> Option<Together> {
    let usual = ratios.iter().filter(|(host, _)| !apart.contains(&(*host as u64)));
    let units: Vec<UnitValue> =
        usual.filter_map(|(_, ratio)| Some(UnitValue { value: ratio.log, error: ratio.error? })).collect();
    let found = random_effects(&units, ALPHA)?;
    Some(Together {
        hosts: units.len() as u64,
        apart: apart.len() as u64,
        ratio: found.mean.exp(),
        lo: found.bounds.0.exp(),
        hi: found.bounds.1.exp(),
        spread: found.spread,
        spread_lo: found.spread_bounds.0,
        spread_hi: found.spread_bounds.1,
        another_lo: found.another.map(|another| another.0.exp()),
        another_hi: found.another.map(|another| another.1.exp()),
    })
}

/// Whether a host's ratio differs from 1 by more than chance explains in any of so many hosts.
fn is_sure(ratios: &[(usize, &Ratio)], host: usize) -> bool {
    let Some((_, ratio)) = ratios.iter().find(|(other, _)| *other == host) else { return false };
    let least = student_quantile(1.0 - ALPHA / (2.0 * ratios.len() as f64), f64::INFINITY);
    ratio.error.is_some_and(|error| ratio.log.abs() > least * error)
}

/// Hosts that stand where most do, but whose ratio is an outlier among theirs, at a level that all contrasts share, and farther from the
/// median than its own error and the margin explain.
fn unusual(ratios: &[(usize, &Ratio)], majority: Standing, margin: f64, contrasts: usize) -> Vec<usize> {
    let agreeing: Vec<&(usize, &Ratio)> =
        ratios.iter().filter(|(_, ratio)| ratio.standing == majority && ratio.error.is_some()).collect();
    let logs: Vec<f64> = agreeing.iter().map(|(_, ratio)| ratio.log).collect();
    let Some(middle) = median(&logs) else { return Vec::new() };
    let level = ALPHA / contrasts.max(1) as f64;
    let least = student_quantile(1.0 - level / (2.0 * logs.len() as f64), f64::INFINITY);
    let is_far = |ratio: &Ratio| {
        let far = (ratio.log - middle).abs();
        far > margin.ln_1p() && ratio.error.is_some_and(|error| far > least * error)
    };
    let most = (logs.len() / 4).min(MOST_UNUSUAL);
    let found = outliers(&logs, most, level).into_iter().map(|place| agreeing[place]);
    let mut found: Vec<usize> = found.filter(|(_, ratio)| is_far(ratio)).map(|(host, _)| *host).collect();
    found.sort_unstable();
    found
}

/// What belongs to the hosts of each group, in the order of groups.
fn by_group<T: Copy>(all: &[T], hosts: &Hosts, host: impl Fn(&T) -> usize) -> Vec<(u64, Vec<T>)> {
    let mut groups: BTreeMap<u64, Vec<T>> = BTreeMap::new();
    for one in all {
        groups.entry(hosts.all[host(one)].group).or_default().push(*one);
    }
    groups.into_iter().collect()
}

fn group_ratios(ratios: &[(usize, &Ratio)], hosts: &Hosts) -> Vec<GroupRatio> {
    let of = |(group, ratios): (u64, Vec<(usize, &Ratio)>)| {
        let mut counts = Counts::default();
        ratios.iter().for_each(|(_, ratio)| counts.add(ratio.standing));
        let logs: Vec<f64> = ratios.iter().map(|(_, ratio)| ratio.log).collect();
        let fold = |start: f64, of: fn(f64, f64) -> f64| logs.iter().copied().fold(start, of).exp();
        GroupRatio {
            group,
            counts,
            median: median(&logs).unwrap_or(f64::NAN).exp(),
            least: fold(f64::INFINITY, f64::min),
            most: fold(f64::NEG_INFINITY, f64::max),
        }
    };
    by_group(ratios, hosts, |(host, _)| *host).into_iter().map(of).collect()
}

/// What else a reader must know.
fn notes(runs: &[Gathered], hosts: &Hosts, index: &HashMap<HostKey, usize>) -> Vec<String> {
    let mut notes = Vec::new();
    let unknown = index.keys().filter(|key| matches!(key, HostKey::Unknown(_))).count();
    if unknown > 0 {
        let (documents, each) = match unknown {
            1 => ("1 document does".to_owned(), "it counts as a host of its own"),
            many => (format!("{many} documents do"), "each counts as a host of its own"),
        };
        notes.push(format!("{documents} not tell the host's name or machine id; {each}."));
    }
    let versions: std::collections::BTreeSet<&str> =
        hosts.all.iter().map(|host| host.version.as_str()).collect();
    if versions.len() > 1 {
        let versions: Vec<&str> = versions.into_iter().collect();
        notes.push(format!(
            "The hosts were measured by different versions of ipcost: {}.",
            ipcost_model::first_few(&versions, 6)
        ));
    }
    let margins: std::collections::BTreeSet<u64> = runs
        .iter()
        .filter(|run| matches!(run.asked, Asked::Run { .. }))
        .map(|run| (run.margin * 1e6) as u64)
        .collect();
    if margins.len() > 1 {
        notes.push(
            "The runs were judged by different margins, so \"same\" does not mean the same everywhere."
                .to_owned(),
        );
    }
    if hosts.all.len() == 1 {
        notes.push("There is one host, so nothing is known about differences between hosts.".to_owned());
    }
    notes
}
