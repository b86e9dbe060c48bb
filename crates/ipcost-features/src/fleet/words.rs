//! A fleet in words.

use ipcost_model::units::counted;
use ipcost_model::{Metric, Placement, Verdict, and_joined, escaped, first_few};
use ipcost_report::numbers::{interval, ratio};
use ipcost_report::page::FieldValue;
use ipcost_report::words::{cores, quantity, verdict};

use super::record::{
    CheapestOn, Disagreement, Fleet, FleetClaim, FleetCondition, FleetContrast, HostCounts, HostDifference,
    HostGroup, Otherwise, Skipped, Standing, Together,
};
use crate::claims::ClaimCounts;
use ipcost_model::ClaimVerdict;

/// So many names of hosts, contrasts or groups are shown.
const MOST_NAMES: usize = 3;
/// Fewer hosts leave the spread between them unknown.
const FEWEST_FOR_SPREAD: u64 = 3;
/// Longer percentages are no bounds.
const MOST_OF_A_PERCENTAGE: usize = 3;
/// So many facts are in a sentence.
const MOST_DIFFERENCES: usize = 2;
/// The longest value of a fact in a sentence, in characters.
const MOST_OF_A_VALUE: usize = 48;

/// `40 hosts in 3 groups, from 44 files`.
pub fn title(fleet: &Fleet) -> String {
    format!(
        "{} in {}, from {}",
        counted(fleet.hosts.len() as u64, "host"),
        counted(fleet.groups.len() as u64, "group"),
        counted(fleet.files, "file")
    )
}

/// A group in a few words.
pub fn group(group: &HostGroup) -> String {
    let parts = [format!("{} {}", group.os, group.kernel), group.cpu.clone(), group.virtualisation.clone()];
    let parts: Vec<String> =
        parts.iter().filter(|part| !part.trim().is_empty()).map(|part| escaped(part)).collect();
    parts.join(", ")
}

/// Contrasts of the same work in the same place, in their order.
pub fn tables(fleet: &Fleet) -> Vec<(String, Vec<&FleetContrast>)> {
    let mut tables: Vec<(String, Vec<&FleetContrast>)> = Vec::new();
    for contrast in &fleet.contrasts {
        let title = work(&contrast.work, contrast.placement);
        match tables.iter_mut().find(|(known, _)| *known == title) {
            Some((_, rows)) => rows.push(contrast),
            None => tables.push((title, vec![contrast])),
        }
    }
    tables
}

/// `64 B round trip, one core`.
pub fn work(work: &str, placement: Placement) -> String {
    match (work.is_empty(), placement) {
        (true, _) => cores(placement).to_owned(),
        (_, Placement::Free) => escaped(work),
        _ => format!("{}, {}", escaped(work), cores(placement)),
    }
}

/// `unix / tcp`.
pub fn pair(contrast: &FleetContrast) -> String {
    format!("{} / {}", escaped(&contrast.a_label), escaped(&contrast.b_label))
}

/// `38 cheaper, 2 same`.
pub fn standings(counts: &HostCounts) -> String {
    let parts = Standing::ALL.iter().filter(|standing| counts.of(**standing) > 0);
    let one = |standing: &Standing| match (counts.of(*standing), standing) {
        (many, Standing::CostsMore) if many != 1 => format!("{many} cost more"),
        (count, standing) => format!("{count} {standing}"),
    };
    parts.map(one).collect::<Vec<String>>().join(", ")
}

/// `±6 % (4–9 %)`; of fewer than three hosts almost any spread is possible.
pub fn spread(together: &Together) -> String {
    let percent = |log: f64| format!("{:.0}", log.exp_m1() * 100.0);
    let [spread, lo, hi] = [together.spread, together.spread_lo, together.spread_hi].map(percent);
    match together.hosts {
        ..FEWEST_FOR_SPREAD => "unknown".to_owned(),
        _ if hi.len() > MOST_OF_A_PERCENTAGE => format!("±{spread} % (from {lo} %)"),
        _ => format!("±{spread} % ({lo}–{hi} %)"),
    }
}

