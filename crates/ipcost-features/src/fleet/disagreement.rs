//! Hosts that differ from most, and what is different about them.

use std::collections::HashMap;
use std::hash::Hash;

use ipcost_lab::planning::ALPHA;
use ipcost_stats::{Random, fisher_tail, incomplete_beta};

use super::facts::{FactTable, HostFacts};
use super::record::{Disagreement, HostDifference, Otherwise};

/// So many differences are named.
const MOST_NAMED: usize = 4;
/// So many values of the rest are named.
const MOST_VALUES: usize = 3;

/// The seed of the random orders of hosts: the same documents have the same answer.
const SEED: u64 = 19_930_101;
/// So many random orders are looked at, fewer of large fleets, so that about as many values of facts are.
const MOST_ORDERS: usize = 199;
const FEWEST_ORDERS: usize = 99;
const MOST_VALUES_LOOKED_AT: usize = 200_000_000;

/// Hosts that differ from most in one contrast or claim.
pub(super) struct Dissent {
    pub how: Otherwise,
    pub there: Vec<usize>,
    /// Those that agree with most.
    pub rest: Vec<usize>,
    /// Where the scheduler ran the processes on each host, if it placed them.
    pub ran: HashMap<usize, &'static str>,
    /// Whether the hosts differ by more than chance explains.
    pub sure: bool,
}

/// Tells two sets of hosts apart by their facts.
pub(super) struct HostSplit<'a> {
    facts: &'a FactTable,
    hosts: &'a [HostFacts],
    /// The smallest probability of any fact in any dissent, for each random order of hosts.
    by_chance: Vec<f64>,
}

/// A value that is more frequent among the hosts that differ.
struct FactCandidate<'a> {
    what: &'a str,
    value: &'a str,
    here: u64,
    elsewhere: u64,
    others: Vec<&'a str>,
    probability: f64,
}

impl<'a> HostSplit<'a> {
    /// Of all dissents of a fleet.
    ///
    /// Many facts with many values are compared in many contrasts, and some pair of them fits by chance. How well the best one fits if the
    /// facts of hosts have nothing to do with their results is counted. For that, hosts change their facts with each other at random, all facts of
    /// a host together. The smallest probability over all facts, values and dissents is taken (Westfall and Young, *Resampling-Based
    /// Multiple Testing*, Wiley 1993).
    pub fn new(facts: &'a FactTable, hosts: &'a [HostFacts], dissents: &[&Dissent]) -> Self {
        let of_fact = |(number, _): (usize, &str)| {
            FactColumn::new(|host| hosts[host].get(number).copied().flatten(), hosts.len())
        };
        let columns: Vec<FactColumn> =
            facts.names().into_iter().map(of_fact).filter(|column| column.values > 1).collect();
        let of_placement = |dissent: &&Dissent| FactColumn::new(|host| dissent.ran.get(&host), hosts.len());
        let placements: Vec<FactColumn> = dissents.iter().map(of_placement).collect();
        let each: usize = dissents.iter().map(|one| one.there.len() + one.rest.len()).sum();
        let orders = MOST_VALUES_LOOKED_AT / (each * (columns.len() + 1)).max(1);
        let orders = if dissents.is_empty() { 0 } else { orders.clamp(FEWEST_ORDERS, MOST_ORDERS) };
        let mut caches = vec![HashMap::new(); dissents.len()];
        let mut random = Random::new(SEED);
        let mut order: Vec<usize> = (0..hosts.len()).collect();
        let mut by_chance = Vec::new();
        for _ in 0..orders {
            random.shuffle(&mut order);
            let mut least = 1.0_f64;
            for ((dissent, placement), cache) in dissents.iter().zip(&placements).zip(&mut caches) {
                for column in columns.iter().chain(std::iter::once(placement)) {
                    least = least.min(column.least(dissent, &order, cache));
                }
            }
            by_chance.push(least);
        }
        Self { facts, hosts, by_chance }
    }

    /// Whether a fact this improbable, or one more so, is found somewhere in at most 5 % of fleets whose facts do not matter.
    fn is_known(&self, probability: f64) -> bool {
        let as_good = self.by_chance.iter().filter(|least| **least <= probability * (1.0 + 1e-9)).count();
        (1 + as_good) as f64 <= ALPHA * (1 + self.by_chance.len()) as f64
    }

