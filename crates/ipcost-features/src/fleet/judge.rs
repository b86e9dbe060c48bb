//! From what was gathered of each document to what all hosts say together.

use std::collections::{BTreeMap, HashMap, HashSet};

use ipcost_lab::planning::ALPHA;
use ipcost_model::{Tool, Verdict};
use ipcost_stats::{UnitValue, median, outliers, random_effects, student_quantile};

use super::disagreement::{Dissent, HostSplit};
use super::facts::HostFacts;
use super::gather::{ClaimOnHost, FleetGathered, FleetQuestion, Gatherer, Ratio};
use super::host_key::{HostKey, names};
use super::jobs::ByNumber;
use super::record::{
    Disagreement, FLEET_SCHEMA, Fleet, FleetClaim, FleetContrast, FleetHost, GroupClaim, GroupRatio,
    HostClaim, HostCounts, HostGroup, HostRatio, Otherwise, Standing, Together,
};
use crate::claims::ClaimCounts;
use ipcost_model::ClaimVerdict;

/// So many hosts at most are called unusual in size, and no more than a quarter.
const MOST_UNUSUAL: usize = 100;

/// What is known of the hosts, by index.
pub(super) struct Hosts {
    pub all: Vec<FleetHost>,
    pub facts: Vec<HostFacts>,
    pub groups: Vec<HostGroup>,
}

impl Gatherer {
    /// The fleet of these documents, with the files that were not counted so far.
    pub(super) fn fleet(&mut self, tool: Tool, runs: Vec<FleetGathered>) -> Fleet {
        let runs = self.newest(runs);
        let (hosts, index) = hosts(&runs);
        let margin = runs
            .iter()
            .find(|run| matches!(run.asked, FleetQuestion::Run { .. }))
            .map_or(0.05, |run| run.margin);
        let contrasts = self.contrasts(&runs, &hosts, &index, margin);
        let claims = self.claims_of(&runs, &hosts, &index);
        let of_contrasts = contrasts.iter().flat_map(|(_, dissents)| dissents);
        let dissents: Vec<&Dissent> =
            of_contrasts.chain(claims.iter().flat_map(|(_, dissents)| dissents)).collect();
        let split = HostSplit::new(&self.facts, &hosts.facts, &dissents);
        let explained = |dissents: Vec<Dissent>| -> Vec<Disagreement> {
            dissents.into_iter().map(|dissent| split.disagreement(dissent)).collect()
        };
        let mut contrasts: Vec<FleetContrast> = contrasts
            .into_iter()
            .map(|(contrast, dissents)| FleetContrast { disagreements: explained(dissents), ..contrast })
            .collect();
        let claims = claims
            .into_iter()
            .map(|(claim, dissents)| FleetClaim { disagreements: explained(dissents), ..claim })
            .collect();
        let alpha_each = join(&mut contrasts, margin);
        let cheapest = self.cheapest_of(&runs, &hosts, &index);
        let notes = notes(&runs, &hosts, &index);
        Fleet {
            schema: FLEET_SCHEMA.to_owned(),
            tool,
            files: self.files.read,
            skipped: std::mem::take(&mut self.files.skipped),
            skipped_files: std::mem::take(&mut self.files.skipped_files),
            metric: self.metric,
            margin,
            alpha: ALPHA,
            alpha_each,
            hosts: hosts.all,
            groups: hosts.groups,
            contrasts,
            cheapest,
            claims,
            notes,
        }
    }

    fn contrasts(
        &self,
        runs: &[FleetGathered],
        hosts: &Hosts,
        index: &HashMap<HostKey, usize>,
        margin: f64,
    ) -> Vec<(FleetContrast, Vec<Dissent>)> {
        let mut of_pair = ByNumber::default();
        for run in runs {
            let FleetQuestion::Run { ratios, .. } = &run.asked else { continue };
            ratios.iter().for_each(|ratio| of_pair.add(ratio.pair, (index[&run.host], ratio)));
        }
        let contrast = |(pair, mut ratios): (u32, Vec<(usize, &Ratio)>)| {
            ratios.sort_by_key(|(host, _)| *host);
            let mut counts = HostCounts::default();
            ratios.iter().for_each(|(_, ratio)| counts.add(ratio.standing));
            let dissents = self.dissents(&ratios, counts, margin);
            let contrast = FleetContrast {
                cells: self.pairs.all[pair as usize].clone(),
                counts,
                together: None,
                usual: None,
                hosts: ratios.iter().map(|(host, ratio)| host_ratio(*host, ratio)).collect(),
                groups: group_ratios(&ratios, hosts),
                disagreements: Vec::new(),
            };
            (contrast, dissents)
        };
        of_pair.found.into_iter().map(contrast).collect()
    }

