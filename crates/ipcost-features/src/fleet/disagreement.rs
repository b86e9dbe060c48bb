//! Hosts that differ from most, and what is different about them.

use std::collections::{HashMap, HashSet};

use ipcost_lab::planning::ALPHA;
use ipcost_stats::{fisher_tail, incomplete_beta};

use super::facts::{Facts, HostFacts};
use super::record::{Disagreement, HostDifference, Otherwise};

/// So many differences are named.
const MOST_NAMED: usize = 4;
/// So many values of the rest are named.
const MOST_VALUES: usize = 3;

/// Tells two sets of hosts apart by their facts.
pub(super) struct Split<'a> {
    pub facts: &'a Facts,
    pub hosts: &'a [HostFacts],
}

/// A value that is more frequent among the hosts that differ.
struct Candidate<'a> {
    what: &'a str,
    value: &'a str,
    here: u64,
    elsewhere: u64,
    others: Vec<&'a str>,
    probability: f64,
}

impl Split<'_> {
    /// What is different about `there`; `ran` is where the scheduler ran the processes on each host, if it placed them. `sure` means that the
    /// hosts differ by more than chance explains.
    pub fn disagreement<'s>(
        &'s self,
        how: Otherwise,
        there: Vec<usize>,
        rest: &[usize],
        ran: Option<&HashMap<usize, &'static str>>,
        sure: bool,
    ) -> Disagreement {
        let mut compared = 0;
        let mut candidates = Vec::new();
        let mut consider = |what, of: &dyn Fn(usize) -> &'s str| {
            let (varies, found) = candidate(what, of, &there, rest);
            compared += usize::from(varies);
            candidates.extend(found);
        };
        if let Some(ran) = ran.filter(|ran| !ran.is_empty()) {
            consider("placement", &|host| ran.get(&host).copied().unwrap_or("unknown"));
        }
        for (number, name) in self.facts.names() {
            consider(name, &|host| self.facts.value(self.hosts[host].get(number).copied().flatten()));
        }
        // The sort is stable: of equals the most relevant stays first.
        candidates.sort_by(|a: &Candidate<'_>, b| a.probability.total_cmp(&b.probability));
        let best = candidates.first().map_or(1.0, |first| first.probability);
        let is_known = best * compared as f64 <= ALPHA;
        // Few hosts cannot show that a fact matters, but what they alone have is worth a look.
        let alone =
            |candidate: &Candidate<'_>| candidate.here == there.len() as u64 && candidate.elsewhere == 0;
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
        let may_be_chance = !sure && !explained && by_chance(there.len(), there.len() + rest.len()) > ALPHA;
        Disagreement {
            how,
            hosts: there.iter().map(|host| *host as u64).collect(),
            differences,
            more_differences: more as u64,
            may_be_chance,
        }
    }
}

/// Whether a fact varies at all, and its value that is most typical of `there`, if one is more frequent there.
fn candidate<'a>(
    what: &'a str,
    of: &dyn Fn(usize) -> &'a str,
    there: &[usize],
    rest: &[usize],
) -> (bool, Option<Candidate<'a>>) {
    let counted = |hosts: &[usize]| -> HashMap<&'a str, u64> {
        let mut counts = HashMap::new();
        hosts.iter().for_each(|host| *counts.entry(of(*host)).or_default() += 1);
        counts
    };
    let (here, elsewhere) = (counted(there), counted(rest));
    let values: HashSet<&str> = here.keys().chain(elsewhere.keys()).copied().collect();
    // What is different on every host tells each from all others, and so nothing.
    let all_differ = values.len() == there.len() + rest.len() && values.len() > 2;
    if values.len() < 2 || all_differ {
        return (false, None);
    }
    let (drawn, all) = (there.len() as u64, (there.len() + rest.len()) as u64);
    let of_value = |(value, count): (&&'a str, &u64)| {
        let others = elsewhere.get(value).copied().unwrap_or(0);
        let more_here = count * rest.len() as u64 > others * drawn;
        more_here.then(|| (*value, *count, others, fisher_tail(*count, drawn, count + others, all)))
    };
    let best = here.iter().filter_map(of_value).min_by(|a, b| a.3.total_cmp(&b.3).then(a.0.cmp(b.0)));
    let found = best.map(|(value, here, others, probability)| {
        let mut rest: Vec<(&str, u64)> = elsewhere.iter().map(|(value, count)| (*value, *count)).collect();
        rest.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let rest = rest.into_iter().map(|(value, _)| value).filter(|other| *other != value).collect();
        Candidate { what, value, here, elsewhere: others, others: rest, probability }
    });
    (true, found)
}

/// The probability that so many or more of the hosts have a wrong verdict, each with the chance that a verdict has.
fn by_chance(differing: usize, all: usize) -> f64 {
    incomplete_beta(ALPHA, differing as f64, (all - differing + 1) as f64)
}