    /// What is different about the hosts that differ.
    pub fn disagreement(&self, dissent: Dissent) -> Disagreement {
        let Dissent { how, there, rest, ran, sure } = dissent;
        let mut candidates = Vec::new();
        let mut consider = |what: &'a str, of: &dyn Fn(usize) -> &'a str| {
            candidates.extend(candidate(what, of, &there, &rest));
        };
        if !ran.is_empty() {
            consider("placement", &|host| ran.get(&host).copied().unwrap_or("unknown"));
        }
        for (number, name) in self.facts.names() {
            consider(name, &|host| self.facts.value(self.hosts[host].get(number).copied().flatten()));
        }
        // The sort is stable: of equals the most relevant stays first.
        candidates.sort_by(|a: &FactCandidate<'_>, b| a.probability.total_cmp(&b.probability));
        let best = candidates.first().map_or(1.0, |first| first.probability);
        let is_known = self.is_known(best);
        // Few hosts cannot show that a fact matters, but what they alone have is worth a look.
        let alone =
            |candidate: &FactCandidate<'_>| candidate.here == there.len() as u64 && candidate.elsewhere == 0;
        let telling = candidates.into_iter().filter(|candidate| {
            candidate.probability <= best * (1.0 + 1e-9) && (is_known || alone(candidate))
        });
        let mut differences: Vec<HostDifference> = telling
            .map(|candidate| HostDifference {
                what: candidate.what.to_owned(),
                value: candidate.value.to_owned(),
                here: candidate.here,
                elsewhere: candidate.elsewhere,
                rest: rest.len() as u64,
                others: candidate.others.iter().take(MOST_VALUES).map(|value| (*value).to_owned()).collect(),
                is_known,
            })
            .collect();
        let more = differences.len().saturating_sub(MOST_NAMED);
        differences.truncate(MOST_NAMED);
        let explained = is_known && !differences.is_empty();
        let may_be_chance =
            !sure && !explained && wrong_by_chance(there.len(), there.len() + rest.len()) > ALPHA;
        Disagreement {
            how,
            hosts: there.iter().map(|host| *host as u64).collect(),
            differences,
            more_differences: more as u64,
            may_be_chance,
        }
    }
}

/// The values of a fact by host, as small numbers.
struct FactColumn {
    of_host: Vec<usize>,
    values: usize,
}

impl FactColumn {
    fn new<T: Eq + Hash>(of: impl Fn(usize) -> T, hosts: usize) -> Self {
        let mut known = HashMap::new();
        let mut number = |host| {
            let next = known.len();
            *known.entry(of(host)).or_insert(next)
        };
        let of_host = (0..hosts).map(&mut number).collect();
        Self { of_host, values: known.len() }
    }

    /// The smallest probability of any value, if hosts have the facts of those in this order.
    fn least(&self, dissent: &Dissent, order: &[usize], cache: &mut HashMap<(u64, u64), f64>) -> f64 {
        let Dissent { there, rest, .. } = dissent;
        let mut counts = vec![(0_u64, 0_u64); self.values];
        there.iter().for_each(|host| counts[self.of_host[order[*host]]].0 += 1);
        rest.iter().for_each(|host| counts[self.of_host[order[*host]]].1 += 1);
        if !can_tell(counts.iter().filter(|counts| **counts != (0, 0)).count(), there, rest) {
            return 1.0;
        }
        let (drawn, all) = (there.len() as u64, (there.len() + rest.len()) as u64);
        let tail = |(here, elsewhere): (u64, u64)| {
            let having = here + elsewhere;
            *cache.entry((here, having)).or_insert_with(|| fisher_tail(here, drawn, having, all))
        };
        counts.into_iter().filter(|counts| is_more(*counts, there, rest)).map(tail).fold(1.0, f64::min)
    }
}

/// Whether a fact with so many values can tell hosts apart. What is different on every host tells each from all others, and so nothing.
fn can_tell(values: usize, there: &[usize], rest: &[usize]) -> bool {
    values >= 2 && (values < there.len() + rest.len() || values == 2)
}

/// Whether a value is more frequent `there`.
fn is_more((here, elsewhere): (u64, u64), there: &[usize], rest: &[usize]) -> bool {
    here * rest.len() as u64 > elsewhere * there.len() as u64
}

/// A fact's value that is most typical of `there`, if the fact varies and one is more frequent there.
fn candidate<'a>(
    what: &'a str,
    of: &dyn Fn(usize) -> &'a str,
    there: &[usize],
    rest: &[usize],
) -> Option<FactCandidate<'a>> {
    let mut counts: HashMap<&str, (u64, u64)> = HashMap::new();
    there.iter().for_each(|host| counts.entry(of(*host)).or_default().0 += 1);
    rest.iter().for_each(|host| counts.entry(of(*host)).or_default().1 += 1);
    let varies = can_tell(counts.len(), there, rest);
    let (drawn, all) = (there.len() as u64, (there.len() + rest.len()) as u64);
    let tail = |(here, elsewhere): (u64, u64)| fisher_tail(here, drawn, here + elsewhere, all);
    let typical = counts.iter().filter(|(_, counts)| varies && is_more(**counts, there, rest));
    let (value, (here, elsewhere), probability) = typical
        .map(|(value, counts)| (*value, *counts, tail(*counts)))
        .min_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(b.0)))?;
    let mut others: Vec<(&str, u64)> = counts
        .iter()
        .map(|(value, (_, elsewhere))| (*value, *elsewhere))
        .filter(|other| other.1 > 0)
        .collect();
    others.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let others = others.into_iter().map(|(value, _)| value).filter(|other| *other != value).collect();
    Some(FactCandidate { what, value, here, elsewhere, others, probability })
}