    /// Hosts that do not stand where most do, then those where the same is of another size.
    fn dissents(&self, ratios: &[(usize, &Ratio)], counts: HostCounts, margin: f64) -> Vec<Dissent> {
        let Some(majority) = counts.majority() else { return Vec::new() };
        let standing = |wanted: Standing| -> Vec<usize> {
            let there = ratios.iter().filter(|(_, ratio)| ratio.standing == wanted);
            there.map(|(host, _)| *host).collect()
        };
        let agreeing = standing(majority);
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
            let sure = other != Standing::Same && majority != Standing::Same && are_sure(ratios, other);
            found.push(Dissent { how, there, rest: agreeing.clone(), ran: ran.clone(), sure });
        }
        let sizes = unusual(ratios, majority, margin, self.pairs.all.len());
        if !sizes.is_empty() {
            let rest: Vec<usize> = agreeing.iter().copied().filter(|host| !sizes.contains(host)).collect();
            found.push(Dissent { how: Otherwise::Size, there: sizes, rest, ran, sure: true });
        }
        found
    }

    fn claims_of(
        &self,
        runs: &[FleetGathered],
        hosts: &Hosts,
        index: &HashMap<HostKey, usize>,
    ) -> Vec<(FleetClaim, Vec<Dissent>)> {
        let mut of_claim = ByNumber::default();
        for run in runs {
            let (FleetQuestion::Run { claims, .. } | FleetQuestion::Ledger { claims, .. }) = &run.asked;
            claims.iter().for_each(|claim| of_claim.add(claim.claim, (index[&run.host], claim)));
        }
        // Those of an experiment stand together, whichever of them each host looked into.
        of_claim.found.sort_by_key(|(claim, _)| *claim);
        let of = |(text, mut found): (u32, Vec<(usize, &ClaimOnHost)>)| {
            let text = &self.claims.all[text as usize];
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
            let claim = FleetClaim {
                of: text.of.clone(),
                text: text.text.clone(),
                published: text.published.clone(),
                counts,
                size,
                conditions,
                hosts: found.iter().map(host).collect(),
                groups: groups.collect(),
                disagreements: Vec::new(),
            };
            (claim, claim_dissents(&found, counts))
        };
        of_claim.found.into_iter().map(of).collect()
    }
}

/// Hosts that know otherwise of a claim than most.
fn claim_dissents(found: &[(usize, &ClaimOnHost)], counts: ClaimCounts) -> Vec<Dissent> {
    let Some(majority) = counts.majority() else { return Vec::new() };
    let saying = |wanted: ClaimVerdict| -> Vec<usize> {
        found.iter().filter(|(_, claim)| claim.word == wanted).map(|(host, _)| *host).collect()
    };
    let rest = saying(majority);
    let others = [
        (ClaimVerdict::Holds, Otherwise::Holds),
        (ClaimVerdict::Fails, Otherwise::Fails),
        (ClaimVerdict::Depends, Otherwise::Depends),
        (ClaimVerdict::NoDifference, Otherwise::NoDifference),
    ];
    let others = others.into_iter().filter(|(other, _)| *other != majority);
    let others = others.map(|(other, how)| (saying(other), how)).filter(|(there, _)| !there.is_empty());
    let dissent = |(there, how)| Dissent { how, there, rest: rest.clone(), ran: HashMap::new(), sure: false };
    others.map(dissent).collect()
}