/// What the hosts of a contrast say together.
pub struct ContrastRow<'a> {
    pub name: String,
    /// How many hosts stand where; empty where some are left out.
    pub counts: String,
    /// Whether those are left out that are set apart.
    pub is_usual: bool,
    pub together: Option<&'a Together>,
}

/// Of a contrast all hosts, and, if some are set apart, the others.
pub fn rows(contrast: &FleetContrast) -> Vec<ContrastRow<'_>> {
    let all = ContrastRow {
        name: pair(contrast),
        counts: standings(&contrast.counts),
        is_usual: false,
        together: contrast.together.as_ref(),
    };
    let usual = contrast.usual.as_ref().map(|usual| ContrastRow {
        name: format!("without {}", counted(usual.apart, "host")),
        counts: String::new(),
        is_usual: true,
        together: Some(usual),
    });
    std::iter::once(all).chain(usual).collect()
}

/// `0.48–0.61`: where another host's ratio lies.
pub fn another(together: &Together) -> String {
    let bounds = together.another_lo.zip(together.another_hi);
    bounds.and_then(|(lo, hi)| interval(together.ratio, Some(lo), Some(hi))).unwrap_or_default()
}

pub fn typical(together: &Together) -> String {
    let bounds = interval(together.ratio, Some(together.lo), Some(together.hi)).unwrap_or_default();
    format!("{} ({bounds})", ratio(together.ratio))
}

/// The same as a value.
pub fn typical_of(together: &Together) -> FieldValue {
    FieldValue::RatioWithin(together.ratio, Some(together.lo), Some(together.hi))
}

/// What is known of a typical host: `cheaper`.
pub fn known(fleet: &Fleet, together: &Together) -> String {
    verdict(together.verdict, together.ratio, fleet.margin)
}

/// `shm 30, pipe = fifo 6, open 4 (pipe or shm)`.
pub fn cheapest_on(cheapest: &[CheapestOn], open: u64, open_among: &[String]) -> String {
    let listed = |labels: &[String], between: &str| {
        labels.iter().map(|label| escaped(label)).collect::<Vec<String>>().join(between)
    };
    let known = cheapest.iter().map(|on| format!("{} {}", listed(&on.labels, " = "), on.hosts));
    let open = (open > 0).then(|| match open_among {
        [] => format!("open {open}"),
        open_among => format!("open {open} ({})", listed(open_among, " or ")),
    });
    known.chain(open).collect::<Vec<String>>().join(", ")
}

/// `holds on 5 of 6 hosts, open on 1`.
pub fn claim_counts(counts: &ClaimCounts) -> String {
    let all = counts.all();
    let mut parts: Vec<String> = Vec::new();
    for verdict in ClaimVerdict::ALL.iter().filter(|verdict| counts.count(**verdict) > 0) {
        let count = counts.count(*verdict);
        parts.push(match parts.is_empty() {
            true if count == all && all == 1 => format!("{verdict} on the one host"),
            true if count == all => format!("{verdict} on all {all} hosts"),
            true => format!("{verdict} on {count} of {all} hosts"),
            false => format!("{verdict} on {count}"),
        });
    }
    parts.join(", ")
}

/// Under which conditions a claim holds on how many hosts; empty if it was tested as published alone.
pub fn claim_conditions(claim: &FleetClaim) -> Vec<String> {
    if claim.conditions.len() < 2 {
        return Vec::new();
    }
    let line = |condition: &FleetCondition| {
        let name = condition.condition.as_deref().map_or_else(|| "as published".to_owned(), escaped);
        format!("{name}: {}", claim_counts(&condition.counts))
    };
    claim.conditions.iter().map(line).collect()
}