/// The probability that so many or more of the hosts have a wrong verdict, each with the chance that a verdict has.
fn wrong_by_chance(differing: usize, all: usize) -> f64 {
    incomplete_beta(ALPHA, differing as f64, (all - differing + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In how many of so many fleets some fact is known to set some hosts apart, in contrasts of whose hosts so many differ, whatever
    /// their facts are; or, if `planted`, those that have the first value of the first fact.
    fn known(
        [hosts, differing, facts, values, contrasts]: [usize; 5],
        planted: bool,
        times: usize,
        random: &mut Random,
    ) -> usize {
        let once = |random: &mut Random| {
            let mut all: Vec<Vec<u64>> =
                (0..hosts).map(|_| (0..facts).map(|_| random.below(values as u64)).collect()).collect();
            if planted {
                (0..hosts).for_each(|host| all[host][0] = u64::from(host >= differing));
            }
            let (facts, hosts_facts) = FactTable::planted(&all);
            let dissents: Vec<Dissent> = (0..contrasts)
                .map(|_| {
                    let mut order: Vec<usize> = (0..hosts).collect();
                    if !planted {
                        random.shuffle(&mut order);
                    }
                    let rest = order.split_off(differing);
                    Dissent { how: Otherwise::CostsMore, there: order, rest, ran: HashMap::new(), sure: true }
                })
                .collect();
            let split = HostSplit::new(&facts, &hosts_facts, &dissents.iter().collect::<Vec<&Dissent>>());
            let mut found = dissents.into_iter().map(|dissent| split.disagreement(dissent));
            found.any(|found| found.differences.iter().any(|difference| difference.is_known))
        };
        (0..times).filter(|_| once(random)).count()
    }

    /// With one contrast or ten, few values or many.
    const FLEETS: [[usize; 5]; 6] = [
        [24, 3, 12, 8, 1],
        [24, 3, 12, 8, 10],
        [24, 6, 40, 3, 1],
        [24, 6, 40, 3, 10],
        [12, 2, 20, 4, 5],
        [60, 4, 20, 30, 5],
    ];

    #[test]
    fn facts_that_do_not_matter_seldom_set_hosts_apart() {
        const TIMES: usize = 30;
        let mut random = Random::new(24);
        let found: Vec<usize> = FLEETS.map(|fleet| known(fleet, false, TIMES, &mut random)).to_vec();
        assert!(found.iter().all(|found| *found <= 6) && found.iter().sum::<usize>() <= 19, "{found:?}");
        for fleet in &FLEETS[..4] {
            assert_eq!(known(*fleet, true, 5, &mut random), 5, "{fleet:?}");
        }
    }

    #[test]
    #[ignore = "a minute: prints the share of fleets in which a fact is known by chance"]
    fn facts_over_the_grid() {
        const TIMES: usize = 400;
        let mut random = Random::new(25);
        for fleet in FLEETS {
            let found = known(fleet, false, TIMES, &mut random);
            println!("hosts, differing, facts, values, contrasts {fleet:?}: {found} of {TIMES}");
            assert!(found <= 36, "{fleet:?}: {found} of {TIMES}");
        }
    }
}