/// The hosts of documents, by name, and the index of each.
fn hosts(runs: &[FleetGathered]) -> (Hosts, HashMap<HostKey, usize>) {
    let mut newest: BTreeMap<&HostKey, &FleetGathered> = BTreeMap::new();
    for run in runs {
        let known = newest.entry(&run.host).or_insert(run);
        if run.started > known.started {
            *known = run;
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
    let names = names(newest.keys().copied());
    let mut files: HashMap<&HostKey, Vec<String>> = HashMap::new();
    runs.iter().for_each(|run| files.entry(&run.host).or_default().push(run.file.clone()));
    let host = |((key, run), name): ((&&HostKey, &&FleetGathered), String)| FleetHost {
        key: (**key).clone(),
        name,
        machine: key.machine().map(str::to_owned),
        group: rank(places[&run.group]) as u64,
        cores: run.cores,
        started: run.started.clone(),
        version: run.version.clone(),
        epochs: run.epochs,
        files: files.remove(*key).unwrap_or_default(),
    };
    let all = newest.iter().zip(names).map(host).collect();
    let facts = newest.values().map(|run| run.facts.clone()).collect();
    let index = newest.keys().enumerate().map(|(place, key)| ((*key).clone(), place)).collect();
    let groups = order.iter().map(|place| groups[*place].clone()).collect();
    (Hosts { all, facts, groups }, index)
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

/// Hosts that a recorded fact sets apart: they may be another kind of host.
fn apart(disagreements: &[Disagreement]) -> HashSet<u64> {
    let is_known = |found: &&Disagreement| found.differences.iter().any(|difference| difference.is_known);
    disagreements.iter().filter(is_known).flat_map(|found| found.hosts.iter().copied()).collect()
}

/// Joins the hosts of every contrast, and returns the level of each interval.
///
/// A reader looks at the contrasts with a verdict. If R of m have one, intervals at level 1 − alpha · R/m miss in at most a share alpha of
/// these on average (Benjamini and Yekutieli, "False discovery rate-adjusted multiple confidence intervals for selected parameters",
/// J. Am. Stat. Assoc. 100, 2005).
fn join(contrasts: &mut [FleetContrast], margin: f64) -> f64 {
    let all = contrasts.len().max(1);
    let mut with_verdict = all;
    loop {
        let level = ALPHA * with_verdict.max(1) as f64 / all as f64;
        for contrast in contrasts.iter_mut() {
            let apart = apart(&contrast.disagreements);
            contrast.together = together(contrast, &HashSet::new(), margin, level);
            contrast.usual = together(contrast, &apart, margin, level).filter(|_| !apart.is_empty());
        }
        let is_known = |contrast: &&FleetContrast| {
            contrast.together.is_some_and(|found| found.verdict != Verdict::Undecided)
        };
        let known = contrasts.iter().filter(is_known).count();
        // Wider intervals decide no more, so this ends.
        if known >= with_verdict || known == 0 {
            return level;
        }
        with_verdict = known;
    }
}

/// The hosts together, without those that are apart.
fn together(contrast: &FleetContrast, apart: &HashSet<u64>, margin: f64, level: f64) -> Option<Together> {
    let usual = contrast.hosts.iter().filter(|host| !apart.contains(&host.host));
    let units: Vec<UnitValue> =
        usual.filter_map(|host| Some(UnitValue { value: host.ratio.ln(), error: host.error? })).collect();
    let found = random_effects(&units, level)?;
    let (lo, hi) = (found.bounds.0.exp(), found.bounds.1.exp());
    Some(Together {
        hosts: units.len() as u64,
        apart: apart.len() as u64,
        ratio: found.mean.exp(),
        lo,
        hi,
        verdict: Verdict::of(Some((lo, hi)), margin),
        spread: found.spread,
        spread_lo: found.spread_bounds.0,
        spread_hi: found.spread_bounds.1,
        another_lo: found.another.map(|another| another.0.exp()),
        another_hi: found.another.map(|another| another.1.exp()),
    })
}

/// Whether the ratios of all hosts that stand there differ from 1 by more than chance explains in any of all hosts.
fn are_sure(ratios: &[(usize, &Ratio)], there: Standing) -> bool {
    let least = student_quantile(1.0 - ALPHA / (2.0 * ratios.len() as f64), f64::INFINITY);
    let is_sure = |ratio: &Ratio| ratio.error.is_some_and(|error| ratio.log.abs() > least * error);
    ratios.iter().filter(|(_, ratio)| ratio.standing == there).all(|(_, ratio)| is_sure(ratio))
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
pub(super) fn by_group<T: Copy>(all: &[T], hosts: &Hosts, host: impl Fn(&T) -> usize) -> Vec<(u64, Vec<T>)> {
    let mut groups: BTreeMap<u64, Vec<T>> = BTreeMap::new();
    for one in all {
        groups.entry(hosts.all[host(one)].group).or_default().push(*one);
    }
    groups.into_iter().collect()
}

fn group_ratios(ratios: &[(usize, &Ratio)], hosts: &Hosts) -> Vec<GroupRatio> {
    let of = |(group, ratios): (u64, Vec<(usize, &Ratio)>)| {
        let mut counts = HostCounts::default();
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
fn notes(runs: &[FleetGathered], hosts: &Hosts, index: &HashMap<HostKey, usize>) -> Vec<String> {
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
        .filter(|run| matches!(run.asked, FleetQuestion::Run { .. }))
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