/// What is worth a sentence: contrasts whose hosts disagree, then claims; with `all`, every contrast.
pub fn sentences(fleet: &Fleet, all: bool) -> Vec<String> {
    let of_claims = fleet.claims.iter().filter(|claim| !claim.disagreements.is_empty());
    let of_claims = of_claims.map(|claim| claim_sentence(fleet, claim));
    if all {
        return fleet.contrasts.iter().map(|contrast| sentence(fleet, contrast)).chain(of_claims).collect();
    }
    // The same hosts may disagree in many contrasts, for the same reason.
    let mut groups: Vec<(Vec<&Vec<u64>>, Vec<&FleetContrast>)> = Vec::new();
    for contrast in fleet.contrasts.iter().filter(|contrast| !contrast.disagreements.is_empty()) {
        let hosts: Vec<&Vec<u64>> = contrast.disagreements.iter().map(|found| &found.hosts).collect();
        match groups.iter_mut().find(|(known, _)| *known == hosts) {
            Some((_, contrasts)) => contrasts.push(contrast),
            None => groups.push((hosts, vec![contrast])),
        }
    }
    let is_known = |found: &Disagreement| found.differences.iter().any(|difference| difference.is_known);
    // First what is explained, then what shows most often.
    groups.sort_by_key(|(_, contrasts)| {
        (!contrasts[0].disagreements.iter().any(is_known), std::cmp::Reverse(contrasts.len()))
    });
    let of_group = |(hosts, contrasts): &(Vec<&Vec<u64>>, Vec<&FleetContrast>)| {
        let mut said = sentence(fleet, contrasts[0]);
        let rest: Vec<String> = contrasts[1..]
            .iter()
            .map(|more| format!("{} ({})", work(&more.work, more.placement), pair(more)))
            .collect();
        if !rest.is_empty() {
            let same = if hosts.iter().map(|hosts| hosts.len()).sum::<usize>() == 1 {
                "The same host disagrees"
            } else {
                "The same hosts disagree"
            };
            let more = rest.len().saturating_sub(MOST_NAMES);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let named: Vec<String> = rest.into_iter().take(MOST_NAMES).collect();
            said.push_str(&format!(" {same} in {}{more}.", named.join("; ")));
        }
        said
    };
    groups.iter().map(of_group).chain(of_claims).collect()
}

/// `64 B round trip, one core: on 38 of 40 hosts unix is cheaper than tcp, at 0.48 to 0.61 of its cost; the two others run in gVisor.`
pub fn sentence(fleet: &Fleet, contrast: &FleetContrast) -> String {
    let (a, b) = (escaped(&contrast.a_label), escaped(&contrast.b_label));
    let counts = contrast.counts;
    let all = counts.all();
    let about = work(&contrast.work, contrast.placement);
    let Some(majority) = counts.majority() else {
        let parts = [
            (Standing::Cheaper, format!("{a} is cheaper than {b}")),
            (Standing::Same, "they cost the same".to_owned()),
            (Standing::CostsMore, format!("{a} costs more than {b}")),
            (Standing::Open, format!("whether {a} or {b} is cheaper is open")),
        ];
        let parts = parts.into_iter().filter(|(standing, _)| counts.of(*standing) > 0);
        let parts: Vec<String> =
            parts.map(|(standing, said)| format!("{said} on {}", counts.of(standing))).collect();
        let decided = contrast.together.filter(|together| together.verdict != Verdict::Undecided);
        let decided = decided.map_or_else(String::new, |together| {
            format!(
                "; all together say {} × for a typical host, {}",
                typical(&together),
                known(fleet, &together)
            )
        });
        return format!("{about}: of {}, {}{decided}.", counted(all, "host"), and_joined(&parts));
    };
    let many = counts.of(majority);
    let on = match (many, all) {
        (1, 1) => "on the one host".to_owned(),
        (many, all) if many == all => format!("on all {all} hosts"),
        (many, all) => format!("on {many} of {all} hosts"),
    };
    let range = range(contrast, majority);
    let known = match majority {
        Standing::Cheaper => format!("{a} is cheaper than {b}, at {range} of its {}", quantity(fleet.metric)),
        Standing::CostsMore => format!("{a} costs {range} as much as {b}"),
        Standing::Same | Standing::Open => {
            format!("{a} and {b} cost the same within {:.0} %", fleet.margin * 100.0)
        }
    };
    let mut said = format!("{about}: {on} {known}");
    for disagreement in &contrast.disagreements {
        said.push_str(&format!("; {}", otherwise(fleet, disagreement, many, all, counts.open)));
    }
    if counts.open > 0 {
        said.push_str(&format!("; it is open on {}", counts.open));
    }
    said + "."
}

