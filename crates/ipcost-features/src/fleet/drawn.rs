//! A fleet as pictures have it: a row a contrast, or a row a host.

use ipcost_model::Verdict;
use ipcost_model::units::counted;
use ipcost_report::forest::{Forest, ForestGroup, ForestRow};
use ipcost_report::numbers::{interval, ratio};
use ipcost_report::words::{capitalised, quantity};

use super::record::{Fleet, FleetContrast, GroupRatio, HostRatio, Standing, Together};
use super::words::{
    group_names, how, pair, rows, sentence, sentences, standings, tables, title, typical, work,
};

/// So many hosts have a row each; of more, those that do not stand where most do, and the rest by group.
const MOST_HOSTS: usize = 60;
/// So many sentences are below the overview.
const MOST_SENTENCES: usize = 6;
/// Places in the palette: of hosts that stand where most do, of those that do not, and of what is open.
const USUAL: usize = 0;
const OTHER: usize = 2;
const OPEN: usize = 5;

/// A row a contrast: the typical host, and between which ratios another host lies.
pub fn overview(fleet: &Fleet) -> Forest {
    let row = |contrast: &FleetContrast, label: String, together: Option<&Together>| {
        let together = together?;
        Some(ForestRow {
            label,
            strong: contrast.disagreements.is_empty() && contrast.counts.majority().is_some(),
            slot: if contrast.disagreements.is_empty() { USUAL } else { OTHER },
            ratio: together.ratio,
            lo: together.another_lo,
            hi: together.another_hi,
            figures: format!("{}: {}", ratio(together.ratio), standings(&contrast.counts)),
        })
    };
    let panel = |(title, contrasts): (String, Vec<&FleetContrast>)| ForestGroup {
        title: capitalised(&title),
        rows: contrasts
            .iter()
            .flat_map(|contrast| {
                rows(contrast).into_iter().filter_map(|of| row(contrast, of.name, of.together))
            })
            .collect(),
    };
    let panels = tables(fleet).into_iter().map(panel).filter(|panel| !panel.rows.is_empty());
    Forest {
        title: format!(
            "What {} costs on {}",
            if fleet.contrasts.is_empty() { "it" } else { "local IPC" },
            counted(fleet.hosts.len() as u64, "host")
        ),
        about: group_names(fleet),
        reading: format!(
            "Points are the ratio of {} on a typical host; lines reach to where another such host is expected, with 95 %. Orange: hosts disagree.",
            quantity(fleet.metric)
        ),
        panels: panels.collect(),
        band: Verdict::band(fleet.margin),
        notes: sentences(fleet, false).iter().take(MOST_SENTENCES).map(|said| capitalised(said)).collect(),
        how: provenance(fleet),
    }
}

/// A row a host, from the smallest ratio to the largest.
pub fn by_host(fleet: &Fleet, contrast: &FleetContrast) -> Forest {
    let majority = contrast.counts.majority();
    let mut hosts: Vec<&HostRatio> = contrast.hosts.iter().collect();
    hosts.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let differs = |host: &&HostRatio| {
        let disagree = contrast.disagreements.iter().flat_map(|found| &found.hosts);
        disagree.clone().any(|other| *other == host.host)
    };
    let row = |host: &HostRatio| {
        let bounds =
            interval(host.ratio, host.lo, host.hi).map_or_else(String::new, |bounds| format!(" ({bounds})"));
        ForestRow {
            label: fleet.hosts[host.host as usize].name.clone(),
            strong: differs(&host),
            slot: match host.standing {
                _ if differs(&host) => OTHER,
                Standing::Open => OPEN,
                standing if majority.is_none() && standing == Standing::CostsMore => OTHER,
                Standing::Cheaper | Standing::Same | Standing::CostsMore => USUAL,
            },
            ratio: host.ratio,
            lo: host.lo,
            hi: host.hi,
            figures: format!("{}{bounds} {}", ratio(host.ratio), host.standing),
        }
    };
    let panel = |title: &str, rows: Vec<ForestRow>| ForestGroup { title: title.to_owned(), rows };
    let mut panels = match hosts.len() <= MOST_HOSTS {
        true => vec![panel("", hosts.into_iter().map(row).collect())],
        false => {
            let others = hosts.into_iter().filter(differs).take(MOST_HOSTS).map(row).collect();
            let groups = "Groups: their middle host, from the smallest ratio to the largest";
            vec![panel(groups, by_group(fleet, contrast)), panel("Hosts that disagree", others)]
        }
    };
    panels.push(panel(
        "All together",
        contrast.together.as_ref().map_or_else(Vec::new, |together| all_hosts(contrast, together)),
    ));
    panels.retain(|panel| !panel.rows.is_empty());
    Forest {
        title: format!("{}: {}", capitalised(&work(&contrast.work, contrast.placement)), pair(contrast)),
        about: group_names(fleet),
        reading: "A row a host, with the interval of its own run. Orange: hosts that disagree with most."
            .to_owned(),
        panels,
        band: Verdict::band(fleet.margin),
        notes: vec![capitalised(&sentence(fleet, contrast))],
        how: provenance(fleet),
    }
}

fn by_group(fleet: &Fleet, contrast: &FleetContrast) -> Vec<ForestRow> {
    let row = |group: &GroupRatio| ForestRow {
        label: super::words::group(&fleet.groups[group.group as usize]),
        strong: false,
        slot: USUAL,
        ratio: group.median,
        lo: Some(group.least),
        hi: Some(group.most),
        figures: format!("{}: {}", ratio(group.median), standings(&group.counts)),
    };
    contrast.groups.iter().take(MOST_HOSTS).map(row).collect()
}

/// The typical host and another one, also without the hosts that stand apart.
fn all_hosts(contrast: &FleetContrast, together: &Together) -> Vec<ForestRow> {
    let row = |label: &str, lo, hi, figures| ForestRow {
        label: label.to_owned(),
        strong: true,
        slot: USUAL,
        ratio: together.ratio,
        lo,
        hi,
        figures,
    };
    let mut rows = vec![row("a typical host", Some(together.lo), Some(together.hi), typical(together))];
    if together.another_lo.is_some() {
        let figures = super::words::another(together);
        rows.push(row("another host", together.another_lo, together.another_hi, figures));
    }
    if let Some(usual) = &contrast.usual {
        let label = format!("a typical host without {}", counted(usual.apart, "host"));
        let typical = row(&label, Some(usual.lo), Some(usual.hi), typical(usual));
        rows.push(ForestRow { ratio: usual.ratio, ..typical });
    }
    rows
}

fn provenance(fleet: &Fleet) -> String {
    let how = how(fleet).unwrap_or_default();
    format!("{}. {how} {} {}", title(fleet), fleet.tool.name, fleet.tool.version)
}