/// The ratios of the hosts that stand there: `0.48 to 0.61`, `1.2 to 1.5 times`.
fn range(contrast: &FleetContrast, majority: Standing) -> String {
    let there = contrast.hosts.iter().filter(|host| host.standing == majority).map(|host| host.ratio);
    let (least, most) = there
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), ratio| (least.min(ratio), most.max(ratio)));
    let (least, most) = (ratio(least), ratio(most));
    let both = if least == most { least } else { format!("{least} to {most}") };
    if majority == Standing::CostsMore { format!("{both} times") } else { both }
}

/// Hosts that differ, how, and what is different about them.
fn otherwise(fleet: &Fleet, found: &Disagreement, majority: u64, all: u64, open: u64) -> String {
    let count = found.hosts.len() as u64;
    let one = count == 1;
    let names = first_few(
        &found.hosts.iter().map(|host| escaped(&fleet.hosts[*host as usize].name)).collect::<Vec<_>>(),
        MOST_NAMES,
    );
    // Those that the first half of the sentence leaves, if all of them differ in the same way.
    let is_rest = majority + count == all && open == 0 && found.how != Otherwise::Size;
    let hosts = match count {
        1 if is_rest => format!("the other, {names},"),
        2 if is_rest => format!("the two others ({names})"),
        many if is_rest => format!("the {many} others ({names})"),
        1 => names,
        many => format!("{many} of them ({names})"),
    };
    let how = match found.how {
        Otherwise::Cheaper => "it is cheaper",
        Otherwise::Same => "both cost the same",
        Otherwise::CostsMore => "it costs more",
        Otherwise::Size => "the ratio is far from that of the rest",
        Otherwise::Holds => "it holds",
        Otherwise::Fails => "it fails",
        Otherwise::Depends => "it depends on a condition",
        Otherwise::NoDifference => "there is no difference that matters",
    };
    let differences: Vec<String> = found.differences.iter().map(|found| difference(found, count)).collect();
    if differences.is_empty() {
        let which = match found.may_be_chance {
            true => "which may be chance for so few",
            false if one => "and nothing recorded tells it from the rest",
            false => "and nothing recorded tells them from the rest",
        };
        return format!("on {} {how}, {which}", hosts.trim_end_matches(','));
    }
    let shown = &differences[..differences.len().min(MOST_DIFFERENCES)];
    let more = found.more_differences + (differences.len() - shown.len()) as u64;
    let more = match more {
        0 => String::new(),
        1 => " (1 more fact differs)".to_owned(),
        more => format!(" ({more} more facts differ)"),
    };
    let doubt = match found.differences[0].is_known {
        true => String::new(),
        false => ", though so few hosts cannot show that it matters".to_owned(),
    };
    format!("{hosts} {}{more}: there {how}{doubt}", and_joined(shown))
}

/// `run in gVisor`, `have kernel 4.4.0 (the rest 6.8.0)`.
fn difference(found: &HostDifference, count: u64) -> String {
    let (run, have, were) = if count == 1 { ("runs", "has", "was") } else { ("run", "have", "were") };
    let value = shortened(&found.value);
    let has = match found.what.as_str() {
        "container" if found.value == "unknown" => format!("{run} in no container"),
        "container" => format!("{run} in {value}"),
        "hypervisor" => match found.value.as_str() {
            "yes" => format!("{run} in a virtual machine"),
            "unknown" => format!("{run} without a hypervisor"),
            _ => format!("{run} in a virtual machine ({value})"),
        },
        "placement" => format!("{run} the processes on {value}"),
        "cpu" => format!("{have} the processor {value}"),
        "version of ipcost" => format!("{were} measured by ipcost {value}"),
        what => format!("{have} {} {value}", escaped(what)),
    };
    if found.here < count || found.elsewhere > 0 {
        return format!(
            "{has} on {} of {count} (of the rest {} of {})",
            found.here, found.elsewhere, found.rest
        );
    }
    match found.others.as_slice() {
        [only] if only != "unknown" && found.what != "container" => {
            format!("{has} (the rest {})", shortened(only))
        }
        _ => has,
    }
}

fn shortened(value: &str) -> String {
    let value = escaped(value);
    match value.chars().count() > MOST_OF_A_VALUE {
        true => value.chars().take(MOST_OF_A_VALUE - 1).chain(['…']).collect(),
        false => value,
    }
}

/// What all hosts say of a claim, and which do not.
pub fn claim_sentence(fleet: &Fleet, claim: &FleetClaim) -> String {
    let mut said = format!("“{}” {}", escaped(&claim.text), claim_counts(&claim.counts));
    let majority = claim.counts.majority().map_or(0, |verdict| claim.counts.count(verdict));
    let open = claim.counts.open + claim.counts.not_tested;
    for found in &claim.disagreements {
        said.push_str(&format!("; {}", otherwise(fleet, found, majority, claim.counts.all(), open)));
    }
    said + "."
}

/// What the figures are; `None` without contrasts.
pub fn how(fleet: &Fleet) -> Option<String> {
    if fleet.contrasts.is_empty() {
        return None;
    }
    let margin = fleet.margin * 100.0;
    let apart = match fleet.contrasts.iter().any(|contrast| contrast.usual.is_some()) {
        true => " Rows \"without\" leave out the hosts that disagree and that a recorded fact sets apart.",
        false => "",
    };
    Some(format!(
        "Ratios of {}; \"same\" is within {margin:.0} %. Each host counts by its own run, whose verdicts are wrong in at most 5 % on average. \
         Typical host, spread between hosts and where another host lies: random effects with hosts as the unit, of the intervals with a verdict at most {:.0} % miss on average.{apart}",
        match fleet.metric {
            Metric::Wall => "the cost of an operation",
            Metric::Cpu => "the processor time of an operation",
        },
        fleet.alpha * 100.0,
    ))
}

/// Files that are not counted, in lines.
pub fn skipped(fleet: &Fleet, most: usize) -> Vec<String> {
    if fleet.skipped_files == 0 {
        return Vec::new();
    }
    let mut lines =
        vec![format!("Not counted: {} of {}.", fleet.skipped_files, counted(fleet.files, "file"))];
    let line = |Skipped { file, reason }: &Skipped| format!("  {}: {}", escaped(file), escaped(reason));
    lines.extend(fleet.skipped.iter().take(most).map(line));
    let shown = fleet.skipped.len().min(most) as u64;
    if fleet.skipped_files > shown {
        let more = fleet.skipped_files - shown;
        lines.push(format!(
            "  … and {more} more{}",
            if fleet.skipped.len() as u64 > shown { "; --details names them" } else { "" }
        ));
    }
    lines
}

/// Groups by name, at most a few: for captions.
pub fn group_names(fleet: &Fleet) -> String {
    let names: Vec<String> = fleet.groups.iter().take(MOST_NAMES).map(group).collect();
    let more = fleet.groups.len() - names.len();
    let more = if more > 0 { format!("; and {}", counted(more as u64, "more group")) } else { String::new() };
    format!("{}{more}", names.join("; "))
}
